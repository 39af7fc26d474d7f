// Package decisions judges a state: it answers typed questions about it with
// probabilities read from a model, never with sampled text.
//
// A [Request] holds the state, optional images and 1 to 16 questions, each of
// type [Noul], [Choice], [Score] or [Labels]; [Service.Decide] returns a
// [Response] with an [Answer] to each. All questions are asked about the same prefix, the state
// and the images, so that a model server computes it once. A server that decides
// by itself is asked in one call, and otherwise each question is put to the model
// as labels to choose from. A question with more
// options than a model server shows probabilities for is asked in two levels,
// first about groups of options and then about the options in the likely ones.
package decisions

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/ids"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/storage"
)

// DefaultConcurrency is how many calls of the model one decision makes at once
// where [Options] do not say, behind the first: as many as one of the interface's
// may need. How many a server takes is the server's to say.
const DefaultConcurrency = MaxQuestions

// Options configure a [Service].
type Options struct {
	Backend  model.Backend     // required; a model decides where it is a [model.Scorer] that lists it
	Accounts *accounts.Service // decisions are charged there; nil: nobody is charged, and no decision is stored
	States   States            // nil: states refer to nothing
	Store    storage.Store     // the one that Accounts has, too; nil: there are no calibrations

	Now   func() time.Time           // the clock; nil: time.Now
	NewID func(prefix string) string // makes IDs, later ones sorting after earlier ones; nil: random ones that do

	// Concurrency is how many calls of the model one decision may have under
	// way at once; 0 is [DefaultConcurrency].
	Concurrency int

	Log *slog.Logger // where it goes that calibrations do not hold any more; nil: slog.Default()
}

// Service decides. Its methods may be called concurrently. Every error is a
// *fault.Error or becomes one by fault.From.
type Service struct {
	models      *model.Models
	accounts    accounting
	states      States
	priors      priors
	refusals    refusals
	checks      checks
	store       *storage.DB // nil: there are no calibrations
	now         func() time.Time
	newID       func(prefix string) string
	concurrency int
	shares      shares
	log         *slog.Logger
}

// New returns a Service.
func New(o Options) *Service {
	s := &Service{models: model.Use(o.Backend), accounts: free{}, states: o.States, concurrency: o.Concurrency, log: cmp.Or(o.Log, slog.Default())}
	if o.Accounts != nil {
		s.accounts = o.Accounts
	}
	if o.Store != nil {
		s.store = storage.Use(o.Store)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = ids.New
	}
	s.now, s.newID = o.Now, o.NewID
	if s.concurrency <= 0 {
		s.concurrency = DefaultConcurrency
	}
	return s
}

// endpoint names decisions in the ledger.
const endpoint = "decisions"

// MaxCalls is how many calls of the model one request may take. A request with more
// questions may take one for each.
const MaxCalls = 512

// Decide answers the questions of a request and charges the caller for its input
// tokens before it returns. A request that fails is charged for what models worked
// on, except where the model does not answer with labels.
//
// Errors: Invalid for a request that breaks a rule of the interface, takes more
// than [MaxCalls] or names a model that does not decide, with the path to the fault
// as Param and before the reason in the message; Denied for a model that the
// caller's key may not use; NoCredits; NotFound for a state that refers to what does
// not exist; Rejected for a request that does not fit the model's context window or
// leaves less than 1/128 of it free; and those of the model. All calls of the model
// have ended when Decide returns.
func (s *Service) Decide(ctx context.Context, c accounts.Caller, req *Request) (*Response, error) {
	watch := accounts.NewStopwatch(s.now)
	info, err := s.decider(req.Model)
	if err != nil {
		return nil, err
	}
	p, err := parse(req)
	if err != nil {
		return nil, err
	}
	if err := s.admit(ctx, c, info); err != nil {
		return nil, err
	}
	if err := s.resolve(ctx, c, p); err != nil {
		return nil, err
	}
	kept := s.keeps(c, req)
	if kept {
		if err := checkKept(req, p); err != nil {
			return nil, err
		}
	}
	plans, err := s.plan(ctx, info, p.questions, cmp.Or(req.Debias, info.Debias, 1))
	if err != nil {
		return nil, err
	}
	running, done := s.accounts.Running(ctx, c)
	defer done()
	share, leave := s.shares.join(c.Organization)
	defer leave()
	r := &run{service: s, caller: c, info: info, share: share, spent: new(atomic.Int64),
		base: baseOf(info, c, p), state: p.raw, images: p.images, scored: p.examples != ""}
	if err := s.checkWindow(ctx, info, r.base, plans); err != nil {
		return nil, err
	}
	err = r.answer(running, plans)
	if s.refusals.note(c.Organization, info.ID, err, s.now()) {
		return nil, err // which is not charged
	}
	if err != nil {
		s.accounts.ChargeCut(ctx, c, use(info, inputTokens(plans)))
		return nil, accounts.Cause(running, err)
	}
	resp, err := s.respond(running, r, req, plans)
	if err != nil {
		s.accounts.ChargeCut(ctx, c, use(info, inputTokens(plans)))
		return nil, accounts.Cause(running, err)
	}
	also := c.Claim.Doing()
	if kept {
		also = s.keep(c, req, p, resp, s.accounts.Trace(c, use(info, resp.Usage.InputTokens), &watch))
	}
	// The model has done its work, also for a caller that has left meanwhile.
	if _, err := s.accounts.Charge(context.WithoutCancel(ctx), c, use(info, resp.Usage.InputTokens), also); err != nil {
		return nil, err
	}
	return resp, nil
}

