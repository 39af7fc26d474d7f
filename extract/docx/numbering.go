package docx

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed-506d8e5d/svc/extract/internal/ooxml"
	"github.com/seed-506d8e5d/svc/extract/internal/word"
)

const levels = 9 // of a list

// lists holds the list definitions of a document and counts their items.
type lists struct {
	styles    styles
	instances map[string]*instance
	abstracts map[string]*abstract
}

type numbered struct {
	ID    value `xml:"numId"`
	Level value `xml:"ilvl"`
}

type value struct {
	Val string `xml:"val,attr"`
}

// abstract is a list definition and its counters, which all lists that use it
// share.
type abstract struct {
	ID        string     `xml:"abstractNumId,attr"`
	StyleLink value      `xml:"numStyleLink"`
	Levels    []levelDef `xml:"lvl"`
	defs      [levels]*levelDef
	counts    [levels]int
	counted   [levels]bool
}

// levelDef says how the items of a level are numbered.
type levelDef struct {
	Level    string `xml:"ilvl,attr"`
	Start    *value `xml:"start"`
	Format   *value `xml:"numFmt"`
	Fallback *value `xml:"AlternateContent>Fallback>numFmt"`
	Own      struct {
		Format string `xml:"format,attr"`
	} `xml:"AlternateContent>Choice>numFmt"`
	Text    value  `xml:"lvlText"`
	Style   value  `xml:"pStyle"`
	Restart *value `xml:"lvlRestart"`
	Legal   *value `xml:"isLgl"`
}

// instance is a list: a definition with what it overrides.
type instance struct {
	ID        string `xml:"numId,attr"`
	Abstract  value  `xml:"abstractNumId"`
	Overrides []struct {
		Level string    `xml:"ilvl,attr"`
		Start *value    `xml:"startOverride"`
		Def   *levelDef `xml:"lvl"`
	} `xml:"lvlOverride"`
	defs   [levels]*levelDef
	starts [levels]*int // overrides not yet used
}

// parseLists reads the part with the definitions; ok says whether it was whole.
func parseLists(styles styles, numbering []byte) (l lists, ok bool) {
	var n struct {
		Abstract []*abstract `xml:"abstractNum"`
		Num      []*instance `xml:"num"`
	}
	ok = ooxml.Decode(numbering, &n)
	l = lists{styles, map[string]*instance{}, map[string]*abstract{}}
	for _, a := range n.Abstract {
		for i := range a.Levels {
			a.defs[level(a.Levels[i].Level)] = &a.Levels[i]
		}
		l.abstracts[a.ID] = a
	}
	for _, in := range n.Num {
		for _, o := range in.Overrides {
			at := level(o.Level)
			in.defs[at] = o.Def
			if o.Start != nil {
				start := number(o.Start, 1)
				in.starts[at] = &start
			}
		}
		l.instances[in.ID] = in
	}
	return l, ok
}

func number(v *value, otherwise int) int {
	if v == nil {
		return otherwise
	}
	n, err := strconv.Atoi(v.Val)
	if err != nil || n < 0 || n > 1<<30 {
		return otherwise
	}
	return n
}

const maxChain = 32 // styles or list definitions that refer to each other

// item is a paragraph of a list: its number or bullet with a space, and its level
// from 0. The label is empty for what is no item.
type item struct {
	label string
	level int
}

// item counts the paragraph.
func (l *lists) item(p paragraph) item {
	in, at := l.find(p)
	if in == nil {
		return item{}
	}
	a := l.abstractOf(in)
	if a == nil {
		return item{}
	}
	def := in.def(a, at)
	if def == nil {
		return item{}
	}
	a.count(in, at)
	text := a.render(in, def, at)
	switch text {
	case "":
		return item{}
	case "•":
		text = "-"
	}
	return item{text + " ", at}
}

