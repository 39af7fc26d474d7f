package httpapi

import (
	"context"
	"errors"
	"iter"
	"net/url"
	"strings"

	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
)

// The spec's section Endpoints, Chat Completions. What reads back stored
// completions is as in the OpenAI API.

func (a *API) createChat(c *call) error {
	body, err := c.chatBody()
	if err != nil {
		return err
	}
	c.model = body.request.Model
	if body.stream {
		return a.streamChat(c, body)
	}
	return a.completeChat(c, body)
}

func (c *call) chatBody() (*chatCall, error) {
	root, err := c.modelBody(MaxBody, jsonin.Dots)
	if err != nil {
		return nil, err
	}
	return decodeChat(root)
}

func (a *API) streamChat(c *call, body *chatCall) error {
	chunks, err := a.chunks(c, body)
	if err != nil {
		return err
	}
	return c.sendChunks(&chunkEncoder{usage: body.includeUsage}, chunks)
}

// chunks begins a stream. It has a frame of its own so that the copy of the caller
// does not lie in the stack for as long as the stream runs: there may be
// thousands.
//
//go:noinline
func (a *API) chunks(c *call, body *chatCall) (iter.Seq2[chat.Chunk, error], error) {
	return a.service.StreamChat(c.ctx(), c.caller, &body.request)
}

func (a *API) completeChat(c *call, body *chatCall) error {
	completion, err := a.service.CompleteChat(c.ctx(), c.caller, &body.request)
	if err != nil {
		return err
	}
	c.inputTokens, c.outputTokens = completion.Usage.InputTokens, completion.Usage.OutputTokens
	o := newCompletionObject(completion)
	return c.written(&o)
}

// sendChunks sends the chunks of a completion as they come. The header goes out
// with the first one: what fails before it is an answer of its own, what fails
// later is the stream's last event, with no [DONE] behind it.
func (c *call) sendChunks(encoder *chunkEncoder, chunks iter.Seq2[chat.Chunk, error]) error {
	if err := c.ticket.AcquireStream(); err != nil {
		return err
	}
	s := c.stream()
	defer s.close()
	for chunk, err := range chunks {
		if err != nil {
			if s.abort(errorEvent(err)) {
				c.err = fault.From(err)
				return nil // the stream has told it: a connection that breaks would tell it again
			}
			return err
		}
		if err := s.send(encoder.event(&chunk), chunk.More); err != nil {
			return fault.From(errors.Join(context.Canceled, err))
		}
		c.inputTokens, c.outputTokens = chunk.Usage.InputTokens, chunk.Usage.OutputTokens
	}
	return nil
}

// errorEvent is the event of a stream that failed.
func errorEvent(err error) []byte {
	data, encodeErr := encode(map[string]errorBody{"error": bodyOf(fault.From(err))})
	if encodeErr != nil {
		panic(encodeErr) // a type of ours that cannot be encoded is a defect
	}
	return append(append([]byte("data: "), data...), "\n\n"...)
}

func (a *API) listChats(c *call) error {
	q := c.r.URL.Query()
	p, err := pageParams(q, false)
	if err != nil {
		return err
	}
	found, err := a.service.ChatCompletions(c.ctx(), c.caller, chat.Filter{Model: q.Get("model"), Metadata: metadataFilter(q)}, p)
	if err != nil {
		return err
	}
	return c.json(newList(found, func(o chat.Completion) (completionObject, string) { return newCompletionObject(&o), o.ID }))
}

// metadataFilter reads the query parameters metadata[key]=value.
func metadataFilter(q url.Values) map[string]string {
	var tags map[string]string
	for name := range q {
		key, ok := strings.CutPrefix(name, "metadata[")
		if !ok || !strings.HasSuffix(key, "]") {
			continue
		}
		if tags == nil {
			tags = map[string]string{}
		}
		tags[strings.TrimSuffix(key, "]")] = q.Get(name)
	}
	return tags
}

func (a *API) getChat(c *call) error {
	completion, err := a.service.ChatCompletion(c.ctx(), c.caller, c.r.PathValue("completion_id"))
	if err != nil {
		return err
	}
	return c.json(newCompletionObject(completion))
}

func (a *API) listChatMessages(c *call) error {
	p, err := pageParams(c.r.URL.Query(), false)
	if err != nil {
		return err
	}
	found, err := a.service.ChatMessages(c.ctx(), c.caller, c.r.PathValue("completion_id"), p)
	if err != nil {
		return err
	}
	return c.json(newList(found, func(m chat.StoredMessage) (storedMessageObject, string) { return newStoredMessageObject(m), m.ID }))
}

func (a *API) updateChat(c *call) error {
	root, err := c.body(MaxBody, jsonin.Dots)
	if err != nil {
		return err
	}
	metadata := root.Field("metadata")
	if metadata.Missing() {
		metadata.Fail("is required")
	}
	tags := metadata.Metadata()
	if err := root.Err(); err != nil {
		return err
	}
	completion, err := a.service.UpdateChatCompletion(c.ctx(), c.caller, c.r.PathValue("completion_id"), tags)
	if err != nil {
		return err
	}
	return c.json(newCompletionObject(completion))
}

func (a *API) deleteChat(c *call) error {
	id := c.r.PathValue("completion_id")
	if err := a.service.DeleteChatCompletion(c.ctx(), c.caller, id); err != nil {
		return err
	}
	return c.json(deleted{id, "chat.completion.deleted", true})
}
