package decisions

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
)

// States reads what a state may refer to. Errors are *fault.Error values:
// NotFound for what the caller's organization does not have, Invalid for what
// cannot be read. The methods may be called concurrently and end with ctx.
type States interface {
	// File returns the text of an uploaded file.
	File(ctx context.Context, caller accounts.Caller, id string) (string, error)

	// Conversation returns what was said in a conversation as JSON.
	Conversation(ctx context.Context, caller accounts.Caller, id string) (string, error)
}

// reference is what a state stands for; the zero value is the state itself.
type reference struct{ file, conversation string }

// referenceIn returns what a valid state refers to. An object that only looks
// like a reference is judged itself: its value has to be an ID as the service
// makes them.
func referenceIn(state json.RawMessage) reference {
	if shapeOfValid(state) != jsonObject {
		return reference{}
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(state, &members) != nil || len(members) != 1 {
		return reference{}
	}
	id := func(name, prefix string) string {
		var value string
		if json.Unmarshal(members[name], &value) != nil || !strings.HasPrefix(value, prefix) {
			return ""
		}
		return value
	}
	return reference{file: id("file_id", "file_"), conversation: id("conversation", "conv_")}
}

// resolve puts what the state refers to in its place.
func (s *Service) resolve(ctx context.Context, c accounts.Caller, p *parsed) (err error) {
	if p.reference == (reference{}) {
		return nil
	}
	if s.states == nil {
		return invalid("state", "refers to what this service does not keep")
	}
	if p.reference.file != "" {
		p.state, err = s.states.File(ctx, c, p.reference.file)
	} else {
		p.state, err = s.states.Conversation(ctx, c, p.reference.conversation)
	}
	if e := fault.From(err); e != nil && e.Kind == fault.Invalid {
		return invalid("state", "%s", e.Message)
	}
	p.raw = raw(p.state)
	return err
}
