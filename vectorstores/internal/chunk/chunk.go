// Package chunk cuts the text of a document into chunks for search: at headings,
// paragraphs and sentences, within a bound of tokens. [Split] yields the chunks in
// the order of the text; units.go finds the places where it may be cut.
package chunk

import (
	"iter"
	"strings"

	"github.com/seed-506d8e5d/svc/model"
)

// Options say how long chunks may be.
type Options struct {
	MaxTokens int // of a chunk, as [model.EstimateTokens] counts them; at least 1
	Overlap   int // tokens of whole sentences that a chunk repeats of the one before; less than MaxTokens
	Layout    Layout
}

// Layout is what kind of text is cut.
type Layout int

// The layouts.
const (
	Markdown Layout = iota // prose with headings, lists and tables of Markdown, or plain text
	Rows                   // a table with a row in each line (CSV); its first row is the header
	Lines                  // records of a line each (JSON Lines)
)

// Chunk is a piece of a document.
type Chunk struct {
	Text     string   // begins with the header of its table where it begins inside one
	Page     int      // on which it begins, from 1; 0 where the text has no pages
	Headings []string // that it stands under, the outermost first; shared between chunks
}

// Sections with fewer tokens than MaxTokens divided by this go together with the next one.
const smallSection = 8

// Split yields the chunks of a text. Pages end with a form feed.
func Split(text string, o Options) iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		p := parser{text: text, max: o.MaxTokens, layout: o.Layout, paged: strings.Contains(text, "\f"), page: 1}
		if !p.paged {
			p.page = 0
		}
		var section []unit
		tokens := 0
		for u := range p.units() {
			if u.kind == heading && tokens >= o.MaxTokens/smallSection {
				if !pack(text, section, o, yield) {
					return
				}
				section, tokens = section[:0], 0
			}
			section = append(section, u)
			tokens += u.tokens
		}
		pack(text, section, o, yield)
	}
}

// pack yields the chunks of a section. It returns false when the consumer stops.
func pack(text string, section []unit, o Options, yield func(Chunk) bool) bool {
	end := 0
	for first := 0; first < len(section); {
		end = fill(section, first, end, o.MaxTokens)
		if c := makeChunk(text, section[first:end]); c.Text != "" && !yield(c) {
			return false
		}
		if end == len(section) {
			break
		}
		first = overlap(section, first, end, o)
	}
	return true
}

// fill returns the end of the longest chunk that begins at a unit and goes beyond
// another. It ends where a paragraph does, if that leaves at least half of the chunk.
func fill(section []unit, first, beyond, most int) int {
	tokens, end := section[first].prefixTokens(), first
	border, borderTokens := 0, 0
	for end < len(section) && (end == first || tokens+section[end].tokens <= most) {
		tokens += section[end].tokens
		end++
		if end < len(section) && section[end].kind != sentence {
			border, borderTokens = end, tokens
		}
	}
	if end < len(section) && section[end].kind == sentence && border > beyond && 2*borderTokens >= most {
		return border
	}
	return end
}

// overlap returns the unit that the chunk after end begins with: some units before
// end, so that there is room for the unit at end.
func overlap(section []unit, first, end int, o Options) int {
	start, tokens := end, 0
	for start > first+1 && section[start-1].kind != heading {
		tokens += section[start-1].tokens
		if tokens > o.Overlap || tokens+section[start-1].prefixTokens()+section[end].tokens > o.MaxTokens {
			break
		}
		start--
	}
	return start
}

// makeChunk returns the chunk of consecutive units.
func makeChunk(text string, units []unit) Chunk {
	first, last := &units[0], &units[len(units)-1]
	c := Chunk{Text: strings.TrimSpace(text[first.start:last.end]), Page: first.page, Headings: first.headings}
	if first.kind == heading {
		c.Headings = first.parents()
	}
	if c.Text != "" && first.header != "" {
		c.Text = first.header + "\n" + c.Text
	}
	if len(c.Headings) == 0 {
		c.Headings = nil
	}
	if strings.Contains(c.Text, "\f") {
		c.Text = strings.ReplaceAll(c.Text, "\f", "\n")
	}
	return c
}

// tokens estimates the tokens of a text.
func tokens(s string) int { return model.EstimateTokens(s) }
