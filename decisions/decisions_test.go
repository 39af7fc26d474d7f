package decisions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// fixture is a Service over a scripted model, and a caller with credits.
type fixture struct {
	*Service
	script   *modeltest.Script
	accounts *accounts.Service
	caller   accounts.Caller
}

func newFixture(t testing.TB, script *modeltest.Script) *fixture {
	t.Helper()
	ctx := context.Background()
	store := memstore.New()
	books, err := accounts.New(ctx, accounts.Options{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(books.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	f := &fixture{
		Service:  New(Options{Backend: script, Accounts: books, Store: store, Concurrency: 3}),
		script:   script,
		accounts: books,
	}
	f.caller = f.organization(t, accounts.Dollar)
	return f
}

// organization returns a caller for a new organization with credits.
func (f *fixture) organization(t testing.TB, credits accounts.Micros) accounts.Caller {
	t.Helper()
	ctx := context.Background()
	o, err := f.accounts.CreateOrganization(ctx, accounts.NewOrganization{Name: "test", Credits: credits})
	if err != nil {
		t.Fatal(err)
	}
	caller, err := f.accounts.CallerFor(ctx, o.ID)
	if err != nil {
		t.Fatal(err)
	}
	return caller
}

// charges returns what the caller was charged for.
func (f *fixture) charges(t testing.TB) []accounts.Use {
	t.Helper()
	entries, err := f.accounts.Usage(context.Background(), f.caller.Organization, page.Params{})
	if err != nil {
		t.Fatal(err)
	}
	var uses []accounts.Use
	for _, e := range entries.Items {
		uses = append(uses, e.Use)
	}
	return uses
}

// request returns a request about the state "x".
func request(questions ...Question) *Request {
	return &Request{Model: model.DefaultDecider, State: json.RawMessage(`"x"`), Questions: questions}
}

// fixed returns a Scores function that gives the same masses to every request.
func fixed(hidden float64, masses ...float64) func(context.Context, *model.ScoreRequest) (*model.Scores, error) {
	return func(context.Context, *model.ScoreRequest) (*model.Scores, error) {
		return &model.Scores{Probabilities: masses, Hidden: hidden, StateTokens: 100, QuestionTokens: 10, OutputTokens: 1}, nil
	}
}

func TestDecide(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, &modeltest.Script{Scores: fixed(0, 0.125, 0.375)})
	got, err := f.Decide(t.Context(), f.caller, request(
		Question{Name: "yes or no", Type: Noul, Instructions: "Is it?"},
		Question{Name: "which", Type: Choice, Instructions: "Which?", Criteria: json.RawMessage(`{"z":null,"a":"described"}`)},
		Question{Name: "how much", Type: Score, Instructions: "How much?", Criteria: json.RawMessage(`["little",{"very":"much"}]`)},
	))
	is.NoErr(err)
	is.Equal(got, &Response{
		Model: model.DefaultDecider,
		Answers: []Answer{
			{Name: "yes or no", Type: Noul, Noul: 0.25},
			{Name: "which", Type: Choice, Choice: "a", Confidence: 0.75, Outcomes: []Outcome{
				{Name: "z", Probability: 0.25}, {Name: "a", Probability: 0.75}}},
			{Name: "how much", Type: Score, Score: 0.75, Confidence: 0.75, Outcomes: []Outcome{
				{Name: "0", Level: json.RawMessage(`"little"`), Probability: 0.25},
				{Name: "1", Level: json.RawMessage(`{"very":"much"}`), Probability: 0.75}}},
		},
		Usage: Usage{InputTokens: 130},
	})
	is.Equal(f.charges(t), []accounts.Use{
		{Endpoint: "decisions", Model: model.DefaultDecider, Kind: accounts.Decision, InputTokens: 130}})
}

func TestDecideReadsHiddenLabels(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, &modeltest.Script{Scores: fixed(0.3, 0.5, math.NaN(), 0.2)})
	got, err := f.Decide(t.Context(), f.caller, request(one(Score, `["a","b","c"]`)...))
	is.NoErr(err)
	a := got.Answers[0]
	// The label that was not shown gets 0.2: no more than the least likely one shown.
	is.True(near(a.Outcomes[0].Probability, 5./9))
	is.True(near(a.Outcomes[1].Probability, 2./9))
	is.True(near(a.Outcomes[2].Probability, 2./9))
	is.True(near(a.Score, 6./9))
}

// weightsOf returns weights for the options of optionsJSON(n) and their sum.
func weightsOf(n int, weight func(i int) float64) (map[string]float64, float64) {
	weights, sum := map[string]float64{}, 0.0
	for i := range n {
		w := weight(i)
		weights[fmt.Sprintf("option %d", i)] = w
		sum += w
	}
	return weights, sum
}

func TestDecideAnyNumberOfOptions(t *testing.T) {
	for _, c := range []struct{ options, calls int }{{2, 1}, {20, 1}, {21, 3}, {32, 3}, {33, 4}, {255, 17}} {
		t.Run(fmt.Sprint(c.options), func(t *testing.T) {
			weight := func(i int) float64 { return float64(1 + i*7%11) }
			weights, sum := weightsOf(c.options, weight)
			f := newFixture(t, &modeltest.Script{Scores: modeltest.Distribution(weights)})
			resp, err := f.Decide(t.Context(), f.caller, request(one(Choice, string(optionsJSON(c.options)))...))
			if err != nil {
				t.Fatal(err)
			}
			p := make([]float64, c.options)
			for i, o := range resp.Answers[0].Outcomes {
				if want := fmt.Sprintf("option %d", i); o.Name != want {
					t.Fatalf("option %d is %q, want %q", i, o.Name, want)
				}
				if want := weight(i) / sum; math.Abs(o.Probability-want) > 1e-9 {
					t.Errorf("%s has %v, want %v", o.Name, o.Probability, want)
				}
				p[i] = o.Probability
			}
			checkClean(t, p)
			calls := f.script.ScoreCalls()
			if len(calls) != c.calls {
				t.Errorf("%d calls, want %d", len(calls), c.calls)
			}
			asked := 0
			for _, call := range calls {
				asked += model.EstimateTokens(call.Request.Question)
			}
			state := model.EstimateTokens(instructions) + model.EstimateTokens("\"\"\"\nx\n\"\"\"\n\n")
			if want := asked + state; resp.Usage.InputTokens != want {
				t.Errorf("%d input tokens, want %d: the state once and all that was asked", resp.Usage.InputTokens, want)
			}
		})
	}
}

func TestDecideSkipsUnlikelyGroups(t *testing.T) {
	is := is.New(t)
	weights, sum := weightsOf(64, func(i int) float64 {
		if i == 20 {
			return 16 * 255 // each other group has less than 1/256 of all
		}
		return 1
	})
	weights["option 63"] = 15 // alone in the mass of its group
	sum += 14
	f := newFixture(t, &modeltest.Script{Scores: modeltest.Distribution(weights)})
	resp, err := f.Decide(t.Context(), f.caller, request(one(Choice, string(optionsJSON(64)))...))
	is.NoErr(err)
	is.Equal(len(f.script.ScoreCalls()), 3) // about the groups, and the two of them above 1/256
	outcomes := resp.Answers[0].Outcomes
	is.Equal(resp.Answers[0].Choice, "option 20")
	is.True(near(outcomes[0].Probability, 1/sum))
	is.True(near(outcomes[20].Probability, 16*255/sum))
	is.True(near(outcomes[63].Probability, 15/sum))
}

func TestDecideScoresAnyNumberOfLevels(t *testing.T) {
	for n := MinLevels; n <= MaxLevels; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			weights, sum, mean := map[string]float64{}, 0.0, 0.0
			for i := range n {
				w := float64(1 + i*7%5)
				weights[fmt.Sprintf("level %d", i)] = w
				sum, mean = sum+w, mean+w*float64(i)
			}
			f := newFixture(t, &modeltest.Script{Scores: modeltest.Distribution(weights)})
			resp, err := f.Decide(t.Context(), f.caller, request(one(Score, string(levelsJSON(n)))...))
			if err != nil {
				t.Fatal(err)
			}
			a := resp.Answers[0]
			var p []float64
			for i, o := range a.Outcomes {
				if o.Name != fmt.Sprint(i) || string(o.Level) != fmt.Sprintf(`"level %d"`, i) {
					t.Errorf("level %d is %s %s", i, o.Name, o.Level)
				}
				p = append(p, o.Probability)
			}
			checkClean(t, p)
			if len(p) != n || math.Abs(a.Score-mean/sum) > 1e-9 {
				t.Errorf("score %v of %d levels, want %v of %d", a.Score, len(p), mean/sum, n)
			}
		})
	}
}

