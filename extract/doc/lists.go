package doc

import (
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/seed-506d8e5d/svc/extract/internal/word"
)

const levels = 9 // of a list

// lists holds the list definitions of a document and the items as they come.
type lists struct {
	styles    styles
	instances []instance
	items     []item
}

// item is a paragraph of a list.
type item struct {
	at   int // its first character
	list *instance
	lvl  int

	indented bool
}

// definition is how a list is numbered, and its counters, which all lists that
// use it share.
type definition struct {
	levels  [levels]levelDef
	counts  [levels]int
	counted [levels]bool
}

// levelDef says how the items of a level are numbered. A character of text
// below the number of levels stands for the number of that level.
type levelDef struct {
	start     int
	format    int
	legal     bool
	noRestart bool
	text      []uint16
}

// instance is a list: a definition with what it overrides.
type instance struct {
	def    *definition
	levels [levels]*levelDef
	starts [levels]*int // overrides not yet used
}

// newLists reads the styles, the definitions and the lists.
func newLists(b *fib) *lists {
	l := &lists{styles: parseStyles(b.table(styleSheet))}
	l.instances = parseInstances(b.table(listOverrides), b.definitions())
	return l
}

// definitions reads the list definitions by their identifiers. The levels
// follow the table, beyond its length.
func (b *fib) definitions() map[int]*definition {
	const entry, stylesEnd, simple = 28, 26, 1
	offset, length := b.pair(listDefinitions)
	if b.version < word97 || length < 2 {
		return nil
	}
	heads := slice(b.tables, offset, length)
	rest := slice(b.tables, offset+length, len(b.tables))
	defs := map[int]*definition{}
	for i := range u16(heads, 0) {
		head := slice(heads, 2+entry*i, entry)
		if len(head) < entry {
			break
		}
		d := &definition{}
		n := levels
		if head[stylesEnd]&simple != 0 {
			n = 1
		}
		for j := range n {
			var size int
			d.levels[j], size = parseLevel(rest)
			rest = rest[min(len(rest), size):]
		}
		defs[i32(head, 0)] = d
	}
	return defs
}

// parseLevel reads the definition of a level and returns its size.
func parseLevel(b []byte) (levelDef, int) {
	const fixed, legal, noRestart = 28, 0x04, 0x08
	if len(b) < fixed {
		return levelDef{format: noNumber}, len(b)
	}
	def := levelDef{start: i32(b, 0), format: int(b[4]), legal: b[5]&legal != 0, noRestart: b[5]&noRestart != 0}
	size := fixed + int(b[24]) + int(b[25])
	n := u16(b, size)
	def.text = piece{}.decode(slice(b, size+2, 2*min(n, maxLabel)), nil)
	return def, size + 2 + 2*n
}

// parseInstances reads the lists and what they override.
func parseInstances(b []byte, defs map[int]*definition) []instance {
	const entry, countAt = 16, 12
	n := max(0, min(i32(b, 0), (len(b)-4)/entry))
	list := make([]instance, n)
	rest := b[min(len(b), 4+entry*n):]
	for i := range list {
		head := b[4+entry*i:]
		list[i].def = defs[i32(head, 0)]
		rest = rest[min(len(rest), 4):]
		for range min(int(head[countAt]), levels) {
			rest = list[i].override(rest)
		}
	}
	return list
}

// override reads what a list overrides at one level, and returns what follows.
func (in *instance) override(b []byte) []byte {
	const size, hasStart, hasLevel = 8, 0x10, 0x20
	if len(b) < size {
		return nil
	}
	start, flags := i32(b, 0), int(b[4])
	at := flags & 0x0F
	b = b[size:]
	if at >= levels {
		at = levels - 1
	}
	if flags&hasLevel != 0 {
		def, n := parseLevel(b)
		b = b[min(len(b), n):]
		in.levels[at] = &def
		start = def.start
	}
	if flags&hasStart != 0 {
		in.starts[at] = &start
	}
	return b
}

