package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/messages"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/model"
)

// The Messages interface of Anthropic. A request is one of Chat Completions in other
// words (package messages), which nothing is stored of.

// messagesPath and what lies under it answer errors in shape C.
const messagesPath = "/v1/messages"

// speaksMessages reports whether a request is one of Anthropic's clients: by its
// route, or for the list of models, which both interfaces have, by the header that
// these clients send.
func speaksMessages(r *http.Request) bool {
	return within(r.URL.Path, messagesPath) || within(r.URL.Path, "/v1/models") && r.Header.Get("Anthropic-Version") != ""
}

// APIKey returns the key or the token of a request, empty where it has none. Older clients of
// Anthropic's send it in a header of its own.
func APIKey(r *http.Request) string {
	key := bearer(r)
	if key == "" && speaksMessages(r) {
		key = r.Header.Get("X-Api-Key")
	}
	return key
}

// shapeC is the error object of the Messages interface.
func shapeC(w http.ResponseWriter, e *fault.Error) {
	writeError(w, statuses[e.Kind].a, e, messagesError(e, w.Header().Get("X-Request-Id")))
}

func messagesError(e *fault.Error, requestID string) wire.MessagesError {
	return wire.MessagesError{
		Type: "error",
		Error: wire.MessagesErrorObject{
			Type: statuses[e.Kind].messages, Message: overWindow(e), Details: &wire.MessagesErrorDetails{ErrorCode: e.Code},
		},
		RequestID: requestID,
	}
}

// overWindow returns the message of an error. That of a prompt that does not fit is
// in the words by which clients know what to do: ask for less, or compact.
func overWindow(e *fault.Error) string {
	if e.Code != fault.CodeContextLength {
		return e.Message
	}
	over, ok := errors.AsType[*model.OverWindow](e.Err)
	switch {
	case !ok:
		return "prompt is too long: " + e.Message
	case over.Prompt > over.Window || over.Answer == 0:
		return fmt.Sprintf("prompt is too long: %d tokens > %d maximum", over.Prompt, over.Window)
	}
	return fmt.Sprintf("input length and `max_tokens` exceed context limit: %d + %d > %d, decrease input length or `max_tokens` and try again",
		over.Prompt, over.Answer, over.Window)
}

func (a *API) createMessage(c *call) error {
	body := &wire.MessagesRequest{}
	if err := c.modelRequest(body); err != nil {
		return err
	}
	if body.MaxTokens == nil {
		return fault.Invalidf("max_tokens", "max_tokens is required.")
	}
	req, err := a.messagesRequest(c, body)
	if err != nil {
		return err
	}
	if req.Chat.Guard, err = c.guard(req.Chat.Policies, ""); err != nil {
		return err
	}
	if !req.Stream {
		completion, err := a.service.CompleteChat(c.ctx(), c.caller, req.Chat)
		if err != nil {
			return req.Located(err)
		}
		c.inputTokens, c.outputTokens = completion.Usage.InputTokens, completion.Usage.OutputTokens
		c.answered(completion.Answering)
		message, err := messages.Message(completion, c.sealer(completion.Model))
		if err != nil {
			return err
		}
		return c.json(message)
	}
	chunks, err := a.chunks(c, req.Chat)
	if err != nil {
		return req.Located(err)
	}
	encoder := &messageEncoder{c: c}
	encoder.Seal = func(thought string) (string, error) { return c.sealer(encoder.model)(thought) }
	return c.sendChunks(encoder, chunks)
}

func (a *API) countMessageTokens(c *call) error {
	body := &wire.MessagesRequest{}
	if err := c.request(body); err != nil {
		return err
	}
	req, err := a.messagesRequest(c, body)
	if err != nil {
		return err
	}
	count, err := a.service.CountChatTokens(c.ctx(), c.caller, req.Chat)
	if err != nil {
		return req.Located(err)
	}
	return c.json(wire.MessagesTokens{InputTokens: count})
}

// messagesRequest returns what a body asks for. That the model does not exist, or is
// not the caller's, is for the service to say.
func (a *API) messagesRequest(c *call, body *wire.MessagesRequest) (*messages.Request, error) {
	c.model = body.Model
	info, err := a.service.Model(c.ctx(), c.caller, body.Model)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	return messages.Decode(body, info, a.service.Open(), func(signature string) (string, string, error) {
		t, err := a.service.OpenThought(c.ctx(), c.caller, signature)
		return t.Model, t.Text, err
	})
}

// sealer returns what seals the thoughts of a model for the caller's organization.
func (c *call) sealer(modelID string) messages.Sealer {
	return func(thought string) (string, error) {
		ctx := context.WithoutCancel(c.ctx()) // the model has done its work
		return c.api.service.SealThought(ctx, c.caller, conversations.Thought{Model: modelID, Text: thought})
	}
}

// messageEncoder writes the events of a stream.
type messageEncoder struct {
	messages.Encoder
	c     *call
	model string // that answers
}

func (e *messageEncoder) events(chunk *chat.Chunk) ([]byte, error) {
	e.model = chunk.Model
	return e.Events(chunk)
}

func (e *messageEncoder) failure(err error) []byte {
	return messages.AppendEvent(nil, "error", messagesError(fault.From(err), e.c.id))
}

func (e *messageEncoder) alive() []byte { return messages.Ping }

// toMessagesModels returns models as Anthropic's clients read them.
func toMessagesModels(infos []model.Info) wire.MessagesModels {
	list := wire.MessagesModels{Data: []wire.MessagesModel{}}
	for i := range infos {
		if infos[i].Generates {
			list.Data = append(list.Data, toMessagesModel(&infos[i]))
		}
	}
	if n := len(list.Data); n > 0 {
		list.FirstID, list.LastID = &list.Data[0].ID, &list.Data[n-1].ID
	}
	return list
}

func toMessagesModel(info *model.Info) wire.MessagesModel {
	return wire.MessagesModel{
		Type: "model", ID: info.ID, DisplayName: info.ID, CreatedAt: time.Unix(info.Created, 0).UTC().Format(time.RFC3339), Lifecycle: "active",
		MaxInputTokens: info.Window(), MaxTokens: info.Window(),
	}
}
