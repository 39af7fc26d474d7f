package svc_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/decisions/calibration"
	"github.com/seed-506d8e5d/svc/embeddings"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/responses"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// names are what the operations below call the models.
var names = map[string]string{"writer": model.DefaultGenerator, "judge": model.DefaultDecider}

// operations are all that call a model; each returns its error.
func operations(ctx context.Context, service *svc.Service, caller svc.Caller, text string) map[string]func() error {
	completion := &chat.Request{Model: "writer", Messages: []chat.Message{{Role: model.User, Content: []chat.Part{chat.Text(text)}}}}
	prompt := &chat.TextRequest{Model: "writer", Prompt: text}
	turn := &responses.Request{Model: "writer", Input: responses.Text(text)}
	question := decisions.NewNoul("q", "?")
	return map[string]func() error{
		"CreateResponse":  func() error { return second(service.CreateResponse(ctx, caller, turn)) },
		"CompactResponse": func() error { return second(service.CompactResponse(ctx, caller, turn)) },
		"CompleteChat":    func() error { return second(service.CompleteChat(ctx, caller, completion)) },
		"CompleteText":    func() error { return second(service.CompleteText(ctx, caller, prompt)) },
		"StreamResponse":  func() error { return through(service.StreamResponse(ctx, caller, turn)) },
		"StreamChat":      func() error { return through(service.StreamChat(ctx, caller, completion)) },
		"StreamText":      func() error { return through(service.StreamText(ctx, caller, prompt)) },
		"ResponseSession": func() error { return through(service.NewResponseSession().StreamResponse(ctx, caller, turn)) },
		"Embed": func() error {
			return second(service.Embed(ctx, caller, &embeddings.Request{Model: "writer", Texts: []string{text}}))
		},
		"Decide": func() error {
			return second(service.Decide(ctx, caller, &decisions.Request{Model: "judge", State: decisions.State(text), Questions: []decisions.Question{question}}))
		},
		"Calibrate": func() error {
			n := &decisions.NewCalibration{Model: "judge", Question: question}
			for range calibration.MinRows / 2 {
				n.Rows = append(n.Rows, decisions.LabelledRow{State: decisions.State(text), Answer: []byte("true")},
					decisions.LabelledRow{State: decisions.State(text), Answer: []byte("false")})
			}
			return second(service.Calibrate(ctx, caller, n))
		},
	}
}

func second[T any](_ T, err error) error { return err }

// through returns the error of a call, or what its sequence yields of them.
func through[T any](sequence iter.Seq2[T, error], err error) error {
	if err == nil {
		for _, e := range sequence {
			err = errors.Join(err, e)
		}
	}
	return err
}

func answering(text string) *modeltest.Script {
	return &modeltest.Script{Respond: func(*model.Request) modeltest.Answer { return modeltest.Text(text) }}
}

func TestHooksHoldForAllInterfaces(t *testing.T) {
	is := is.New(t)
	refusal := &svc.Error{Kind: fault.Denied, Code: "moderated", Message: "This is not allowed."}
	var mu sync.Mutex
	audit := map[string]int{}
	script := answering("An answer.")
	service, err := svc.New(t.Context(), svc.Options{Backend: script, Aliases: names, Hooks: model.Hooks{
		Before: func(_ context.Context, c *model.Call) error {
			sent, err := json.Marshal(c)
			if strings.Contains(string(sent), "forbidden") {
				return refusal
			}
			return err
		},
		After: func(_ context.Context, c *model.Call, _ *model.Answer) error {
			mu.Lock()
			defer mu.Unlock()
			audit[c.Tenant()]++
			return nil
		},
	}})
	is.NoErr(err)
	defer service.Close()
	caller, err := service.LocalCaller(t.Context())
	is.NoErr(err)
	for name, do := range operations(t.Context(), service, caller, "fine") {
		clear(audit)
		if err := do(); err != nil || len(audit) != 1 || audit[svc.DefaultOrganization] == 0 {
			t.Errorf("%s: %v, and the hook saw %v", name, err, audit)
		}
	}
	asked := len(script.Requests())
	for name, do := range operations(t.Context(), service, caller, "forbidden") {
		if err := do(); !errors.Is(err, refusal) {
			t.Errorf("%s: %v", name, err)
		}
	}
	is.Equal(len(script.Requests()), asked) // no model was called
}

// TestHooksLeaveLogprobs asks for log-probabilities of answers that a hook looks
// at before they are passed on.
func TestHooksLeaveLogprobs(t *testing.T) {
	is := is.New(t)
	tokens := []model.Logprob{{Token: "Yes."}}
	script := &modeltest.Script{Respond: func(*model.Request) modeltest.Answer {
		return modeltest.Events(model.Logprobs{Tokens: tokens}, model.TextDelta{Text: "Yes."}, modeltest.DefaultUsage, model.Finish{Reason: model.Stop})
	}}
	instead := "Yes."
	service, err := svc.New(t.Context(), svc.Options{Backend: script, Hooks: model.Hooks{
		After: func(_ context.Context, _ *model.Call, a *model.Answer) error { a.Text = instead; return nil },
	}})
	is.NoErr(err)
	defer service.Close()
	caller, err := service.LocalCaller(t.Context())
	is.NoErr(err)
	for text, want := range map[string][]model.Logprob{"Yes.": tokens, "No.": nil} {
		instead = text
		completion, err := service.CompleteChat(t.Context(), caller, &chat.Request{
			Model: model.DefaultGenerator, Messages: []chat.Message{{Role: model.User, Content: []chat.Part{chat.Text("Is it so?")}}}, Logprobs: true,
		})
		is.NoErr(err)
		is.Equal(*completion.Content, text)
		is.Equal(completion.Logprobs, want)
	}
}