// add takes a paragraph, by its first character, if it is an item of a list.
// Items beyond any real document go without their numbers.
func (l *lists) add(at int, p paraProps, indented bool) {
	styled := l.styles.inherited(p.style)
	if p.list == inherit {
		p.list = styled.list
	}
	if p.level == inherit {
		p.level = styled.level
	}
	if len(l.items) >= maxItems || p.list < 1 || p.list > len(l.instances) || l.instances[p.list-1].def == nil {
		return
	}
	lvl := max(0, p.level)
	if lvl < levels {
		l.items = append(l.items, item{at, &l.instances[p.list-1], lvl, indented})
	}
}

// labels counts the items and returns their numbers and bullets, each with a
// space, by the first character of the paragraph.
func (l *lists) labels() map[int]string {
	labels := map[int]string{}
	for _, it := range l.items {
		it.list.count(it.lvl)
		if text := it.list.render(it.lvl); text != "" {
			if text == "•" {
				text = "-"
			}
			if it.indented {
				text = strings.Repeat("  ", it.lvl) + text
			}
			labels[it.at] = text + " "
		}
	}
	return labels
}

func (in *instance) level(at int) *levelDef {
	if in.levels[at] != nil {
		return in.levels[at]
	}
	return &in.def.levels[at]
}

// count moves the counters on to the next item.
func (in *instance) count(at int) {
	d := in.def
	switch {
	case in.starts[at] != nil: // the list begins anew at its own number
		d.counts[at] = *in.starts[at]
		in.starts[at] = nil
	case d.counted[at]:
		d.counts[at]++
	default:
		d.counts[at] = in.level(at).start
	}
	d.counted[at] = true
	for deeper := at + 1; deeper < levels; deeper++ {
		if !in.level(deeper).noRestart {
			d.counted[deeper] = false
		}
	}
}

// render writes the label of the item that was counted last.
func (in *instance) render(at int) string {
	def := in.level(at)
	if def.format == bulletFormat {
		if len(def.text) == 0 {
			return ""
		}
		return word.Bullet(utf16.Decode(def.text)[0])
	}
	if def.format == noNumber {
		return ""
	}
	var b strings.Builder
	for _, r := range utf16.Decode(def.text) {
		switch {
		case int(r) <= at:
			b.WriteString(in.number(int(r), def.legal))
		case r >= ' ':
			b.WriteRune(r)
		}
	}
	return strings.TrimSpace(b.String())
}

// number writes the counter of a level, in decimal if legal.
func (in *instance) number(of int, legal bool) string {
	def := in.level(of)
	n := in.def.counts[of]
	if !in.def.counted[of] {
		n = def.start
	}
	if legal {
		return strconv.Itoa(n)
	}
	return formatNumber(n, def.format)
}

// Formats of numbers, by their codes (MS-OSHARED, 2.2.1.3).
const (
	upperRoman   = 1
	lowerRoman   = 2
	upperLetter  = 3
	lowerLetter  = 4
	decimalZero  = 22
	bulletFormat = 23
	noNumber     = 255
)

var formats = map[int]string{
	upperRoman: "upperRoman", lowerRoman: "lowerRoman", upperLetter: "upperLetter", lowerLetter: "lowerLetter", 5: "ordinal",
	10: "ideographDigital", 11: "japaneseCounting", 12: "aiueo", 13: "iroha", 14: "decimalFullWidth", 16: "japaneseLegal",
	17: "japaneseDigitalTenThousand", 18: "decimalEnclosedCircle", 19: "decimalFullWidth2", 20: "aiueoFullWidth", 21: "irohaFullWidth",
	decimalZero: "decimalZero", bulletFormat: "bullet", 24: "ganada", 25: "chosung", 26: "decimalEnclosedFullstop",
	27: "decimalEnclosedParen", 28: "decimalEnclosedCircleChinese", 29: "ideographEnclosedCircle", 30: "ideographTraditional",
	31: "ideographZodiac", 33: "taiwaneseCounting", 34: "ideographLegalTraditional", 35: "taiwaneseCountingThousand",
	36: "taiwaneseDigital", 37: "chineseCounting", 38: "chineseLegalSimplified", 39: "chineseCountingThousand",
	41: "koreanDigital", 42: "koreanCounting", 44: "koreanDigital2", 46: "arabicAlpha", 48: "arabicAbjad", 57: "numberInDash",
	58: "russianLower", 59: "russianUpper", noNumber: "none",
}

func formatNumber(n, format int) string { return word.Number(n, formats[format]) }
