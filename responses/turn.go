package responses

import (
	"context"
	"iter"
	"slices"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/generation"
	"github.com/seed-506d8e5d/svc/internal/schema"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/storage"
)

// turn is one turn in the making.
type turn struct {
	*Service
	caller   accounts.Caller
	req      *Request
	settings generation.Settings // of the request
	schema   *schema.Schema      // of the format, nil where it has none
	info     model.Info
	point    *conversations.Point
	begins   bool // whether the turn begins its conversation
	store    bool
	release  func()      // lets the next turn of the conversation go on
	unrun    func() bool // says that the turn is run, and releases itself

	announced bool  // the first event does not wait for the model
	live      *live // where it is stored as running
	bare      bool  // it is stored without its output
	short     bool  // it is stored without the log-probabilities of its output

	input      []conversations.Item
	compaction *conversations.Compaction // that the turn has made, the first of its output
	kept       int                       // how many entries come behind it in the prompt
	cut        int                       // how many entries are left out of the prompt, but the instructions among them
	opening    []model.Message           // the prompt while there is no output, once it is built for the cut
	past       *transcript               // what the prompt begins with
	longer     *transcript               // what the next turn's begins with, where that is known
	built      bool                      // the prompt has been built behind the transcript
	documents  *generation.Documents
	response   *Response
	emitter    emitter
	meter      generation.Meter           // of all rounds
	settled    bool                       // what was used is charged, or was tried to be
	searches   []*conversations.WebSearch // that the model asked for in this round
	cancel     context.CancelCauseFunc    // ends it, while it runs
	planning   *planned                   // the search whose arguments are coming in
	thinking   thinking
}

// begin does everything that can refuse a request before a model is called. A
// turn that continues from a conversation waits for the ones before it, and the
// next one waits until it is run, or until ctx ends where it never is.
func (s *Service) begin(ctx context.Context, caller accounts.Caller, req *Request) (*turn, error) {
	return s.beginFrom(ctx, caller, req, nil)
}

// beginFrom is begin for a turn that continues from a point which is in no store;
// nil is none.
func (s *Service) beginFrom(ctx context.Context, caller accounts.Caller, req *Request, from *conversations.Point) (*turn, error) {
	t, err := s.check(ctx, caller, req)
	if err != nil {
		return nil, err
	}
	t.point = from
	release := func() {}
	if req.Conversation != "" {
		if release, err = s.o.Conversations.Queue(ctx, caller, req.Conversation); err != nil {
			return nil, err
		}
	}
	if err := t.prepare(ctx); err != nil || !t.store {
		release()
		return t, err
	}
	t.release = release
	t.unrun = context.AfterFunc(ctx, release)
	return t, nil
}

// check does what can refuse a request without its history.
func (s *Service) check(ctx context.Context, caller accounts.Caller, req *Request) (*turn, error) {
	settings := req.settings()
	settings.Tenant = caller.Organization
	if err := s.leaveOut(&settings); err != nil {
		return nil, err
	}
	compiled, err := req.check(&settings)
	if err != nil {
		return nil, err
	}
	info, err := s.models.Generator(req.Model)
	if err != nil {
		return nil, err
	}
	if err := caller.Allow(info.ID); err != nil {
		return nil, err
	}
	if err := settings.CheckEffort(names, info); err != nil {
		return nil, err
	}
	if err := s.o.Accounts.Afford(ctx, caller); err != nil {
		return nil, err
	}
	return &turn{
		Service: s, caller: caller, req: req, settings: settings, schema: compiled, info: info,
		store: req.stored() && !caller.ZeroDataRetention, release: func() {}, unrun: func() bool { return true },
	}, nil
}

