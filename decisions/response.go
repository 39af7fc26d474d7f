package decisions

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Response holds the answers to the questions of a [Request], in its order.
type Response struct {
	Model   string
	Answers []Answer
	Usage   Usage
}

// Usage counts the tokens of a decision.
type Usage struct {
	// InputTokens are the tokens charged: those of the state and the images
	// once, and those of each question once.
	InputTokens int `json:"input_tokens"`
	// OutputTokens is always 0: an answer is read from the probabilities of a
	// token that nobody is charged for.
	OutputTokens int `json:"output_tokens"`
}

// Answer is the answer to one question. Which fields are set depends on Type.
// Probabilities are 0 to 1.
type Answer struct {
	Name string
	Type Type

	Noul   float64 // Noul: the probability of yes
	Choice string  // Choice: the most likely option, the first asked of several
	Score  float64 // Score: the mean of the levels' indices, weighted by probability

	// Outcomes are the options or levels of a Choice or Score, in the order
	// asked. Their probabilities sum to 1.
	Outcomes   []Outcome
	Confidence float64 // Choice, Score: the probability of the most likely outcome
}

// Outcome is one possible answer and its probability.
type Outcome struct {
	Name        string          // the option's name, or the level's index in decimal
	Level       json.RawMessage // Score: the level's description as it was given
	Probability float64
}

// answer returns the answer that the distribution p over q's options means.
func answer(q *question, p []float64) Answer {
	a := Answer{Name: q.name, Type: q.kind}
	if q.kind == Noul {
		a.Noul = p[0]
		return a
	}
	best := likeliest(p)
	a.Confidence = p[best]
	a.Outcomes = make([]Outcome, len(p))
	for i, o := range q.options {
		a.Outcomes[i] = Outcome{Name: o.name, Probability: p[i]}
	}
	if q.kind == Choice {
		a.Choice = q.options[best].name
		return a
	}
	for i, o := range q.options {
		a.Outcomes[i].Level = o.description
	}
	a.Score = expectation(p)
	return a
}

// MarshalJSON returns the response as the interface shows it. Questions,
// options and levels keep their order.
func (r Response) MarshalJSON() ([]byte, error) {
	var w writer
	w.open()
	w.member("model", r.Model)
	w.name("answers")
	w.open()
	for i := range r.Answers {
		w.name(r.Answers[i].Name)
		w.answer(&r.Answers[i])
	}
	w.close()
	w.member("usage", r.Usage)
	w.close()
	return w.buf.Bytes(), w.err
}

// writer writes JSON objects whose members have an order.
type writer struct {
	buf   bytes.Buffer
	comma bool // a member was written to the object that is open
	err   error
}

func (w *writer) open() {
	w.buf.WriteByte('{')
	w.comma = false
}

func (w *writer) close() {
	w.buf.WriteByte('}')
	w.comma = true
}

func (w *writer) name(name string) {
	if w.comma {
		w.buf.WriteByte(',')
	}
	w.value(name)
	w.buf.WriteByte(':')
}

func (w *writer) member(name string, value any) {
	w.name(name)
	w.value(value)
	w.comma = true
}

func (w *writer) value(value any) {
	e := json.NewEncoder(&w.buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil && w.err == nil {
		w.err = err
		return
	}
	w.buf.Truncate(w.buf.Len() - 1) // the line end that Encode adds
}

func (w *writer) answer(a *Answer) {
	w.open()
	w.member("type", a.Type)
	switch a.Type {
	case Noul:
		w.member("noul", a.Noul)
	case Choice:
		w.member("choice", a.Choice)
		w.probabilities(a.Outcomes)
		w.member("confidence", a.Confidence)
	case Score:
		w.member("score", a.Score)
		w.legend(a.Outcomes)
		w.probabilities(a.Outcomes)
		w.member("confidence", a.Confidence)
	default:
		w.err = fmt.Errorf("decisions: answer of unknown type %q", a.Type)
	}
	w.close()
}

func (w *writer) probabilities(outcomes []Outcome) {
	w.name("probabilities")
	w.open()
	for i := range outcomes {
		w.member(outcomes[i].Name, outcomes[i].Probability)
	}
	w.close()
}

func (w *writer) legend(outcomes []Outcome) {
	w.name("legend")
	w.open()
	for i := range outcomes {
		w.member(outcomes[i].Name, outcomes[i].Level)
	}
	w.close()
}
