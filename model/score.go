package model

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// MaxLabels is how many options any [Scorer] takes in one [ScoreRequest]: model
// servers show about 20 log-probabilities at a position, so more labels than that
// could not be told apart. A [Labeler] may take more.
const MaxLabels = 20

// Letters are labels for any model. A, I and O are none of them: they are words
// that an answer may begin with.
var Letters = []string{"B", "C", "D", "E", "F", "G", "H", "J", "K", "L", "M", "N", "P", "Q", "R", "S", "T", "U", "V", "W", "X", "Y", "Z"}

// Labeler is a [Scorer] that knows which labels its models can tell apart.
type Labeler interface {
	// Labels returns distinct labels for the options of one question to a model:
	// n of them where one call can ask about so many, otherwise as many as one can,
	// at least MaxLabels. The slice is shared and must not be changed.
	Labels(ctx context.Context, model string, n int) []string
}

// Scorer is a [Backend] that can also read a model's distribution over labels,
// which is what Decisions needs.
type Scorer interface {
	// Score asks one question about a state and returns how much probability
	// the model puts on each option's label as the first token of its answer.
	// Errors and cancellation are as for Generate; one for a model that does not
	// answer with labels has a *[NoLabels] in its cause.
	Score(ctx context.Context, req *ScoreRequest) (*Scores, error)
}

// ScoreRequest is one question with its options. The prompt begins with
// Instructions and State, which are the same for all questions of a decision,
// so that a model server's prefix cache serves them; Question comes last.
type ScoreRequest struct {
	Model        string
	Tenant       string   // as in [Request]
	Instructions string   // how to answer: the system message
	State        []Part   // what is judged: text, then images
	Images       []Image  // pictures that belong to the question, before it
	Question     string   // what is asked, with the options listed under their labels
	Options      []Option // 2 to [MaxLabels], or to as many as the model has labels for

	// Memo belongs to the questions that have the same Model, Instructions and
	// State: backends keep there what they have worked out about those. Nil keeps
	// nothing.
	Memo *Memo
}

// Option is one possible answer.
type Option struct {
	Label string   // what the model answers with: short, a single token in most vocabularies
	Texts []string // what the label stands for: the option's name and description in one text, or one such text for each member of a group
}

// Scores is the answer to a [ScoreRequest].
type Scores struct {
	// Probabilities holds each option's probability in the order of the
	// request: the mass the model puts on its label. NaN marks a label that the
	// model server did not show. The numbers need not sum to 1: mass may lie on
	// tokens that are no label.
	Probabilities []float64

	// Hidden is the mass on tokens that the server did not show, 0 to 1.
	Hidden float64

	StateTokens    int // tokens of Instructions and State, images included
	QuestionTokens int // tokens of the Question and the rest of the prompt
	OutputTokens   int // tokens that were generated to read the distribution

	// Reading names what has answered: the kind of model server, the model there, and
	// the way in which its distribution is read, such as "vLLM Qwen/Qwen3-8B labels".
	// Answers with different readings cannot be compared, so that a calibration is
	// void for answers with another reading than those it was made of. It is empty
	// where the backend does not tell.
	Reading string
}

// LabelMass is the probability that the labels have together, 0 to 1: how far the
// model answers with labels at all. Labels that were not shown count nothing.
func (s *Scores) LabelMass() float64 {
	sum := 0.0
	for _, p := range s.Probabilities {
		if !math.IsNaN(p) {
			sum += p
		}
	}
	return min(sum, 1)
}

// NoLabels is in the cause of the error of a [Scorer] whose model does not answer
// with labels: they have too little of the probability for an answer.
type NoLabels struct{ Mass float64 } // what they have together, as [Scores.LabelMass]

func (e *NoLabels) Error() string {
	return fmt.Sprintf("the labels have %.3g of the probability", e.Mass)
}

// ErrNoScorer is returned by [Models.Score] for a driver that cannot score.
var ErrNoScorer = errors.New("model: the backend cannot score labels")

// Tokens returns what an image costs in the context window: one token for each
// tile of 64 by 64 pixels after scaling the image to fit 1024 by 1024, and never
// less than 64 or more than 256.
func (i Image) Tokens() int {
	const tile, side, least, most = 64, 1024, 64, 256
	w, h := i.Width, i.Height
	if longest := max(w, h); longest > side {
		w, h = w*side/longest, h*side/longest
	}
	tiles := ((w + tile - 1) / tile) * ((h + tile - 1) / tile)
	return min(max(tiles, least), most)
}
