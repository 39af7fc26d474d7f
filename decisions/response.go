package decisions

import (
	"encoding/json"
)

// Response holds the answers to the questions of a [Request], in its order.
type Response struct {
	ID      string // dec_… of a stored decision; empty for any other
	Model   string
	Answers []Answer
	Usage   Usage

	// Ordered says that the request asked for several orders: answers say how far
	// they differed. Abstains says that it wants to know which answers to do without.
	Ordered, Abstains bool
}

// Usage counts the tokens of a decision.
type Usage struct {
	// InputTokens are the tokens charged: those of the state and the images
	// once, and those of each question as often as it was asked: a question with
	// very many options, or asked in several orders, is more than one prompt.
	InputTokens int
	// OutputTokens is always 0: an answer is read from the probabilities of a
	// token that nobody is charged for.
	OutputTokens int
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
	// Those of Labels are independent of each other.
	Outcomes   []Outcome
	Confidence float64 // Choice, Score: the probability of the most likely outcome

	// OrderVariation is the largest difference of a probability between two of the
	// orders in which the question was asked; 0 where it was asked in one.
	OrderVariation float64

	// Calibration is the ID of the calibration that was applied, empty for none, and
	// Raw the answer without it. CalibrationStale says that the question has a
	// calibration that does not hold any more, since the model or the way of reading
	// it has changed, and was not applied.
	Calibration      string
	Raw              *Answer
	CalibrationStale bool

	// Abstained says that the answer does not keep the error rate that the caller
	// asked for.
	Abstained bool
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
	if q.kind == Labels {
		for i, o := range q.options {
			a.Outcomes = append(a.Outcomes, Outcome{Name: o.name, Probability: p[i]})
		}
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

// Best returns the index of the most likely outcome of a Choice or Score, the
// first asked of several.
func (a *Answer) Best() int {
	best := 0
	for i := range a.Outcomes {
		if a.Outcomes[i].Probability > a.Outcomes[best].Probability {
			best = i
		}
	}
	return best
}

// ProbabilityAt returns the probability of one of the answers that the question may
// have, by its index: of yes and no, of the options, or of the levels.
func (a *Answer) ProbabilityAt(index int) float64 {
	if p := a.probabilities(); index >= 0 && index < len(p) {
		return p[index]
	}
	return 0
}

// Least returns the confidence of an answer of any type: the probability of what
// it says.
func (a *Answer) Least() float64 {
	if a.Type == Noul {
		return max(a.Noul, 1-a.Noul)
	}
	return a.Confidence
}