// prepare reads what the turn continues from and makes its first request.
func (t *turn) prepare(ctx context.Context) (err error) {
	if t.point == nil {
		t.point, err = t.o.Conversations.Continue(ctx, t.caller, t.req.PreviousResponseID, t.req.Conversation)
	}
	if err != nil {
		return err
	}
	if err := t.takeInput(ctx); err != nil {
		return err
	}
	if t.begins = t.point.Conversation == ""; t.begins {
		t.point.Conversation = t.o.NewID("conv")
	}
	t.response = &Response{
		ID: t.o.NewID("resp"), Conversation: t.point.Conversation, CreatedAt: t.o.Now().Unix(),
		Status: InProgress, Echo: t.req.echo(t.store),
	}
	if err := t.fit(ctx); err != nil {
		return err
	}
	return t.checkSize()
}

// takeInput makes the turn's input of the request's.
func (t *turn) takeInput(ctx context.Context) error {
	items, err := t.o.Conversations.Receive(ctx, t.caller, "input", t.req.Input, t.point.Entries)
	if err != nil {
		return err
	}
	t.recall()
	history := t.recent() // every call before that has its output
	if slices.ContainsFunc(items, isCallOrOutput) {
		history = t.point.Entries
	}
	if t.input, err = matchCalls(history, items, t.req.Conversation != ""); err != nil {
		return err
	}
	markCommentary(t.input)
	if !t.req.compacting && !slices.ContainsFunc(t.input, says) {
		return fault.Invalidf("input", "input has nothing new that a model can read: images, reasoning and what the history has already are left out.")
	}
	return t.readDocuments(ctx)
}

func isCallOrOutput(item conversations.Item) bool {
	switch item.(type) {
	case *conversations.FunctionCall, *conversations.FunctionCallOutput:
		return true
	}
	return false
}

// says reports whether a model can read an item of the input.
func says(item conversations.Item) bool {
	m, ok := item.(*conversations.Message)
	return !ok || len(m.Content) > 0
}

// checkSize refuses a turn that could not be stored, before a model works on it.
func (t *turn) checkSize() error {
	if !t.store {
		return nil
	}
	if err := conversations.CheckSize(t.input); err != nil {
		return err
	}
	body, err := t.response.encodeBody()
	if err == nil && len(body) > storage.MaxValue/2 {
		err = &fault.Error{Kind: fault.TooLarge, Code: conversations.CodeTooLarge, Message: "The instructions, tools and format are too large to be stored."}
	}
	return err
}

// run makes the turn.
func (t *turn) run(ctx context.Context, yield func(Event, error) bool) {
	t.unrun()
	defer t.release()
	ctx, t.cancel = context.WithCancelCause(ctx)
	defer t.cancel(nil)
	t.emitter = emitter{yield: yield, response: t.response}
	defer func() { t.running.remove(t.live) }()
	defer t.settle(ctx) // also where the consumer panics
	if t.live != nil {
		t.emitter.begin()
	}
	running, done := t.o.Accounts.Running(ctx, t.caller)
	defer done()
	err := accounts.Cause(running, t.generate(running))
	t.keep()
	if err != nil && t.emitter.sequence == 0 {
		t.settle(ctx)
		yield(Event{}, err)
		return
	}
	if t.emitter.stopped && err == nil && t.response.Status == InProgress {
		err = context.Canceled
	}
	t.end(ctx, err)
	if t.response.Status != Completed && !t.emitter.stopped {
		yield(Event{}, &TurnError{t.response})
	}
}

// generate runs the model, and the searches it asks for, until it has answered
// or the consumer has stopped.
func (t *turn) generate(ctx context.Context) error {
	if err := t.compact(ctx); err != nil {
		return err
	}
	req := t.request()
	for round := 1; ; round++ {
		last := round > t.o.MaxSearchRounds || t.searchesLeft() == 0
		if last {
			req.Tools = withoutSearch(req.Tools)
		}
		finish, err := t.answer(ctx, req)
		if err != nil || finish == "" {
			return err
		}
		if finish == model.Length {
			t.complete(conversations.Incomplete, MaxOutputTokens)
			return nil
		}
		if len(t.searches) == 0 {
			t.complete(conversations.Completed, "")
			return nil
		}
		if last {
			return fault.Upstreamf(errSearchesOn, "The model searched the web again and again and gave no answer.")
		}
		t.emitter.closeItem(conversations.Completed, conversations.Commentary)
		t.search(ctx)
		if err := ctx.Err(); err != nil || t.emitter.stopped {
			return err
		}
		if t.calls() {
			t.complete(conversations.Completed, "")
			return nil
		}
		if req = t.next(); req == nil {
			t.complete(conversations.Completed, MaxOutputTokens)
			return nil
		}
	}
}

