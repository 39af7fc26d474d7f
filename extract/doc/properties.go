package doc

import (
	"cmp"
	"slices"
)

// run is a stretch of the main stream whose characters have properties that
// matter to the text.
type run struct {
	from, to int // offsets in the stream
	charProps
	paraProps
}

// charProps are the properties of characters.
type charProps struct {
	hidden  toggle
	deleted toggle
	style   int  // the number of a style of characters, 0 for none
	symbol  rune // shown in place of a "(" , or 0
	picture int  // where it is, counted from 1, or 0
}

// with returns the properties with those of a piece over them.
func (c charProps) with(piece charProps) charProps {
	if piece.hidden != unset {
		c.hidden = piece.hidden
	}
	if piece.deleted != unset {
		c.deleted = piece.deleted
	}
	if piece.style != 0 {
		c.style = piece.style
	}
	return c
}

// paraProps are the properties of a paragraph.
type paraProps struct {
	style     int
	list      int // the number of the list, counted from 1; 0 is none, inherit is the style's
	level     int
	outline   int    // the level of a heading, counted from 1; 0 is text, inherit is the style's
	inTable   bool   // the paragraph stands in a cell
	cellEnd   bool   // the paragraph ends a cell of a nested table
	rowEnd    bool   // the paragraph ends a row
	newPage   bool   // the paragraph begins a page
	nestedEnd bool   // the paragraph ends a row of a nested table
	row       []byte // of one that ends a row: how its cells lie (MS-DOC, 2.9.311)
}

// inherit stands for a property that a paragraph leaves to its style.
const inherit = -1

// pageSize is that of the pages in which properties are kept.
const pageSize = 512

// eachPage calls read with the pages that a table of properties names, until it
// returns false. A page is named once, but for hostile files.
func (b *fib) eachPage(t table, read func(page []byte) bool) {
	const numberBits = 1<<22 - 1
	pages := plc{b.table(t), 4}
	for i := range min(pages.len(), len(b.main)/pageSize) {
		number := i32(pages.at(i), 0) & numberBits
		page := slice(b.main, number*pageSize, pageSize)
		if len(page) == pageSize && !read(page) {
			return
		}
	}
}

// charRuns returns the runs of characters that are not shown as they are, in
// the order of the stream.
func (b *fib) charRuns() []run {
	var runs []run
	b.eachPage(charPages, func(page []byte) bool {
		n := int(page[pageSize-1])
		for i := range n {
			at := 4*(n+1) + i
			if at >= pageSize || page[at] == 0 {
				continue
			}
			offset := 2 * int(page[at])
			props := parseCharProps(slice(page, offset+1, int(page[offset])))
			if props != (charProps{}) {
				runs = append(runs, run{from: i32(page, 4*i), to: i32(page, 4*i+4), charProps: props})
			}
		}
		return len(runs) < maxRuns
	})
	return sorted(runs)
}

// paragraphRuns returns all runs of paragraphs in the order of the stream.
func (b *fib) paragraphRuns() []run {
	var runs []run
	b.eachPage(paragraphPages, func(page []byte) bool {
		n := int(page[pageSize-1])
		const entry = 13
		for i := range n {
			at := 4*(n+1) + entry*i
			if at >= pageSize {
				break
			}
			props := parsePage(page, 2*int(page[at]))
			runs = append(runs, run{from: i32(page, 4*i), to: i32(page, 4*i+4), paraProps: props})
		}
		return len(runs) < maxRuns
	})
	return sorted(runs)
}

// parsePage reads the properties of a paragraph at an offset in a page: their
// length in words, the number of the style and the modifiers.
func parsePage(page []byte, offset int) paraProps {
	props := paraProps{list: inherit, level: inherit, outline: inherit}
	if offset == 0 {
		return props
	}
	from, length := offset+1, 2*int(page[offset])-1
	if page[offset] == 0 && from < len(page) {
		from, length = offset+2, 2*int(page[offset+1])
	}
	b := slice(page, from, length)
	if len(b) < 2 {
		return props
	}
	props.style = u16(b, 0)
	props.apply(b[2:])
	return props
}

