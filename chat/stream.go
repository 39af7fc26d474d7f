package chat

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/generation"
	"github.com/seed-506d8e5d/svc/internal/schema"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/storage"
)

// Stream answers a request piece by piece. What refuses the request is the
// error that Stream returns: an Invalid request, a model that does not exist
// (NotFound) or is not the caller's to use (Denied), no credits, a file that
// does not exist, a prompt over the context window (Rejected). No model has been
// called then, and nothing is charged.
//
// The sequence is single use. It begins when the model has taken the request, or
// after half a second with an empty chunk, and ends with the chunk that has the finish reason,
// which is yielded once the completion is charged and, unless the request or the
// caller's organization forbids it, stored; or with an error. When ctx ends or
// the consumer stops, the model stops, nothing is stored, and what was used until
// then is charged. Chunks are the consumer's to keep.
func (s *Service) Stream(ctx context.Context, caller accounts.Caller, req *Request) (iter.Seq2[Chunk, error], error) {
	r, err := s.start(ctx, caller, req)
	if err != nil {
		return nil, err
	}
	if req.CountInput {
		if r.input, err = s.models.CountTokens(ctx, r.prompt); err != nil {
			return nil, err
		}
	}
	r.announced = true
	return r.chunks(ctx), nil
}

// Complete answers a request as a whole: with what [Service.Stream] yields put
// together, or with the error of either its call or its sequence.
func (s *Service) Complete(ctx context.Context, caller accounts.Caller, req *Request) (*Completion, error) {
	r, err := s.start(ctx, caller, req)
	if err != nil {
		return nil, err
	}
	r.prompt.Whole = true
	for _, err := range r.chunks(ctx) {
		if err != nil {
			return nil, err
		}
	}
	return &r.completion, nil
}

// run is one completion in the making.
type run struct {
	service *Service
	caller  accounts.Caller
	dialect Dialect
	prompt  *model.Request
	input   int            // tokens of the prompt, where they were asked for
	schema  *schema.Schema // of the prompt's format, nil where it has none
	keep    []byte         // the encoded messages, nil where nothing is to be stored

	completion Completion
	choice     *Choice         // of the completion: the one in the making
	index      int             // of it
	earlier    model.Usage     // of the choices before it
	text       strings.Builder // of the answer so far
	arguments  strings.Builder // of the call begun last
	announced  bool            // the first chunk does not wait for the model
	routed     bool            // the model is a route
	begun      bool            // the first chunk has been yielded
	meter      generation.Meter
	watch      accounts.Stopwatch
	settled    bool // what was used is charged, or was tried to be
}

// start does everything that can refuse a request.
func (s *Service) start(ctx context.Context, caller accounts.Caller, req *Request) (*run, error) {
	r, info, err := s.prepare(caller, req)
	if err != nil {
		return nil, err
	}
	if err := s.accounts.Afford(ctx, caller); err != nil {
		return nil, err
	}
	if err := s.read(ctx, r, req); err != nil {
		return nil, err
	}
	r.prompt.Guard = req.Guard
	judged := generation.Admit(ctx, r.prompt)
	if err := judged(s.fit(ctx, r, req, info)); err != nil {
		return nil, err
	}
	r.completion = Completion{
		ID:       s.newID(req.prefix()),
		Created:  s.now().Unix(),
		Model:    req.Model,
		Calls:    req.Calls,
		Metadata: generation.MetadataOrEmpty(req.Metadata),
	}
	if req.N > 1 {
		r.completion.More = make([]Choice, req.N-1)
	}
	r.choice = &r.completion.Choice
	return r, nil
}

// fit checks the length of the prompt, and encodes the messages that are stored.
func (s *Service) fit(ctx context.Context, r *run, req *Request, info model.Info) (err error) {
	if err := s.models.CheckWindow(ctx, info, r.prompt); err != nil {
		return err
	}
	r.prompt.Continue = req.Dialect == legacyText
	if req.stored() && !r.caller.ZeroDataRetention {
		r.keep, err = encodeMessages(req.Messages)
	}
	return err
}