// complete closes the item that is open, with a status, and completes the
// response; incomplete is why it is cut short, if it is. Text is the answer
// unless function calls wait for their outputs.
func (t *turn) complete(last conversations.Status, incomplete string) {
	phase := conversations.FinalAnswer
	if t.calls() {
		phase = conversations.Commentary
	}
	t.emitter.closeItem(last, phase)
	t.response.Incomplete = incomplete
	t.response.Status = Completed
}

// next is the request for another round, nil where the turn's allowance of
// tokens is used up. A tool that the caller demanded has been called.
func (t *turn) next() *model.Request {
	req := t.request()
	if req.ToolChoice.Mode != model.ToolNone {
		req.ToolChoice = model.ToolChoice{}
	}
	if req.MaxTokens > 0 {
		if req.MaxTokens -= t.meter.Usage().OutputTokens; req.MaxTokens < 1 {
			return nil
		}
	}
	return req
}

// calls reports whether the model has called functions of the caller's.
func (t *turn) calls() bool {
	for _, item := range t.response.Output {
		if _, ok := item.(*conversations.FunctionCall); ok {
			return true
		}
	}
	return false
}

// answer runs the model once and emits what it says. It returns why the answer
// ended, or nothing where the consumer stopped.
func (t *turn) answer(ctx context.Context, req *model.Request) (model.FinishReason, error) {
	t.searches, t.thinking = nil, thinking{}
	var tokens []model.Logprob // of the text that comes next
	for event, err := range t.asked(ctx, req) {
		if err != nil {
			return "", err
		}
		if err := t.show(ctx); err != nil {
			return "", err
		}
		switch e := event.(type) {
		case model.Logprobs:
			tokens = append(tokens, e.Tokens...)
		case model.Reasoning:
			t.thinking.add(e.Text)
		case model.TextDelta:
			t.endPlanning()
			if t.emitter.message == nil {
				t.showThought(ctx)
			}
			t.emitter.textDelta(e, tokens, t.o.NewID)
			tokens = nil
		case model.ToolCallStart:
			t.endPlanning()
			t.showThought(ctx)
			if e.Name == searchName && searches(t.settings.Tools) {
				t.planning = &planned{thought: t.thought()}
				break
			}
			t.emitter.callStart(t.newCall(e.Name))
		case model.ToolCallDelta:
			if t.planning != nil {
				t.planning.arguments.WriteString(e.Arguments)
				break
			}
			if t.emitter.call == nil {
				return "", fault.Upstreamf(errBroken, "The model's answer broke off.")
			}
			t.emitter.argumentsDelta(e.Arguments)
		case model.Finish:
			t.endPlanning()
			return e.Reason, nil
		}
		if t.emitter.stopped {
			return "", nil
		}
	}
	return "", fault.Upstreamf(errBroken, "The model's answer broke off.")
}

// newCall returns a call of the tool that the model knows by a name, under the
// name that the caller has for it.
func (t *turn) newCall(name string) *conversations.FunctionCall {
	called := t.req.called(name)
	c := &conversations.FunctionCall{
		Status: conversations.InProgress, Namespace: called.Namespace, Name: called.Name, Custom: called.Custom,
		Thought: t.thought(),
	}
	c.ID = t.o.NewID(c.Prefix())
	c.CallID = t.o.NewID("call")
	return c
}

// asked asks the model once.
func (t *turn) asked(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	generate := func(ctx context.Context) iter.Seq2[model.Event, error] {
		return generation.Stream(ctx, t.models, req, t.schema, &t.meter)
	}
	if t.announced && t.emitter.sequence == 0 {
		return generation.Announce(ctx, generate)
	}
	return generate(ctx)
}
