package builtin

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/model"
)

// The weights of the kinds of evidence, in units of log odds.
const (
	matchWeight = 1.6  // a term of an option that the state has
	toneWeight  = 2.5  // an option's mood or urgency that is the state's
	printWeight = 0.15 // the fingerprint of an image
	mostOdds    = 7.0  // the most evidence for or against an option
	restWeight  = 0.25 // a mood or urgency that nothing in the state speaks of
	tieWeight   = 0.02 // what tells options apart that nothing else does
)

// Score implements [model.Scorer]. The numbers sum to 1, none is 0 or 1, and
// they do not depend on the order of the options.
func (b *Backend) Score(ctx context.Context, req *model.ScoreRequest) (*model.Scores, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	state := b.analyses.get(req.State, b.lexicon)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	j := judge{state: state, lexicon: b.lexicon, stemmer: newStemmer()}
	return &model.Scores{
		Probabilities:  j.probabilities(req),
		StateTokens:    state.tokens + countTokens(req.Instructions),
		QuestionTokens: countTokens(req.Question),
		OutputTokens:   1,
	}, nil
}

// judge weighs texts against a state.
type judge struct {
	state   *analysis
	lexicon *lexicon
	stemmer *stemmer
}

// probabilities shares out a probability of 1 among the options. An option that
// stands for a group weighs as much as its members together.
func (j judge) probabilities(req *model.ScoreRequest) []float64 {
	var texts []string
	for _, option := range req.Options {
		texts = append(texts, option.Texts...)
	}
	evidence := j.weigh(texts)
	j.addStatement(req, texts, evidence)
	question := bagHash(req.Question)
	for i, text := range texts {
		evidence[i] += tieWeight * fraction(question^bagHash(text))
	}

	weights := make([]float64, len(req.Options))
	next := 0
	for i, option := range req.Options {
		members := make([]float64, len(option.Texts))
		for m := range members {
			members[m] = math.Exp(min(max(evidence[next], -mostOdds), mostOdds))
			next++
		}
		weights[i] = orderedSum(members)
	}
	total := orderedSum(weights)
	for i := range weights {
		if total == 0 { // no option has a text
			weights[i] = 1 / float64(len(weights))
		} else {
			weights[i] /= total
		}
	}
	return weights
}

// orderedSum adds numbers up from the smallest, so that their order does not
// change the sum.
func orderedSum(numbers []float64) float64 {
	sum := 0.0
	for _, n := range slices.Sorted(slices.Values(numbers)) {
		sum += n
	}
	return sum
}

// weigh returns the evidence for each text, in units of log odds.
func (j judge) weigh(texts []string) []float64 {
	options := make([]*optionTerms, len(texts))
	spread := make(map[string]int)
	for i, text := range texts {
		options[i] = j.readOption(text)
		for _, term := range options[i].terms {
			spread[term]++
		}
	}
	evidence := make([]float64, len(texts))
	for i, o := range options {
		evidence[i] = j.matches(o, spread, len(texts)) + j.prints(texts[i])
	}
	addTone(evidence, options, scale{func(o *optionTerms) tone { return o.mood }, j.state.mood, 0})
	addTone(evidence, options, scale{func(o *optionTerms) tone { return o.urgency }, j.state.urgency, -0.3})
	return evidence
}

// optionTerms is what an option says.
type optionTerms struct {
	terms         []string
	name          map[string]bool // the terms of its name
	mood, urgency tone
}

// readOption reads a text such as "billing: Questions about invoices".
func (j judge) readOption(text string) *optionTerms {
	a := analyseText(spaced(text), j.lexicon)
	o := &optionTerms{terms: j.stemmer.set(spaced(text)), name: map[string]bool{}, mood: a.mood, urgency: a.urgency}
	name, _, _ := strings.Cut(text, ":")
	for _, term := range j.stemmer.set(spaced(name)) {
		o.name[term] = true
	}
	return o
}

// spaced separates the words of names such as technical_support.
func spaced(text string) string { return strings.NewReplacer("_", " ", "/", " ").Replace(text) }

// matches weighs the terms that an option shares with the state by how few
// options have them.
func (j judge) matches(o *optionTerms, spread map[string]int, options int) float64 {
	const nameBoost = 1.5
	sum := 0.0
	for _, term := range o.terms {
		if spread[term] == options && options > 1 {
			continue
		}
		weight := math.Log(float64(1+options)/float64(spread[term])) / math.Log(float64(1+options))
		if o.name[term] {
			weight *= nameBoost
		}
		sum += weight * j.state.presence(term, j.lexicon)
	}
	return matchWeight * sum / math.Sqrt(1+float64(len(o.terms))/4)
}

// prints lets every image count: its fingerprint and the option's text give a
// small number of their own.
func (j judge) prints(text string) float64 {
	sum := 0.0
	for _, print := range j.state.prints {
		h := fnv.New64a()
		h.Write(binary.BigEndian.AppendUint64(nil, print)) // never fails
		h.Write([]byte(text))
		sum += fraction(h.Sum64())
	}
	return printWeight * sum
}

// fraction turns a hash into a number from -0.5 to 0.5.
func fraction(h uint64) float64 { return float64(mix(h))/math.MaxUint64 - 0.5 }

// bagHash is a hash of the words of a text that does not depend on their order: a
// question names its options in theirs.
func bagHash(text string) uint64 {
	sum := uint64(0)
	for _, word := range strings.Fields(text) {
		h := fnv.New64a()
		h.Write([]byte(word)) // never fails
		sum += mix(h.Sum64())
	}
	return sum
}

// mix spreads the last bits of a hash over all of it.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	return h ^ h>>33
}

// scale is one on which options and the state have a tone.
type scale struct {
	of    func(*optionTerms) tone
	state tone
	rest  float64 // where a state without words of the scale is
}

// addTone adds the evidence of a scale on which the options lie apart: the
// nearer an option is to the state, the better.
func addTone(evidence []float64, options []*optionTerms, s scale) {
	const apart = 0.5
	low, high := math.Inf(1), math.Inf(-1)
	for _, o := range options {
		if t := s.of(o); t.words > 0 {
			low, high = min(low, t.value()), max(high, t.value())
		} else {
			low, high = min(low, 0), max(high, 0)
		}
	}
	if high-low < apart {
		return
	}
	at := s.rest
	if s.state.words > 0 {
		at = s.state.value()
	}
	strength := toneWeight * (0.4 + s.state.certainty())
	if s.state.words == 0 {
		strength = restWeight // a guess, and to be taken for one
	}
	for i, o := range options {
		distance := s.of(o).value() - at
		evidence[i] -= strength * distance * distance
	}
}
