package modeltest

import (
	"encoding/json"
	"testing"

	"github.com/seed-506d8e5d/svc/model"
)

// reader folds the events of one answer and reports every rule they break.
type reader struct {
	answer
	t        *testing.T
	tools    []model.Tool
	counted  bool // a usage was reported
	finished bool
	calling  bool // the last event belongs to a tool call
}

func (r *reader) read(event model.Event) {
	r.t.Helper()
	if r.finished {
		r.t.Errorf("%#v follows the finish", event)
	}
	r.events = append(r.events, event)
	switch e := event.(type) {
	case model.Started:
		if len(r.events) > 1 {
			r.t.Errorf("%#v is not the first event", e)
		}
	case model.TextDelta:
		if e.Text == "" {
			r.t.Error("a text delta is empty")
		}
		r.text += e.Text
		r.calling = false
	case model.ToolCallStart:
		r.start(e)
	case model.ToolCallDelta:
		r.delta(e)
	case model.Usage:
		r.usage = e
		r.counted = true
		r.checkUsage()
	case model.Finish:
		r.reason = e.Reason
		r.finished = true
		if !r.counted {
			r.t.Error("the finish comes before any usage")
		}
	default:
		r.t.Errorf("event of unknown type %T", event)
	}
}

func (r *reader) start(e model.ToolCallStart) {
	r.t.Helper()
	if e.ID == "" || e.Name == "" {
		r.t.Errorf("%#v has no ID or no name", e)
	}
	for _, call := range r.calls {
		if call.ID == e.ID {
			r.t.Errorf("two calls have the ID %q", e.ID)
		}
	}
	if !offers(r.tools, e.Name) {
		r.t.Errorf("the call names %q, which is no tool of the request", e.Name)
	}
	r.calls = append(r.calls, model.ToolCall{ID: e.ID, Name: e.Name})
	r.calling = true
}

func offers(tools []model.Tool, name string) bool {
	for _, tool := range tools {
		if tool.Name == name {
			return true
		}
	}
	return false
}

func (r *reader) delta(e model.ToolCallDelta) {
	r.t.Helper()
	if !r.calling {
		r.t.Errorf("%#v belongs to no call", e)
		return
	}
	r.calls[len(r.calls)-1].Arguments += e.Arguments
}

func (r *reader) checkUsage() {
	r.t.Helper()
	u := r.usage
	if u.CachedTokens < 0 || u.ReasoningTokens < 0 || u.CachedTokens > u.InputTokens || u.ReasoningTokens > u.OutputTokens {
		r.t.Errorf("%+v: a part is negative or more than the whole", u)
	}
}

// end reports what can be told only after the last event.
func (r *reader) end() {
	r.t.Helper()
	if !r.finished {
		r.t.Error("the answer has no finish")
	}
	switch r.reason {
	case model.Stop:
		if len(r.calls) > 0 {
			r.t.Errorf("the answer has %d calls and ends with %q", len(r.calls), r.reason)
		}
	case model.ToolCalls:
		if len(r.calls) == 0 {
			r.t.Errorf("the answer has no calls and ends with %q", r.reason)
		}
		for _, call := range r.calls {
			if !json.Valid([]byte(call.Arguments)) {
				r.t.Errorf("the arguments of %s are not JSON: %s", call.Name, call.Arguments)
			}
		}
	case model.Length:
	default:
		r.t.Errorf("unknown finish reason %q", r.reason)
	}
}
