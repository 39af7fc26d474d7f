package openai

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/model"
)

// Probe asks each server for its models, logs what it finds, and learns context
// windows that servers tell. Requests do not wait for it: a server that is down
// now may be up when it is needed. It returns when all servers have answered or
// ctx has ended. From then on a server is probed when it is well again, and every
// hour.
func (b *Backend) Probe(ctx context.Context) {
	var wg sync.WaitGroup
	for _, s := range b.servers {
		wg.Go(func() { b.probe(ctx, s) })
		if !s.probed.Swap(true) {
			s.health.every(knownFor, func(ctx context.Context) { b.probe(ctx, s) })
		}
	}
	wg.Wait()
}

// probe is Probe for one server. It forgets what the server has told before: another
// one may have taken its place.
func (b *Backend) probe(ctx context.Context, s *server) {
	server := slog.String("server", s.URL)
	models, err := s.models(ctx)
	if err != nil {
		b.log.LogAttrs(ctx, slog.LevelWarn, "model server does not answer", server, slog.Any("err", s.explain(ctx, err)))
		if f, ok := errors.AsType[*failure](err); ok && f.sick {
			s.health.set(false)
			s.health.suspect() // it is probed again when it is well
		}
		return
	}
	s.known.Store(nil)
	defer b.list()
	b.log.LogAttrs(ctx, slog.LevelInfo, "model server answers", server, slog.Int("models", len(models.Array())))
	for _, m := range b.all() {
		for _, t := range m.targets {
			if t.server == s {
				b.learn(ctx, m, t, models)
				b.introduce(ctx, m, t)
			}
		}
	}
}

func (b *Backend) all() []*served {
	if b.others == nil {
		return b.models
	}
	return append(b.models[:len(b.models):len(b.models)], b.others)
}

// explain adds what is wrong with the server's URL to an error, where it is that the
// URL does not have the version of the protocol.
func (s *server) explain(ctx context.Context, err error) error {
	f, ok := errors.AsType[*failure](err)
	if !ok || !noRoute(f.status) || s.root() != s.URL {
		return err
	}
	if _, other := s.get(ctx, s.URL+"/v1/models"); other != nil {
		return err
	}
	return fmt.Errorf("the URL lacks the version of the protocol; write %s/v1: %w", s.URL, err)
}

// models returns the server's list of models.
func (s *server) models(ctx context.Context) (gjson.Result, error) {
	list, err := s.get(ctx, s.URL+"/models")
	return list.Get("data"), err
}

// get returns a JSON document of the server's.
func (s *server) get(ctx context.Context, url string) (gjson.Result, error) {
	x, err := s.send(ctx, &request{method: http.MethodGet, url: url})
	if err != nil {
		return gjson.Result{}, err
	}
	defer x.close()
	data, err := x.read()
	if err != nil {
		return gjson.Result{}, err
	}
	if !gjson.ValidBytes(data) {
		return gjson.Result{}, x.malformed(errNotJSON)
	}
	return gjson.ParseBytes(data), nil
}

// root is the server's URL without the version of the protocol, where its own
// routes are.
func (s *server) root() string { return strings.TrimSuffix(s.URL, "/v1") }

// learn compares what is configured for a target with what its server says.
func (b *Backend) learn(ctx context.Context, m *served, t *target, models gjson.Result) {
	name := t.model(m.Info.ID)
	attrs := []slog.Attr{slog.String("server", t.URL), slog.String("model", name)}
	entry, found := findModel(models, name)
	if !found && m != b.others && t.about(ctx).kind != llamaCPP { // which has one model, whatever it is called
		b.log.LogAttrs(ctx, slog.LevelWarn, "the server does not list the model", attrs...)
	}
	window := entry.Get("max_model_len").Int() // vLLM, SGLang
	if window == 0 {
		// llama.cpp has a page about itself, and others have none.
		if props, err := t.get(ctx, t.root()+"/props"); err == nil {
			window = props.Get("default_generation_settings.n_ctx").Int()
		}
	}
	if window > 0 {
		t.tokenizer.window.Store(window)
	}
	switch {
	case window == 0 && m.Info.ContextWindow == 0 && m != b.others:
		b.log.LogAttrs(ctx, slog.LevelWarn, "the context window of the model is not known; many servers cut longer prompts without a word",
			append(attrs, slog.Int("assumed", m.info().Window()))...)
	case window > 0 && m.Info.ContextWindow > int(window):
		b.log.LogAttrs(ctx, slog.LevelWarn, "the configured context window is larger than the server's",
			append(attrs, slog.Int("configured", m.Info.ContextWindow), slog.Int64("server", window))...)
	}
}

