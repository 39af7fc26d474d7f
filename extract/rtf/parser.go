package rtf

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/seed-506d8e5d/svc/extract"
	"github.com/seed-506d8e5d/svc/extract/internal/markdown"
)

// group is what an opening brace saves and a closing one restores.
type group struct {
	to      *story
	off     bool // what stands here is no text
	hidden  bool
	deleted bool
	page    int  // code page of bytes
	skip    int  // characters that stand in for one in Unicode
	inTable bool // the paragraph is
	level   int  // of the heading that the paragraph is, 0 for none
	inner   bool // what stands here says how a row of a table in a cell looks
	sheet   bool // what stands here says what styles there are
	style   bool // and in this group of one
	ends    func()
}

// parser reads one file.
type parser struct {
	lexer
	group
	outer   []group
	tooDeep int // groups open beyond the bound
	partial bool

	fonts   map[int]int // code pages by the number of the font
	font    int         // that the font table is telling about
	usual   int         // code page
	lead    byte        // first of two bytes, 0 for none
	high    rune        // first of two surrogates, 0 for none
	standIn int         // characters still to be skipped
	opened  bool        // the last token was the beginning of a group
	starred bool        // \* was read and its destination not yet
	inRow   bool        // between \trowd and \row
	row     []cell      // how its cells are merged
	coming  cell        // of the row
	last    int         // where the last paragraph may end
	defined heading     // the style that the style sheet is telling about
	levels  map[int]int // of the headings that styles are, by their number

	body   story
	notes  []*story
	around []*story // headers and footers
	url    string   // of the field that is a link, until its text is read
	shown  string   // what the field shows that has no text
	author string   // of the next comment
	spent  int      // bytes of text
}

// heading is a style of paragraphs by its number, and the level of the headings
// that these are, 0 for none.
type heading struct{ style, level int }

// Bounds on what a file may have many of.
const (
	maxFonts   = 10_000
	maxStyles  = 10_000
	maxStories = 100_000
)

func newParser(data string) *parser {
	p := &parser{lexer: lexer{data: data}, fonts: map[int]int{}, levels: map[int]int{}, usual: 1252, last: strings.LastIndex(data, `\par`)}
	p.group = group{to: &p.body, page: p.usual, skip: 1}
	return p
}

// run reads the whole file.
func (p *parser) run(ctx context.Context) error {
	for i := 0; ; i++ {
		if i%4096 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if p.spent > maxText {
			return fmt.Errorf("%w: text", extract.ErrTooLarge)
		}
		t := p.next()
		switch t.kind {
		case end:
			p.partial = p.partial || len(p.outer) > 0
			for len(p.outer) > 0 {
				p.shut()
			}
			return nil
		case open:
			p.open()
		case shut:
			p.shut()
			if len(p.outer) > 0 {
				break
			}
			if p.pos > p.last {
				return nil
			}
			p.partial = true // there is a brace too many
		case char:
			p.byte(byte(t.arg))
		case control:
			p.control(t)
		}
		p.opened = t.kind == open
	}
}

func (p *parser) open() {
	p.standIn, p.lead, p.starred = 0, 0, false
	if len(p.outer) >= maxDepth {
		p.tooDeep++
		p.partial = true
		return
	}
	p.outer = append(p.outer, p.group)
	p.ends = nil
	if p.sheet && !p.style {
		p.style, p.defined = true, heading{}
		s := p.aside()
		p.then(func() { p.define(s.text()) })
	}
}

func (p *parser) shut() {
	p.standIn, p.lead, p.starred = 0, 0, false
	if p.tooDeep > 0 {
		p.tooDeep--
		return
	}
	ends := p.ends
	if n := len(p.outer); n > 0 {
		p.group, p.outer = p.outer[n-1], p.outer[:n-1]
	}
	if ends != nil {
		ends()
	}
}

// shows reports whether characters are part of the text here.
func (p *parser) shows() bool { return !p.off && !p.hidden && !p.deleted && p.tooDeep == 0 }

// byte takes a byte of text in the code page of the font.
func (p *parser) byte(c byte) {
	if p.standIn > 0 {
		p.standIn--
		return
	}
	switch {
	case p.lead != 0:
		raw := []byte{p.lead, c}
		p.lead = 0
		p.write(decode(p.page, raw))
	case isDouble(p.page, c):
		p.lead = c
	case c < 0x80:
		p.write(string(rune(c)))
	default:
		p.write(decode(p.page, []byte{c}))
	}
}

// write adds text at the place where the file is.
func (p *parser) write(s string) {
	if p.high != 0 {
		p.high = 0 // without its other half
		s = string(utf8.RuneError) + s
	}
	if p.shows() {
		p.spent += len(s)
		p.to.write(s, p.inTable || p.inRow)
	}
}

// unicode takes \u, whose argument is a unit of UTF-16 and may be negative.
func (p *parser) unicode(v int) {
	p.standIn, p.lead = p.skip, 0
	r := rune(uint16(v))
	switch high := p.high; {
	case r >= 0xd800 && r < 0xdc00:
		p.high = r
	case high != 0 && utf16.IsSurrogate(r):
		p.high = 0
		p.write(string(utf16.DecodeRune(high, r)))
	case r >= 0xf020 && r <= 0xf0ff: // of a symbol font
		p.write("•")
	default:
		p.write(string(r))
	}
}

