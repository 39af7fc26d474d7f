// Package modeltest tests with models and tests models.
//
// [Script] is a backend that answers as it is told: tests of everything above
// package model run on it. [Run] is the conformance suite of the contract in
// package model: the test of a backend is one call of it.
//
// Package model is the contract that is tested.
package modeltest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/seed-506d8e5d/svc/model"
)

// Script is a [model.Backend] that answers from a script and remembers what it
// was asked. The zero value has no answers and scores every option the same.
// Set the fields before the first call; the methods may be called concurrently.
//
// A Script has every optional interface of package model; [Plain] hides them.
type Script struct {
	// Answers are given to successive requests, in the order in which their
	// sequences are first ranged over. A request for which none is left fails
	// with [ErrNoAnswer].
	Answers []Answer

	// Respond makes the answer to a request and is used in place of Answers
	// where it is not nil. It may be called concurrently and must not change the
	// request.
	Respond func(*model.Request) Answer

	// Scores answers Score; nil puts the same probability on every option. It
	// may be called concurrently and may block until the context ends.
	// [Distribution] makes one from a table.
	Scores func(context.Context, *model.ScoreRequest) (*model.Scores, error)

	// Decisions answers Decide; nil leaves every decision to Score. It may be called
	// concurrently.
	Decisions func(context.Context, *model.DecideRequest) (*model.Decision, error)

	// Embeddings answers Embed; nil makes vectors of three numbers, or as many as
	// are wanted, that begin with a 1, and counts as EstimateTokens does. It may be
	// called concurrently.
	Embeddings func(context.Context, *model.EmbedRequest) (*model.Embeddings, error)

	// Infos are the models; nil stands for [model.DefaultGenerator] and
	// [model.DefaultDecider].
	Infos []model.Info

	// Count answers CountTokens; nil estimates with [model.EstimateTokens].
	Count func(*model.Request) (int, error)

	mu       sync.Mutex
	requests []*model.Request // guarded by mu
	scores   []ScoreCall      // guarded by mu
	underWay int              // guarded by mu
	peak     int              // guarded by mu
}

var (
	_ model.Backend      = (*Script)(nil)
	_ model.Scorer       = (*Script)(nil)
	_ model.Decider      = (*Script)(nil)
	_ model.Embedder     = (*Script)(nil)
	_ model.Lister       = (*Script)(nil)
	_ model.TokenCounter = (*Script)(nil)
)

// New returns a Script that gives the answers in turn.
func New(answers ...Answer) *Script { return &Script{Answers: answers} }

// ErrNoAnswer is the error of a request for which a Script has no answer left.
var ErrNoAnswer = errors.New("modeltest: the script has no answer left")

var errUsed = errors.New("modeltest: the sequence was ranged over before")

// Generate implements [model.Backend].
func (s *Script) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	var used sync.Once
	return func(yield func(model.Event, error) bool) {
		first := false
		used.Do(func() { first = true })
		if !first {
			yield(nil, errUsed)
			return
		}
		answer := s.begin(req)
		defer s.end()
		answer.play(ctx, yield)
	}
}

// begin records a request and returns the answer to it.
func (s *Script) begin(req *model.Request) Answer {
	s.mu.Lock()
	turn := len(s.requests)
	s.requests = append(s.requests, cloneRequest(req))
	s.enter()
	s.mu.Unlock()

	if s.Respond != nil {
		return s.Respond(req)
	}
	if turn < len(s.Answers) {
		return s.Answers[turn]
	}
	return Fail(fmt.Errorf("%w: %d answers, request %d", ErrNoAnswer, len(s.Answers), turn+1))
}

// enter counts a call that begins and returns how many are under way with it.
// The caller holds mu.
func (s *Script) enter() int {
	s.underWay++
	s.peak = max(s.peak, s.underWay)
	return s.underWay
}

func (s *Script) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.underWay--
}

// Score implements [model.Scorer].
func (s *Script) Score(ctx context.Context, req *model.ScoreRequest) (*model.Scores, error) {
	s.mu.Lock()
	call := ScoreCall{Request: cloneScoreRequest(req), UnderWay: s.enter()}
	s.scores = append(s.scores, call)
	s.mu.Unlock()
	defer s.end()

	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.Scores != nil {
		return s.Scores(ctx, req)
	}
	return scoresOf(req, func(model.Option) float64 { return 1 }), nil
}

// Decide implements [model.Decider].
func (s *Script) Decide(ctx context.Context, req *model.DecideRequest) (*model.Decision, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.Decisions == nil {
		return nil, model.ErrUndecided
	}
	s.mu.Lock()
	s.enter()
	s.mu.Unlock()
	defer s.end()
	return s.Decisions(ctx, req)
}

// Embed implements [model.Embedder].
func (s *Script) Embed(ctx context.Context, req *model.EmbedRequest) (*model.Embeddings, error) {
	s.mu.Lock()
	s.enter()
	s.mu.Unlock()
	defer s.end()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.Embeddings != nil {
		return s.Embeddings(ctx, req)
	}
	e := &model.Embeddings{}
	for _, text := range req.Texts {
		vector := make([]float32, max(req.Dimensions, 3))
		if req.Dimensions > 0 {
			vector = vector[:req.Dimensions]
		}
		vector[0] = 1
		e.Vectors = append(e.Vectors, vector)
		e.InputTokens += model.EstimateTokens(text)
	}
	return e, nil
}

// Models implements [model.Lister].
func (s *Script) Models() []model.Info {
	if s.Infos != nil {
		return s.Infos
	}
	return []model.Info{
		{ID: model.DefaultGenerator, Generates: true, Embeds: true},
		{ID: model.DefaultDecider, Decides: true},
	}
}

// Model implements [model.Lister].
func (s *Script) Model(id string) (model.Info, bool) {
	infos := s.Models()
	i := slices.IndexFunc(infos, func(info model.Info) bool { return info.ID == id })
	if i < 0 {
		return model.Info{}, false
	}
	return infos[i], true
}

// CountTokens implements [model.TokenCounter].
func (s *Script) CountTokens(ctx context.Context, req *model.Request) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if s.Count != nil {
		return s.Count(req)
	}
	return model.PromptTokens(req, model.EstimateTokens), nil
}

// ScoreCall is one call of Score.
type ScoreCall struct {
	Request  *model.ScoreRequest
	UnderWay int // calls under way when it began, itself included
}

// Requests returns copies of the requests ranged over so far, in the order in
// which they began.
func (s *Script) Requests() []*model.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// ScoreCalls returns the calls of Score so far, in the order in which they
// began.
func (s *Script) ScoreCalls() []ScoreCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.scores)
}

// UnderWay returns how many calls of Generate, Score, Decide and Embed are under
// way.
func (s *Script) UnderWay() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.underWay
}

// Peak returns the most calls that were under way at once.
func (s *Script) Peak() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}

// Plain returns b as a backend without any optional interface.
func Plain(b model.Backend) model.Backend { return struct{ model.Backend }{b} }