// prepare checks what can be checked without reading documents.
func (s *Service) prepare(caller accounts.Caller, req *Request) (*run, model.Info, error) {
	settings := req.settings()
	settings.Tenant = caller.Organization
	compiled, err := req.check(&settings)
	if err != nil {
		return nil, model.Info{}, err
	}
	info, err := s.models.Generator(req.Model, caller.Models)
	if err != nil {
		return nil, model.Info{}, err
	}
	if err := caller.Allow(info.ID); err != nil {
		return nil, model.Info{}, err
	}
	if err := settings.CheckEffort(names, info); err != nil {
		return nil, model.Info{}, err
	}
	prompt := settings.Request(nil)
	prompt.Stop, prompt.Tenant, prompt.Reasoning = req.Stop, model.Tenant(caller.Organization, caller.Background), req.Reasoning
	if info.Routes && req.N > 1 {
		return nil, model.Info{}, fault.Invalidf("n", "n must be 1: the model %q is a route, which has one answer.", info.ID)
	}
	return &run{routed: info.Routes, service: s, caller: caller, dialect: req.Dialect, prompt: prompt, schema: compiled, watch: accounts.NewStopwatch(s.now)}, info, nil
}

// read puts the messages into the prompt, with the documents read.
func (s *Service) read(ctx context.Context, r *run, req *Request) (err error) {
	r.prompt.Messages, err = s.messages(ctx, r.caller, req.Messages)
	return err
}

// CountTokens returns how many tokens the prompt of a request has. It is refused as
// [Service.Stream] refuses it, but for credits and the context window, and costs
// nothing.
func (s *Service) CountTokens(ctx context.Context, caller accounts.Caller, req *Request) (int, error) {
	r, _, err := s.prepare(caller, req)
	if err != nil {
		return 0, err
	}
	if err := s.read(ctx, r, req); err != nil {
		return 0, err
	}
	return s.models.CountTokens(ctx, r.prompt)
}

// errStopped says that the consumer of a sequence wants no more of it.
var errStopped = errors.New("chat: the consumer stopped")

// chunks yields the completion. Charging waits until the model has let go of
// everything: no transaction is open while it runs.
func (r *run) chunks(ctx context.Context) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		defer r.abandon(ctx) // also where the consumer panics
		err := r.generate(ctx, yield)
		for i := range r.completion.More {
			if err == nil && !yield(r.last(true), nil) {
				err = errStopped
			}
			if err == nil {
				r.next(i)
				err = r.generate(ctx, yield)
			}
		}
		if err == nil {
			err = r.finish(ctx)
		}
		r.end(ctx, err, yield)
	}
}

// end yields what comes last.
func (r *run) end(ctx context.Context, err error, yield func(Chunk, error) bool) {
	if err == nil {
		yield(r.last(false), nil)
		return
	}
	r.abandon(ctx)
	if err != errStopped {
		yield(Chunk{}, err)
	}
}

// last returns the last chunk of a choice.
func (r *run) last(next bool) Chunk {
	c := r.chunk()
	c.FinishReason, c.StopSequence, c.Next = r.choice.FinishReason, r.choice.StopSequence, next
	c.Refusal = r.choice.Refusal
	if !next {
		c.Usage = r.completion.Usage
	}
	return c
}

// next begins the next choice, the one with an index in More. Choices are made one after
// the other: a request holds one place at the model server, which has the prompt in
// its cache from the second choice on.
func (r *run) next(i int) {
	r.earlier, r.meter = r.usage(), generation.Meter{}
	r.choice, r.index, r.begun = &r.completion.More[i], i+1, false
	if seed := r.prompt.Sampling.Seed; seed != nil {
		r.prompt.Sampling.Seed = new(*seed + 1) // or all choices would be the same
	}
}

