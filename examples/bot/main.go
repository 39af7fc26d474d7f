// Command bot answers messages of several chats, as a bot of a messenger does: each
// chat is a stored conversation, so that a turn needs nothing but its message.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/responses"
)

// update is a message as a messenger delivers it.
type update struct {
	chat int64
	text string
}

// updates stands for the messenger's long poll.
var updates = []update{
	{1, "Shipping takes 3 days. How long does shipping take?"},
	{2, "Our office is in Paris. Where is your office?"},
	{1, "Tell me again: how long does shipping take?"},
}

func main() {
	ctx := context.Background()
	service, err := svc.New(ctx, svc.Options{Accounting: svc.NoAccounting}) // with a Store that is on disk, chats survive
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	caller, err := service.LocalCaller(ctx)
	if err != nil {
		log.Fatal(err)
	}
	chats := map[int64]string{} // to the ID of a conversation: all that the bot has to keep
	for _, u := range updates {
		if chats[u.chat] == "" {
			conversation, err := service.CreateConversation(ctx, caller, map[string]string{"chat": fmt.Sprint(u.chat)}, nil)
			if err != nil {
				log.Fatal(err)
			}
			chats[u.chat] = conversation.ID
		}
		reply := "Something went wrong. Please try again."
		response, err := service.CreateResponse(ctx, caller, &responses.Request{
			Model: "svc-preview", Conversation: chats[u.chat], Input: responses.Text(u.text),
		})
		if err == nil {
			reply = response.OutputText()
		} else {
			log.Print(err) // of a turn that broke off a *responses.TurnError, with what was said until then
		}
		fmt.Printf("to chat %d: %s\n", u.chat, reply) // sendMessage
	}
}
