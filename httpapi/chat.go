package httpapi

import (
	"context"
	"errors"
	"iter"
	"net/url"
	"strings"

	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

// The spec's section Endpoints, Chat Completions. What reads back stored
// completions is as in the OpenAI API.

func (a *API) createChat(c *call) error {
	body := &wire.ChatRequest{}
	if err := c.modelRequest(body); err != nil {
		return err
	}
	req := convert.FromChatRequest(body)
	req.Reasoning = a.service.Open()
	c.model = req.Model
	var err error
	if req.Guard, err = c.guard(req.Policies, req.Moderate); err != nil {
		return err
	}
	if isTrue(body.Stream) {
		return a.streamChat(c, req, includeUsage(&body.Streaming))
	}
	return a.completeChat(c, req)
}

func (a *API) streamChat(c *call, req *chat.Request, usage bool) error {
	chunks, err := a.chunks(c, req)
	if err != nil {
		return err
	}
	return c.sendChunks(&chunkEncoder{usage: usage, calls: req.Calls}, chunks)
}

// chunks begins a stream. It has a frame of its own so that the copy of the caller
// does not lie in the stack for as long as the stream runs: there may be
// thousands.
//
//go:noinline
func (a *API) chunks(c *call, req *chat.Request) (iter.Seq2[chat.Chunk, error], error) {
	return a.service.StreamChat(c.ctx(), c.caller, req)
}

func (a *API) completeChat(c *call, req *chat.Request) error {
	completion, err := a.service.CompleteChat(c.ctx(), c.caller, req)
	if err != nil {
		return err
	}
	c.inputTokens, c.outputTokens = completion.Usage.InputTokens, completion.Usage.OutputTokens
	c.answered(completion.Answering)
	return c.json(convert.ToChatCompletion(completion))
}

// includeUsage reports whether a stream ends with a chunk that has the usage.
func includeUsage(s *wire.Streaming) bool {
	return s.StreamOptions != nil && isTrue(s.StreamOptions.IncludeUsage)
}

func isTrue(b *bool) bool { return b != nil && *b }

// streamEncoder writes the events of a stream of chunks in one of the dialects of
// Chat Completions. What events returns is valid until its next call.
type streamEncoder interface {
	events(*chat.Chunk) ([]byte, error)
	failure(error) []byte // the last event of a stream that failed
	alive() []byte        // what a silent stream sends now and then
}

// sendChunks sends the chunks of a completion as they come. The header goes out
// with the first one: what fails before it is an answer of its own, what fails
// later is the stream's last event, with no [DONE] behind it.
func (c *call) sendChunks(encoder streamEncoder, chunks iter.Seq2[chat.Chunk, error]) error {
	if err := c.ticket.AcquireStream(); err != nil {
		return err
	}
	s := c.stream(encoder.alive())
	defer s.close()
	for chunk, err := range chunks {
		var events []byte
		if err == nil {
			events, err = encoder.events(&chunk)
		}
		if err != nil {
			if s.abort(encoder.failure(err)) {
				c.err = fault.From(err)
				return nil // the stream has told it: a connection that breaks would tell it again
			}
			return err
		}
		if chunk.First {
			c.answered(chunk.Answering)
		}
		if err := s.send(events, chunk.More); err != nil {
			return fault.From(errors.Join(context.Canceled, err))
		}
		c.inputTokens, c.outputTokens = chunk.Usage.InputTokens, chunk.Usage.OutputTokens
	}
	return nil
}

func (*chunkEncoder) failure(err error) []byte {
	return append(appendJSON([]byte("data: "), wire.Error{Error: bodyOf(fault.From(err))}), "\n\n"...)
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
	return c.json(convert.ToList(found, convert.ToChatCompletion, func(w *wire.ChatCompletion) string { return w.ID }))
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
	return c.json(convert.ToChatCompletion(completion))
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
	return c.json(convert.ToList(found, convert.ToStoredMessage, func(w *wire.StoredMessage) string { return w.ID }))
}

func (a *API) updateChat(c *call) error {
	body := &wire.MetadataRequest{}
	if err := c.request(body); err != nil {
		return err
	}
	completion, err := a.service.UpdateChatCompletion(c.ctx(), c.caller, c.r.PathValue("completion_id"), body.Tags())
	if err != nil {
		return err
	}
	return c.json(convert.ToChatCompletion(completion))
}

func (a *API) deleteChat(c *call) error {
	id := c.r.PathValue("completion_id")
	if err := a.service.DeleteChatCompletion(c.ctx(), c.caller, id); err != nil {
		return err
	}
	return c.json(wire.Deleted{ID: id, Object: "chat.completion.deleted", Deleted: true})
}
