package builtin

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/seed-506d8e5d/svc/model"
)

// state is what the model knows of a text that it judges. It is read only once made.
type state struct {
	counts        map[string]int // of each term
	clauses       []clause
	mood, urgency tone
	prints        []string // a fingerprint of each image
	tokens        int
}

// clause is a sentence.
type clause struct {
	terms   []string // each once
	negated bool
}

// tone is a sum of the values of words on a scale from -1 to 1.
type tone struct {
	sum   float64
	words int
}

func (t tone) value() float64 { return t.sum / float64(max(t.words, 1)) }

// certainty grows with the number of words, from 0 to 1.
func (t tone) certainty() float64 { return 1 - 1/(1+float64(t.words)) }

func (t *tone) add(scale, term string, sign float64) {
	for _, value := range lists()[scale+" "+term] {
		v, _ := strconv.ParseFloat(value, 64) // a number of words.txt
		t.sum += sign * v
		t.words++
	}
}

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
	for _, sentence := range sentences(text) {
		c, since := clause{}, reach+1
		for _, word := range wordsOf(sentence) {
			m := words.look(word)
			if since++; m.negates {
				c.negated, since = true, 0
			} else if m.term != "" {
				sign := 1.0
				if since <= reach {
					sign = turned
				}
				s.counts[m.term]++
				s.mood.add("mood", m.term, sign)
				s.urgency.add("urgency", m.term, sign)
				c.terms = append(c.terms, m.term)
			}
		}
		slices.Sort(c.terms)
		c.terms = slices.Clip(slices.Compact(c.terms))
		s.clauses = append(s.clauses, c)
	}
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

// states keeps what is known of the last states: the questions about one follow one
// another.
type states struct {
	mu   sync.Mutex
	last [4]known // guarded by mu, the latest first
}

type known struct {
	key   [sha256.Size]byte
	state *state
}

// get reads a state, or returns what it read before. Two calls at once may both read.
func (c *states) get(parts []model.Part) *state {
	key := hashParts(parts)
	c.mu.Lock()
	i := slices.IndexFunc(c.last[:], func(k known) bool { return k.state != nil && k.key == key })
	found := known{key: key}
	if i >= 0 {
		found = c.last[i]
	}
	c.mu.Unlock()
	if found.state == nil {
		found.state = readState(stems{}, parts...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := slices.DeleteFunc(slices.Clone(c.last[:]), func(k known) bool { return k.key == key })
	copy(c.last[1:], kept)
	c.last[0] = found
	return found.state
}

// hashParts identifies a state. Each part is preceded by its kind and lengths, so that
// different states have different texts to hash.
func hashParts(parts []model.Part) (key [sha256.Size]byte) {
	h := sha256.New()
	write := func(kind byte, fields ...string) {
		h.Write([]byte{kind}) // a hash never fails
		for _, field := range fields {
			h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(field))))
			h.Write([]byte(field))
		}
	}
	for _, part := range parts {
		switch p := part.(type) {
		case model.Text:
			write('t', string(p))
		case model.Document:
			write('d', p.Name, p.Text)
		case model.Image:
			write('i', p.MediaType, strconv.Itoa(p.Width), strconv.Itoa(p.Height), string(p.Data))
		}
	}
	h.Sum(key[:0])
	return key
}

// spaced separates the words of names such as technical_support.
func spaced(text string) string { return strings.NewReplacer("_", " ", "/", " ").Replace(text) }
