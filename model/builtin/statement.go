package builtin

import (
	"math"
	"strings"

	"github.com/seed-506d8e5d/svc/model"
)

// Where the descriptions of yes and no tell them apart by more than telling, the
// words of the question count only by describedShare: descriptions say more
// precisely what is asked.
const (
	telling        = 0.5
	describedShare = 0.25
)

// addStatement adds the evidence of a yes or no question: how well the state
// supports what is asked.
func (j judge) addStatement(req *model.ScoreRequest, texts []string, evidence []float64) {
	if len(req.Options) != 2 || len(texts) != 2 {
		return
	}
	first, second := verdict(texts[0]), verdict(texts[1])
	if first*second != -1 {
		return
	}
	support := j.support(questionText(req.Question, texts))
	if math.Abs(evidence[0]-evidence[1]) > telling {
		support *= describedShare
	}
	evidence[0] += float64(first) * support / 2
	evidence[1] += float64(second) * support / 2
}

// verdict returns 1 for an option that says yes, -1 for one that says no, and 0
// for any other.
func verdict(text string) int {
	word, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(text)), " ")
	switch strings.Trim(word, `.,:;"'-`) {
	case "yes", "true":
		return 1
	case "no", "false":
		return -1
	}
	return 0
}

// questionText returns the question without the lines that list the options.
func questionText(question string, texts []string) string {
	var kept []string
	for line := range strings.Lines(question) {
		if !listsOption(line, texts) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// listsOption reports whether a line is a line of an option, with its label or
// without.
func listsOption(line string, texts []string) bool {
	const longestLabel = 8 // with what separates it from the text
	line = strings.TrimSpace(line)
	for _, text := range texts {
		for part := range strings.Lines(text) {
			label, ok := strings.CutSuffix(line, strings.TrimSpace(part))
			if ok && len(label) <= longestLabel && line != "" {
				return true
			}
		}
	}
	return false
}

// subjects are words of a question that name what is judged, not what is said
// of it, as stems.
var subjects = wordSet(`custom user messag text email person author writer speaker sender review state content imag pictur
	photo screenshot ticket convers post comment statement document option letter label repli true mention contain seem
	appear look feel express indic sound`)

// support returns how well the state supports a statement or question, in units
// of log odds.
func (j judge) support(statement string) float64 {
	asked := analyseText(spaced(statement), j.lexicon)
	var query []string
	for _, term := range j.stemmer.set(spaced(statement)) {
		if !subjects[term] {
			query = append(query, term)
		}
	}
	covered, negated := j.coverage(query)
	toned, tone := j.toneSupport(asked)
	const threshold, slope, unknown = 0.45, 5, -0.3
	matched := unknown
	if len(query) > 0 {
		matched = slope * (covered - threshold)
		if negated != asked.negated() && matched > 0 {
			matched = -matched
		}
	}
	if toned {
		return tone + max(matched, 0)/2
	}
	return matched
}

// negated reports whether the last clause negates.
func (a *analysis) negated() bool {
	return len(a.clauses) > 0 && a.clauses[len(a.clauses)-1].negated
}

// toneSupport weighs a statement about a mood or urgency, if it is one.
func (j judge) toneSupport(asked *analysis) (toned bool, support float64) {
	const weight, unmoved = 4, -0.8
	for _, pair := range [][2]tone{{asked.mood, j.state.mood}, {asked.urgency, j.state.urgency}} {
		about, state := pair[0], pair[1]
		if about.words == 0 || about.sum == 0 {
			continue
		}
		toned = true
		if state.words == 0 {
			support += unmoved
			continue
		}
		support += weight * sign(about.sum) * state.value() * (0.5 + state.certainty()/2)
	}
	return toned, support
}

func sign(v float64) float64 {
	if v < 0 {
		return -1
	}
	return 1
}

// coverage returns how much of a query the state has, from 0 to 1: in its best
// clause and, counting less, anywhere. negated says that the best clause
// negates.
func (j judge) coverage(query []string) (covered float64, negated bool) {
	if len(query) == 0 {
		return 0, false
	}
	const clauseShare = 0.6
	worth := make(map[int32]float64)
	anywhere := 0.0
	for _, term := range query {
		anywhere += min(j.state.presence(term, j.lexicon), 1)
		j.addWorth(worth, term)
	}
	best, start := 0.0, int32(0)
	for _, c := range j.state.clauses {
		sum := 0.0
		for i, id := range j.state.terms[start:c.end] {
			if worth[id] > 0 && !seenBefore(j.state.terms[start:c.end], i) {
				sum += worth[id]
			}
		}
		if sum > best {
			best, negated = sum, c.negated
		}
		start = c.end
	}
	n := float64(len(query))
	return clauseShare*min(best/n, 1) + (1-clauseShare)*anywhere/n, negated
}

func seenBefore(ids []int32, i int) bool {
	for _, id := range ids[:i] {
		if id == ids[i] {
			return true
		}
	}
	return false
}

// addWorth says what a clause gains by each word that stands for the term.
func (j judge) addWorth(worth map[int32]float64, term string) {
	const relatedShare = 0.6
	if id, ok := j.state.ids[term]; ok {
		worth[id] = 1
	}
	for _, other := range j.lexicon.related[term] {
		if id, ok := j.state.ids[other]; ok {
			worth[id] = max(worth[id], relatedShare)
		}
	}
}
