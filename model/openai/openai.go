// Package openai puts model servers behind the service that speak the OpenAI
// chat completions protocol: Ollama, llama.cpp, vLLM, SGLang, LM Studio, hosted
// APIs. They agree on the protocol and differ in what they make of it; this
// package keeps the contract of package model whatever they do.
//
//	gpu := &openai.Server{URL: "http://127.0.0.1:8000/v1"}
//	backend, err := openai.New(openai.Options{Models: []openai.Model{{
//		Info:    model.Info{ID: "svc-preview", Generates: true},
//		Targets: []openai.Target{{Server: gpu, Model: "Qwen/Qwen3-8B"}},
//	}}})
//
// A [Model] is what clients name; its [Target] values say which model on which
// [Server] answers for it. The files are named for what happens to a request:
// retry.go chooses a target, server.go and conns.go send, sse.go and chunk.go read the answer,
// generate.go and toolcalls.go make events of it, score.go and labels.go read
// distributions, decide.go asks servers that decide, embed.go reads vectors,
// tokens.go counts.
package openai

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-506d8e5d/svc/model"
)

// Options are the models of a [Backend] and where they run.
type Options struct {
	// Models are listed to clients in this order. IDs are distinct.
	Models []Model

	// Others serves the generation requests whose model ID is not among Models;
	// its own ID has no meaning. Nil refuses them.
	Others *Model

	// Logger gets what operators should know of the servers; nil is
	// slog.Default().
	Logger *slog.Logger
}

// Model is a model as clients know it and the places where it runs.
type Model struct {
	Info model.Info

	// NoImages says that the model does not read images: requests with some are
	// refused. Without it images are passed on, and the caller is told where the
	// server refuses them. Some servers take them and answer as if they had seen them.
	NoImages bool

	// Efforts maps reasoning efforts to what the servers call them; empty leaves
	// the field out of the request. An effort that is not in it is sent as it is.
	Efforts map[string]string

	// LabelMass is the least probability that the labels must have together for a
	// decision to be made of them, 0 to 1; 0 is [DefaultLabelMass].
	LabelMass float64

	// Decides is how the model makes decisions; empty finds out whether its servers
	// decide by themselves, with a request that costs nothing.
	Decides Decides

	// Targets are tried in order: the next one answers where one fails. At least
	// one is required.
	Targets []Target
}

// Target is a model on a server.
type Target struct {
	Server *Server
	Model  string // the server's name for it; empty is the ID of the request

	// NoThinking is how the model is told not to think before it decides.
	NoThinking NoThinking
}

// NoThinking is a way to keep a reasoning model from reasoning.
type NoThinking string

// The ways. The zero value is the same as EffortNone.
const (
	// EffortNone sends reasoning_effort none, and leaves it out from then on for
	// a server that refuses it.
	EffortNone NoThinking = "effort"
	// TemplateOff sends chat_template_kwargs with enable_thinking false, which
	// vLLM and SGLang hand to the chat template.
	TemplateOff NoThinking = "template"
	// Prefill begins the answer with an empty block of thoughts, for servers that
	// continue an assistant message.
	Prefill NoThinking = "prefill"
	// NotNeeded sends nothing.
	NotNeeded NoThinking = "off"
)

// TokenLimit names the field of a request that bounds the generated tokens.
type TokenLimit string

// The fields. The zero value is the same as MaxTokens.
const (
	MaxTokens           TokenLimit = "max_tokens"
	MaxCompletionTokens TokenLimit = "max_completion_tokens" // newer hosted models
)

// DefaultLabelMass is what labels have together at least where a [Model] does not
// say.
const DefaultLabelMass = 0.5

// The defaults of [Server].
const (
	DefaultTopLogprobs    = 20
	DefaultConnectTimeout = 10 * time.Second
	DefaultFirstToken     = 5 * time.Minute
	DefaultBetweenTokens  = 2 * time.Minute
	DefaultQueueWait      = 30 * time.Second
)

// Server is a model server. Models that name the same Server share its
// connections, its limit and its health. It must not be changed after New.
type Server struct {
	URL string // up to and including /v1
	Key string // sent as a bearer key; empty sends none

	TokenLimit  TokenLimit
	TopLogprobs int // the most top_logprobs that the server takes; 0 is [DefaultTopLogprobs]

	// Concurrency is how many requests the server gets at once, 0 any number. A
	// request over it waits for QueueWait at most.
	Concurrency int
	QueueWait   time.Duration // 0 is [DefaultQueueWait]

	// ConnectTimeout bounds the making of a connection, FirstToken the time from
	// the request to the first token (loading the model and reading the prompt
	// included), BetweenTokens the silence after that. 0 is the default.
	ConnectTimeout, FirstToken, BetweenTokens time.Duration
}

func (s *Server) withDefaults() Server {
	c := *s
	c.URL = strings.TrimRight(c.URL, "/")
	orElse(&c.TokenLimit, MaxTokens)
	orElse(&c.TopLogprobs, DefaultTopLogprobs)
	orElse(&c.QueueWait, DefaultQueueWait)
	orElse(&c.ConnectTimeout, DefaultConnectTimeout)
	orElse(&c.FirstToken, DefaultFirstToken)
	orElse(&c.BetweenTokens, DefaultBetweenTokens)
	return c
}

func orElse[T comparable](v *T, otherwise T) {
	var zero T
	if *v == zero {
		*v = otherwise
	}
}

