package openai

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/tidwall/gjson"
)

// Probe asks each server for its models, logs what it finds, and learns context
// windows that servers tell. Requests do not wait for it: a server that is down
// now may be up when it is needed. It returns when all servers have answered or
// ctx has ended.
func (b *Backend) Probe(ctx context.Context) {
	var wg sync.WaitGroup
	for _, s := range b.servers {
		wg.Go(func() { b.probe(ctx, s) })
	}
	wg.Wait()
	b.list()
}

func (b *Backend) probe(ctx context.Context, s *server) {
	server := slog.String("server", s.URL)
	models, err := s.models(ctx)
	if err != nil {
		b.log.LogAttrs(ctx, slog.LevelWarn, "model server does not answer", server, slog.Any("err", err))
		return
	}
	b.log.LogAttrs(ctx, slog.LevelInfo, "model server answers", server, slog.Int("models", len(models.Array())))
	for _, m := range b.all() {
		for _, t := range m.targets {
			if t.server == s {
				b.learn(ctx, m, t, models)
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

// models returns the server's list of models.
func (s *server) models(ctx context.Context) (gjson.Result, error) {
	x, err := s.send(ctx, http.MethodGet, s.URL+"/models", nil)
	if err != nil {
		return gjson.Result{}, err
	}
	defer x.close()
	data, err := x.read()
	if err != nil {
		return gjson.Result{}, err
	}
	if !gjson.ValidBytes(data) {
		return gjson.Result{}, x.nonsense(errNotJSON)
	}
	return gjson.GetBytes(data, "data"), nil
}

// learn compares what is configured for a target with what its server says.
func (b *Backend) learn(ctx context.Context, m *served, t *target, models gjson.Result) {
	name := t.model(m.Info.ID)
	attrs := []slog.Attr{slog.String("server", t.URL), slog.String("model", name)}
	found := false
	models.ForEach(func(_, entry gjson.Result) bool {
		id := entry.Get("id").Str
		if found = id == name || strings.TrimSuffix(id, ":latest") == name; found {
			if window := entry.Get("max_model_len").Int(); window > 0 { // vLLM, SGLang
				t.tokenizer.window.Store(window)
			}
		}
		return !found
	})
	if !found && m != b.others {
		b.log.LogAttrs(ctx, slog.LevelWarn, "the server does not list the model", attrs...)
	}
	if window := int(t.tokenizer.window.Load()); window > 0 && m.Info.ContextWindow > window {
		b.log.LogAttrs(ctx, slog.LevelWarn, "the configured context window is larger than the server's",
			append(attrs, slog.Int("configured", m.Info.ContextWindow), slog.Int("server", window))...)
	}
}
