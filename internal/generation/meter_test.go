package generation

import (
	"context"
	"errors"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// TestUsageIsCountedHoweverTheAnswerEnds has answers that are cut after their
// first piece, of backends that say what they have used and of ones that do not.
func TestUsageIsCountedHoweverTheAnswerEnds(t *testing.T) {
	least := model.Usage{InputTokens: 2, OutputTokens: 1} // of "How many?" and "ab"
	told := model.Usage{InputTokens: 11, OutputTokens: 1}
	for rule, c := range map[string]struct {
		answer modeltest.Answer
		want   model.Usage
	}{
		"the backend says it":       {modeltest.Text("ab", "cd"), told},
		"the backend does not":      {modeltest.Block(text("ab")), least},
		"the backend has only seen": {modeltest.Block(model.Started{}), model.Usage{InputTokens: 2}},
	} {
		for end, play := range map[string]func(context.Context, *Meter, model.Backend){
			"the consumer stops": func(ctx context.Context, m *Meter, b model.Backend) {
				for range Stream(ctx, b, request(model.FormatText), nil, m) {
					break
				}
			},
			"the context ends": func(ctx context.Context, m *Meter, b model.Backend) {
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				for range Stream(ctx, b, request(model.FormatText), nil, m) {
					cancel()
				}
			},
			"structured, the consumer stops": func(ctx context.Context, m *Meter, b model.Backend) {
				for range Stream(ctx, b, request(model.FormatObject), nil, m) {
					break
				}
			},
		} {
			t.Run(rule+", "+end, func(t *testing.T) {
				var m Meter
				script := modeltest.New(c.answer)
				play(t.Context(), &m, script)
				is.New(t).Equal(m.Usage(), c.want)
				is.New(t).Equal(script.UnderWay(), 0)
			})
		}
	}
}

func TestAConsumerThatPanicsHasUsedWhatItSaw(t *testing.T) {
	is := is.New(t)
	var m Meter
	func() {
		defer func() { is.Equal(recover(), "consumer") }()
		for range Stream(t.Context(), modeltest.New(modeltest.Text("ab", "cd")), request(model.FormatText), nil, &m) {
			panic("consumer")
		}
	}()
	is.Equal(m.Usage(), model.Usage{InputTokens: 2, OutputTokens: 1})
}

func TestARequestThatIsRefusedUsesNothing(t *testing.T) {
	is := is.New(t)
	var m Meter
	for range Stream(t.Context(), modeltest.New(modeltest.Fail(errors.New("no"))), request(model.FormatText), nil, &m) {
	}
	is.Equal(m.Usage(), model.Usage{})
}

func TestAnAnswerThatIsCutCostsNoMoreThanItsAllowance(t *testing.T) {
	var m Meter
	req := request(model.FormatText)
	req.MaxTokens = 2
	for range Stream(t.Context(), modeltest.New(modeltest.Block(text("one two three four"))), req, nil, &m) {
		break
	}
	is.New(t).Equal(m.Usage().OutputTokens, 2)
}
