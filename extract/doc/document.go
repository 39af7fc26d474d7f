package doc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/extract"
)

// document is the text of a file before it is written out.
type document struct {
	fib          *fib
	runs         []run // of characters
	paragraphs   []run
	lists        *lists
	chars        []uint16       // of all documents in order
	stretches    []stretch      // of chars, that are still to be shown or hidden
	shown        int            // how many of chars have been
	deleted      bool           // the last of those is deleted
	looked       int            // how many of chars are known not to show in the paragraph
	paragraph    int            // the first character of the last paragraph
	headings     map[int]int    // levels by the paragraph's first character
	labels       map[int]string // list numbers by the paragraph's first character
	marks        map[int]string // marks of notes and comments by the character of the reference
	pictures     map[int]int    // where they are in their stream, by the character
	descriptions map[int]string // of pictures by the character
	links        map[int]string // addresses by the character that begins the text of a link
	linkEnds     map[int]bool   // by the character that ends it
	pages        map[int]bool   // that begin with the character
	rows         map[int]rowDef // by the mark of the row
	sections     map[int]bool   // by the mark of the section
}

// newDocument puts the pieces together and applies the properties.
func newDocument(f *file) (*document, error) {
	b, err := readFIB(f)
	if err != nil {
		return nil, err
	}
	pieces := b.pieces()
	if len(pieces) > maxRuns {
		return nil, fmt.Errorf("%w: over %d pieces", extract.ErrTooLarge, maxRuns)
	}
	d := &document{fib: b, runs: b.charRuns(), paragraphs: b.paragraphRuns(), headings: map[int]int{}, lists: newLists(b),
		pictures: map[int]int{}, links: map[int]string{}, linkEnds: map[int]bool{}, pages: map[int]bool{}, rows: map[int]rowDef{}, sections: b.sectionMarks()}
	enc, page := b.encoding(pieces), b.pairPage(pieces)
	for _, p := range pieces {
		p.page = page
		data := p.bytes(b.main)
		if len(data) < p.chars*p.width() {
			f.damaged = true
		}
		text := p.decode(data, enc)
		if len(d.chars)+len(text) > maxChars {
			return nil, fmt.Errorf("%w: over %d characters", extract.ErrTooLarge, maxChars)
		}
		d.add(p, text)
		if err := f.src.Err(); err != nil {
			return nil, err
		}
	}
	d.show(0, len(d.chars))
	if len(d.chars) == 0 && sum(b.lengths[:]) > 0 {
		return nil, fmt.Errorf("%w: no text where the FIB says", extract.ErrDamaged)
	}
	if err := d.describePictures(f); err != nil {
		return nil, err
	}
	guessRowEnds(d.chars)
	for _, p := range d.parts() {
		d.hideFieldCodes(p)
	}
	d.labels = d.lists.labels()
	d.numberNotes()
	d.anchorComments()
	return d, nil
}

func sum(numbers []int) int {
	total := 0
	for _, n := range numbers {
		total += n
	}
	return total
}

func endsParagraph(c uint16) bool {
	return c == paragraphMark || c == cellMark || c == sectionMark
}

// paragraphEnd returns the mark that the properties make of one.
func (p paraProps) paragraphEnd(c uint16) uint16 {
	switch {
	case p.rowEnd && c == cellMark:
		return rowMark
	case p.nestedEnd:
		return nestedRowMark
	case p.cellEnd:
		return nestedCellMark
	case p.inTable && c == paragraphMark:
		return cellLine
	}
	return c
}

// guessRowEnds finds the ends of rows where properties do not tell: of two and
// more marks in a row, the last ends the row and those before end empty cells.
func guessRowEnds(chars []uint16) {
	if slices.Contains(chars, rowMark) {
		return
	}
	for i, c := range chars {
		next := uint16(0)
		if i+1 < len(chars) {
			next = chars[i+1]
		}
		if c == cellMark && i > 0 && chars[i-1] == cellMark && next != cellMark {
			chars[i] = rowMark
		}
	}
}

// part is the characters of one of the documents and where they begin.
type part struct {
	chars []uint16
	at    int
}

// parts cuts the text into its documents. Lengths that make no sense leave the
// rest to the first.
func (d *document) parts() [numDocs]part {
	var parts [numDocs]part
	lengths := d.fib.lengths
	if d.fib.version < word6 || lengths[mainDoc] == 0 || lengths[mainDoc] > len(d.chars) {
		lengths = [numDocs]int{len(d.chars)}
	}
	at := 0
	for i, n := range lengths {
		n = min(n, len(d.chars)-at)
		parts[i] = part{d.chars[at : at+n], at}
		at += n
	}
	return parts
}

// String writes out the documents, in the order of the package comment.
func (d *document) String() string {
	parts := d.parts()
	var sections []string
	for _, i := range []int{mainDoc, footnoteDoc, endnoteDoc, commentDoc, boxDoc} {
		sections = append(sections, d.write(parts[i]))
	}
	sections = append(sections, d.margins(parts[headerDoc]), d.write(parts[headerBoxDoc]))
	sections = slices.DeleteFunc(sections, func(s string) bool { return strings.TrimSpace(s) == "" })
	if len(sections) == 0 {
		return ""
	}
	return strings.Join(sections, "\n\n") + "\n"
}

// margins writes the headers and footers, each text once. Six stories before
// them are the lines that separate notes from the text.
func (d *document) margins(p part) string {
	const separators = 6
	stories := plc{d.fib.table(headerStories), 0}
	if stories.len() == 0 {
		return d.write(p)
	}
	var texts []string
	seen := map[string]bool{}
	last := 0
	for i := separators; i < stories.len(); i++ {
		from, to := stories.position(i), stories.position(i+1)
		if from < last || to > len(p.chars) || from >= to {
			continue
		}
		last = to
		text := d.write(part{p.chars[from:to], p.at + from})
		if strings.TrimSpace(text) != "" && !seen[text] {
			seen[text] = true
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}