// usage is what all choices have used. Their prompt counts once.
func (r *run) usage() model.Usage {
	u := r.meter.Usage()
	if r.index > 0 {
		u.InputTokens, u.CachedTokens = r.earlier.InputTokens, r.earlier.CachedTokens
		u.OutputTokens += r.earlier.OutputTokens
		u.ReasoningTokens += r.earlier.ReasoningTokens
	}
	return u
}

// generate yields the answer of a choice up to its finish.
func (r *run) generate(ctx context.Context, yield func(Chunk, error) bool) error {
	ctx, done := r.running(ctx)
	defer done()
	var tokens []model.Logprob // of the text that comes next
	for event, err := range r.answer(ctx) {
		if err != nil {
			return accounts.Cause(ctx, err)
		}
		switch e := event.(type) {
		case model.Logprobs:
			tokens = append(tokens, e.Tokens...)
			continue
		case model.Finish:
			r.choice.FinishReason, r.choice.StopSequence = e.Reason, e.StopSequence
			r.endChoice()
			return nil
		case model.Started:
			if r.begun {
				continue // it was announced
			}
		}
		if _, started := event.(model.Started); !started && !r.prompt.Whole {
			r.watch.Token()
		}
		c := r.add(event)
		if c.Text != "" {
			c.Logprobs, tokens = tokens, nil
			r.choice.Logprobs = append(r.choice.Logprobs, c.Logprobs...)
		}
		if !yield(c, nil) {
			return errStopped
		}
	}
	return fault.Upstreamf(errors.New("the answer has no finish"), "The model's answer broke off.")
}

// running counts the model's work as the caller's. It has a frame of its own so
// that the copy of the caller does not lie in the stack while the model answers.
//
//go:noinline
func (r *run) running(ctx context.Context) (context.Context, func()) {
	return r.service.accounts.Running(ctx, r.caller)
}

func (r *run) answer(ctx context.Context) iter.Seq2[model.Event, error] {
	generate := func(ctx context.Context) iter.Seq2[model.Event, error] {
		return generation.Stream(ctx, r.service.models, r.prompt, r.schema, &r.meter)
	}
	if r.announced && !r.routed { // of a route nothing is said before it is known what answers
		return generation.Announce(ctx, generate)
	}
	return generate(ctx)
}

// add puts an event into the completion and returns the chunk that says so.
func (r *run) add(event model.Event) Chunk {
	c := r.chunk()
	switch e := event.(type) {
	case model.TextDelta:
		r.text.WriteString(e.Text)
		c.Text, c.More = e.Text, e.More
	case model.Reasoning:
		if r.prompt.Reasoning { // a backend may tell unasked
			r.choice.Thought += e.Text
			c.Thought = e.Text
		}
	case model.ToolCallStart:
		r.endCall()
		c.ToolCall = &CallDelta{Index: len(r.choice.ToolCalls), ID: e.ID, Name: e.Name}
		r.choice.ToolCalls = append(r.choice.ToolCalls, model.ToolCall{ID: e.ID, Name: e.Name})
	case model.ToolCallDelta:
		r.arguments.WriteString(e.Arguments)
		c.ToolCall = &CallDelta{Index: len(r.choice.ToolCalls) - 1, Arguments: e.Arguments}
	}
	return c
}

// chunk returns an empty chunk, the next of the stream.
func (r *run) chunk() Chunk {
	c := Chunk{ID: r.completion.ID, Created: r.completion.Created, Model: r.completion.Model, Answering: r.meter.Answering(), Choice: r.index, First: !r.begun}
	if c.First {
		c.Usage.InputTokens = r.input
	}
	r.begun = true
	return c
}

// endCall gives the call begun last its arguments.
func (r *run) endCall() {
	if n := len(r.choice.ToolCalls); n > 0 {
		r.choice.ToolCalls[n-1].Arguments = r.arguments.String()
		r.arguments.Reset()
	}
}

// refusal is what an answer says that a policy blocked.
const refusal = "The answer was blocked by a policy."

