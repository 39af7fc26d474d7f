package doc

import "slices"

// What shows: characters come with properties of their own, but it takes the
// style of their paragraph to tell, which is known at its end.

// stretch is characters with properties of their own.
type stretch struct {
	from, to int
	charProps
}

// add appends the characters of a piece, and applies what the properties of
// their bytes say.
func (d *document) add(p piece, text []uint16) {
	base := len(d.chars)
	d.chars = append(d.chars, text...)
	d.addStretches(p, base)
	for i := base; i < len(d.chars); i++ {
		if !endsParagraph(d.chars[i]) {
			continue
		}
		r := runAt(d.paragraphs, p.offset+(i-base)*p.width())
		var props paraProps
		if r != nil {
			props = r.paraProps
		}
		mark := d.chars[i]
		d.show(props.style, i+1)
		if d.chars[i] == nothing && !d.endsLine(i, mark) {
			continue
		}
		if r != nil {
			d.chars[i] = props.paragraphEnd(d.chars[i])
			d.begin(d.paragraph, props)
			if d.chars[i] == rowMark {
				d.rows[i] = parseRow(props.row)
			}
		}
		d.paragraph, d.looked = i+1, i+1
	}
}

// begin remembers what the line of a paragraph begins with, by its first
// character: the mark of a heading, the number of a list.
func (d *document) begin(at int, p paraProps) {
	level := p.outline
	if level == inherit {
		level = d.lists.styles.inherited(p.style).outline
	}
	if level > 0 && !p.inTable {
		d.headings[at] = min(level, 6)
	}
	if p.newPage && !p.inTable {
		d.pages[at] = true
	}
	d.lists.add(at, p, level <= 0 && !p.inTable)
}

// endsLine reports whether a mark that does not show ends a line all the same,
// and then puts it back: one that is hidden, but not deleted, behind text that
// shows. Word would run the two paragraphs together, and their words.
func (d *document) endsLine(at int, mark uint16) bool {
	if d.deleted {
		return false
	}
	for ; d.looked < at; d.looked++ {
		if d.chars[d.looked] != nothing {
			d.chars[at] = mark
			return true
		}
	}
	return false
}

// addStretches finds the runs of the bytes of a piece, whose first character is
// at base. A piece with properties has some everywhere.
func (d *document) addStretches(p piece, base int) {
	at := base
	everywhere := func(to int) {
		if p.props != (charProps{}) && at < to {
			d.stretches = append(d.stretches, stretch{at, to, p.props})
		}
	}
	end := p.offset + (len(d.chars)-base)*p.width()
	first, _ := slices.BinarySearchFunc(d.runs, p.offset, func(r run, offset int) int { return r.to - offset - 1 })
	for _, r := range d.runs[first:] {
		if r.from >= end {
			break
		}
		from := max(at, base+(r.from-p.offset)/p.width())
		to := min(len(d.chars), base+(r.to-p.offset+p.width()-1)/p.width())
		if from >= to {
			continue
		}
		everywhere(from)
		d.stretches = append(d.stretches, stretch{from, to, r.charProps.with(p.props)})
		at = to
	}
	everywhere(len(d.chars))
}

// show decides about the characters before end that are still open, which are of
// a paragraph of the style.
func (d *document) show(style, end int) {
	hidden := d.lists.styles.hides(style)
	d.deleted = false
	hide := func(to int) {
		for i := d.shown; hidden && i < to; i++ {
			d.chars[i] = hideChar(d.chars[i])
		}
		d.shown = max(d.shown, to)
	}
	for len(d.stretches) > 0 && d.stretches[0].from < end {
		s := &d.stretches[0]
		hide(s.from)
		to := min(s.to, end)
		d.showStretch(*s, to, style)
		d.shown = to
		d.deleted = to == end && s.deleted.over(false)
		if s.to > end {
			s.from = end
			break
		}
		d.stretches = d.stretches[1:]
	}
	hide(end)
}

// showStretch hides the characters of a stretch up to an end, or puts symbols in
// the place of those that stand for them.
func (d *document) showStretch(s stretch, to, style int) {
	const standsForSymbol = '('
	hidden := d.lists.styles.hidden(s.charProps, style)
	for i := s.from; i < to; i++ {
		switch {
		case hidden:
			d.chars[i] = hideChar(d.chars[i])
		case s.picture != 0 && d.chars[i] == pictureMark && len(d.pictures) < maxNotes:
			d.pictures[i] = s.picture - 1
		case s.symbol != 0 && d.chars[i] == standsForSymbol:
			d.chars[i] = uint16(s.symbol)
		}
	}
}

// hideChar returns what is left of a character that is hidden: the end of a cell
// or a row stays.
func hideChar(c uint16) uint16 {
	if c == cellMark {
		return c
	}
	return nothing
}