// Backend answers with models on model servers. It is a [model.Scorer], a
// [model.Decider], a [model.Embedder], a [model.Lister] and a [model.TokenCounter],
// and must be closed.
type Backend struct {
	log          *slog.Logger
	models       []*served
	others       *served // nil where other IDs are refused
	servers      []*server
	infos        atomic.Pointer[[]model.Info] // of models
	counts       *cache                       // tokens of texts
	states       *cache                       // tokens of what questions are asked about
	begun        *cache                       // beginnings of prompts that were answered
	abandonments abandonments
}

var (
	_ model.Backend      = (*Backend)(nil)
	_ model.Scorer       = (*Backend)(nil)
	_ model.Labeler      = (*Backend)(nil)
	_ model.Decider      = (*Backend)(nil)
	_ model.Embedder     = (*Backend)(nil)
	_ model.Lister       = (*Backend)(nil)
	_ model.TokenCounter = (*Backend)(nil)
)

// served is a model at run time.
type served struct {
	Model
	targets []*target
}

// target is a target at run time.
type target struct {
	*server
	of         *served
	name       string // empty is the ID of the request
	noThinking NoThinking
	facts      facts
	deciding   deciding
	refusals   recent[uint64, error] // of questions, by [cache.questionKey]
	spelled    sync.Map              // tokens of labels: from string to []int
	tokenizer  tokenizer
	answers    atomic.Int64 // whose prompts might have been estimated
}

// model returns the name under which the server knows a model ID.
func (t *target) model(id string) string {
	if t.name != "" {
		return t.name
	}
	return id
}

// New returns a Backend. It makes no connection. The error names what is wrong
// with the options.
func New(o Options) (*Backend, error) {
	b := &Backend{log: o.Logger, counts: newCache(), states: newCache(), begun: newCache()}
	if b.log == nil {
		b.log = slog.Default()
	}
	running := map[*Server]*server{}
	seen := map[string]bool{}
	for i := range o.Models {
		id := o.Models[i].Info.ID
		if id == "" || seen[id] {
			return nil, fmt.Errorf("openai: the model ID %q is empty or used twice", id)
		}
		seen[id] = true
		m, err := b.serve(&o.Models[i], running)
		if err != nil {
			return nil, fmt.Errorf("openai: model %q: %w", id, err)
		}
		b.models = append(b.models, m)
	}
	if o.Others != nil {
		var err error
		if b.others, err = b.serve(o.Others, running); err != nil {
			return nil, fmt.Errorf("openai: other models: %w", err)
		}
	}
	if len(b.models) == 0 && b.others == nil {
		return nil, errors.New("openai: there are no models")
	}
	b.list()
	return b, nil
}

func (b *Backend) serve(m *Model, running map[*Server]*server) (*served, error) {
	if len(m.Targets) == 0 {
		return nil, errors.New("there are no targets")
	}
	if !slices.Contains([]Decides{"", SystemOne, Decisions, ByLabels}, m.Decides) {
		return nil, fmt.Errorf("there is no way %q to decide", m.Decides)
	}
	v := &served{Model: *m}
	for _, t := range m.Targets {
		if err := t.check(); err != nil {
			return nil, err
		}
		s := running[t.Server]
		if s == nil {
			s = newServer(t.Server.withDefaults(), b.log)
			s.health.recovered = func(ctx context.Context) {
				if s.probed.Load() {
					b.probe(ctx, s)
				}
			}
			running[t.Server] = s
			b.servers = append(b.servers, s)
		}
		v.targets = append(v.targets, &target{server: s, of: v, name: t.Model, noThinking: t.NoThinking})
	}
	return v, nil
}

func (t *Target) check() error {
	if t.Server == nil {
		return errors.New("a target has no server")
	}
	if !slices.Contains([]NoThinking{"", EffortNone, TemplateOff, Prefill, NotNeeded}, t.NoThinking) {
		return fmt.Errorf("there is no way %q to keep a model from thinking", t.NoThinking)
	}
	if !slices.Contains([]TokenLimit{"", MaxTokens, MaxCompletionTokens}, t.Server.TokenLimit) {
		return fmt.Errorf("there is no token limit %q", t.Server.TokenLimit)
	}
	u, err := url.Parse(t.Server.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%q is not the URL of a server", t.Server.URL)
	}
	return nil
}

// leastMass is the least probability that the labels of a question must have.
func (m *served) leastMass() float64 {
	if m.LabelMass > 0 {
		return m.LabelMass
	}
	return DefaultLabelMass
}

// Close ends what runs in the background and gives up idle connections. Calls
// must have ended before.
func (b *Backend) Close() {
	for _, s := range b.servers {
		s.close()
	}
}

// list makes the infos of the models from what is known of their servers.
func (b *Backend) list() {
	infos := make([]model.Info, len(b.models))
	for i, m := range b.models {
		infos[i] = m.info()
	}
	b.infos.Store(&infos)
}

// info is the model's info with the smallest context window that its servers
// have told where none is configured.
func (m *served) info() model.Info {
	info := m.Info
	if info.ContextWindow > 0 {
		return info
	}
	for _, t := range m.targets {
		if w := int(t.tokenizer.window.Load()); w > 0 && (info.ContextWindow == 0 || w < info.ContextWindow) {
			info.ContextWindow = w
		}
	}
	return info
}

// Models implements [model.Lister].
func (b *Backend) Models() []model.Info { return *b.infos.Load() }

// Model implements [model.Lister].
func (b *Backend) Model(id string) (model.Info, bool) {
	m := b.find(id)
	if m == nil {
		return model.Info{}, false
	}
	info := m.info()
	info.ID = id
	return info, true
}

// find returns the model with an ID, nil where there is none.
func (b *Backend) find(id string) *served {
	for _, m := range b.models {
		if m.Info.ID == id {
			return m
		}
	}
	return b.others
}
