package builtin

import (
	"context"
	"crypto/sha256"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/seed-506d8e5d/svc/internal/cpu"
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
	b.first()
	defer cpu.Enter(req.Tenant).Leave()
	type memo struct{} // the key of the state that the questions of a decision share
	parts, pictures, shared := slices.Clone(req.State), 0, req.Memo
	for _, image := range req.Images {
		parts, shared = append(parts, image), nil
		pictures += image.Tokens()
	}
	j := judge{shared.Once(memo{}, func() any { return readState(stems{}, parts...) }).(*state), stems{}}
	var texts []string
	for _, option := range req.Options {
		texts = append(texts, option.Texts...)
	}
	shares := j.evidence(req.Question, texts)
	for i := range shares {
		shares[i] = math.Exp(min(max(shares[i], -mostOdds), mostOdds))
	}
	total := sum(shares)
	for i := range shares {
		shares[i] /= total
	}
	j.moderate(shares, req.Question, texts)
	weights := make([]float64, len(req.Options))
	for i, option := range req.Options {
		members := len(option.Texts)
		weights[i], shares = sum(shares[:members]), shares[members:]
	}
	return &model.Scores{Probabilities: weights, StateTokens: j.state.tokens - pictures + countTokens(req.Instructions),
		QuestionTokens: pictures + countTokens(req.Question), OutputTokens: 1, Reading: reading}, ctx.Err()
}

// moderate takes probabilities that no words of the state back to mostUnbacked: those of an
// option whose name does not stand in the state or, of a yes or no question, whose question
// does not. What is taken is shared out evenly.
func (j judge) moderate(shares []float64, question string, texts []string) {
	const mostUnbacked = 0.849
	n, best := float64(len(shares)), slices.Max(shares)
	if best <= mostUnbacked {
		return
	}
	text := texts[slices.Index(shares, best)]
	backed := j.stands(text)
	if verdict(text) != 0 {
		backed = j.stands(withoutOptions(question, texts))
	}
	if backed {
		return
	}
	kept := (mostUnbacked - 1/n) / (best - 1/n)
	for i := range shares {
		shares[i] = kept*shares[i] + (1-kept)/n
	}
}

// stands reports whether all the words of a text stand in the state.
func (j judge) stands(text string) bool {
	terms := j.terms(text)
	return len(terms) > 0 && !slices.ContainsFunc(terms, func(term string) bool { return j.state.counts[term] == 0 })
}