// The first question is asked alone, and then never more calls are under way
// than the bound allows. All are asked about the same prefix.
func TestDecideOrderOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		step := make(chan struct{})
		f := newFixture(t, &modeltest.Script{Scores: func(context.Context, *model.ScoreRequest) (*model.Scores, error) {
			<-step
			return &model.Scores{Probabilities: []float64{1, 0}}, nil
		}})
		done := make(chan error)
		go func() {
			_, err := f.Decide(t.Context(), f.caller, request(noulQuestions(16)...))
			done <- err
		}()
		for finished := range 16 {
			synctest.Wait()
			underWay := min(3, 16-finished)
			if finished == 0 {
				underWay = 1
			}
			is.Equal(f.script.UnderWay(), underWay)
			is.Equal(len(f.script.ScoreCalls()), finished+underWay)
			step <- struct{}{}
		}
		is.NoErr(<-done)
		calls := f.script.ScoreCalls()
		is.True(strings.Contains(calls[0].Request.Question, "Is it 0?"))
		for _, c := range calls {
			is.Equal(c.Request.Instructions, calls[0].Request.Instructions)
			is.Equal(c.Request.State, calls[0].Request.State)
		}
	})
}

func TestDecideFirstErrorEndsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		busy := &fault.Error{Kind: fault.RateLimited, Code: "rate_limit_exceeded", Message: "Slow down."}
		fail := make(chan struct{})
		f := newFixture(t, &modeltest.Script{Scores: func(ctx context.Context, req *model.ScoreRequest) (*model.Scores, error) {
			switch {
			case strings.Contains(req.Question, "Is it 0?"):
				return &model.Scores{Probabilities: []float64{1, 0}}, nil
			case strings.Contains(req.Question, "Is it 3?"):
				<-fail
				return nil, busy
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		go func() {
			synctest.Wait()
			close(fail)
		}()
		_, err := f.Decide(t.Context(), f.caller, request(noulQuestions(16)...))
		is.Equal(err, busy)
		is.Equal(f.script.UnderWay(), 0)
		is.Equal(len(f.script.ScoreCalls()), 4) // nothing began after the error
		is.Equal(f.charges(t), nil)
	})
}

func TestDecideEndsWithItsContext(t *testing.T) {
	is := is.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	f := newFixture(t, &modeltest.Script{Scores: func(ctx context.Context, _ *model.ScoreRequest) (*model.Scores, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	_, err := f.Decide(ctx, f.caller, request(noulQuestions(16)...))
	is.True(errors.Is(err, context.Canceled))
	is.Equal(f.script.UnderWay(), 0)
	is.Equal(len(f.script.ScoreCalls()), 1)
	is.Equal(f.charges(t), nil)
}

func TestDecideRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T, f *fixture, req *Request)
		want   fault.Error
	}{
		{"no model", func(_ *testing.T, _ *fixture, req *Request) { req.Model = "" },
			fault.Error{Kind: fault.Invalid, Code: "validation_error", Param: "model", Message: "model: is required"}},
		{"unknown model", func(_ *testing.T, _ *fixture, req *Request) { req.Model = "other" },
			fault.Error{Kind: fault.Invalid, Code: "validation_error", Param: "model", Message: `model: "other" is not a decision model`}},
		{"model that does not decide", func(_ *testing.T, _ *fixture, req *Request) { req.Model = model.DefaultGenerator },
			fault.Error{Kind: fault.Invalid, Code: "validation_error", Param: "model", Message: `model: "svc-preview" is not a decision model`}},
		{"question at fault", func(_ *testing.T, _ *fixture, req *Request) { req.Questions[0].Type = Choice },
			fault.Error{Kind: fault.Invalid, Code: "validation_error", Param: "questions/q0", Message: "questions/q0: must have required property 'criteria'"}},
		{"model not allowed", func(_ *testing.T, f *fixture, _ *Request) { f.caller.Models = []string{model.DefaultGenerator} },
			fault.Error{Kind: fault.Denied, Code: "model_access_denied", Param: "model", Message: `This API key may not use the model "svc-snap-preview".`}},
		{"no credits", func(t *testing.T, f *fixture, _ *Request) { f.caller = f.organization(t, 0) },
			*fault.From(noCredits(t))},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, &modeltest.Script{})
			req := request(noulQuestions(1)...)
			c.change(t, f, req)
			_, err := f.Decide(t.Context(), f.caller, req)
			if err == nil || !reflect.DeepEqual(*fault.From(err), c.want) {
				t.Errorf("got  %+v\nwant %+v", err, c.want)
			}
			if calls := f.script.ScoreCalls(); len(calls) > 0 {
				t.Errorf("%d calls of the model", len(calls))
			}
		})
	}
}

