package openai

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

const (
	// maxAnswer bounds the text, reasoning and arguments of one answer, in bytes.
	maxAnswer = 64 << 20

	// wholeAnswer is how long an answer may take that comes as a whole.
	wholeAnswer = 20 * time.Minute

	// maxProse is how many bytes of text an answer that has to call a tool may begin
	// with. A server that lets the model write more does not make it call one.
	maxProse = 1000

	// usageWait is how long the usage may come after the end of an answer.
	usageWait = 5 * time.Second
)

var (
	errUsed     = errors.New("openai: the sequence was ranged over before")
	errNoEnd    = errors.New("openai: the stream ended without a finish reason")
	errNotJSON  = errors.New("openai: the stream is not JSON")
	errTooMuch  = errors.New("openai: the answer is too long")
	errBlanks   = errors.New("openai: the answer is nothing but white space")
	errReported = errors.New("openai: the server reports an error")
)

// Generate implements [model.Backend].
func (b *Backend) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	var used atomic.Bool
	return func(yield func(model.Event, error) bool) {
		if used.Swap(true) {
			yield(nil, errUsed)
			return
		}
		a := &answer{backend: b, ctx: ctx, req: req, yield: yield}
		err := ctx.Err()
		if err == nil {
			err = a.run()
		}
		if ended := ctx.Err(); ended != nil {
			err = ended
			if a.asked && !a.begun { // the server has read the prompt for nobody
				if a.whole {
					b.abandonments.put(req.Tenant, struct{}{}, time.Now())
				}
				a.begun = true
				a.spend(err)
			}
		}
		if a.stopped || a.begun && !yield(a.spent, nil) {
			return
		}
		if ended := ctx.Err(); ended != nil { // with the usage
			err = ended
		}
		if err != nil {
			yield(nil, err)
			return
		}
		yield(model.Finish{Reason: a.reason, StopSequence: a.sequence}, nil)
	}
}

// run makes the events of an answer but the last two.
func (a *answer) run() error {
	if a.served = a.backend.find(a.req.Model); a.served == nil {
		return notFound(a.req.Model, nil)
	}
	if err := a.backend.check(a.ctx, a.served, a.req); err != nil {
		return err
	}
	mode := a.req.ToolChoice.Mode
	a.forced = len(a.req.Tools) > 0 && (mode == model.ToolRequired || mode == model.ToolNamed)
	if t := a.served.preferred()[0]; a.forced && (t.traits().ignoresForce || t.facts.get().unforced) {
		a.begun = true
		return a.force()
	}
	if err := a.served.do(a.ctx, a.req.Tenant, a.attempt); err != nil {
		return err
	}
	if a.forced && a.calls.sent == 0 && !a.stopped {
		if a.held.Len() > 0 {
			a.target.facts.learn(func(k *known) { k.unforced = true })
		}
		a.held.Reset()
		return a.force()
	}
	a.flush()
	return nil
}

// check refuses a request that servers would take and answer wrongly.
func (b *Backend) check(ctx context.Context, m *served, req *model.Request) error {
	if m.NoImages && slices.ContainsFunc(req.Messages, hasImage) {
		return errNoImages()
	}
	info := m.info()
	info.ID = req.Model
	return model.Use(b).CheckWindow(ctx, info, req)
}

func errNoImages() error { return rejected("The model does not read images.", nil) }

func notFound(id string, cause error) error {
	e := fault.Missing(model.CodeNotFound, "generation model", id)
	e.Param, e.Err = "model", cause
	return e
}

