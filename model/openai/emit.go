package openai

import (
	"strings"

	"github.com/seed-506d8e5d/svc/model"
)

// emit passes an event on, unless the consumer has stopped or gone.
func (a *answer) emit(e model.Event) {
	switch e.(type) {
	case model.TextDelta, model.Logprobs, model.ToolCallStart:
		a.emitReasoning()
	}
	if !a.stopped && a.ctx.Err() == nil && !a.yield(e, nil) {
		a.stopped = true
	}
}

// emitReasoning reports what has led to what comes now.
func (a *answer) emitReasoning() {
	if a.thought.Len() == 0 {
		return
	}
	text := a.thought.String()
	a.thought.Reset()
	if facts := &a.target.facts; facts.get().reasoningAs != a.as {
		facts.learn(func(k *known) { k.reasoningAs = a.as })
	}
	a.emit(model.Reasoning{Text: text})
}

// text passes text on. It is held back where the answer has to call a tool,
// until it does, and behind a call, until that is complete.
func (a *answer) text(text string) {
	switch {
	case text == "":
	case a.forced && a.calls.sent == 0 || len(a.calls.calls) > 0:
		a.held.WriteString(text)
	default:
		if a.req.Format.Type == model.FormatObject || a.req.Format.Type == model.FormatSchema {
			a.json.add(text)
		}
		a.emitText(text)
	}
}

// flush passes on what was held back.
func (a *answer) flush() {
	text := a.held.String()
	a.held.Reset()
	if strings.TrimSpace(text) != "" {
		a.emitText(text)
	}
}

// emitText passes text on, behind its tokens where they are asked for.
func (a *answer) emitText(text string) {
	if a.req.Logprobs {
		a.emit(model.Logprobs{Tokens: a.logprobs.take(text)})
	}
	a.emit(model.TextDelta{Text: text, More: a.more})
}

func (a *answer) toolCalls(x *call) error {
	if !a.chunk.calls.Exists() {
		return nil
	}
	if err := a.calls.add(a.chunk.calls, a.emitCall); err != nil {
		return x.malformed(err)
	}
	return nil
}

// emitCall passes an event of a call on, behind the text that came before.
func (a *answer) emitCall(e model.Event) {
	if _, starts := e.(model.ToolCallStart); starts && a.calls.sent == 1 {
		a.flush()
	}
	a.emit(e)
}
