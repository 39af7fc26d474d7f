// Package sets has sets of passages and questions that searches are measured with, and a
// plain BM25 to compare them with. Only tests use it.
package sets

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// Set is passages and questions, each of which one passage answers.
type Set struct {
	Name      string
	Passages  []string
	Questions []string
	Answers   []int // the passages of the questions
}

// godoc are comments of Go's standard library: what a comment says in its first
// sentence is the question, and the rest of it the passage.
//
//go:embed godoc.jsonl
var godoc []byte

// Godoc returns the set of comments.
func Godoc() (Set, error) {
	s := Set{Name: "godoc"}
	for line := range bytes.Lines(godoc) {
		var row struct{ Text, Question string }
		if err := json.Unmarshal(line, &row); err != nil {
			return s, err
		}
		s.Questions, s.Answers = append(s.Questions, row.Question), append(s.Answers, len(s.Passages))
		s.Passages = append(s.Passages, row.Text)
	}
	return s, nil
}

// Catalogue returns a set of tables of parts with their numbers and measures.
func Catalogue() Set {
	s := Set{Name: "catalogue"}
	random := rand.New(rand.NewPCG(3, 4))
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	for i := range 360 {
		kind := pick("pump", "valve", "gasket", "bearing", "filter", "sensor", "coupling", "hose", "motor", "switch")
		material := pick("brass", "steel", "bronze", "rubber", "nylon", "copper")
		place := pick("cooling circuits", "pressing machines", "drinking water", "heated tanks", "food lines", "outdoor stations")
		var b strings.Builder
		fmt.Fprintf(&b, "## %s for %s\n\nOur %ss of %s are made for %s and are tested before shipping.\n\n| number | length mm | pressure bar | price |\n|---|---|---|---|\n", kind, place, kind, material, place)
		asked := random.IntN(4)
		for row := range 4 {
			number := fmt.Sprintf("%c%c-%d%03d/%c", 'A'+random.IntN(26), 'A'+random.IntN(26), 1+random.IntN(9), random.IntN(1000), 'A'+random.IntN(4))
			length, pressure, price := 10+random.IntN(900), fmt.Sprintf("%d.%d", 1+random.IntN(40), random.IntN(10)), fmt.Sprintf("%d,%03d.50", 1+random.IntN(9), random.IntN(1000))
			fmt.Fprintf(&b, "| %s | %d | %s | %s |\n", number, length, pressure, price)
			if row != asked {
				continue
			}
			switch i % 4 {
			case 0:
				s.Questions = append(s.Questions, "What does "+number+" cost?")
			case 1:
				s.Questions = append(s.Questions, fmt.Sprintf("Which %s of %s costs %s?", kind, material, price))
			case 2:
				s.Questions = append(s.Questions, fmt.Sprintf("Is there a %s for %s of %d mm and %s bar?", kind, place, length, pressure))
			default:
				s.Questions = append(s.Questions, strings.ToLower(strings.ReplaceAll(number, "/", " ")))
			}
			s.Answers = append(s.Answers, i)
		}
		s.Passages = append(s.Passages, b.String())
	}
	return s
}

// Measured is how good the results for a set are.
type Measured struct{ Recall1, Recall5, NDCG10 float64 }

// String returns the numbers with their names.
func (m Measured) String() string {
	return fmt.Sprintf("recall@1 %.3f  recall@5 %.3f  nDCG@10 %.3f", m.Recall1, m.Recall5, m.NDCG10)
}

// Measure asks the questions of a set. search returns passages, the best first.
func (s *Set) Measure(search func(question string) []int) (m Measured) {
	for i, q := range s.Questions {
		at := slices.Index(search(q), s.Answers[i])
		if at < 0 || at >= 10 {
			continue
		}
		if at == 0 {
			m.Recall1++
		}
		if at < 5 {
			m.Recall5++
		}
		m.NDCG10 += 1 / math.Log2(float64(at+2))
	}
	n := float64(len(s.Questions))
	return Measured{m.Recall1 / n, m.Recall5 / n, m.NDCG10 / n}
}

// Simple returns a search by a plain BM25: words of letters and digits without the ending of the
// plural.
func (s *Set) Simple() func(string) []int {
	words := func(text string) string {
		list := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') })
		for i, w := range list {
			list[i] = singular(w)
		}
		return strings.Join(list, " ")
	}
	texts := make([]string, len(s.Passages))
	for i, p := range s.Passages {
		texts[i] = words(p)
	}
	score := BM25(texts)
	return func(q string) []int {
		asked := strings.Fields(words(q))
		slices.Sort(asked)
		scores := score(slices.Compact(asked))
		order := make([]int, len(scores))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(x, y int) int {
			switch {
			case scores[x] > scores[y]:
				return -1
			case scores[x] < scores[y]:
				return 1
			}
			return 0
		})
		return order[:10]
	}
}

// BM25 returns what scores texts by BM25, as a share of what the scores can be.
func BM25(texts []string) func(query []string) []float64 {
	total := 0
	have := map[string]map[int]float64{} // how often the texts have the words
	lengths := make([]float64, len(texts))
	for i, text := range texts {
		for word := range strings.FieldsSeq(text) {
			if have[word] == nil {
				have[word] = map[int]float64{}
			}
			have[word][i]++
			lengths[i]++
			total++
		}
	}
	n := float64(len(texts))
	return func(query []string) []float64 {
		scores, most := make([]float64, len(texts)), 0.0
		for _, q := range query {
			df := float64(len(have[q]))
			idf := math.Log(1 + (n-df+0.5)/(df+0.5))
			most += idf * 2.2
			for i, tf := range have[q] {
				scores[i] += idf * tf * 2.2 / (tf + 1.2*(0.25+0.75*lengths[i]/(float64(total)/n)))
			}
		}
		for i := range scores {
			scores[i] /= most
		}
		return scores
	}
}

// singular removes the ending of the plural from a word of English.
func singular(w string) string {
	if n := len(w); n > 3 && w[n-1] == 's' && w[n-2] != 's' && w[n-2] != 'u' {
		if strings.HasSuffix(w, "ies") {
			return w[:n-3] + "y"
		}
		return w[:n-1]
	}
	return w
}
