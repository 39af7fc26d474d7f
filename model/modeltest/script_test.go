package modeltest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/model"
)

func request(text string) *model.Request {
	return &model.Request{
		Model:    model.DefaultGenerator,
		Messages: []model.Message{model.TextMessage(model.User, text)},
	}
}

// collect ranges over the answer to a request.
func collect(ctx context.Context, b model.Backend, req *model.Request) (events []model.Event, err error) {
	for event, err := range b.Generate(ctx, req) {
		if err != nil {
			return events, err
		}
		events = append(events, event)
	}
	return events, nil
}

func TestScriptReplaysAnswersInTurn(t *testing.T) {
	is := is.New(t)
	broken := errors.New("broken")
	s := New(
		Text("Hel", "lo"),
		Calls(model.ToolCall{ID: "1", Name: "f", Arguments: `{"é":1}`}),
		Fail(broken, model.TextDelta{Text: "x"}),
	)

	events, err := collect(t.Context(), s, request("a"))
	is.NoErr(err)
	is.Equal(events, []model.Event{
		model.TextDelta{Text: "Hel"}, model.TextDelta{Text: "lo"},
		DefaultUsage, model.Finish{Reason: model.Stop},
	})

	events, err = collect(t.Context(), s, request("b"))
	is.NoErr(err)
	is.Equal(events, []model.Event{
		model.ToolCallStart{ID: "1", Name: "f"},
		model.ToolCallDelta{Arguments: `{"é`}, model.ToolCallDelta{Arguments: `":1}`},
		DefaultUsage, model.Finish{Reason: model.ToolCalls},
	})

	events, err = collect(t.Context(), s, request("c"))
	is.Equal(err, broken)
	is.Equal(events, []model.Event{model.TextDelta{Text: "x"}})

	_, err = collect(t.Context(), s, request("d"))
	is.True(errors.Is(err, ErrNoAnswer))
	is.Equal(s.Requests(), []*model.Request{request("a"), request("b"), request("c"), request("d")})
	is.Equal(s.UnderWay(), 0)
	is.Equal(s.Peak(), 1)
}

func TestScriptKeepsWhatWasAskedNotWhatBecameOfIt(t *testing.T) {
	is := is.New(t)
	s := New(Text("x"))
	req := request("before")
	_, err := collect(t.Context(), s, req)
	is.NoErr(err)
	req.Messages[0].Parts[0] = model.Text("after")
	is.Equal(s.Requests(), []*model.Request{request("before")})
}

func TestScriptBlocksUntilCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		s := &Script{Respond: func(*model.Request) Answer { return Block(model.TextDelta{Text: "x"}) }}
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := collect(ctx, s, request("a"))
				errs <- err
			}()
		}
		synctest.Wait()
		is.Equal(s.UnderWay(), 2)
		cancel()
		is.Equal([]error{<-errs, <-errs}, []error{context.Canceled, context.Canceled})
		synctest.Wait()
		is.Equal(s.UnderWay(), 0)
		is.Equal(s.Peak(), 2)
	})
}

func TestAnswerWithUsageAndFinish(t *testing.T) {
	is := is.New(t)
	usage := model.Usage{InputTokens: 1}
	answer := Text("x").WithUsage(usage).WithFinish(model.Length)
	is.Equal(answer.Events, []model.Event{model.TextDelta{Text: "x"}, usage, model.Finish{Reason: model.Length}})
	is.Equal(Text("x").Events[1], DefaultUsage)
}

func TestDistribution(t *testing.T) {
	weights := Distribution(map[string]float64{"bill": 5, "billing": 0.6, "sales": 0.3, "spam": 0.1})
	tests := []struct {
		name    string
		options []model.Option
		want    []float64
	}{
		{"names and descriptions", []model.Option{{Texts: []string{"billing: invoices"}}, {Texts: []string{"sales"}}, {Texts: []string{"spam"}}},
			[]float64{0.6, 0.3, 0.1}},
		{"groups", []model.Option{{Texts: []string{"billing", "sales"}}, {Texts: []string{"spam"}}}, []float64{0.9, 0.1}},
		{"unknown", []model.Option{{Texts: []string{"x"}}, {Texts: []string{"billings"}}}, []float64{0.5, 0.5}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			s := &Script{Scores: weights}
			scores, err := model.Use(s).Score(t.Context(), &model.ScoreRequest{Options: tt.options})
			is.NoErr(err)
			for i, want := range tt.want {
				if diff := scores.Probabilities[i] - want; diff > 1e-12 || diff < -1e-12 {
					t.Errorf("got %v, want %v", scores.Probabilities, tt.want)
				}
			}
			is.Equal(s.ScoreCalls(), []ScoreCall{{Request: &model.ScoreRequest{Options: tt.options}, UnderWay: 1}})
		})
	}
}

func TestPlainHasNoExtras(t *testing.T) {
	is := is.New(t)
	_, err := model.Use(Plain(New())).Score(t.Context(), &model.ScoreRequest{})
	is.Equal(err, model.ErrNoScorer)
}

func TestScriptConforms(t *testing.T) {
	Run(t, func(*testing.T) model.Backend {
		return &Script{Respond: func(*model.Request) Answer { return Text("One.", " Two.") }}
	}, Options{Scripted: true})
}

func TestScriptThatDecidesConforms(t *testing.T) {
	Run(t, func(*testing.T) model.Backend {
		return &Script{
			Respond: func(*model.Request) Answer { return Text("One.", " Two.") },
			Decisions: func(_ context.Context, req *model.DecideRequest) (*model.Decision, error) {
				d := &model.Decision{StateTokens: 1, QuestionTokens: 1}
				for i := range req.Questions {
					p := make([]float64, len(req.Questions[i].Options))
					p[0] = 1
					d.Probabilities = append(d.Probabilities, p)
				}
				return d, nil
			},
		}
	}, Options{Scripted: true})
}
