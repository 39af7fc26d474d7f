package modeltest

import (
	"context"
	"testing"

	"github.com/seed-506d8e5d/svc/driver"
	"github.com/seed-506d8e5d/svc/model"
)

// Options tell [Run] about the backend under test. The zero value is for a
// backend that follows its requests.
type Options struct {
	// Model, Decider and Embedder are the models to test; empty stands for the
	// first one in the backend's list that generates, decides or embeds.
	Model, Decider, Embedder string

	// Scripted is set for a double that answers without reading the request: the
	// rules about what an answer says (tool choice, format, length, stop
	// sequences) are skipped. Its answers must have at least two events.
	Scripted bool
}

// rule is one sentence of the contract and the check of it.
type rule struct {
	name  string
	reads bool // holds only for a backend that reads its requests
	check func(*testing.T, subject)
}

// subject is a fresh backend and the models to ask.
type subject struct {
	*model.Models
	driver             model.Backend
	generator, decider string
	embedder           string // empty: no model embeds
}

// Run tests a backend against the contract of package model, its optional
// interfaces included where it has them. Each rule is a subtest with a backend
// of its own from open, which should release it with t.Cleanup. Answers to the
// suite's questions are expected within the time limit of the test binary.
func Run(t *testing.T, open func(*testing.T) model.Backend, opts Options) {
	b := open(t)
	rules := generateRules
	rules = append(rules[:len(rules):len(rules)], readingRules...)
	if _, ok := driver.As[model.Scorer](b); ok {
		rules = append(rules, scoreRules...)
	}
	if newSubject(b, opts).decides(t.Context()) {
		rules = append(rules, decideRules...)
	}
	if newSubject(b, opts).embedder != "" {
		rules = append(rules, embedRules...)
	}
	if _, ok := driver.As[model.Lister](b); ok {
		rules = append(rules, listRules...)
	}
	if _, ok := driver.As[model.TokenCounter](b); ok {
		rules = append(rules, countRules...)
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			if r.reads && opts.Scripted {
				t.Skip("the backend is scripted")
			}
			r.check(t, newSubject(open(t), opts))
		})
	}
}

func newSubject(b model.Backend, opts Options) subject {
	s := subject{Models: model.Use(b), driver: b, generator: opts.Model, decider: opts.Decider, embedder: opts.Embedder}
	for _, info := range s.List() {
		if info.Generates && s.generator == "" {
			s.generator = info.ID
		}
		if info.Decides && s.decider == "" {
			s.decider = info.ID
		}
		if info.Embeds && s.embedder == "" {
			s.embedder = info.ID
		}
	}
	return s
}

// request returns a request with one user message.
func (s subject) request(text string) *model.Request {
	return &model.Request{
		Model:    s.generator,
		Messages: []model.Message{model.TextMessage(model.User, text)},
	}
}

// answer is what came of a request.
type answer struct {
	events []model.Event
	text   string
	calls  []model.ToolCall
	usage  model.Usage
	reason model.FinishReason
}

// ask returns the answer to a request and fails the test where it is an error
// or breaks a rule that holds for every answer.
func (s subject) ask(t *testing.T, req *model.Request) answer {
	t.Helper()
	a, err := s.tryAsk(t.Context(), t, req)
	if err != nil {
		t.Fatalf("Generate: %v", err)
	}
	return a
}

// tryAsk is ask that returns the error. It may be called from any goroutine.
func (s subject) tryAsk(ctx context.Context, t *testing.T, req *model.Request) (answer, error) {
	t.Helper()
	r := reader{t: t, tools: req.Tools}
	var failed error
	for event, err := range s.Generate(ctx, req) {
		switch {
		case failed != nil:
			t.Errorf("%#v, %v follows the error %v", event, err, failed)
		case err != nil:
			failed = err
		default:
			r.read(event)
		}
	}
	if failed == nil {
		r.end()
	}
	return r.answer, failed
}