// sorted puts runs in order, and ends those that overlap the next where it
// begins, so that an offset has one run.
func sorted(runs []run) []run {
	slices.SortStableFunc(runs, func(a, b run) int { return cmp.Compare(a.from, b.from) })
	for i := range len(runs) - 1 {
		runs[i].to = min(runs[i].to, runs[i+1].from)
	}
	return runs
}

// runAt returns the run around an offset, or nil.
func runAt(runs []run, offset int) *run {
	i, found := slices.BinarySearchFunc(runs, offset, func(r run, offset int) int { return cmp.Compare(r.from, offset) })
	if !found {
		i--
	}
	if i < 0 || offset >= runs[i].to {
		return nil
	}
	return &runs[i]
}

// Modifiers of properties, by their codes.
const (
	charDeleted   = 0x0800
	charData      = 0x0806
	charHidden    = 0x083C
	charStyle     = 0x4A30
	charPicture   = 0x6A03
	charSymbol    = 0x6A09
	paraList      = 0x460B
	paraLevel     = 0x260A
	paraOutline   = 0x2640
	paraNewPage   = 0x2407
	paraInTable   = 0x2416
	paraRowEnd    = 0x2417
	paraCellEnd   = 0x244B
	paraNestedEnd = 0x244C
	paraTabs      = 0xC615
	tableDef      = 0xD608
)

// eachModifier calls f with the code and the operand of each modifier.
func eachModifier(b []byte, f func(code int, operand []byte)) {
	for len(b) >= 2 {
		code := u16(b, 0)
		b = b[2:]
		n := operandLength(code, b)
		if n > len(b) {
			return
		}
		f(code, b[:n])
		b = b[n:]
	}
}

// operandLength is in the code, or in front of the operand.
func operandLength(code int, b []byte) int {
	switch code >> 13 {
	case 0, 1:
		return 1
	case 2, 4, 5:
		return 2
	case 3:
		return 4
	case 7:
		return 3
	}
	switch {
	case len(b) == 0:
		return 1
	case code == tableDef:
		return u16(b, 0) + 1
	case code == paraTabs && b[0] == 0xFF:
		return longTabs(b)
	}
	return int(b[0]) + 1
}

// longTabs returns the length of the one operand that can be over 254 bytes: the
// tabs that are taken away and those that are set.
func longTabs(b []byte) int {
	if len(b) < 2 {
		return len(b) + 1
	}
	set := 2 + 4*int(b[1])
	if set >= len(b) {
		return len(b) + 1
	}
	return set + 1 + 3*int(b[set])
}

func parseCharProps(b []byte) charProps {
	var p charProps
	data := false // there is something else where a picture would be
	eachModifier(b, func(code int, operand []byte) {
		switch code {
		case charDeleted:
			p.deleted = parseToggle(operand[0])
		case charHidden:
			p.hidden = parseToggle(operand[0])
		case charStyle:
			p.style = u16(operand, 0)
		case charSymbol:
			p.symbol = rune(u16(operand, 2))
		case charData:
			data = operand[0] != 0
		case charPicture:
			p.picture = max(0, i32(operand, 0)+1)
		}
	})
	if data {
		p.picture = 0
	}
	return p
}

func (p *paraProps) apply(b []byte) {
	eachModifier(b, func(code int, operand []byte) {
		switch code {
		case paraList:
			p.list = u16(operand, 0)
		case paraLevel:
			p.level = int(operand[0])
		case paraOutline:
			p.outline = 0
			if level := int(operand[0]); level < 9 {
				p.outline = level + 1
			}
		case paraNewPage:
			p.newPage = operand[0] != 0
		case paraInTable:
			p.inTable = operand[0] != 0
		case paraRowEnd:
			p.rowEnd = operand[0] != 0
		case paraCellEnd:
			p.cellEnd = operand[0] != 0
		case paraNestedEnd:
			p.nestedEnd = operand[0] != 0
		case tableDef:
			p.row = operand
		}
	})
}
