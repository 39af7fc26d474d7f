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

// turn is one turn in the making. Each of its parts names the steps that write it;
// every other step only reads it.
type turn struct {
	*Service
	asked
	origin
	documents *generation.Documents // the files of the prompt; written by readDocuments
	plan      promptPlan
	round     round
	mcp       mcpTurn // check, takeInput and the rounds write it
	saving    saving

	// What the turn has come to. The emitter and the meter fill both in while the
	// model runs; end and fail say how the turn ended.
	response *Response
	emitter  emitter
	meter    generation.Meter // of all calls of the model
	watch    accounts.Stopwatch

	cancel context.CancelCauseFunc // ends the turn while it runs; written by run and detach
}

// asked is what the caller asked for. check writes it, and Stream, Create and detach
// say whether the turn is announced.
type asked struct {
	caller    accounts.Caller
	req       *Request
	settings  generation.Settings // of the request
	schema    *schema.Schema      // of the format, nil where it has none
	info      model.Info
	announced bool // the first event does not wait for the model
}

// origin is what the turn continues from, and what it adds to that. beginFrom and
// prepare write it.
type origin struct {
	parent          *conversations.Parent
	newConversation bool // the turn begins its conversation
	input           []conversations.Item
	place           place
}

// place is the turn's place in the queue of its conversation.
type place struct {
	release func()      // lets the next turn go on; may be called more than once
	keep    func() bool // makes the turn itself release the place, at its end
}

// promptPlan is how the prompt is built of the history, the input and the output.
// takeInput and readDocuments choose the transcript, fit and compact shorten the
// prompt, and request remembers what it has built.
type promptPlan struct {
	begins     *transcript               // the prompt begins with it
	next       *transcript               // the next turn's prompt begins with it, nil where that is not known
	built      bool                      // the prompt has been built behind the transcript
	opening    []model.Message           // the prompt while there is no output, nil where it must be built
	leftOut    int                       // entries that are left out, but the instructions among them
	compaction *conversations.Compaction // that the turn has made, the first of its output
	behind     int                       // entries that come behind the compaction
}

// whole reports whether the prompt has everything that was said.
func (p *promptPlan) whole() bool { return p.leftOut == 0 && p.compaction == nil }

// round is what one call of the model has said beside the output. answer begins a
// new one for each call.
type round struct {
	searches []*conversations.WebSearch // that the model asked for
	calls    []*toolCall                // of servers' tools, likewise
	planned  *plannedCall               // the search or call whose arguments are coming in

	fileSearches []*conversations.FileSearch // that the model asked for

	thinking thinking
}

// saving is how the turn is stored and charged. check says whether it is stored,
// open stores it as running, and the steps of its end (ending.go) write the rest.
type saving struct {
	enabled         bool         // the turn is stored
	run             *runningTurn // nil where the turn is not stored as running
	withoutOutput   bool
	withoutLogprobs bool
	spent           int  // how many of the meter's Spent are charged
	charged         bool // what the turn used is charged, or charging it failed
}

// begin does everything that can refuse a request before a model is called. A
// turn that continues from a conversation waits for the ones before it, and the
// next one waits until it is run, or until ctx ends where it never is.
func (s *Service) begin(ctx context.Context, caller accounts.Caller, req *Request) (*turn, error) {
	return s.beginFrom(ctx, caller, req, nil)
}

// beginFrom is begin for a turn that continues from a point which is in no store;
// nil is none.
func (s *Service) beginFrom(ctx context.Context, caller accounts.Caller, req *Request, from *conversations.Parent) (*turn, error) {
	t, err := s.check(ctx, caller, req)
	if err != nil {
		return nil, err
	}
	t.parent = from
	release := func() {}
	if req.Conversation != "" {
		if release, err = s.o.Conversations.Queue(ctx, caller, req.Conversation); err != nil {
			return nil, err
		}
	}
	if err := t.prepare(ctx); err != nil || !t.saving.enabled {
		release()
		return t, err
	}
	t.place = place{release: release, keep: context.AfterFunc(ctx, release)}
	return t, nil
}

