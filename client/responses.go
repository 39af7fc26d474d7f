package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strconv"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/responses"
)

const responsesPath = "/v1/responses"

// CreateResponse makes a turn and returns its response. The error of one that
// failed in the middle is a *[responses.TurnError].
func (c *Client) CreateResponse(ctx context.Context, _ Caller, req *responses.Request) (*responses.Response, error) {
	var w wire.Response
	if err := c.Do(ctx, "POST", responsesPath, convert.ToResponseRequest(req), &w); err != nil {
		return nil, err
	}
	r := fromResponse(&w)
	if r.Status == responses.Failed || r.Status == responses.Cancelled {
		return nil, &responses.TurnError{Response: r}
	}
	return r, nil
}

// StreamResponse makes a turn and yields its events.
func (c *Client) StreamResponse(ctx context.Context, _ Caller, req *responses.Request) (iter.Seq2[responses.Event, error], error) {
	body, yes := convert.ToResponseRequest(req), true
	body.Stream = &yes
	resp, err := c.stream(ctx, "POST", responsesPath, body)
	if err != nil {
		return nil, err
	}
	return responseEvents(ctx, resp), nil
}

// Response returns a stored response. The error is NotFound.
func (c *Client) Response(ctx context.Context, _ Caller, id string) (*responses.Response, error) {
	var w wire.Response
	if err := c.Do(ctx, "GET", under(responsesPath, id), nil, &w); err != nil {
		return nil, err
	}
	return fromResponse(&w), nil
}

// ReplayResponse yields the events of a stored response again, those behind the
// one with a number, -1 for all.
func (c *Client) ReplayResponse(ctx context.Context, _ Caller, id string, after int) (iter.Seq2[responses.Event, error], error) {
	path := under(responsesPath, id) + "?stream=true"
	if after >= 0 {
		path += "&starting_after=" + strconv.Itoa(after)
	}
	resp, err := c.stream(ctx, "GET", path, nil)
	if err != nil {
		return nil, err
	}
	return responseEvents(ctx, resp), nil
}

// CancelResponse cancels a response, and returns it.
func (c *Client) CancelResponse(ctx context.Context, _ Caller, id string) (*responses.Response, error) {
	var w wire.Response
	if err := c.Do(ctx, "POST", under(responsesPath, id, "cancel"), struct{}{}, &w); err != nil {
		return nil, err
	}
	return fromResponse(&w), nil
}

// DeleteResponse removes a stored response.
func (c *Client) DeleteResponse(ctx context.Context, _ Caller, id string) error {
	return c.Do(ctx, "DELETE", under(responsesPath, id), nil, nil)
}

// ResponseInput returns a page of the input items of a stored response.
func (c *Client) ResponseInput(ctx context.Context, _ Caller, id string, p Page) (List[conversations.Item], error) {
	return list(ctx, c, under(responsesPath, id, "input_items"), p, func(w wire.Item) conversations.Item { return convert.FromItem(&w) })
}

// CountResponseInput returns how many input tokens a request has.
func (c *Client) CountResponseInput(ctx context.Context, _ Caller, req *responses.Request) (int, error) {
	var count wire.InputTokens
	err := c.Do(ctx, "POST", responsesPath+"/input_tokens", convert.ToResponseRequest(req), &count)
	return count.InputTokens, err
}

// CompactResponse has the model summarize a history: what the request continues
// from, and its input. Nothing is stored.
func (c *Client) CompactResponse(ctx context.Context, _ Caller, req *responses.Request) (*responses.Compacted, error) {
	var w wire.Compacted
	if err := c.Do(ctx, "POST", responsesPath+"/compact", convert.ToCompactionRequest(req), &w); err != nil {
		return nil, err
	}
	return convert.FromCompacted(&w), nil
}

// fromResponse returns a response with what its status says of why it ended.
func fromResponse(w *wire.Response) *responses.Response { return caused(convert.FromResponse(w)) }

func caused(r *responses.Response) *responses.Response {
	kind := fault.Upstream
	switch r.Status {
	case responses.Cancelled:
		kind = fault.Canceled
	case responses.Failed:
	default:
		return r
	}
	if r.Error == nil {
		r.Error = &responses.Error{}
	}
	r.Error.Cause = &fault.Error{Kind: kind, Code: r.Error.Code, Message: r.Error.Message}
	return r
}

// responseEvents yields the events of a stream. One that breaks off ends with an
// error.
func responseEvents(ctx context.Context, stream *events) iter.Seq2[responses.Event, error] {
	return func(yield func(responses.Event, error) bool) {
		defer stream.close()
		for data, err := range stream.all() {
			var w wire.ResponseEvent
			if err == nil {
				err = json.Unmarshal(data, &w)
			}
			if err != nil {
				yield(responses.Event{}, failed(ctx, err))
				return
			}
			e := convert.FromResponseEvent(&w, func(w *wire.ErrorObject) *fault.Error { return faultOf(w, http.StatusBadGateway) })
			if e.Response != nil {
				caused(e.Response)
			}
			if !yield(e, nil) || e.Type == responses.EventCompleted || e.Type == responses.EventIncomplete {
				return
			}
			if e.Type == responses.EventFailed && e.Response != nil {
				yield(responses.Event{}, &responses.TurnError{Response: e.Response})
				return
			}
		}
		yield(responses.Event{}, failed(ctx, errBroken))
	}
}
