package decisions

import (
	"encoding/json"
	"testing"

	"github.com/matryer/is"
)

func TestResponseJSON(t *testing.T) {
	is := is.New(t)
	r := &Response{
		Model: "m",
		Answers: []Answer{
			{Name: "z", Type: Noul, Noul: 0.25},
			{Name: "a<b", Type: Choice, Choice: "y", Confidence: 0.75,
				Outcomes: []Outcome{{Name: "y", Probability: 0.75}, {Name: "b", Probability: 0.25}}},
			{Name: "m", Type: Score, Score: 0.5, Confidence: 0.5, Outcomes: []Outcome{
				{Name: "0", Level: json.RawMessage(`"low"`), Probability: 0.5},
				{Name: "1", Level: json.RawMessage(`{"like":["<"]}`), Probability: 0.5}}},
		},
		Usage: Usage{InputTokens: 7},
	}
	got, err := r.MarshalJSON()
	is.NoErr(err)
	is.Equal(string(got), `{"model":"m","answers":{"z":{"type":"noul","noul":0.25},`+
		`"a<b":{"type":"choice","choice":"y","probabilities":{"y":0.75,"b":0.25},"confidence":0.75},`+
		`"m":{"type":"score","score":0.5,"legend":{"0":"low","1":{"like":["<"]}},"probabilities":{"0":0.5,"1":0.5},"confidence":0.5}},`+
		`"usage":{"input_tokens":7,"output_tokens":0}}`)
}
