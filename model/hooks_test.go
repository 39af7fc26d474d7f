package model_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/driver"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/builtin"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// TestHooksKeepTheContract puts hooks that change nothing around a backend.
func TestHooksKeepTheContract(t *testing.T) {
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprintf("stream %v", stream), func(t *testing.T) {
			modeltest.Run(t, func(*testing.T) model.Backend {
				return model.WithHooks(builtin.New(), model.Hooks{
					Before: func(context.Context, *model.Call) error { return nil },
					After:  func(context.Context, *model.Call, *model.Answer) error { return nil },
					Stream: stream,
				})
			}, modeltest.Options{})
		})
	}
}

// play returns what a backend answers, with the first error.
func play(t *testing.T, b model.Backend, text string) (events []model.Event, err error) {
	t.Helper()
	req := &model.Request{Model: model.DefaultGenerator, Tenant: "org_1", Messages: []model.Message{model.TextMessage(model.User, text)}}
	for event, err := range b.Generate(t.Context(), req) {
		if err != nil {
			return events, err
		}
		events = append(events, event)
	}
	if got := req.Messages[0].Parts[0]; got != model.Text(text) {
		t.Errorf("the caller's request was changed to %q", got)
	}
	return events, nil
}

func TestHooksChangeAndRefuse(t *testing.T) {
	is := is.New(t)
	var seen []string
	script := &modeltest.Script{Respond: func(req *model.Request) modeltest.Answer {
		if strings.HasPrefix(string(req.Messages[0].Parts[0].(model.Text)), "call") {
			return modeltest.Calls(model.ToolCall{ID: "1", Name: "f", Arguments: `{"a":1}`}, model.ToolCall{ID: "2", Name: "g"})
		}
		return modeltest.Text("My ", "PIN is ", "1234.")
	}}
	refused := errors.New("refused")
	hooks := model.Hooks{
		Before: func(_ context.Context, c *model.Call) error {
			text := string(c.Request.Messages[0].Parts[0].(model.Text))
			if text == "forbidden" {
				return refused
			}
			c.Request.Messages[0].Parts[0] = model.Text(strings.ReplaceAll(text, "1234", "****"))
			return nil
		},
		After: func(_ context.Context, c *model.Call, a *model.Answer) error {
			seen = append(seen, fmt.Sprint(c.Tenant(), " ", c.Request.Messages[0].Parts[0], " ", a.Text, " ", a.ToolCalls, " ", a.Usage.OutputTokens, " ", a.Reason))
			if strings.Contains(string(c.Request.Messages[0].Parts[0].(model.Text)), "unanswerable") {
				return refused
			}
			a.Text = strings.ReplaceAll(a.Text, "1234", "****")
			return nil
		},
	}
	b := model.WithHooks(script, hooks)
	events, err := play(t, b, "Is it 1234?")
	is.NoErr(err)
	is.Equal(events, []model.Event{model.Started{}, modeltest.DefaultUsage, model.TextDelta{Text: "My PIN is ****."}, model.Finish{Reason: model.Stop}})
	is.Equal(seen, []string{"org_1 Is it ****? My PIN is 1234. [] 7 stop"})

	events, err = play(t, b, "forbidden")
	is.Equal(err, refused)
	is.Equal(len(events), 0)
	is.Equal(len(script.Requests()), 1)

	events, err = play(t, b, "unanswerable")
	is.Equal(err, refused)
	is.Equal(events, []model.Event{model.Started{}, modeltest.DefaultUsage})

	events, err = play(t, b, "call")
	is.NoErr(err)
	is.Equal(events, []model.Event{
		model.Started{}, modeltest.DefaultUsage,
		model.ToolCallStart{ID: "1", Name: "f"}, model.ToolCallDelta{Arguments: `{"a":1}`}, model.ToolCallStart{ID: "2", Name: "g"},
		model.Finish{Reason: model.ToolCalls},
	})

	hooks.Stream = true
	events, err = play(t, model.WithHooks(script, hooks), "unanswerable")
	is.Equal(err, refused)
	is.Equal(len(events), 4) // three pieces and the usage, and no finish
}

