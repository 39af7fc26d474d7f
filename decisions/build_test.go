package decisions_test

import (
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/decisions"
)

func TestQuestionsOfGoValues(t *testing.T) {
	is := is.New(t)
	type order struct {
		Item string `json:"item"`
	}
	is.Equal(string(decisions.State("a <b>")), `"a <b>"`)
	is.Equal(string(decisions.State(order{"x"})), `{"item":"x"}`)
	is.Equal(len(decisions.State(func() {})), 0)
	is.Equal(decisions.NewNoul("n", "?"), decisions.Question{Name: "n", Type: decisions.Noul, Instructions: "?"})
	choice := decisions.NewChoice("c", "?", decisions.Option{Name: "z", Description: "Last."}, decisions.Option{Name: "a"}, decisions.Option{Name: "m", Description: order{"y"}})
	is.Equal(string(choice.Criteria), `{"z":"Last.","a":null,"m":{"item":"y"}}`)
	is.Equal(string(decisions.NewScore("s", "?", "low", nil, order{"z"}).Criteria), `["low",null,{"item":"z"}]`)
	r := decisions.Response{Answers: []decisions.Answer{{Name: "a"}, {Name: "b", Outcomes: []decisions.Outcome{{Name: "x", Probability: 0.5}}}}}
	is.Equal(r.Result("b").Probability("x"), 0.5)
	is.Equal(r.Result("b").Probability("y"), 0.0)
	is.True(r.Result("c") == nil)
}