// find returns the list and the level of a paragraph, by its own properties or
// those of its style. The number 0 takes a paragraph out of the list.
func (l *lists) find(p paragraph) (*instance, int) {
	if p.numID != "" {
		return l.instances[p.numID], level(p.level)
	}
	name, at := p.style, p.level
	for range maxChain {
		style := l.styles.byID[name]
		if style == nil {
			return nil, 0
		}
		if at == "" {
			at = style.Num.Level.Val
		}
		if id := style.Num.ID.Val; id != "" {
			in := l.instances[id]
			if at == "" {
				at = l.levelOfStyle(in, p.style)
			}
			return in, level(at)
		}
		name = style.BasedOn.Val
	}
	return nil, 0
}

// levelOfStyle returns the level that a list has tied to a style.
func (l *lists) levelOfStyle(in *instance, style string) string {
	if a := l.abstractOf(in); a != nil {
		for _, def := range a.defs {
			if def != nil && def.Style.Val == style {
				return def.Level
			}
		}
	}
	return ""
}

// abstractOf follows a list to its definition, which may be that of a style.
func (l *lists) abstractOf(in *instance) *abstract {
	for range maxChain {
		if in == nil {
			return nil
		}
		a := l.abstracts[in.Abstract.Val]
		if a == nil || a.StyleLink.Val == "" || len(a.Levels) > 0 {
			return a
		}
		style := l.styles.byID[a.StyleLink.Val]
		if style == nil {
			return nil
		}
		in = l.instances[style.Num.ID.Val]
	}
	return nil
}

func (in *instance) def(a *abstract, at int) *levelDef {
	if in.defs[at] != nil {
		return in.defs[at]
	}
	return a.defs[at]
}

// count moves the counters on to the next item.
func (a *abstract) count(in *instance, at int) {
	start := number(in.def(a, at).Start, 1)
	switch {
	case in.starts[at] != nil: // the list begins anew at its own number
		a.counts[at] = *in.starts[at]
		in.starts[at] = nil
	case a.counted[at]:
		a.counts[at]++
	default:
		a.counts[at] = start
	}
	a.counted[at] = true
	for deeper := at + 1; deeper < levels; deeper++ {
		def := in.def(a, deeper)
		if def == nil || def.Restart == nil || def.Restart.Val != "0" {
			a.counted[deeper] = false
		}
	}
}

const maxLabel = 100 // bytes of the pattern of a label; no reader sees more

// render writes the label of the item that was counted last.
func (a *abstract) render(in *instance, def *levelDef, at int) string {
	format := def.format()
	if format == "none" {
		return ""
	}
	text := def.Text.Val
	if format == "bullet" {
		if text == "" {
			return ""
		}
		r, _ := utf8.DecodeRuneInString(text)
		return word.Bullet(r)
	}
	var b strings.Builder
	for i := 0; i < min(len(text), maxLabel); i++ {
		if text[i] != '%' || i+1 == len(text) || text[i+1] < '1' || text[i+1] > '9' {
			b.WriteByte(text[i])
			continue
		}
		i++
		of := int(text[i] - '1')
		if of > at {
			continue
		}
		b.WriteString(a.number(in, of, def.Legal != nil))
	}
	return strings.TrimSpace(strings.ToValidUTF8(b.String(), ""))
}

// number writes the counter of a level, in decimal if legal.
func (a *abstract) number(in *instance, of int, legal bool) string {
	def := in.def(a, of)
	if def == nil {
		return ""
	}
	n := a.counts[of]
	if !a.counted[of] {
		n = number(def.Start, 1)
	}
	if legal {
		return strconv.Itoa(n)
	}
	return def.number(n)
}

// number writes a number of the level. A format of the author's own is zeros in
// front, as its first example has them.
func (d *levelDef) number(n int) string {
	if example, _, _ := strings.Cut(d.Own.Format, ","); strings.HasPrefix(example, "0") && len(example) <= maxLabel {
		return word.Padded(n, len(example))
	}
	return word.Number(n, d.format())
}

func (d *levelDef) format() string {
	switch {
	case d.Format != nil:
		return d.Format.Val
	case d.Fallback != nil:
		return d.Fallback.Val
	}
	return "decimal"
}
