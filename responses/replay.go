package responses

import (
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// replay yields the events that a stored response would have had.
func replay(r *Response, yield func(Event, error) bool) {
	e := emitter{yield: yield, response: r.skeleton()}
	e.begin()
	for _, item := range r.Output {
		replayItem(&e, item)
	}
	*e.response = *r
	e.last()
}

// skeleton returns the response as it was when it began.
func (r *Response) skeleton() *Response {
	s := *r
	s.Status, s.Output, s.Usage = InProgress, nil, nil
	s.CompletedAt, s.Error, s.Incomplete = 0, nil, ""
	s.Trace = accounts.Trace{Key: r.Trace.Key}
	return &s
}

// last emits the last events of a response that is read back.
func (e *emitter) last() {
	if e.response.answered() {
		e.answered()
		return
	}
	e.fail(&fault.Error{Code: e.response.Error.Code, Message: e.response.Error.Message})
}

// replayItem emits the events of an item that is whole.
func replayItem(e *emitter, item conversations.Item) {
	same := func(string) string { return item.ItemID() }
	switch item := item.(type) {
	case *conversations.Message:
		for _, p := range item.Content {
			e.textDelta(model.TextDelta{Text: p.Text}, p.Logprobs, same)
			e.written.Reset()
			e.written.WriteString(p.Written)
			for i := range p.Citations {
				e.cite(p.Citations[i])
			}
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
	case *conversations.Reasoning:
		e.reasoning(item)
	case *conversations.Compaction, *conversations.MCPApprovalRequest:
		e.add(item, item)
		e.done(item, false)
	case *conversations.WebSearch:
		e.search(item, func() {})
	case *conversations.MCPListTools:
		e.list(item, func() {})
	case *conversations.MCPCall:
		e.endCall(e.beginCall(item), item)
	case *conversations.FileSearch:
		e.fileSearch(item, func() {})
	}
}