// terms returns the words of a question or option that tell what it is about.
func (j judge) terms(text string) []string {
	return slices.DeleteFunc(j.words.list(text), func(term string) bool { return in("subject", term) || in("reminder", term) })
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

// state is what the model knows of a text that it judges. It is read only once made.
type state struct {
	counts  map[string]int // of each term
	clauses []clause       // the parts of its sentences
	tones   [2]tone        // on each of the scales
	prints  []string       // a fingerprint of each image
	tokens  int
}

type clause struct {
	terms   []string // each once
	negated bool
}

// scales are those of words.txt, and what is not on them at all is at rest.
var scales = [2]struct {
	name string
	rest float64
}{{"mood", 0}, {"urgency", -0.3}}

// tone is a sum of the values of words on a scale from -1 to 1.
type tone struct {
	sum   float64
	words int
}

func (t tone) value() float64 { return t.sum / float64(max(t.words, 1)) }

// certainty grows with the number of words, from 0 to 1.
func (t tone) certainty() float64 { return 1 - 1/(1+float64(t.words)) }

// readState reads the parts of a state. Its time is linear in their length.
func readState(words stems, parts ...model.Part) *state {
	s := &state{counts: map[string]int{}}
	for _, part := range parts {
		switch p := part.(type) {
		case model.Text:
			s.tokens += countTokens(string(p))
			s.read(string(p), words)
		case model.Document:
			s.tokens += countTokens(p.Name) + countTokens(p.Text)
			s.read(p.Name+"\n\n"+p.Text, words)
		case model.Image:
			s.tokens += p.Tokens()
			print := sha256.Sum256(p.Data)
			s.prints = append(s.prints, string(print[:]))
			s.read(describe(p), words)
		}
	}
	return s
}

func (s *state) read(text string, words stems) {
	const reach, turned = 3, -0.7 // words after a negation that it turns around, and how far
	for _, part := range clauses(text) {
		c, since := clause{}, reach+1
		for _, word := range wordsOf(part) {
			m, sign := words.look(word), 1.0
			if since++; m.negates {
				c.negated, since = true, 0
			}
			if m.negates || m.term == "" {
				continue
			}
			if since <= reach {
				sign = turned
			}
			for i, scale := range scales {
				if values := lists()[scale.name+" "+m.term]; len(values) > 0 {
					v, _ := strconv.ParseFloat(values[len(values)-1], 64) // a number of words.txt
					s.tones[i].sum += sign * v
					s.tones[i].words++
				}
			}
			s.counts[m.term]++
			c.terms = append(c.terms, m.term)
		}
		slices.Sort(c.terms)
		c.terms = slices.Clip(slices.Compact(c.terms))
		s.clauses = append(s.clauses, c)
	}
}

// clauses cuts a text into the parts of its sentences that say something by themselves.
func clauses(text string) (found []string) {
	for _, sentence := range sentences(text) {
		found = append(found, pattern("clause-end").Split(sentence, -1)...)
	}
	return found
}

// presence returns how strongly a term is in the state, from 0: as itself, or less so as
// words of the same matter.
func (s *state) presence(term string) (share float64) {
	const related, step, again = 0.5, 0.15, 0.3
	if n := s.counts[term]; n > 0 {
		return 1 + again*math.Log(float64(n))
	}
	for _, other := range lists()["like "+term] {
		if s.counts[other] > 0 {
			share = min(max(share+step, related), 1)
		}
	}
	return share
}

// evidence returns how far the state speaks for each of the options of a question. A yes
// or no question is also a statement; where the descriptions of yes and no tell them
// apart, the words of the question count less.
func (j judge) evidence(question string, texts []string) []float64 {
	const telling, describedShare, tieWeight = 0.5, 0.25, 0.02
	evidence, asked := j.weigh(texts), withoutOptions(question, texts)
	if len(texts) == 2 && verdict(texts[0])*verdict(texts[1]) == -1 {
		support := j.support(asked) / 2
		if math.Abs(evidence[0]-evidence[1]) > telling {
			support *= describedShare
		}
		for i, text := range texts {
			evidence[i] += verdict(text) * support
		}
	}
	for i, text := range texts { // where nothing else tells them apart
		evidence[i] += tieWeight * fraction(asked+"\x00"+text)
	}
	return evidence
}

// weigh returns the evidence for each text such as "billing: Questions about invoices": the
// terms that it shares with the state, by how few texts have them and those of its name more;
// and, on a scale on which the texts lie apart, how near it is to the state.
func (j judge) weigh(texts []string) []float64 {
	const weight, nameBoost, printWeight = 2.8, 1.5, 0.15
	const apart, toneWeight, restWeight = 0.5, 2.5, 0.25
	evidence, tones, spread := make([]float64, len(texts)), make([][2]tone, len(texts)), map[string]int{}
	for i, text := range texts {
		tones[i] = readState(j.words, model.Text(text)).tones
		for _, term := range j.words.list(text) {
			spread[term]++
		}
	}
	for i, text := range texts {
		name, _, _ := strings.Cut(text, ":")
		terms, names := j.words.list(text), j.words.list(name)
		for _, term := range terms {
			rarity := 1 - math.Log(float64(spread[term]))/math.Log(float64(1+len(texts)))
			if slices.Contains(names, term) {
				rarity *= nameBoost
			}
			if len(texts) == 1 || spread[term] < len(texts) {
				evidence[i] += rarity * j.state.presence(term)
			}
		}
		evidence[i] *= weight / math.Sqrt(1+float64(len(terms))/4)
		for _, print := range j.state.prints { // every image counts
			evidence[i] += printWeight * fraction(print+text)
		}
	}
	for scale, at := range j.state.tones {
		values := make([]float64, len(texts))
		for i := range texts {
			values[i] = tones[i][scale].value()
		}
		strength, where := toneWeight*(0.4+at.certainty()), at.value()
		if at.words == 0 {
			strength, where = restWeight, scales[scale].rest // a guess, and to be taken for one
		}
		for i := range evidence {
			if slices.Max(values)-slices.Min(values) >= apart {
				evidence[i] -= strength * math.Pow(values[i]-where, 2)
			}
		}
	}
	return evidence
}

// fraction turns a text into a number from -0.5 to 0.5.
func fraction(text string) float64 { return float64(hash(text))/math.MaxUint64 - 0.5 }

func hash(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text)) // never fails
	mixed := h.Sum64()
	mixed = (mixed ^ mixed>>33) * 0xff51afd7ed558ccd // spreads the last bits over all of it
	return mixed ^ mixed>>33
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