func use(info model.Info, tokens int) accounts.Use {
	return accounts.Use{Endpoint: endpoint, Model: info.ID, Kind: accounts.Decision, InputTokens: tokens}
}

// decider returns the model with an ID, which must be one that decides.
func (s *Service) decider(id string) (model.Info, error) {
	if id == "" {
		return model.Info{}, invalid("model", "is required")
	}
	info, ok := s.models.Find(id)
	if !ok || !info.Decides {
		return model.Info{}, invalid("model", "%.128q is not a decision model", id)
	}
	return info, nil
}

// admit returns an error where the caller may not have the model called.
func (s *Service) admit(ctx context.Context, c accounts.Caller, info model.Info) error {
	if err := c.Allow(info.ID); err != nil {
		return err
	}
	if err := s.accounts.Afford(ctx, c); err != nil {
		return err
	}
	return s.refusals.check(c.Organization, info.ID, s.now())
}

// baseOf returns what all questions about a state share.
func baseOf(info model.Info, c accounts.Caller, p *parsed) model.ScoreRequest {
	return model.ScoreRequest{Model: info.ID, Tenant: model.Tenant(c.Organization, c.Background), Instructions: instructions, State: p.prefix(), Memo: new(model.Memo)}
}

// plan plans the calls about questions. It counts them first: options, orders and
// groups multiply.
func (s *Service) plan(ctx context.Context, info model.Info, questions []question, orders int) ([]*plan, error) {
	calls := 0
	for i := range questions {
		q := &questions[i]
		q.labels = s.models.Labels(ctx, info.ID, len(q.options))
		calls += q.calls(orders)
	}
	if most := max(MaxCalls, len(questions)); calls > most {
		path := "questions"
		if orders > 1 {
			path = "debias"
		}
		return nil, invalid(path, "the request would take %d calls of the model, more than %d; ask fewer questions, options or orders", calls, most)
	}
	plans := make([]*plan, len(questions))
	for i := range questions {
		plans[i] = newPlan(&questions[i], orders)
	}
	return plans, nil
}

// maxTokenBytes is how many bytes of text are taken for a token at most, without
// counting.
const maxTokenBytes = 16

// checkWindow refuses a request whose text and images, all questions together,
// come close to the model's context window. The last 1/128 of it, 3,072 tokens of
// 393,216, stays free for what a chat template adds and for counts that are
// estimates. Each question counts once, however often it is asked. No tokenizer
// makes more tokens than there are bytes, so tokens are counted only where the
// length in bytes leaves a doubt.
func (s *Service) checkWindow(ctx context.Context, info model.Info, base model.ScoreRequest, plans []*plan) error {
	most := info.Window() - info.Window()/128
	var questions strings.Builder
	var images []model.Part
	for _, p := range leaves(plans) {
		text, _ := p.first.render()
		questions.WriteString(text)
		questions.WriteByte('\n')
		if questions.Len()/maxTokenBytes > most {
			return fault.ContextLength("The questions have more than %d tokens, but at most %d of the %d in the model's context window may be used.",
				questions.Len()/maxTokenBytes, most, info.Window())
		}
		for _, image := range p.question.images {
			images = append(images, image)
		}
	}
	req := &model.Request{Model: base.Model, Messages: []model.Message{
		model.TextMessage(model.System, base.Instructions),
		{Role: model.User, Parts: slices.Concat(base.State, images, []model.Part{model.Text(questions.String())})},
	}}
	if model.PromptTokens(req, func(text string) int { return len(text) }) <= most {
		return nil
	}
	count, err := s.models.CountTokens(ctx, req)
	if err != nil {
		return err
	}
	if count > most {
		return fault.ContextLength("The request has %d tokens, images included, but at most %d of the %d in the model's context window may be used.",
			count, most, info.Window())
	}
	return nil
}

// respond returns the answers that plans have, calibrated where their questions
// have a calibration.
func (s *Service) respond(ctx context.Context, r *run, req *Request, plans []*plan) (*Response, error) {
	found, err := s.calibrationsOf(ctx, r.caller, r.info, req, plans)
	if err != nil {
		return nil, err
	}
	if r.info.PriorStates > 0 {
		s.priors.take(r.caller.Organization, r.info, plans, found)
	}
	resp := newResponse(r.info.ID, plans)
	resp.Ordered, resp.Abstains = req.Debias > 0, req.AbstainAboveError > 0
	return resp, s.calibrate(ctx, r, req, plans, found, resp)
}

// newResponse returns the answers that plans have.
func newResponse(modelID string, plans []*plan) *Response {
	resp := &Response{Model: modelID, Answers: make([]Answer, len(plans))}
	for i, p := range plans {
		resp.Answers[i] = answer(p.question, p.result())
		resp.Answers[i].OrderVariation = p.variation
	}
	resp.Usage.InputTokens = inputTokens(plans)
	return resp
}