// answer is one answer in the making.
type answer struct {
	backend *Backend
	served  *served
	ctx     context.Context // of the caller
	req     *model.Request
	forced  bool // the answer has to call a tool

	yield   func(model.Event, error) bool
	stopped bool // the consumer wants no more
	whole   bool // the answer was asked for as a whole
	asked   bool // a server has been sent the request and has not refused it
	begun   bool // the model has begun to answer: it cannot be asked again

	target   *target         // that was asked last
	thought  strings.Builder // reasoning that is not reported yet, where it is asked for
	as       string          // how it came: the name of a field, or thinkOpen
	logprobs logprobs        // of the text, where they are asked for
	think    thinkFilter
	json     jsonEnd
	calls    toolCalls
	held     strings.Builder // text that may not be shown yet, or not at all
	chunk    chunk           // that was read last
	more     bool            // more text is here already
	size     int             // bytes of everything generated
	pieces   int             // events with something generated
	reason   model.FinishReason
	sequence string      // the stop sequence behind it
	spent    model.Usage // by answers that have ended
	usage    model.Usage // of this answer, as the server counted
	counted  bool        // it did
	since    int         // pieces that came after it did
}

// attempt asks a target. When the model has begun to answer it is not asked
// again: failures are final.
func (a *answer) attempt(ctx context.Context, t *target) error {
	a.asked, a.target = true, t
	x, err := a.open(ctx, t)
	if err != nil {
		a.asked = ctx.Err() != nil
		return err
	}
	defer x.close()
	a.usage, a.counted = model.Usage{}, false
	a.calls = toolCalls{single: a.req.SingleToolCall}
	if a.req.ToolChoice.Mode != model.ToolNone {
		a.calls.tools = a.req.Tools
	}
	if a.req.ToolChoice.Mode == model.ToolNamed {
		a.calls.only = a.req.ToolChoice.Name
	}
	if err = a.read(x); err == nil && a.counted {
		if !a.whole && a.pieces > 0 {
			perPiece := min(1, float64(a.usage.OutputTokens)/float64(a.pieces))
			t.facts.learn(func(k *known) { k.perPiece = lower(k.perPiece, perPiece) })
		}
		err = a.backend.checkPrompt(ctx, t, a.req, a.usage.InputTokens)
	}
	if a.begun {
		a.spend(err)
	}
	if f, ok := errors.AsType[*failure](err); ok && a.begun {
		f.passing = false
	}
	return err
}

// open sends the request. A server that refuses a reasoning effort, which is not
// known to be one that it takes, is asked again without it. Only "none" has to
// be kept: without it the model may reason. One that refuses the reasoning of
// messages is asked again without that, which the answer can do without.
func (a *answer) open(ctx context.Context, t *target) (*call, error) {
	w := newRequest(a.served, t, a.req)
	if a.forced || !t.stopsWhole(a.req.Tenant, a.backend) {
		w.stream()
	}
	a.whole = !w.Stream
	x, err := t.chat(ctx, w)
	f, ok := errors.AsType[*failure](err)
	switch {
	case ok && f.status == http.StatusNotFound && a.served == a.backend.others:
		return nil, notFound(a.req.Model, f.fault.Err) // no failure: it is final
	case ok && f.refuses() && w.ReasoningEffort != "" && a.req.ReasoningEffort != "none" &&
		a.served.Info.ReasoningEfforts == nil:
		w.ReasoningEffort = ""
		x, err = t.chat(ctx, w)
		f, ok = errors.AsType[*failure](err)
	}
	if ok && f.refuses() && f.fault.Code != fault.CodeContextLength && w.forgetReasoning() {
		if x, err = t.chat(ctx, w); err == nil {
			t.facts.learn(func(k *known) { k.noReasoning = true })
		}
	}
	return x, err
}

// chat sends a request for a chat completion, or for that of a text.
func (t *target) chat(ctx context.Context, w *wireRequest) (*call, error) {
	body, err := w.encode()
	if err != nil {
		return nil, err
	}
	patience := t.FirstToken
	if !w.Stream {
		patience = max(patience, wholeAnswer) // the first token comes with the last one
	}
	path := "/chat/completions"
	if w.Prompt != nil {
		path = "/completions"
	}
	x, err := t.sendWithin(ctx, patience, post(w.tenant, t.URL+path, body))
	if w.past != nil && (err != nil || !x.resp.progress.writtenWithin(0)) {
		w.past.release() // the connection may still read the buffer
	}
	return x, err
}

