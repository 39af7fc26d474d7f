package openai

import (
	"math"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"
)

// token is one token that a server shows at a position and its probability.
type token struct {
	text string
	mass float64
}

// position is one position of an answer.
type position struct {
	chosen token
	shown  []token // the likeliest tokens, and the chosen one where it is not among them
}

// maxPositions is how many positions of an answer are read at most.
const maxPositions = 64

// parsePositions reads the log-probabilities of a choice.
func parsePositions(logprobs gjson.Result) []position {
	var positions []position
	logprobs.Get("content").ForEach(func(_, entry gjson.Result) bool {
		chosen, top := parseToken(entry)
		p := position{chosen: chosen}
		if top.IsArray() {
			p.shown = make([]token, 0, DefaultTopLogprobs+1)
		}
		found := false
		top.ForEach(func(_, shown gjson.Result) bool {
			t, _ := parseToken(shown)
			found = found || t.text == chosen.text
			p.shown = append(p.shown, t)
			return true
		})
		if !found {
			p.shown = append(p.shown, chosen)
		}
		positions = append(positions, p)
		return len(positions) < maxPositions
	})
	return positions
}

// parseToken reads a token, and the likeliest ones that are listed with it.
func parseToken(entry gjson.Result) (t token, top gjson.Result) {
	entry.ForEach(func(name, value gjson.Result) bool {
		switch name.Str {
		case "token":
			t.text = value.Str
		case "logprob":
			if value.Type == gjson.Number {
				t.mass = min(math.Exp(value.Num), 1)
			}
		case "top_logprobs":
			top = value
		}
		return true
	})
	return t, top
}

// reading is what an answer says about labels.
type reading struct {
	masses []float64 // by label; NaN for one that was not shown
	hidden float64   // mass on tokens that were not shown
}

// readLabels reads how much mass the beginning of an answer has on each label.
// Blank tokens, and thoughts, may come before the label: the mass behind a blank
// one counts with the blank's own. It returns the number of positions up to the
// label, 0 where that lies behind the last one.
func readLabels(positions []position, labels []string) (reading, int) {
	r := newReading(len(labels))
	var said strings.Builder
	path, afterThoughts := 1.0, false // the mass of what was chosen before
	for i, p := range positions {
		rest, thought, thinks := skipThoughts(said.String())
		said.WriteString(p.chosen.text)
		if thinks || strings.Trim(rest, padding) != "" {
			continue // inside of thoughts, or of a tag
		}
		if thought && !afterThoughts {
			// The label depends on the thoughts, which are one of many possible: what
			// was read before does not count, and this does in full.
			r, path, afterThoughts = newReading(len(labels)), 1, true
		}
		r.add(p, path, labels)
		if begins(p.chosen.text) {
			return r, i + 1
		}
		path *= p.chosen.mass
	}
	return r, 0
}

func newReading(labels int) reading {
	r := reading{masses: make([]float64, labels)}
	for i := range r.masses {
		r.masses[i] = math.NaN()
	}
	return r
}

// add adds what is shown at a position that is reached with the mass path.
func (r *reading) add(p position, path float64, labels []string) {
	shown := 0.0
	for _, t := range p.shown {
		shown += t.mass
		i := labelOf(t.text, labels)
		if i < 0 {
			continue
		}
		if math.IsNaN(r.masses[i]) {
			r.masses[i] = 0
		}
		r.masses[i] += path * t.mass
	}
	r.hidden += path * max(0, 1-shown)
}

// padding is what may stand around a label in a token: white space, also as
// vocabularies write it, quotes, and marks that models put around or behind an
// answer.
const padding = " \t\r\n\u2581\u0120\u010a\"'`*.,:;()[]"

// labelOf returns the index of the label that a token spells or begins, -1 for
// none. A token that begins several labels is none of them.
func labelOf(text string, labels []string) int {
	text = strings.Trim(text, padding)
	if text == "" {
		return -1
	}
	found := -1
	for i, label := range labels {
		if text == label || isWord(label) && strings.EqualFold(text, label) {
			return i
		}
		if isWord(label) && len(text) < len(label) && strings.EqualFold(text, label[:len(text)]) {
			if found >= 0 {
				found = len(labels)
				continue
			}
			found = i
		}
	}
	if found == len(labels) {
		return -1
	}
	return found
}

// isWord reports whether a label may be written in any case and come in pieces:
// Yes and No may, letters mean something else when they are small.
func isWord(label string) bool { return strings.ToUpper(label) != label }

// begins reports whether an answer begins with a token: it is neither blank nor
// the begin of a tag.
func begins(text string) bool {
	text = strings.Trim(text, padding)
	return text != "" && !strings.HasPrefix(thinkOpen, text) && !strings.HasPrefix(text, thinkOpen)
}

// skipThoughts returns what follows the thoughts that an answer begins with,
// whether there were any, and whether it is still in the midst of them or of a
// tag.
func skipThoughts(text string) (rest string, thought, thinks bool) {
	for {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
		inner, ok := strings.CutPrefix(text, thinkOpen)
		if !ok {
			return text, thought, text != "" && strings.HasPrefix(thinkOpen, text)
		}
		if _, text, ok = strings.Cut(inner, thinkClose); !ok {
			return "", thought, true
		}
		thought = true
	}
}
