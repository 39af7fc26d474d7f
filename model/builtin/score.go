package builtin

import (
	"context"
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/model"
)

// Score implements [model.Scorer]. The numbers sum to 1, none is 0 or 1, and they do not
// depend on the order of the options. One that stands for a group weighs as much as its
// members together.
func (b *Backend) Score(ctx context.Context, req *model.ScoreRequest) (*model.Scores, error) {
	const mostOdds = 7.0
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	parts, pictures := slices.Clone(req.State), 0
	for _, image := range req.Images {
		parts = append(parts, image)
		pictures += image.Tokens()
	}
	j := judge{b.states.get(parts), stems{}}
	var texts []string
	for _, option := range req.Options {
		texts = append(texts, option.Texts...)
	}
	evidence, weights := j.evidence(req.Question, texts), make([]float64, len(req.Options))
	for i, option := range req.Options {
		var members []float64
		for range option.Texts {
			members = append(members, math.Exp(min(max(evidence[0], -mostOdds), mostOdds)))
			evidence = evidence[1:]
		}
		weights[i] = sum(members)
	}
	total := sum(weights)
	for i := range weights {
		if weights[i] /= total; total == 0 { // no option has a text
			weights[i] = 1 / float64(len(weights))
		}
	}
	return &model.Scores{Probabilities: weights, StateTokens: j.state.tokens - pictures + countTokens(req.Instructions),
		QuestionTokens: pictures + countTokens(req.Question), OutputTokens: 1}, ctx.Err()
}

// sum adds numbers up from the smallest, so that their order does not change it.
func sum(numbers []float64) (total float64) {
	for _, n := range slices.Sorted(slices.Values(numbers)) {
		total += n
	}
	return total
}

// judge weighs texts against a state, in units of log odds. It is not safe for concurrent
// use.
type judge struct {
	state *state
	words stems
}

// evidence returns how far the state speaks for each of the options of a question. A yes
// or no question is also a statement; where the descriptions of yes and no tell them
// apart, the words of the question count less.
func (j judge) evidence(question string, texts []string) []float64 {
	const telling, describedShare, tieWeight = 0.5, 0.25, 0.02
	evidence, asked := j.weigh(texts), hashWords(question)
	if len(texts) == 2 && verdict(texts[0])*verdict(texts[1]) == -1 {
		support := j.support(withoutOptions(question, texts)) / 2
		if math.Abs(evidence[0]-evidence[1]) > telling {
			support *= describedShare
		}
		for i, text := range texts {
			evidence[i] += verdict(text) * support
		}
	}
	for i, text := range texts { // where nothing else tells them apart
		evidence[i] += tieWeight * fraction(asked^hashWords(text))
	}
	return evidence
}

// weigh returns the evidence for each text such as "billing: Questions about invoices".
func (j judge) weigh(texts []string) []float64 {
	const printWeight = 0.15
	options, terms, spread := make([]*state, len(texts)), make([][]string, len(texts)), map[string]int{}
	for i, text := range texts {
		options[i] = readState(j.words, model.Text(spaced(text)))
		terms[i] = j.words.list(spaced(text))
		for _, term := range terms[i] {
			spread[term]++
		}
	}
	evidence := make([]float64, len(texts))
	for i, text := range texts {
		name, _, _ := strings.Cut(text, ":")
		evidence[i] = j.matches(terms[i], j.words.list(spaced(name)), spread, len(texts))
		for _, print := range j.state.prints { // every image counts
			evidence[i] += printWeight * fraction(hash(print+text))
		}
	}
	addTone(evidence, options, func(s *state) tone { return s.mood }, j.state.mood, 0)
	addTone(evidence, options, func(s *state) tone { return s.urgency }, j.state.urgency, -0.3)
	return evidence
}

// matches weighs the terms that an option shares with the state by how few options have
// them, those of its name more.
func (j judge) matches(terms, names []string, spread map[string]int, options int) (total float64) {
	const weight, nameBoost = 1.6, 1.5
	for _, term := range terms {
		if spread[term] == options && options > 1 {
			continue
		}
		rarity := math.Log(float64(1+options)/float64(spread[term])) / math.Log(float64(1+options))
		if slices.Contains(names, term) {
			rarity *= nameBoost
		}
		total += rarity * j.state.presence(term)
	}
	return weight * total / math.Sqrt(1+float64(len(terms))/4)
}