// endChoice completes the choice in the making. Of one that was blocked nothing is
// kept.
func (r *run) endChoice() {
	r.endCall()
	if r.choice.FinishReason == model.ContentFilter {
		*r.choice = Choice{Refusal: refusal, FinishReason: model.ContentFilter}
	} else if text := r.text.String(); text != "" || len(r.choice.ToolCalls) == 0 {
		r.choice.Content = &text
	}
	r.text.Reset()
}

// finish completes the completion, charges it, and stores it in the same
// transaction. The model has done its work: that ctx has ended in the meantime, or
// that the completion cannot be stored, does not change that it is paid for.
func (r *run) finish(ctx context.Context) error {
	c := &r.completion
	r.settled = true
	c.Usage, c.Answering = r.usage(), r.meter.Answering()
	r.chargeSpent(ctx)
	also := r.caller.Claim.Doing()
	record, unstored := r.record()
	if record != nil {
		also = func(tx storage.Tx) error {
			if err := tx.Set(recordKey(c.ID), record); err != nil {
				return err
			}
			if err := tx.Set(messagesKey(c.ID), r.keep); err != nil {
				return err
			}
			if err := setTags(tx, c.ID, nil, c.Metadata); err != nil {
				return err
			}
			return r.caller.Claim.Did(tx, c.ID)
		}
	}
	_, err := r.service.accounts.Charge(context.WithoutCancel(ctx), r.caller, r.use(c.ID), also)
	if err != nil && record != nil && !errors.Is(err, storage.ErrInDoubt) {
		r.service.accounts.ChargeCut(ctx, r.caller, r.use("")) // it was generated, and cannot be stored
	}
	return cmp.Or(err, unstored)
}

// record returns what is to be stored of the completion, nil for nothing: it goes
// without log-probabilities and thoughts where it is too large with them, and is a TooLarge
// error where it is too large without.
func (r *run) record() ([]byte, error) {
	if r.keep == nil {
		return nil, nil
	}
	const rest = 64 << 10 // of the transaction: the charge and the tags
	most := min(storage.MaxValue, storage.MaxTxBytes-rest-len(r.keep))
	stored := r.completion
	stored.Trace = r.service.accounts.Trace(r.caller, r.use(stored.ID), &r.watch)
	record, err := encodeRecord(&stored)
	if err == nil && len(record) > most {
		short := stored
		short.Logprobs, short.Thought = nil, ""
		short.More = slices.Clone(short.More)
		for i := range short.More {
			short.More[i].Logprobs, short.More[i].Thought = nil, ""
		}
		record, err = encodeRecord(&short)
	}
	if err == nil && len(record) > most {
		return nil, tooLarge("", "The completion is too large to be stored. Completions with store false are not.")
	}
	return record, err
}

// abandon charges what was used before the completion failed or was given up,
// unless that was done.
func (r *run) abandon(ctx context.Context) {
	if r.settled {
		return
	}
	r.settled = true
	r.completion.Usage = r.usage()
	r.chargeSpent(ctx)
	r.service.accounts.ChargeCut(ctx, r.caller, r.use(""))
}

// chargeSpent charges what other models than the one that answers have used.
func (r *run) chargeSpent(ctx context.Context) {
	for _, s := range r.meter.Spent() {
		r.service.accounts.ChargeCut(ctx, r.caller, accounts.SpentBy(r.use("").Endpoint, s))
	}
}

func (r *run) use(object string) accounts.Use {
	u := r.completion.Usage
	endpoint := string(r.dialect)
	if r.dialect == Completions {
		endpoint = "chat.completions"
	} else {
		object = "" // nothing is stored
	}
	return accounts.Use{
		Endpoint:        endpoint,
		Model:           cmp.Or(r.meter.Answering(), r.completion.Model),
		Object:          object,
		Kind:            accounts.Generation,
		InputTokens:     u.InputTokens,
		CachedTokens:    u.CachedTokens,
		OutputTokens:    u.OutputTokens,
		ReasoningTokens: u.ReasoningTokens,
	}
}
