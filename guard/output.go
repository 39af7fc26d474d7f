package guard

import (
	"context"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-506d8e5d/svc/model"
)

// Window is how many characters of an answer are held back at most until they are
// judged, where a stream has pieces of no more than that.
const Window = 1000

// before is how many bytes of the text before a window are shown with it.
const before = 3 * Window

// Output implements [model.Guard]. Text is held back until the window that it belongs to
// is judged, calls of tools until the answer is whole, and what was judged passes on as
// it came. Where all policies only log, nothing is held back. The error of a policy that
// could not be asked is as that of [Turn.Input].
func (t *Turn) Output(ctx context.Context, req *model.Request, answer iter.Seq2[model.Event, error]) iter.Seq2[model.Event, error] {
	if len(t.output) == 0 {
		return answer
	}
	return func(yield func(model.Event, error) bool) {
		h := &holding{turn: t, ctx: ctx, prompt: newPrompt(req), whole: req.Whole, yield: yield}
		h.holds = slices.ContainsFunc(t.output, func(g group) bool { return g.holds() })
		for event, err := range answer {
			if err != nil {
				yield(nil, err) // what was not judged is not sent
				return
			}
			if !h.take(event) {
				break
			}
		}
		h.end()
	}
}

// holding is an answer on its way through the policies.
type holding struct {
	turn   *Turn
	ctx    context.Context
	prompt prompt
	whole  bool // nobody looks at pieces
	holds  bool // events wait for the verdict
	yield  func(model.Event, error) bool

	events    []model.Event   // held back
	chars     int             // of the text among them
	text      strings.Builder // all text
	passed    int             // bytes of it that were judged
	reasoning strings.Builder // that was not judged
	calls     []model.ToolCall

	last model.Event // what to yield once the model has let go
	err  error
}

// take takes an event and reports whether more are wanted.
func (h *holding) take(event model.Event) bool {
	switch e := event.(type) {
	case model.Started, model.Usage:
		return h.yield(event, nil)
	case model.TextDelta:
		n := utf8.RuneCountInString(e.Text)
		if h.holds && !h.whole && h.chars > 0 && h.chars+n > Window && !h.release(false) {
			return false
		}
		h.text.WriteString(e.Text)
		h.chars += n
	case model.Reasoning:
		h.reasoning.WriteString(e.Text)
	case model.ToolCallStart:
		h.calls = append(h.calls, model.ToolCall{ID: e.ID, Name: e.Name})
	case model.ToolCallDelta:
		if n := len(h.calls); n > 0 {
			h.calls[n-1].Arguments += e.Arguments
		}
	case model.Finish:
		if h.release(true) {
			h.last = event
		}
		return false
	}
	if !h.holds {
		return h.yield(event, nil)
	}
	h.events = append(h.events, event)
	return true
}

// release judges what was not judged and passes on what was held back; last says that
// the answer is whole. It reports whether more is wanted: not of what was blocked.
func (h *holding) release(last bool) bool {
	said := said{reasoning: h.reasoning.String(), text: h.text.String()[h.shown():]}
	if last {
		said.calls = h.calls
	}
	if last || !said.empty() {
		refusal, err := h.judge(&said, last)
		if err != nil {
			h.err = err
			return false
		}
		if refusal != nil {
			h.last = model.Finish{Reason: model.ContentFilter}
			return false
		}
	}
	h.passed = h.text.Len()
	h.reasoning.Reset()
	held := h.events
	h.events, h.chars = nil, 0
	for _, event := range held {
		if !h.yield(event, nil) {
			return false
		}
	}
	return true
}

// shown is where the text begins that is judged next: some of what was judged before is
// shown again, from the beginning of a character.
func (h *holding) shown() int {
	from := max(h.passed-before, 0)
	text := h.text.String()
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from--
	}
	return from
}

// judge asks the policies about a part of the answer. Nothing said passes.
func (h *holding) judge(s *said, last bool) (*Refusal, error) {
	t := h.turn
	if s.empty() {
		for _, g := range t.output {
			for _, p := range g.policies {
				t.note(p, Output, Passed, last)
			}
		}
		return nil, nil
	}
	var asked []inquiry
	for _, g := range t.output {
		w := h.prompt.state(g.sees())
		s.write(&w)
		w.EndObject()
		asked = append(asked, inquiry{group: g, state: w.Buf})
	}
	return t.ask(h.ctx, Output, asked, last)
}

// end yields what comes last.
func (h *holding) end() {
	if h.err != nil {
		h.yield(nil, h.err)
	} else if h.last != nil {
		h.yield(h.last, nil)
	}
}
