package httpapi

import (
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/logprobs"
	"github.com/seed-506d8e5d/svc/responses"
	"github.com/seed-506d8e5d/svc/wire"
)

// The spec's sections Endpoints, Responses, and Events.

func (a *API) createResponse(c *call) error {
	root, err := c.modelBody(MaxBody, jsonin.Dots)
	if err != nil {
		return err
	}
	req := decodeResponseRequest(root)
	stream := root.Field("stream").True()
	if err := root.Err(); err != nil {
		return err
	}
	c.model = req.Model
	if stream {
		events, err := a.service.StreamResponse(c.ctx(), c.caller, req)
		if err != nil {
			return err
		}
		return c.responseEvents(events)
	}
	r, err := a.service.CreateResponse(c.ctx(), c.caller, req)
	if ended, ok := errors.AsType[*responses.TurnError](err); ok {
		r, err = ended.Response, nil
	}
	if err != nil {
		return err
	}
	c.usedResponse(r)
	return c.written(r)
}

// responseEvents writes the events of a response. A stream that cannot be brought
// to its last event is aborted: a clean end would look like success.
func (c *call) responseEvents(events iter.Seq2[responses.Event, error]) error {
	if err := c.ticket.AcquireStream(); err != nil {
		return err
	}
	s := c.stream()
	defer s.close()
	var buffer []byte
	ended, empty := false, true
	for event, err := range events {
		if ended {
			break // the error that the last event told of
		}
		if err != nil {
			return err // the first thing: it is an answer of its own
		}
		empty = false
		buffer = appendResponseEvent(buffer[:0], &event)
		if err := s.send(buffer, event.More); err != nil {
			return &fault.Error{Kind: fault.Canceled, Code: "request_canceled", Message: "The client went away.", Err: err}
		}
		if event.Type == responses.EventCompleted || event.Type == responses.EventFailed {
			c.usedResponse(event.Response)
			ended = true
		} else if event.Type == responses.EventError && !event.More {
			c.err = event.Error
			ended = true
		}
	}
	if empty && c.ctx().Err() == nil {
		return s.send(nil, false) // the client has all of them
	}
	if !ended {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// usedResponse notes what the log says of a response.
func (c *call) usedResponse(r *responses.Response) {
	c.model = r.Echo.Model
	if r.Usage != nil {
		c.inputTokens, c.outputTokens = r.Usage.InputTokens, r.Usage.OutputTokens
	}
	if r.Error != nil {
		c.err = fault.From(r.Error.Cause)
	}
}

func (a *API) getResponse(c *call) error {
	id := c.r.PathValue("response_id")
	stream, err := c.wantsStream()
	if err != nil {
		return err
	}
	if stream {
		after, err := startingAfter(c.r.URL.Query())
		if err != nil {
			return err
		}
		return a.replayResponse(c, id, after)
	}
	return a.storedResponse(c, id)
}

func (a *API) storedResponse(c *call, id string) error {
	r, err := a.service.Response(c.ctx(), c.caller, id)
	if err != nil {
		return err
	}
	return c.written(r)
}

func (a *API) replayResponse(c *call, id string, after int) error {
	events, err := a.service.ReplayResponse(c.ctx(), c.caller, id, after)
	if err != nil {
		return err
	}
	return c.responseEvents(events)
}

// startingAfter reads the number of the last event that a client has seen, -1 for
// none.
func startingAfter(q url.Values) (int, error) {
	text := q.Get("starting_after")
	if text == "" {
		return -1, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, fault.Invalidf("starting_after", "starting_after must be the sequence_number of an event.")
	}
	return int(n), nil
}

// wantsStream reports whether a stored response is asked for as a stream: in the
// query, or as OpenAI's client for Go does, in a body.
func (c *call) wantsStream() (bool, error) {
	root, err := c.optionalBody()
	if err != nil {
		return false, err
	}
	stream := root.Field("stream").True()
	return stream || c.r.URL.Query().Get("stream") == "true", root.Err()
}

func (a *API) deleteResponse(c *call) error {
	id := c.r.PathValue("response_id")
	if err := a.service.DeleteResponse(c.ctx(), c.caller, id); err != nil {
		return err
	}
	return c.json(wire.Deleted{ID: id, Object: "response.deleted", Deleted: true})
}

func (a *API) cancelResponse(c *call) error {
	r, err := a.service.CancelResponse(c.ctx(), c.caller, c.r.PathValue("response_id"))
	if err != nil {
		return err
	}
	return c.json(r)
}

func (a *API) compactResponse(c *call) error {
	root, err := c.body(MaxBody, jsonin.Dots)
	if err != nil {
		return err
	}
	req := decodeCompaction(root)
	if err := root.Err(); err != nil {
		return err
	}
	c.model = req.Model
	compacted, err := a.service.CompactResponse(c.ctx(), c.caller, req)
	if err != nil {
		return err
	}
	c.inputTokens, c.outputTokens = compacted.Usage.InputTokens, compacted.Usage.OutputTokens
	return c.written(compacted)
}

func (a *API) listInputItems(c *call) error {
	p, err := pageParams(c.r.URL.Query(), true)
	if err != nil {
		return err
	}
	items, err := a.service.ResponseInput(c.ctx(), c.caller, c.r.PathValue("response_id"), p)
	if err != nil {
		return err
	}
	return c.written(itemList(items))
}

func (a *API) countInputTokens(c *call) error {
	root, err := c.body(MaxBody, jsonin.Dots)
	if err != nil {
		return err
	}
	req := decodeResponseRequest(root)
	if err := root.Err(); err != nil {
		return err
	}
	c.model = req.Model
	count, err := a.service.CountResponseInput(c.ctx(), c.caller, req)
	if err != nil {
		return err
	}
	return c.json(struct {
		Object      string `json:"object"`
		InputTokens int    `json:"input_tokens"`
	}{"response.input_tokens", count})
}

// appendResponseEvent appends an event as it goes over the wire.
func appendResponseEvent(b []byte, e *responses.Event) []byte {
	b = append(b, "event: "...)
	b = append(b, e.Type...)
	return append(appendEventObject(append(b, "\ndata: "...), e), "\n\n"...)
}

// appendEventObject appends an event as JSON.
func appendEventObject(b []byte, e *responses.Event) []byte {
	w := jsonout.Over(b)
	w.Object()
	w.Name("type").String(string(e.Type))
	w.Name("sequence_number").Int(int64(e.Sequence))
	writePayload(&w, e)
	w.EndObject()
	return w.Buf
}

// writePayload writes the fields that the type of the event has.
func writePayload(w *jsonout.Writer, e *responses.Event) {
	switch e.Type {
	case responses.EventTextDelta:
		writePartPlace(w, e)
		w.Name("delta").String(e.Text)
		logprobs.Write(w.Name("logprobs"), e.Logprobs, false)
	case responses.EventTextDone:
		writePartPlace(w, e)
		w.Name("text").String(e.Text)
		logprobs.Write(w.Name("logprobs"), e.Logprobs, false)
	case responses.EventPartAdded, responses.EventPartDone:
		writePartPlace(w, e)
		w.Name("part").Value(e.Part)
	case responses.EventArgumentsDelta, responses.EventInputDelta:
		writeItemPlace(w, e)
		w.Name("delta").String(e.Text)
	case responses.EventInputDone:
		writeItemPlace(w, e)
		w.Name("input").String(e.Text)
	case responses.EventArgumentsDone:
		writeItemPlace(w, e)
		w.Name("name").String(e.Name)
		w.Name("arguments").String(e.Text)
	case responses.EventItemAdded, responses.EventItemDone:
		w.Name("output_index").Int(int64(e.OutputIndex))
		w.Name("item").Value(e.Item)
	case responses.EventSearchProgress, responses.EventSearching, responses.EventSearchDone:
		writeItemPlace(w, e)
		w.Name("status").String(strings.TrimPrefix(string(e.Type), "response.web_search_call."))
	case responses.EventError:
		writeErrorFields(w, e.Error)
	default:
		w.Name("response").Value(e.Response)
	}
}

func writeItemPlace(w *jsonout.Writer, e *responses.Event) {
	w.Name("item_id").String(e.ItemID)
	w.Name("output_index").Int(int64(e.OutputIndex))
}

func writePartPlace(w *jsonout.Writer, e *responses.Event) {
	writeItemPlace(w, e)
	w.Name("content_index").Int(0)
}

// writeErrorFields writes an error twice: as fields of the event, which some
// clients read, and as an object, which others do.
func writeErrorFields(w *jsonout.Writer, e *fault.Error) {
	w.Name("code").String(e.Code)
	w.Name("message").String(e.Message)
	w.Name("param").OptionalString(e.Param)
	w.Name("error").Object()
	w.Name("message").String(e.Message)
	w.Name("type").String(status[e.Kind].kind)
	w.Name("param").OptionalString(e.Param)
	w.Name("code").String(e.Code)
	w.EndObject()
}