// TestHooksPassOnWhatIsBesideTheText has a model that thinks and says how likely
// its tokens were, and hooks that leave the text alone, change it, or look at the
// pieces once they are gone.
func TestHooksPassOnWhatIsBesideTheText(t *testing.T) {
	tokens := []model.Logprob{{Token: "My PIN is "}, {Token: "1234"}}
	said := []model.Event{
		model.Reasoning{Text: "They ask "}, model.Logprobs{Tokens: tokens[:1]}, model.TextDelta{Text: "My PIN is "},
		model.Reasoning{Text: "for it."}, model.Logprobs{Tokens: tokens[1:]}, model.TextDelta{Text: "1234"},
		modeltest.DefaultUsage, model.Finish{Reason: model.Stop},
	}
	held := func(thought string, tokens []model.Logprob, text string) []model.Event {
		return []model.Event{
			model.Started{}, modeltest.DefaultUsage, model.Reasoning{Text: thought}, model.Logprobs{Tokens: tokens}, model.TextDelta{Text: text},
			model.Finish{Reason: model.Stop},
		}
	}
	for rule, c := range map[string]struct {
		stream bool
		after  func(*model.Answer)
		want   []model.Event
	}{
		"an answer that is left alone":    {false, func(*model.Answer) {}, held("They ask for it.", tokens, "My PIN is 1234")},
		"a text that is changed":          {false, func(a *model.Answer) { a.Text = "No." }, held("They ask for it.", nil, "No.")},
		"a thought that is changed":       {false, func(a *model.Answer) { a.Reasoning = "Hm." }, held("Hm.", tokens, "My PIN is 1234")},
		"pieces that are passed on first": {true, func(a *model.Answer) { a.Text, a.Reasoning = "", "" }, said},
	} {
		t.Run(rule, func(t *testing.T) {
			is := is.New(t)
			b := model.WithHooks(modeltest.New(modeltest.Events(said...)), model.Hooks{Stream: c.stream, After: func(_ context.Context, _ *model.Call, a *model.Answer) error {
				is.Equal(a.Reasoning, "They ask for it.")
				c.after(a)
				return nil
			}})
			events, err := play(t, b, "What is it?")
			is.NoErr(err)
			is.Equal(events, c.want)
		})
	}
}

func TestHooksOfDecisions(t *testing.T) {
	is := is.New(t)
	var state string
	b := model.WithHooks(&modeltest.Script{}, model.Hooks{
		Before: func(_ context.Context, c *model.Call) error {
			state = fmt.Sprint(c.Tenant(), " ", c.Score.State[0])
			return nil
		},
		After: func(_ context.Context, _ *model.Call, a *model.Answer) error {
			a.Scores = &model.Scores{Probabilities: []float64{0.25, 0.75}}
			return nil
		},
	})
	scores, err := model.Use(b).Score(t.Context(), &model.ScoreRequest{
		Tenant: "org_1", State: []model.Part{model.Text("a state")}, Options: []model.Option{{Label: "A"}, {Label: "B"}},
	})
	is.NoErr(err)
	is.Equal(scores.Probabilities, []float64{0.25, 0.75})
	is.Equal(state, "org_1 a state")
}

// secret is an ability that hooks know nothing of.
type secret struct{ model.Backend }

func (secret) Bypass() {}

func TestNoCallGoesPastTheHooks(t *testing.T) {
	before := model.Hooks{Before: func(context.Context, *model.Call) error { return nil }}
	for name, b := range map[string]model.Backend{"bare": secret{builtin.New()}, "used": model.Use(secret{builtin.New()})} {
		if _, ok := driver.As[interface{ Bypass() }](model.WithHooks(b, before)); ok {
			t.Errorf("%s: an ability that hooks do not know is not hidden", name)
		}
		if _, ok := driver.As[interface{ Bypass() }](model.WithHooks(b, model.Hooks{})); !ok {
			t.Errorf("%s: no hooks hide an ability", name)
		}
	}
	if _, ok := driver.As[model.Scorer](model.WithHooks(modeltest.Plain(builtin.New()), before)); ok {
		t.Error("a backend that cannot score can, with hooks")
	}
}

