package builtin

import (
	"math"

	"github.com/seed-506d8e5d/svc/model"
)

// analysis is what the model knows of a state, or of any text that it judges.
// It is read only once made and shares no memory with the text.
type analysis struct {
	ids     map[string]int32 // terms
	counts  []int32          // of each term
	clauses []clause
	terms   []int32 // of all clauses, one after another
	mood    tone
	urgency tone
	prints  []uint64 // a fingerprint of each image
	tokens  int
}

// clause is a sentence: where its terms end and whether it negates.
type clause struct {
	end     int32
	negated bool
}

// tone is a sum of the values of words on a scale.
type tone struct {
	sum   float64
	words int
}

// value returns where the tone is between -1 and 1.
func (t tone) value() float64 {
	if t.words == 0 {
		return 0
	}
	return t.sum / float64(t.words)
}

// certainty grows with the number of words, from 0 to 1.
func (t tone) certainty() float64 { return 1 - 1/(1+float64(t.words)) }

// analyse reads the parts of a state. Its time is linear in their length.
func analyse(parts []model.Part, l *lexicon) *analysis {
	a := &analysis{ids: make(map[string]int32)}
	st := newStemmer()
	for _, part := range parts {
		switch p := part.(type) {
		case model.Text:
			a.tokens += countTokens(string(p))
			a.read(string(p), st, l)
		case model.Document:
			a.tokens += countTokens(p.Name) + countTokens(p.Text)
			a.read(p.Name, st, l)
			a.read(p.Text, st, l)
		case model.Image:
			a.tokens += p.Tokens()
			a.prints = append(a.prints, fingerprint(p.Data))
			a.read(describeImage(p), st, l)
		}
	}
	return a
}

// analyseText is analyse for one text.
func analyseText(text string, l *lexicon) *analysis {
	return analyse([]model.Part{model.Text(text)}, l)
}

// read adds a text to the analysis.
func (a *analysis) read(text string, st *stemmer, l *lexicon) {
	for _, sentence := range sentences(text) {
		a.readSentence(sentence, st, l)
	}
}

func (a *analysis) readSentence(sentence string, st *stemmer, l *lexicon) {
	const reach = 3 // words after a negation that it turns around
	negated, sinceNegation := false, reach+1
	eachWord(sentence, func(start, end int) {
		m := st.look(sentence[start:end])
		sinceNegation++
		if m.negates {
			negated, sinceNegation = true, 0
			return
		}
		if m.term == "" {
			return
		}
		a.add(m.term)
		a.mood.add(l.mood, m.term, sinceNegation <= reach)
		a.urgency.add(l.urgency, m.term, sinceNegation <= reach)
	})
	a.clauses = append(a.clauses, clause{int32(len(a.terms)), negated})
}

func (a *analysis) add(term string) {
	id, ok := a.ids[term]
	if !ok {
		id = int32(len(a.counts))
		a.ids[term] = id
		a.counts = append(a.counts, 0)
	}
	a.counts[id]++
	a.terms = append(a.terms, id)
}

func (t *tone) add(scale map[string]float64, term string, negated bool) {
	value, ok := scale[term]
	if !ok {
		return
	}
	if negated {
		value *= -0.7
	}
	t.sum += value
	t.words++
}

// presence returns how strongly a term is in the state, from 0: as itself, or
// less so as words of the same matter.
func (a *analysis) presence(term string, l *lexicon) float64 {
	const relatedShare, relatedStep = 0.5, 0.15
	if id, ok := a.ids[term]; ok {
		return 1 + 0.3*math.Log(float64(a.counts[id]))
	}
	share := 0.0
	for _, other := range l.related[term] {
		if _, ok := a.ids[other]; !ok {
			continue
		}
		if share == 0 {
			share = relatedShare
		} else {
			share = min(share+relatedStep, 1)
		}
	}
	return share
}
