package httpapi

import (
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/responses"
)

// The spec's sections Endpoints, Responses, and Events.

func (a *API) createResponse(c *call) error {
	body := &wire.ResponseRequest{}
	if err := c.modelRequest(body); err != nil {
		return err
	}
	req, err := convert.FromResponseRequest(body)
	if err != nil {
		return err
	}
	c.model = req.Model
	if req.Guard, err = c.guard(req.Policies, req.Moderate); err != nil {
		return err
	}
	if !a.service.Searches() {
		for i := range body.Tools {
			if strings.HasPrefix(body.Tools[i].Type, "web_search") {
				c.ignore("tools[" + strconv.Itoa(i) + "]")
			}
		}
	}
	if isTrue(body.Stream) {
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
	c.answered(r.Answering)
	return c.json(convert.ToResponse(r))
}

// responseEvents writes the events of a response. A stream that cannot be brought
// to its last event is aborted: a clean end would look like success.
func (c *call) responseEvents(events iter.Seq2[responses.Event, error]) error {
	if err := c.ticket.AcquireStream(); err != nil {
		return err
	}
	s := c.stream(keepalive)
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
		if empty && event.Response != nil {
			c.answered(event.Response.Answering)
		}
		empty = false
		buffer = appendResponseEvent(buffer[:0], &event)
		if err := s.send(buffer, event.More); err != nil {
			return &fault.Error{Kind: fault.Canceled, Code: fault.CodeCanceled, Message: "The client went away.", Err: err}
		}
		if event.Type.Last() {
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
	return c.json(convert.ToResponse(r))
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
	return c.json(convert.ToResponse(r))
}

func (a *API) compactResponse(c *call) error {
	body := &wire.CompactionRequest{}
	if err := c.request(body); err != nil {
		return err
	}
	req := convert.FromCompactionRequest(body)
	c.model = req.Model
	var err error
	if req.Guard, err = c.guard(nil, ""); err != nil {
		return err
	}
	compacted, err := a.service.CompactResponse(c.ctx(), c.caller, req)
	if err != nil {
		return err
	}
	c.inputTokens, c.outputTokens = compacted.Usage.InputTokens, compacted.Usage.OutputTokens
	return c.json(convert.ToCompacted(compacted))
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
	return c.json(convert.ToItemList(items))
}

func (a *API) countInputTokens(c *call) error {
	body := &wire.ResponseRequest{}
	if err := c.request(body); err != nil {
		return err
	}
	req, err := convert.FromResponseRequest(body)
	if err != nil {
		return err
	}
	c.model = req.Model
	count, err := a.service.CountResponseInput(c.ctx(), c.caller, req)
	if err != nil {
		return err
	}
	return c.json(wire.InputTokens{Object: "response.input_tokens", InputTokens: count})
}

// appendResponseEvent appends an event as it goes over the wire.
func appendResponseEvent(b []byte, e *responses.Event) []byte {
	b = append(b, "event: "...)
	b = append(b, e.Type...)
	return append(appendEventObject(append(b, "\ndata: "...), e), "\n\n"...)
}

// appendEventObject appends an event as JSON. Pieces of text and of arguments, which
// nearly all events are, are written without reflection.
func appendEventObject(b []byte, e *responses.Event) []byte {
	switch {
	case e.Type == responses.EventTextDelta && len(e.Logprobs) == 0:
	case e.Type == responses.EventArgumentsDelta, e.Type == responses.EventInputDelta:
	default:
		return appendJSON(b, convert.ToResponseEvent(e, eventError))
	}
	w := jsonout.Over(b)
	w.Object()
	w.Name("type").String(string(e.Type))
	w.Name("sequence_number").Int(int64(e.Sequence))
	w.Name("item_id").String(e.ItemID)
	w.Name("output_index").Int(int64(e.OutputIndex))
	if e.Type == responses.EventTextDelta {
		w.Name("content_index").Int(0)
	}
	w.Name("delta").String(e.Text)
	if e.Type == responses.EventTextDelta {
		w.Name("logprobs").Array()
		w.EndArray()
	}
	w.EndObject()
	return w.Buf
}

// eventError returns an error as an event has it.
func eventError(e *fault.Error) *wire.EventError {
	body := bodyOf(e)
	return &wire.EventError{Code: body.Code, Message: body.Message, Param: body.Param, Error: body}
}