// signs are the control words and symbols that stand for characters.
var signs = map[string]string{
	"tab": "\t", "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”", "bullet": "•",
	"emspace": " ", "enspace": " ", "qmspace": " ", "~": " ", "_": "-", "{": "{", "}": "}", `\`: `\`, "nestcell": "; ",
}

func (p *parser) control(t token) {
	if p.standIn > 0 && t.name != "u" && t.name != "uc" {
		p.standIn-- // a control word counts as one character
		return
	}
	starred := p.starred
	p.starred = t.name == "*" && p.opened // a destination begins its group
	if p.destination(t) {
		return
	}
	if starred && t.name != "*" {
		p.off = true
		return
	}
	if p.inner {
		if t.name == "nestrow" && p.shows() {
			p.to.endInnerRow()
		}
		return
	}
	if s := signs[t.name]; s != "" {
		p.write(s)
		return
	}
	if !p.table(t) && !p.paragraph(t) && !p.character(t) {
		p.charset(t)
	}
}

// table follows a control word that is about tables, and reports whether t is one.
func (p *parser) table(t token) bool {
	switch t.name {
	case "trowd":
		p.inRow, p.row, p.coming = true, p.row[:0], cell{}
	case "clmrg":
		p.coming.before = true
	case "clvmrg":
		p.coming.above = true
	case "cellx":
		if len(p.row) < maxCells {
			p.row = append(p.row, p.coming)
		}
		p.coming = cell{}
	case "cell":
		if !p.off {
			p.to.endCell()
		}
	case "row":
		p.inRow = false
		if !p.off {
			p.spent += p.to.endRow(p.row) + 3*maxCells // should others be as wide
		}
	case "intbl":
		p.inTable = t.on()
	default:
		return false
	}
	return true
}

// paragraph follows a control word that is about paragraphs, and reports whether t is
// one.
func (p *parser) paragraph(t token) bool {
	switch t.name {
	case "par", "sect", "page", "line", "lbr", "\n", "\r":
		if p.shows() {
			p.to.endParagraph(p.inTable || p.inRow, p.level)
		}
	case "pard":
		p.inTable, p.level = false, 0
	case "outlinelevel":
		level := 0
		if t.arg >= 0 && t.arg < 6 {
			level = t.arg + 1
		}
		if p.sheet {
			p.defined.level = level
		} else {
			p.level = level
		}
	case "s":
		if p.sheet {
			p.defined.style = t.arg
		} else if level := p.levels[t.arg]; level > 0 {
			p.level = level
		}
	default:
		return false
	}
	return true
}

// character follows a control word that is about characters, and reports whether t is
// one.
func (p *parser) character(t token) bool {
	switch t.name {
	case "plain":
		p.hidden, p.deleted, p.page = false, false, p.usual
	case "v":
		p.hidden = t.on()
	case "deleted":
		p.deleted = t.on()
	case "u":
		p.unicode(t.arg)
	case "uc":
		p.skip = min(max(t.arg, 0), 100)
	default:
		return false
	}
	return true
}

// define ends the definition of a style. The names of headings are English in the
// files of every Word.
func (p *parser) define(name string) {
	name = strings.TrimSuffix(strings.TrimSpace(name), ";")
	if n, ok := strings.CutPrefix(strings.ToLower(name), "heading "); ok && len(n) == 1 && n >= "1" && n <= "6" {
		p.defined.level = int(n[0] - '0')
	}
	if p.defined.style > 0 && p.defined.level > 0 && len(p.levels) < maxStyles {
		p.levels[p.defined.style] = p.defined.level
	}
}

// charset handles what says how bytes are to be read.
func (p *parser) charset(t token) {
	switch t.name {
	case "ansicpg":
		if codePages[t.arg] != nil {
			p.usual, p.page = t.arg, t.arg
		}
	case "mac":
		p.usual, p.page = 10000, 10000
	case "pc":
		p.usual, p.page = 437, 437
	case "pca":
		p.usual, p.page = 850, 850
	case "f":
		p.font = t.arg
		if p.page = p.fonts[t.arg]; p.page == 0 {
			p.page = p.usual
		}
	case "fcharset":
		if page := fontPages[t.arg]; page != 0 && len(p.fonts) < maxFonts {
			p.fonts[p.font] = page
		}
	case "cpg":
		if p.fonts[p.font] == 0 && codePages[t.arg] != nil && len(p.fonts) < maxFonts {
			p.fonts[p.font] = t.arg
		}
	}
}

// textless are the destinations without text that \* does not announce, and those
// whose text stands in another one, too.
var textless = map[string]bool{
	"fonttbl": true, "colortbl": true, "info": true, "pict": true, "objdata": true, "nonshppict": true,
	"shprslt": true, "sp": true, "xe": true, "tc": true, "tcn": true, "rxe": true, "private": true, "filetbl": true, "revtbl": true,
	"listtable": true, "nonesttables": true, "ftnsep": true, "ftnsepc": true, "aftnsep": true, "aftnsepc": true, "upr": true, "shpinst": true,
	"do": true, "bkmkstart": true, "bkmkend": true, "template": true,
}

// hyperlink is the address in the instructions of a field, "" if it has none.
func hyperlink(field string) string {
	name, rest, _ := strings.Cut(strings.TrimSpace(field), " ")
	if !strings.EqualFold(name, "HYPERLINK") {
		return ""
	}
	rest = strings.TrimSpace(rest)
	if quoted, ok := strings.CutPrefix(rest, `"`); ok {
		rest, _, _ = strings.Cut(quoted, `"`)
	} else {
		rest, _, _ = strings.Cut(rest, " ")
	}
	return markdown.Address(rest)
}

// text is the body with footnotes, headers and footers behind it, each once.
func (p *parser) text() string {
	var b strings.Builder
	b.WriteString(p.body.text())
	for i, s := range p.notes {
		fmt.Fprintf(&b, "[^%d]: %s\n", i+1, strings.TrimSpace(s.text()))
	}
	seen := map[string]bool{"": true}
	for _, s := range p.around {
		if text := s.text(); !seen[text] {
			seen[text] = true
			b.WriteString(text)
		}
	}
	return b.String()
}