// noCredits returns the error that package accounts has for a caller without
// credits.
func noCredits(t *testing.T) error {
	f := newFixture(t, &modeltest.Script{})
	err := f.accounts.Afford(t.Context(), f.organization(t, 0))
	if !fault.Is(err, fault.NoCredits) {
		t.Fatal(err)
	}
	return err
}

func TestDecideWithoutScorer(t *testing.T) {
	f := newFixture(t, &modeltest.Script{})
	s := New(Options{Backend: modeltest.Plain(f.script), Accounts: f.accounts})
	_, err := s.Decide(t.Context(), f.caller, request(noulQuestions(1)...))
	if !fault.Is(err, fault.Invalid) {
		t.Errorf("got %v, want an Invalid error", err)
	}
}

func TestDecideRefusesScoresOfOtherOptions(t *testing.T) {
	f := newFixture(t, &modeltest.Script{Scores: fixed(0, 1)})
	_, err := f.Decide(t.Context(), f.caller, request(noulQuestions(1)...))
	if !fault.Is(err, fault.Upstream) {
		t.Errorf("got %v, want an Upstream error", err)
	}
}

func TestDecideSurvivesAPanicOfTheModel(t *testing.T) {
	f := newFixture(t, &modeltest.Script{Scores: func(context.Context, *model.ScoreRequest) (*model.Scores, error) { panic("lost") }})
	_, err := f.Decide(t.Context(), f.caller, request(noulQuestions(1)...))
	if !fault.Is(err, fault.Internal) {
		t.Errorf("got %v, want an Internal error", err)
	}
}