// support returns how well the state supports a statement or question: by how much of it
// is there, and where it is about a mood or urgency, by that of the state.
func (j judge) support(statement string) (support float64) {
	const weight, unmoved, clear = 4, -0.8, 1.5
	asked := readState(j.words, model.Text(statement))
	matched := j.matched(statement, asked)
	if asked.tones[0].sum == 0 && asked.tones[1].sum == 0 || math.Abs(matched) >= clear {
		return matched
	}
	support = max(matched, 0) / 2
	for scale, about := range asked.tones {
		if at := j.state.tones[scale]; about.sum != 0 && at.words == 0 {
			support += unmoved
		} else if about.sum != 0 {
			support += weight * math.Copysign(1, about.sum) * at.value() * (0.5 + at.certainty()/2)
		}
	}
	return support
}

// matched returns how far a statement is what the state says: yes where one part of a
// sentence has all its words, less where they stand apart or are others of the same
// matter, and rather no where some of them are nowhere. A negation on one side turns it
// around.
func (j judge) matched(statement string, asked *state) float64 {
	const together, apart, related, missing, contradicted, nothing = 3.8, 0.5, 0.8, -2, -1.9, -0.3
	terms := j.terms(statement)
	found, absent := 0.0, 0
	for _, term := range terms {
		presence := min(j.state.presence(term), 1)
		if found += presence; presence == 0 {
			absent++
		}
	}
	share := found / float64(max(len(terms), 1))
	best, negated := j.part(terms)
	matched := nothing * (1 - share)
	switch {
	case found == 0 && len(j.state.prints) > 0: // all that can be said of an image is
		return contradicted
	case found == 0:
		return matched
	case absent > 0 && j.contradicts(terms):
		return contradicted
	case absent > 0 && share < 0.7:
		return missing * share
	case best == len(terms):
		matched = together
	case absent == 0 && share == 1:
		matched = apart
	default:
		matched = related * share
	}
	if negated != slices.ContainsFunc(asked.clauses, func(c clause) bool { return c.negated }) {
		return -matched
	}
	return matched
}

// part returns how many of some terms the part of a sentence has that has most of them, and
// whether that part is negated or, where none has them all, any that has one.
func (j judge) part(terms []string) (most int, negated bool) {
	counts := make([]int, len(j.state.clauses))
	for i, c := range j.state.clauses {
		for _, term := range terms {
			if slices.ContainsFunc(c.terms, func(other string) bool {
				return other == term || slices.Contains(lists()["like "+term], other)
			}) {
				counts[i]++
			}
		}
		most = max(most, counts[i])
	}
	for i, c := range j.state.clauses {
		if counts[i] > 0 && (counts[i] == most || most < len(terms)) {
			negated = negated || c.negated
		}
	}
	return most, negated
}

// contradicts reports whether the state has another number or day in the place of one that
// is among terms.
func (j judge) contradicts(terms []string) bool {
	for _, term := range terms {
		if kind := measure(term); kind != "" && j.state.counts[term] == 0 {
			for other := range j.state.counts {
				if measure(other) == kind {
					return true
				}
			}
		}
	}
	return false
}

// measure returns what a term measures: a number, or the list of words.txt that it is in.
func measure(term string) string {
	if strings.IndexFunc(term, unicode.IsDigit) == 0 {
		return "count"
	}
	for _, list := range []string{"count", "weekday", "month"} {
		if in(list, term) {
			return list
		}
	}
	return ""
}
