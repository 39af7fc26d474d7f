package responses

import (
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
)

// replay yields the events that a stored response would have had.
func replay(r *Response, yield func(Event, error) bool) {
	skeleton := *r
	skeleton.Status, skeleton.Output, skeleton.Usage = InProgress, nil, nil
	skeleton.CompletedAt, skeleton.Error, skeleton.Incomplete = 0, nil, ""
	e := emitter{yield: yield, response: &skeleton}
	e.lifecycle(EventCreated)
	e.lifecycle(EventInProgress)
	for _, item := range r.Output {
		replayItem(&e, item)
	}
	*e.response = *r
	if r.Status == Completed {
		e.lifecycle(EventCompleted)
		return
	}
	e.fail(&fault.Error{Code: r.Error.Code, Message: r.Error.Message})
}

// replayItem emits the events of an item that is whole.
func replayItem(e *emitter, item conversations.Item) {
	same := func(string) string { return item.ItemID() }
	switch item := item.(type) {
	case *conversations.Message:
		for _, p := range item.Content {
			e.textDelta(p.Text, p.Logprobs, same)
		}
		e.closeItem(item.Status, item.Phase)
	case *conversations.FunctionCall:
		call := *item
		call.Status, call.Arguments = conversations.InProgress, ""
		e.callStart(&call)
		if item.Custom {
			e.inputDelta(item.Arguments)
		} else if item.Arguments != "" {
			e.argumentsDelta(item.Arguments)
		}
		e.input = nil // what it would read has been said
		e.closeItem(item.Status, "")
	case *conversations.WebSearch:
		e.search(item, func() {})
	}
}
