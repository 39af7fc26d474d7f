package builtin

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// nothingFound is the answer where no sentence matches.
const nothingFound = "I found nothing in this conversation that answers that."

const (
	mostSentences = 3   // in an answer
	leadSentences = 2   // of a summary
	leastMatch    = 0.2 // of the question's weight, for a sentence to count
	numberBoost   = 1.5 // for a sentence with a number, where the question wants one
	nearBest      = 0.7 // of the best sentence's score, for another to be added
)

// passage is a sentence that may answer.
type passage struct {
	text  string
	terms []string
	score float64
}

// answer makes an answer of plain text.
func (c *conversation) answer() string {
	if len(c.outputs) > 0 {
		return c.reportOutputs()
	}
	if picked := c.pick(); picked != "" {
		return picked
	}
	return nothingFound
}

// reportOutputs returns a message that contains every output as it is.
func (c *conversation) reportOutputs() string {
	lines := make([]string, len(c.outputs))
	for i, out := range c.outputs {
		if out.name == "" {
			out.name = "The function"
		}
		lines[i] = fmt.Sprintf("%s returned: %s", out.name, out.text)
	}
	return strings.Join(lines, "\n")
}

// pick returns the sentences that best match the question in the order in which
// they stand, or "" where none matches.
func (c *conversation) pick() string {
	passages := c.passages()
	best := c.rank(passages)
	if best == 0 {
		return c.lead()
	}
	var order []int
	for i := range passages {
		if passages[i].score >= nearBest*best {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(passages[j].score, passages[i].score) })
	order = order[:min(len(order), mostSentences)]
	slices.Sort(order)
	texts := make([]string, len(order))
	for i, n := range order {
		texts[i] = passages[n].text
	}
	return strings.Join(texts, " ")
}

// passages returns the sentences of the sources, each once, without questions
// and headings.
func (c *conversation) passages() []passage {
	asked := c.askedSentences()
	seen := make(map[string]bool)
	var found []passage
	for _, source := range c.sources {
		for _, s := range sentences(source) {
			line := oneLine(s)
			if isQuestion(s) || isHeading(s) || seen[line] || asked[line] {
				continue
			}
			seen[line] = true
			found = append(found, passage{text: line, terms: c.stemmer.set(s)})
		}
	}
	return found
}

// askedSentences are those of the question, which do not answer it.
func (c *conversation) askedSentences() map[string]bool {
	asked := make(map[string]bool)
	for _, s := range sentences(c.ask) {
		asked[oneLine(s)] = true
	}
	return asked
}

// rank scores the passages by the rarity of the terms that they share with the
// question and returns the best score; 0 is no match.
func (c *conversation) rank(passages []passage) float64 {
	query := c.stemmer.set(c.ask)
	weight, total := rarity(query, passages)
	if total == 0 {
		return 0
	}
	numeric := asksNumber(c.ask)
	best := 0.0
	for i := range passages {
		p := &passages[i]
		sum := 0.0
		for _, term := range p.terms {
			sum += weight[term]
		}
		if sum/total < leastMatch {
			continue
		}
		p.score = sum / total * lengthFactor(len(p.terms))
		if numeric && strings.ContainsAny(p.text, "0123456789") {
			p.score *= numberBoost
		}
		best = max(best, p.score)
	}
	return best
}

// rarity weighs the terms of the query by how few passages have them, and adds
// the weights up.
func rarity(query []string, passages []passage) (weight map[string]float64, total float64) {
	count := make(map[string]int, len(query))
	for _, term := range query {
		count[term] = 0
	}
	for i := range passages {
		for _, term := range passages[i].terms {
			if _, ok := count[term]; ok {
				count[term]++
			}
		}
	}
	weight = make(map[string]float64, len(query))
	for _, term := range query {
		w := math.Log(1 + float64(len(passages))/(float64(count[term])+0.5))
		total += w
		if count[term] > 0 {
			weight[term] = w
		}
	}
	return weight, total
}

// lengthFactor prefers short sentences a little.
func lengthFactor(terms int) float64 { return 1 / (1 + float64(terms)/60) }

func asksNumber(ask string) bool {
	ask = strings.ToLower(ask)
	for _, start := range []string{"how many", "how much", "how long", "how old", "how far", "when ", "what time", "what date", "what year", "number", "price", "cost"} {
		if strings.Contains(ask, start) {
			return true
		}
	}
	return false
}

// lead returns the first sentences of the material where the question is about
// the material as a whole, as "Summarize the file" is, or where a file comes
// without a question; or else "".
func (c *conversation) lead() string {
	about := func(term string) bool { return wholeTerms[term] }
	if strings.TrimSpace(c.message) != "" && !slices.ContainsFunc(c.stemmer.set(c.ask), about) {
		return ""
	}
	from := c.material
	if len(from) == 0 {
		from = c.sources
	}
	var texts []string
	for _, source := range from {
		for _, s := range sentences(source) {
			if len(texts) < leadSentences && !isQuestion(s) && !isHeading(s) {
				texts = append(texts, oneLine(s))
			}
		}
	}
	return strings.Join(texts, " ")
}

// wholeTerms are stems of words that ask about a text as a whole.
var wholeTerms = wordSet(`summar summari summaris summary summariz describ descript overview document file content page articl main
	topic point gist report attach paragraph rephras rewrit translat extract email result`)
