package console

import (
	"strings"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/conversations"
)

func (c *Console) conversationsPage(v *request) error {
	if v.find(strings.TrimSpace(v.r.FormValue("q"))) {
		return nil
	}
	result, err := search(v,
		func(p svc.Page) (svc.List[conversations.Conversation], error) {
			return c.service.Conversations(v.ctx(), v.caller, p)
		},
		func(conversation conversations.Conversation) string { return conversation.ID },
		func(conversation conversations.Conversation, words string) bool {
			return hasTag(words, conversation.Metadata)
		})
	if err != nil {
		return err
	}
	return v.render("conversations", "Conversations", result)
}

// conversationView is a conversation with a page of its items.
type conversationView struct {
	Token        string
	Conversation conversations.Conversation
	Items        []itemView
	Next         string
}

func (c *Console) conversationPage(v *request) error {
	id := v.r.PathValue("id")
	conversation, err := c.service.Conversation(v.ctx(), v.caller, id)
	if err != nil {
		return err
	}
	p := svc.Page{Limit: pageSize, After: v.r.FormValue("after")}
	items, err := c.service.ConversationItems(v.ctx(), v.caller, id, p)
	if err != nil {
		return err
	}
	view := conversationView{Token: v.session.Token, Conversation: conversation, Items: viewItems(items.Items)}
	shorten(view.Items, maxTurnsShown)
	if n := len(items.Items); n > 0 {
		view.Next = nextPage(items.HasMore, items.Items[n-1].ItemID(), "")
	}
	return v.render("conversation", "Conversation", view)
}

func (c *Console) deleteConversation(v *request) error {
	if err := c.service.DeleteConversation(v.ctx(), v.caller, v.r.PathValue("id")); err != nil {
		return err
	}
	return v.redirect("/conversations")
}
