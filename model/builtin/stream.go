package builtin

import (
	"context"
	"strings"

	"github.com/seed-506d8e5d/svc/model"
)

// stream sends a reply as events, a token at a time, within a limit.
type stream struct {
	ctx   context.Context
	yield func(model.Event, error) bool
	stop  []string
	input int
	left  int // tokens that may still be sent
	sent  int // tokens sent
}

func newStream(ctx context.Context, req *model.Request, window int, yield func(model.Event, error) bool) *stream {
	input := model.PromptTokens(req, countTokens)
	left := window - input
	if req.MaxTokens > 0 {
		left = min(left, req.MaxTokens)
	}
	return &stream{ctx: ctx, yield: yield, stop: req.Stop, input: input, left: left}
}

// send sends the whole reply, or as much as the limit, the context and the
// consumer allow.
func (s *stream) send(r reply) {
	reason := model.Stop
	whole, more := true, true
	if len(r.calls) > 0 {
		reason = model.ToolCalls
		whole, more = s.sendCalls(r.calls)
	} else {
		whole, more = s.sendTokens(cutAtStop(r.text, s.stop), func(piece string) model.Event {
			return model.TextDelta{Text: piece}
		})
	}
	if !whole {
		reason = model.Length
	}
	if more && s.event(model.Usage{InputTokens: s.input, OutputTokens: s.sent}) {
		s.event(model.Finish{Reason: reason})
	}
}

// sendCalls reports whether everything was within the limit and whether more
// events are wanted.
func (s *stream) sendCalls(calls []model.ToolCall) (whole, more bool) {
	for _, call := range calls {
		name := countTokens(call.Name)
		if name > s.left {
			return false, true
		}
		s.left -= name
		s.sent += name
		if !s.event(model.ToolCallStart{ID: call.ID, Name: call.Name}) {
			return false, false
		}
		whole, more = s.sendTokens(call.Arguments, func(piece string) model.Event {
			return model.ToolCallDelta{Arguments: piece}
		})
		if !whole || !more {
			return whole, more
		}
	}
	return true, true
}

// sendTokens sends a text with an event for each token. Its results are those of
// sendCalls.
func (s *stream) sendTokens(text string, event func(string) model.Event) (whole, more bool) {
	for text != "" {
		if s.left == 0 {
			return false, true
		}
		n := tokenLen(text)
		if !s.event(event(text[:n])) {
			return false, false
		}
		text = text[n:]
		s.left--
		s.sent++
	}
	return true, true
}

// event sends one event, or where the context has ended what was used and its
// error, and reports whether more is wanted.
func (s *stream) event(e model.Event) bool {
	if err := s.ctx.Err(); err != nil {
		if s.yield(model.Usage{InputTokens: s.input, OutputTokens: s.sent}, nil) {
			s.yield(nil, err)
		}
		return false
	}
	return s.yield(e, nil)
}

// cutAtStop returns text up to the first stop sequence in it.
func cutAtStop(text string, stop []string) string {
	for _, sequence := range stop {
		if i := strings.Index(text, sequence); i >= 0 && sequence != "" {
			text = text[:i]
		}
	}
	return text
}