// trials are the questions that a target is asked at the start, whose answers
// matter less than the form they come in.
var trials = []model.ScoreRequest{
	{
		Instructions: "Reply with a label and nothing else.", State: []model.Part{model.Text("It rains, and the streets are wet.\n\n")},
		Question: "Does it rain?\n\nYes\nNo", Options: []model.Option{{Label: "Yes"}, {Label: "No"}},
	},
	{
		Instructions: "Reply with a label and nothing else.", State: []model.Part{model.Text("It rains, and the streets are wet.\n\n")},
		Question: "How are the streets?\n\nB: dry\nC: wet\nD: closed", Options: []model.Option{{Label: "B"}, {Label: "C"}, {Label: "D"}},
	},
}

// introduce logs one line about a target: what kind of server it is, and how it
// answers questions where it is to decide.
func (b *Backend) introduce(ctx context.Context, m *served, t *target) {
	a := t.about(ctx)
	attrs := []slog.Attr{slog.String("server", t.URL), slog.String("model", t.model(m.Info.ID)), slog.String("kind", string(a.kind))}
	mass, err, way, reading := math.Inf(1), error(nil), ByLabels, ""
	if m.Info.Decides {
		way = t.decides(ctx, m)
		attrs = append(attrs, slog.String("decides", string(way)))
		if way != ByLabels {
			attrs = append(attrs, slog.String("reading", t.reading(m.Info.ID, string(way))))
		}
	}
	if m.Info.Decides && way == ByLabels {
		for i := range trials {
			ask := trials[i]
			ask.Model = m.Info.ID
			var scores *model.Scores
			if scores, err = b.readScores(ctx, t, &ask); err != nil {
				break
			}
			mass = min(mass, scores.LabelMass())
			reading = scores.Reading
		}
	}
	if a.kind == ollama && m.Info.ContextWindow == 0 {
		if window := t.ollamaWindow(ctx, t.model(m.Info.ID)); window > 0 {
			t.tokenizer.window.Store(window)
		}
	}
	t.tokenizer.missing.Store(false) // unless the server says so again
	_, tokenizes := t.tokenize(ctx, "", t.model(m.Info.ID), "Hello")
	attrs = append(attrs, slog.Int64("window", t.tokenizer.window.Load()), slog.Int("slots", a.slots), slog.Bool("tokenizer", tokenizes))
	if err == nil && !math.IsInf(mass, 1) {
		known := t.facts.get()
		attrs = append(attrs, slog.Bool("exact", len(t.exact(ctx)) > 0), slog.Bool("thinks", known.template), slog.Float64("label_mass", mass), slog.String("reading", reading))
	}
	if err != nil {
		b.log.LogAttrs(ctx, slog.LevelWarn, "the model cannot be used for decisions as it is", append(attrs, slog.Any("err", err))...)
		return
	}
	b.log.LogAttrs(ctx, slog.LevelInfo, "target", attrs...)
}

// findModel returns the entry of a model in a server's list.
func findModel(models gjson.Result, name string) (gjson.Result, bool) {
	for _, entry := range models.Array() {
		if id := entry.Get("id").Str; id == name || strings.TrimSuffix(id, ":latest") == name {
			return entry, true
		}
	}
	return gjson.Result{}, false
}