func TestDecideContextWindow(t *testing.T) {
	const window = 1280 // of which 10 are kept free
	long := json.RawMessage(`"` + strings.Repeat("x", window) + `"`)
	for _, c := range []struct {
		name  string
		state json.RawMessage
		count int
		want  string
	}{
		{"short enough in bytes", json.RawMessage(`"x"`), window + 1, ""},
		{"long, few tokens", long, 1270, ""},
		{"close to the window", long, 1271, "The request has 1271 tokens, images included, but at most 1270 of the 1280 in the model's context window may be used."},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t, &modeltest.Script{
				Infos: []model.Info{{ID: "m", Decides: true, ContextWindow: window}},
				Count: func(*model.Request) (int, error) { return c.count, nil },
			})
			req := &Request{Model: "m", State: c.state, Questions: noulQuestions(1)}
			_, err := f.Decide(t.Context(), f.caller, req)
			if c.want == "" {
				is.NoErr(err)
				return
			}
			is.Equal(err, &fault.Error{Kind: fault.Rejected, Code: fault.CodeContextLength, Message: c.want})
			is.Equal(len(f.script.ScoreCalls()), 0)
		})
	}
}

// Images and every question count against the window.
func TestDecideCountsEverything(t *testing.T) {
	is := is.New(t)
	var counted *model.Request
	f := newFixture(t, &modeltest.Script{
		Infos: []model.Info{{ID: "m", Decides: true, ContextWindow: 64}},
		Count: func(req *model.Request) (int, error) { counted = req; return 0, nil },
	})
	_, err := f.Decide(t.Context(), f.caller, &Request{
		Model: "m", State: json.RawMessage(`"x"`), Questions: noulQuestions(2),
		Images: []Image{{"image/png", encode(pngBytes(t, 3, 2))}},
	})
	is.NoErr(err)
	var asked string
	for _, c := range f.script.ScoreCalls() {
		asked += c.Request.Question + "\n"
	}
	is.Equal(counted, &model.Request{Model: "m", Messages: []model.Message{
		model.TextMessage(model.System, instructions),
		{Role: model.User, Parts: []model.Part{
			model.Text("\"\"\"\nx\n\"\"\"\n\n"),
			model.Image{MediaType: "image/png", Data: pngBytes(t, 3, 2), Width: 3, Height: 2},
			model.Text(asked),
		}},
	}})
}

func BenchmarkDecide16Questions(b *testing.B) {
	f := newFixture(b, &modeltest.Script{})
	req := request(noulQuestions(5)...)
	for i := range 11 {
		q := Question{Name: fmt.Sprintf("c%d", i), Type: Choice, Instructions: "Which?", Criteria: optionsJSON(20)}
		if i%2 == 0 {
			q.Type, q.Criteria = Score, levelsJSON(10)
		}
		req.Questions = append(req.Questions, q)
	}
	req.State = json.RawMessage(`"` + strings.Repeat("some words of state ", 100) + `"`)
	f.caller = f.organization(b, 1_000_000*accounts.Dollar)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Decide(b.Context(), f.caller, req); err != nil {
			b.Fatal(err)
		}
	}
}

// TestTheCallsOfAnOrganizationAreBounded has many decisions at once, of which each
// alone would make sixteen calls.
func TestTheCallsOfAnOrganizationAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := &modeltest.Script{Scores: func(ctx context.Context, req *model.ScoreRequest) (*model.Scores, error) {
			time.Sleep(time.Second)
			return (&modeltest.Script{}).Score(ctx, req)
		}}
		f := newFixture(t, script)
		var all sync.WaitGroup
		for range 3 * maxAtOnce {
			all.Go(func() {
				if _, err := f.Decide(t.Context(), f.caller, request(one(Choice, string(optionsJSON(255)))...)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if peak := script.Peak(); peak != maxAtOnce {
			t.Errorf("%d calls at once, want %d", peak, maxAtOnce)
		}
		if len(f.Service.shares.by) > 0 {
			t.Error("a share was not given back")
		}
	})
}