// addTone adds the evidence of a scale on which the options lie apart: the nearer an option
// is to the state, the better. A state without words of the scale is at rest.
func addTone(evidence []float64, options []*state, of func(*state) tone, at tone, rest float64) {
	const apart, weight, restWeight = 0.5, 2.5, 0.25
	low, high := math.Inf(1), math.Inf(-1)
	for _, o := range options {
		low, high = min(low, of(o).value()), max(high, of(o).value())
	}
	if high-low < apart {
		return
	}
	strength, where := weight*(0.4+at.certainty()), at.value()
	if at.words == 0 {
		strength, where = restWeight, rest // a guess, and to be taken for one
	}
	for i, o := range options {
		evidence[i] -= strength * math.Pow(of(o).value()-where, 2)
	}
}

// fraction turns a hash into a number from -0.5 to 0.5.
func fraction(h uint64) float64 { return float64(mix(h))/math.MaxUint64 - 0.5 }

// mix spreads the last bits of a hash over all of it.
func mix(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	return h ^ h>>33
}

func hash(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text)) // never fails
	return h.Sum64()
}

// hashWords is a hash of the words of a text that does not depend on their order: a
// question names its options in theirs.
func hashWords(text string) (total uint64) {
	for word := range strings.FieldsSeq(text) {
		total += mix(hash(word))
	}
	return total
}

// verdict returns 1 for an option that says yes, -1 for one that says no, and 0 for any
// other.
func verdict(text string) float64 {
	word, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(text)), " ")
	return map[string]float64{"yes": 1, "true": 1, "no": -1, "false": -1}[strings.Trim(word, `.,:;"'-`)]
}

// withoutOptions returns a question without the lines that list its options, with their
// labels or without.
func withoutOptions(question string, texts []string) (kept string) {
	const longestLabel = 8 // with what separates it from the text
	parts := strings.Split(strings.Join(texts, "\n"), "\n")
	for line := range strings.Lines(question) {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || !slices.ContainsFunc(parts, func(part string) bool {
			label, ok := strings.CutSuffix(trimmed, strings.TrimSpace(part))
			return ok && len(label) <= longestLabel
		}) {
			kept += line
		}
	}
	return kept
}

// support returns how well the state supports a statement or question.
func (j judge) support(statement string) float64 {
	const threshold, slope, unknown = 0.45, 5, -0.3
	asked := readState(j.words, model.Text(spaced(statement)))
	query := slices.DeleteFunc(j.words.list(spaced(statement)), func(term string) bool { return in("subject", term) })
	matched := float64(unknown)
	if len(query) > 0 {
		covered, negated := j.coverage(query)
		matched = slope * (covered - threshold)
		if last := len(asked.clauses) - 1; negated != asked.clauses[last].negated {
			matched = min(matched, -matched)
		}
	}
	if toned, support := j.toneSupport(asked); toned {
		return support + max(matched, 0)/2
	}
	return matched
}

// toneSupport weighs a statement about a mood or urgency, if it is one.
func (j judge) toneSupport(asked *state) (toned bool, support float64) {
	const weight, unmoved = 4, -0.8
	for _, pair := range [][2]tone{{asked.mood, j.state.mood}, {asked.urgency, j.state.urgency}} {
		about, at := pair[0], pair[1]
		if about.sum == 0 {
			continue
		}
		toned = true
		if at.words == 0 {
			support += unmoved
		} else {
			support += weight * math.Copysign(1, about.sum) * at.value() * (0.5 + at.certainty()/2)
		}
	}
	return toned, support
}

// coverage returns how much of a query the state has, from 0 to 1: in its best clause and,
// counting less, anywhere. negated says that the best clause negates.
func (j judge) coverage(query []string) (covered float64, negated bool) {
	const clauseShare, relatedShare = 0.6, 0.6
	worth, anywhere, best := map[string]float64{}, 0.0, 0.0
	for _, term := range query {
		anywhere += min(j.state.presence(term), 1)
		for _, other := range lists()["like "+term] {
			worth[other] = max(worth[other], relatedShare)
		}
	}
	for _, term := range query {
		worth[term] = 1
	}
	for _, c := range j.state.clauses {
		total := 0.0
		for _, term := range c.terms {
			total += worth[term]
		}
		if total > best {
			best, negated = total, c.negated
		}
	}
	n := float64(len(query))
	return clauseShare*min(best/n, 1) + (1-clauseShare)*anywhere/n, negated
}