// check does what can refuse a request without its history.
func (s *Service) check(ctx context.Context, caller accounts.Caller, req *Request) (*turn, error) {
	settings := req.settings()
	settings.Tenant = caller.Organization
	if err := s.leaveOut(&settings); err != nil {
		return nil, err
	}
	servers, err := s.mcpServers(ctx, caller, req)
	if err != nil {
		return nil, err
	}
	if servers != nil {
		settings.ToolChoice, settings.AllowedTools = model.ToolChoice{}, nil // chosen when the servers' tools are known
	}
	if err := s.checkFileSearch(ctx, caller, req); err != nil {
		return nil, err
	}
	compiled, err := req.check(&settings)
	if err != nil {
		return nil, err
	}
	info, err := s.models.Generator(req.Model, caller.Models)
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
		Service: s,
		asked:   asked{caller: caller, req: req, settings: settings, schema: compiled, info: info},
		watch:   accounts.NewStopwatch(s.o.Now),
		origin:  origin{place: place{release: func() {}, keep: func() bool { return true }}},
		mcp:     mcpTurn{servers: servers, functions: settings.Tools},
		saving:  saving{enabled: req.stored() && !caller.ZeroDataRetention},
	}, nil
}

// prepare reads what the turn continues from and makes its first request.
func (t *turn) prepare(ctx context.Context) (err error) {
	if t.parent == nil {
		t.parent, err = t.o.Conversations.Continue(ctx, t.caller, t.req.PreviousResponseID, t.req.Conversation)
	}
	if err != nil {
		return err
	}
	if err := t.takeInput(ctx); err != nil {
		return err
	}
	if t.newConversation = t.parent.Conversation == ""; t.newConversation {
		t.parent.Conversation = t.o.NewID("conv")
	}
	t.response = &Response{
		ID: t.o.NewID("resp"), Conversation: t.parent.Conversation, CreatedAt: t.o.Now().Unix(),
		Status: InProgress, Echo: t.req.echo(t.saving.enabled), Trace: accounts.Trace{Key: t.caller.Key},
	}
	t.recallTools()
	judged := func(err error) error { return err }
	if t.req.Guard != nil {
		judged = generation.Admit(ctx, t.request())
	}
	err = t.fit(ctx)
	if err == nil {
		err = t.checkSize()
	}
	return judged(err)
}