// read turns the answer of a server into events.
func (a *answer) read(x *call) error {
	if !x.streams() {
		data, err := x.read()
		if err != nil {
			return err
		}
		if err = a.parse(x, new(plainChunks), data, ""); err == nil {
			err = a.take(x)
		}
		if err != nil {
			return err
		}
		return a.end(x, errNoEnd)
	}
	events := newEventReader(x.resp)
	defer events.r.release()
	var ahead string // the text of the event after this one, where there is more
	for !a.stopped && a.ctx.Err() == nil {
		if a.more {
			events.skip()
			a.chunk = chunk{text: ahead}
		} else if done, err := a.next(x, events); done || err != nil {
			return err
		}
		// Log-probabilities and formats make more of an event than its text.
		if a.more = false; !a.req.Logprobs && a.free() {
			ahead, a.more = events.ahead()
		}
		if err := a.take(x); err != nil {
			return err
		}
		if a.forced && a.calls.none() && a.held.Len() > maxProse {
			return nil // it does not call a tool; the connection is closed
		}
		if a.reason == "" && !a.free() && (a.json.endless() || a.think.blanks() > maxBlanks) {
			return x.malformed(errBlanks)
		}
		if a.reason == "" && a.json.over() {
			a.reason = model.Stop
			return a.end(x, io.EOF)
		}
	}
	return a.ctx.Err()
}

// free reports whether the answer's text has no form to keep.
func (a *answer) free() bool { return a.req.Format.Type == model.FormatText || a.req.Format.Type == "" }

// next reads the next event, or ends the answer where there is none.
func (a *answer) next(x *call, events *eventReader) (done bool, err error) {
	data, named, err := events.next()
	if err == nil && string(data) == "[DONE]" {
		x.over()
		if a.reason == "" && a.begun {
			a.reason = model.Stop
		}
		err = io.EOF
	}
	if err != nil {
		return true, a.end(x, err)
	}
	return false, a.parse(x, &events.plain, data, named)
}

// parse reads the data of an event, or a whole answer.
func (a *answer) parse(x *call, plain *plainChunks, data []byte, named string) error {
	if named == "" && !a.req.Logprobs {
		if text, ok := plain.read(data); ok {
			a.chunk = chunk{text: text}
			return nil
		}
	}
	if !a.chunk.parse(data) {
		return x.malformed(errNotJSON)
	}
	if a.chunk.err.Exists() || named == "error" {
		return x.reported(a.chunk.err, data)
	}
	return nil
}

// take takes what an event says.
func (a *answer) take(x *call) error {
	c := &a.chunk
	if c.finish != "" {
		a.reason = finishReason(c.finish)
	}
	if slices.Contains(a.req.Stop, c.stop) {
		a.sequence = strings.Clone(c.stop)
	}
	if c.text != "" || c.reasoning != "" || c.calls.Exists() {
		a.pieces++
		a.since++
	}
	if c.counted {
		a.usage, a.counted, a.since = c.usage, true, 0
	}
	if a.req.Logprobs && !a.logprobs.add(c) {
		a.begun = true // it has read the prompt, which is charged
		return model.NoLogprobs(nil)
	}
	if !a.begun && (a.pieces > 0 || c.finish != "") {
		a.begun = true
		x.server.health.well()
		x.server.load.begins(time.Since(x.sent))
		a.emit(model.Started{})
	}
	if a.req.Reasoning && c.reasoning != "" {
		a.thought.WriteString(c.reasoning)
		a.as = reasoningField
		if c.plainName {
			a.as = "reasoning"
		}
	}
	if !a.more {
		a.wait(x)
	}
	a.size += len(c.text) + len(c.reasoning) + len(c.calls.Raw)
	if a.size > maxAnswer {
		return x.malformed(errTooMuch)
	}
	switch {
	case c.text == "":
	case a.req.Continue: // tags in it are part of the text
		a.text(c.text)
	default:
		if a.req.Reasoning {
			a.think.kept = &a.thought
		}
		shown := a.think.add(c.text)
		if a.think.inside || a.think.removed {
			a.as = thinkOpen
		}
		a.text(shown)
	}
	return a.toolCalls(x)
}