// TestRefusedAnswersAreCharged has a hook that refuses what models have answered.
func TestRefusedAnswersAreCharged(t *testing.T) {
	is := is.New(t)
	refusal := &svc.Error{Kind: fault.Denied, Code: "moderated", Message: "This is not allowed."}
	service, err := svc.New(t.Context(), svc.Options{Backend: answering("An answer."), Aliases: names, Hooks: model.Hooks{
		After: func(context.Context, *model.Call, *model.Answer) error { return refusal },
	}})
	is.NoErr(err)
	defer service.Close()
	caller, err := service.LocalCaller(t.Context())
	is.NoErr(err)
	charges := 0
	for name, do := range operations(t.Context(), service, caller, "fine") {
		if err := do(); !errors.Is(err, refusal) {
			t.Errorf("%s: %v", name, err)
		}
		charges++
		usage, err := service.Usage(t.Context(), caller.Organization, svc.Page{Desc: true})
		is.NoErr(err)
		if len(usage.Items) != charges || usage.Items[0].Use.InputTokens == 0 {
			t.Fatalf("%s: charged were %+v", name, usage.Items)
		}
	}
}

func TestNoAccounting(t *testing.T) {
	is := is.New(t)
	service, err := svc.New(t.Context(), svc.Options{
		Backend: answering("An answer."), Aliases: names, Accounting: svc.NoAccounting,
		DefaultPrices: &svc.Prices{Input: 1_000_000, Output: 1_000_000, DecisionInput: 1_000_000},
	})
	is.NoErr(err)
	defer service.Close()
	caller, err := service.LocalCaller(t.Context())
	is.NoErr(err)
	for range 3 {
		for name, do := range operations(t.Context(), service, caller, "fine") {
			if err := do(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	usage, err := service.Usage(t.Context(), caller.Organization, svc.Page{})
	is.NoErr(err)
	is.Equal(len(usage.Items), 0)
	list, err := service.ChatCompletions(t.Context(), caller, chat.Filter{}, svc.Page{})
	is.NoErr(err)
	is.Equal(len(list.Items), 6) // they are stored all the same
}

// books is the accounting of a program: it counts tokens, and refuses once there
// are enough.
type books struct {
	mu     sync.Mutex
	tokens int
	most   int
	fail   error
}

func (b *books) Admit(svc.Caller) (accounts.Quotas, error) { return accounts.Quotas{}, nil }

func (b *books) Afford(context.Context, svc.Caller) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tokens >= b.most {
		return &svc.Error{Kind: fault.NoCredits, Code: "over_plan", Message: "The plan is used up."}
	}
	return nil
}

func (b *books) Settle(_ context.Context, _ svc.Caller, use accounts.Use) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens += use.InputTokens + use.OutputTokens
	return b.fail
}

func TestOwnAccounting(t *testing.T) {
	is := is.New(t)
	var log strings.Builder
	own := &books{most: 20}
	service, err := svc.New(t.Context(), svc.Options{
		Backend: answering("An answer."), Aliases: names, Accounting: own, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	is.NoErr(err)
	defer service.Close()
	caller, err := service.LocalCaller(t.Context())
	is.NoErr(err)
	r, err := service.CreateResponse(t.Context(), caller, say("Hi"))
	is.NoErr(err)
	is.Equal(own.tokens, 18)
	_, err = service.Response(t.Context(), caller, r.ID)
	is.NoErr(err)

	own.fail = errors.New("the books are closed")
	_, err = service.CreateResponse(t.Context(), caller, say("Hi"))
	is.NoErr(err) // it was done, and stays done
	is.Equal(strings.Count(log.String(), "the books are closed"), 1)
	is.Equal(own.tokens, 36)
	for name, do := range operations(t.Context(), service, caller, "fine") {
		if err := do(); !fault.Is(err, fault.NoCredits) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// sharedStore is a store that several processes have open.
type sharedStore struct{ storage.Store }

func (sharedStore) Shared() bool { return true }

// TestOneKeyOfTheFirstStart has programs that embed the service and servers that
// start, on one new store, all at once: there is one organization with its credits
// once, and one key.
func TestOneKeyOfTheFirstStart(t *testing.T) {
	is := is.New(t)
	store := sharedStore{memstore.New()}
	t.Cleanup(func() { is.NoErr(store.Close()) })
	var services []*svc.Service
	open := func() *svc.Service {
		service, err := svc.New(t.Context(), svc.Options{Store: store})
		is.NoErr(err)
		t.Cleanup(func() { is.NoErr(service.Close()) })
		services = append(services, service)
		return service
	}
	for range 4 {
		open()
	}
	var running sync.WaitGroup
	made := make(chan string, len(services))
	for _, service := range services {
		running.Go(func() {
			if _, err := service.LocalCaller(t.Context()); err != nil {
				t.Error(err)
			}
		})
		running.Go(func() {
			key, err := service.Bootstrap(t.Context(), "")
			if err != nil {
				t.Error(err)
			}
			if key != "" {
				made <- key
			}
		})
	}
	running.Wait()
	close(made)
	key := <-made
	_, err := services[0].Authenticate(t.Context(), key)
	is.NoErr(err)
	is.Equal(<-made, "") // there is no other
	keys, err := services[1].Keys(t.Context(), "", svc.Page{})
	is.NoErr(err)
	is.Equal(len(keys.Items), 1)
	o, err := open().Organization(t.Context(), svc.DefaultOrganization)
	is.NoErr(err)
	is.Equal(o.Credits.String(), "1000")
}
