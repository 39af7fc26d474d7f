package httpapi

import (
	"errors"
	"iter"
	"net/http"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/responses"
)

// The spec's sections Endpoints, Responses, and Events.

func (a *API) createResponse(c *call) error {
	root, err := c.body(MaxBody, jsonin.Dots)
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
	if err != nil {
		return err
	}
	c.usedResponse(r)
	return c.json(r)
}

// responseEvents writes the events of a response. A stream that cannot be
// brought to its last event is aborted: a clean end would look like success.
func (c *call) responseEvents(events iter.Seq2[responses.Event, error]) error {
	s := c.stream()
	defer s.close()
	var buffer []byte
	ended := false
	for event, err := range events {
		if err != nil {
			return s.refuse(err)
		}
		buffer, err = appendResponseEvent(buffer[:0], &event)
		if err == nil {
			err = s.send(buffer)
		}
		if err != nil {
			return &fault.Error{Kind: fault.Canceled, Code: "request_canceled", Message: "The client went away.", Err: err}
		}
		if event.Type == responses.EventCompleted || event.Type == responses.EventFailed {
			c.usedResponse(event.Response)
			ended = true
		}
	}
	if !ended {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// refuse ends a stream whose request was refused: with an answer of its own, or
// an event where a keepalive has begun the stream.
func (s *eventStream) refuse(err error) error {
	event, encodeErr := appendResponseEvent(nil, &responses.Event{Type: responses.EventError, Error: fault.From(err)})
	s.abort(event)
	return errors.Join(err, encodeErr)
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
		events, err := a.service.ReplayResponse(c.ctx(), c.caller, id)
		if err != nil {
			return err
		}
		return c.responseEvents(events)
	}
	r, err := a.service.Response(c.ctx(), c.caller, id)
	if err != nil {
		return err
	}
	return c.json(r)
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
	return c.json(deleted{id, "response.deleted", true})
}

func (a *API) cancelResponse(c *call) error {
	r, err := a.service.CancelResponse(c.ctx(), c.caller, c.r.PathValue("response_id"))
	if err != nil {
		return err
	}
	return c.json(r)
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
	return c.json(newList(items, itemObject))
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
func appendResponseEvent(b []byte, e *responses.Event) ([]byte, error) {
	b = append(b, "event: "...)
	b = append(b, e.Type...)
	b = append(b, "\ndata: {\"type\":\""...)
	b = append(b, e.Type...)
	b = append(b, '"')
	b = appendInt(b, "sequence_number", e.Sequence)
	b, err := appendPayload(b, e)
	return append(b, "}\n\n"...), err
}

// appendPayload appends the fields that the type of the event has.
func appendPayload(b []byte, e *responses.Event) ([]byte, error) {
	switch e.Type {
	case responses.EventTextDelta:
		b = appendTextPlace(b, e)
		b = appendField(b, "delta", e.Text)
		return append(b, `,"logprobs":[]`...), nil
	case responses.EventTextDone:
		b = appendTextPlace(b, e)
		b = appendField(b, "text", e.Text)
		return append(b, `,"logprobs":[]`...), nil
	case responses.EventPartAdded, responses.EventPartDone:
		return appendEncoded(appendTextPlace(b, e), "part", e.Part)
	case responses.EventArgumentsDelta:
		return appendField(appendItemPlace(b, e), "delta", e.Text), nil
	case responses.EventArgumentsDone:
		b = appendField(appendItemPlace(b, e), "name", e.Name)
		return appendField(b, "arguments", e.Text), nil
	case responses.EventItemAdded, responses.EventItemDone:
		return appendEncoded(appendInt(b, "output_index", e.OutputIndex), "item", e.Item)
	case responses.EventSearchProgress, responses.EventSearching, responses.EventSearchDone:
		return appendItemPlace(b, e), nil
	case responses.EventError:
		return appendErrorFields(b, e.Error)
	}
	return appendEncoded(b, "response", e.Response)
}

func appendItemPlace(b []byte, e *responses.Event) []byte {
	b = appendField(b, "item_id", e.ItemID)
	return appendInt(b, "output_index", e.OutputIndex)
}

func appendTextPlace(b []byte, e *responses.Event) []byte {
	return append(appendItemPlace(b, e), `,"content_index":0`...)
}

func appendEncoded(b []byte, name string, value any) ([]byte, error) {
	data, err := encode(value)
	return appendJSON(b, name, data), err
}

// appendErrorFields appends an error twice: as fields of the event, which some
// clients read, and as an object, which others do.
func appendErrorFields(b []byte, e *fault.Error) ([]byte, error) {
	body := bodyOf(e)
	b = appendField(b, "code", body.Code)
	b = appendField(b, "message", body.Message)
	b, err := appendEncoded(b, "param", body.Param)
	if err != nil {
		return b, err
	}
	return appendEncoded(b, "error", body)
}