// labelling is a backend with labels of its own.
type labelling struct{ *modeltest.Script }

func (labelling) Labels(context.Context, string, int) []string { return []string{"1", "2", "3"} }

func TestHooksKeepTheLabels(t *testing.T) {
	b := model.WithHooks(labelling{&modeltest.Script{}}, model.Hooks{Before: func(context.Context, *model.Call) error { return nil }})
	if got := model.Use(b).Labels(t.Context(), model.DefaultDecider, 3); !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Errorf("got %q", got)
	}
}

func TestHooksSeeEmbeddings(t *testing.T) {
	is := is.New(t)
	embed := func(stream bool) (*model.Embeddings, error) {
		b := model.Use(model.WithHooks(&modeltest.Script{}, model.Hooks{
			Before: func(_ context.Context, c *model.Call) error {
				is.Equal(c.Tenant(), "org_1")
				c.Embed.Texts[0] = "12345678"
				return nil
			},
			After: func(_ context.Context, _ *model.Call, a *model.Answer) error {
				is.Equal(a.Usage.InputTokens, 2)
				a.Embeddings = &model.Embeddings{InputTokens: a.Embeddings.InputTokens}
				return nil
			},
			Stream: stream,
		}))
		req := &model.EmbedRequest{Model: model.DefaultGenerator, Tenant: "org_1", Texts: []string{"a"}}
		defer func() { is.Equal(req.Texts[0], "a") }()
		return b.Embed(t.Context(), req)
	}
	e, err := embed(false)
	is.NoErr(err)
	is.Equal(e.Vectors, nil)
	e, err = embed(true)
	is.NoErr(err)
	is.Equal(len(e.Vectors), 1)
	_, err = model.Use(modeltest.Plain(&modeltest.Script{})).Embed(t.Context(), &model.EmbedRequest{})
	is.Equal(err, model.ErrNoEmbedder)
}

// deciding is a backend that decides by itself.
type deciding struct{ *modeltest.Script }

func (deciding) Decide(_ context.Context, req *model.DecideRequest) (*model.Decision, error) {
	if string(req.State) == `"left"` {
		return nil, model.ErrUndecided
	}
	return &model.Decision{Probabilities: [][]float64{{0.25, 0.75}}, StateTokens: len(req.State), QuestionTokens: 2}, nil
}

func TestHooksSeeWholeDecisions(t *testing.T) {
	is := is.New(t)
	var usage model.Usage
	b := model.WithHooks(deciding{&modeltest.Script{}}, model.Hooks{
		Before: func(_ context.Context, c *model.Call) error {
			c.Decision.State = []byte(strings.ReplaceAll(string(c.Decision.State), "1234", "****"))
			return nil
		},
		After: func(_ context.Context, c *model.Call, a *model.Answer) error {
			usage = a.Usage
			a.Decision = &model.Decision{Probabilities: [][]float64{{1, 0}}}
			return nil
		},
	})
	req := &model.DecideRequest{Tenant: "org_1", State: []byte(`"1234"`), Questions: []model.DecideQuestion{{Name: "q", Kind: model.DecideNoul}}}
	is.Equal((&model.Call{Decision: req}).Tenant(), "org_1")
	d, err := model.Use(b).Decide(t.Context(), req)
	is.NoErr(err)
	is.Equal(d, &model.Decision{Probabilities: [][]float64{{1, 0}}, StateTokens: 6, QuestionTokens: 2}) // costs what it did
	is.Equal(usage.InputTokens, 8)
	is.Equal(string(req.State), `"1234"`)
	_, err = model.Use(b).Decide(t.Context(), &model.DecideRequest{State: []byte(`"left"`)})
	is.True(errors.Is(err, model.ErrUndecided))
	is.True(!model.Use(model.WithHooks(modeltest.Plain(&modeltest.Script{}), model.Hooks{Before: func(context.Context, *model.Call) error { return nil }})).Decides())
}