// takeInput makes the turn's input of the request's.
func (t *turn) takeInput(ctx context.Context) error {
	items, err := t.o.Conversations.Receive(ctx, t.caller, "input", t.req.Input, t.parent.Entries)
	if err != nil {
		return err
	}
	t.recall()
	history := t.recent() // every call before that has its output
	if slices.ContainsFunc(items, isCallOrOutput) {
		history = t.parent.Entries
	}
	if t.input, err = matchCalls(history, items, t.req.Conversation != ""); err != nil {
		return err
	}
	if t.input, err = t.matchApprovals(ctx, t.input); err != nil {
		return err
	}
	markCommentary(t.input)
	if !t.req.compacting && !slices.ContainsFunc(t.input, isReadable) {
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

// isReadable reports whether a model can read an item of the input.
func isReadable(item conversations.Item) bool {
	m, ok := item.(*conversations.Message)
	return !ok || len(m.Content) > 0
}

// checkSize refuses a turn that could not be stored, before a model works on it.
func (t *turn) checkSize() error {
	if !t.saving.enabled {
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
	t.place.keep()
	defer t.place.release()
	ctx, t.cancel = context.WithCancelCause(ctx)
	defer t.cancel(nil)
	t.emitter = emitter{yield: yield, response: t.response}
	defer func() { t.running.remove(t.saving.run) }()
	defer t.settle(ctx) // also where the consumer panics
	if t.saving.run != nil {
		t.emitter.begin()
	}
	running, done := t.o.Accounts.Running(ctx, t.caller)
	defer done()
	err := accounts.Cause(running, t.generate(running))
	t.leaveTranscript()
	if err != nil && t.emitter.sequence == 0 {
		t.settle(ctx)
		yield(Event{}, err)
		return
	}
	if t.emitter.stopped && err == nil && t.response.Status == InProgress {
		err = context.Canceled
	}
	t.end(ctx, err)
	if !t.response.answered() && !t.emitter.stopped {
		yield(Event{}, &TurnError{t.response})
	}
}

// generate runs the model, and the searches and calls that it asks for, until it has
// answered, the caller has to approve calls, or the consumer has stopped.
func (t *turn) generate(ctx context.Context) error {
	if err := t.compact(ctx); err != nil {
		return err
	}
	defer t.closeServers()
	if err := t.useServers(ctx); err != nil {
		return err
	}
	req := t.request()
	for round := 1; ; round++ {
		last := round > t.mostRounds() || t.callsLeft() == 0
		if last {
			req.Tools = t.withoutHosted(req.Tools)
		}
		finish, err := t.answer(ctx, req)
		if err != nil || finish == "" {
			return err
		}
		if finish == model.ContentFilter {
			t.block()
			return nil
		}
		if finish == model.Length {
			t.complete(conversations.Incomplete, MaxOutputTokens)
			return nil
		}
		if len(t.round.searches)+len(t.round.fileSearches)+len(t.round.calls) == 0 {
			t.complete(conversations.Completed, "")
			return nil
		}
		if last {
			return fault.Upstreamf(errSearchesOn, "The model called tools again and again and gave no answer.")
		}
		t.emitter.closeItem(conversations.Completed, conversations.Commentary)
		left := t.callsLeft()
		t.search(ctx)
		t.searchFiles(ctx)
		waits := t.callTools(ctx, left-len(t.round.searches)-len(t.round.fileSearches))
		if err := ctx.Err(); err != nil || t.emitter.stopped {
			return err
		}
		if waits || t.calls() {
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

// mostRounds is how often the model may call tools that the service runs before it
// must answer. Calls of servers' tools build on each other more than searches do.
func (t *turn) mostRounds() int {
	if len(t.mcp.servers) > 0 {
		return t.o.MaxCallRounds
	}
	return t.o.MaxSearchRounds
}

// block ends a turn whose output was blocked: nothing that the model said stays.
func (t *turn) block() {
	t.emitter.seal(conversations.Incomplete, "")
	t.response.Output = slices.DeleteFunc(t.response.Output, func(item conversations.Item) bool {
		switch item.(type) {
		case *conversations.WebSearch, *conversations.MCPListTools, *conversations.MCPCall, *conversations.Compaction:
			return false // what was done
		}
		return true
	})
	t.response.Status, t.response.Incomplete = Incomplete, ContentFilter
}

// next is the request for another round, nil where the turn's allowance of
// tokens is used up. A tool that the caller demanded has been called.
func (t *turn) next() *model.Request {
	req := t.request()
	if t.req.MCPChoice != nil {
		req.Tools = t.settings.Tools
	}
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
	t.round = round{}
	t.emitter.marks = t.newMarks()
	var tokens []model.Logprob // of the text that comes next
	for event, err := range t.callModel(ctx, req) {
		if err != nil {
			return "", err
		}
		if err := t.show(ctx); err != nil {
			return "", err
		}
		t.time(event, req)
		switch e := event.(type) {
		case model.Logprobs:
			tokens = append(tokens, e.Tokens...)
		case model.Reasoning:
			t.round.thinking.add(e.Text)
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
				t.round.planned = &plannedCall{thought: t.thought()}
				break
			}
			if tool, ok := t.mcp.offered[e.Name]; ok {
				t.round.planned = &plannedCall{thought: t.thought(), tool: tool}
				break
			}
			if e.Name == fileSearchName && t.req.FileSearch != nil {
				t.round.planned = &plannedCall{thought: t.thought(), files: true}
				break
			}
			t.emitter.callStart(t.newCall(e.Name))
		case model.ToolCallDelta:
			if t.round.planned != nil {
				t.round.planned.arguments.WriteString(e.Arguments)
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

// time notes when the first piece of a streamed answer has come.
func (t *turn) time(event model.Event, req *model.Request) {
	if _, started := event.(model.Started); !started && !req.Whole {
		t.watch.Token()
	}
}

// newCall returns a call of the tool that the model knows by a name, under the
// name that the caller has for it.
func (t *turn) newCall(name string) *conversations.FunctionCall {
	alias := t.req.alias(name)
	c := &conversations.FunctionCall{
		Status: conversations.InProgress, Namespace: alias.Namespace, Name: alias.Name, Custom: alias.Custom, Tool: alias.Tool,
		Thought: t.thought(),
	}
	c.ID = t.o.NewID(c.Prefix())
	c.CallID = t.o.NewID("call")
	return c
}

// callModel calls the model once.
func (t *turn) callModel(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	generate := func(ctx context.Context) iter.Seq2[model.Event, error] {
		return generation.Stream(ctx, t.models, req, t.schema, &t.meter)
	}
	if t.announced && t.emitter.sequence == 0 && !t.info.Routes {
		return generation.Announce(ctx, generate)
	}
	return generate(ctx)
}