// wait says how long the next event may take.
func (a *answer) wait(x *call) {
	switch {
	case a.reason != "":
		x.wait(usageWait)
	case a.begun:
		x.wait(x.server.BetweenTokens)
	}
}

func finishReason(reason string) model.FinishReason {
	switch reason {
	case "length":
		return model.Length
	case "tool_calls", "function_call":
		return model.ToolCalls
	}
	return model.Stop
}

// end ends an answer whose stream ended with err. Once there is a finish reason
// nothing is missing but the usage.
func (a *answer) end(x *call, err error) error {
	if ended := a.ctx.Err(); ended != nil {
		return ended
	}
	if a.reason == "" {
		if err == io.EOF || errors.Is(err, errNoEnd) || errors.Is(err, errTooLong) {
			return x.truncated(err)
		}
		return x.broken(err)
	}
	a.text(a.think.end())
	if err := a.calls.end(a.reason == model.Length, a.emitCall); err != nil {
		return x.malformed(err)
	}
	if a.reason != model.Length {
		a.reason = model.Stop
		if a.calls.sent > 0 {
			a.reason = model.ToolCalls
		}
	}
	return nil
}

// spend adds up what the answer has cost, by an estimate where the server does
// not tell: 0 tokens of a prompt, or of what was generated, are not counted. An
// answer that was cut by err is estimated low: it must not cost more than the whole.
func (a *answer) spend(err error) {
	a.usage = a.target.within(a.usage, 1)
	if most := max(a.req.MaxTokens, a.size); a.req.MaxTokens > 0 && a.usage.OutputTokens > most {
		a.usage.OutputTokens = most // no token has less than a byte
		a.usage.ReasoningTokens = min(a.usage.ReasoningTokens, most)
	}
	if a.usage.InputTokens == 0 || a.usage.OutputTokens == 0 || a.since > 0 {
		const tokenBytes = 4 // about as many, and no event has less than one
		input, output, since := a.leastTokens()
		if whole, late := a.promptEstimate(err); late == nil {
			input, output, since = whole, max(a.pieces, a.size/tokenBytes), a.since
		}
		if a.usage.InputTokens == 0 {
			a.usage.InputTokens = input
		}
		if a.usage.OutputTokens > 0 {
			output = a.usage.OutputTokens + since // an early count has not all
		}
		if a.req.MaxTokens > 0 {
			output = min(output, max(a.req.MaxTokens, a.usage.OutputTokens))
		}
		a.usage.OutputTokens = output
	}
	a.spent = a.spent.Add(a.usage)
}

// leastTokens returns how many tokens the prompt has, the answer, and what came of it
// since the server counted, by the fewest that it has counted lately.
func (a *answer) leastTokens() (input, output, since int) {
	k := a.target.facts.get()
	input = model.PromptTextTokens(a.req, model.LeastTokens)
	if k.perByte > 0 {
		bytes := model.PromptTextTokens(a.req, func(s string) int { return len(s) })
		input = min(input, int(k.perByte*float64(bytes)))
	}
	perPiece := cmp.Or(k.perPiece, 1)
	return input, int(perPiece * float64(a.pieces)), int(perPiece * float64(a.since))
}

// lower returns the lowest of the values lately where least was that before value
// came; 0 is none. One that is higher raises it slowly.
func lower(least, value float64) float64 {
	if least == 0 || value < least {
		return value
	}
	return least + (value-least)/64
}

// promptEstimate estimates the tokens of the prompt of an answer that ended with
// err, which it returns.
func (a *answer) promptEstimate(err error) (int, error) {
	if err != nil {
		return 0, err
	}
	return a.backend.estimate(a.ctx, a.req, a.served.info().Window())
}
