package docx

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-506d8e5d/svc/extract"
	"github.com/seed-506d8e5d/svc/extract/internal/ooxml"
)

// walker reads one part in document order.
type walker struct {
	doc    *document
	story  *story
	outer  []*story // the stories around an open text box
	open   []element
	bound  []binding
	props  string // the outermost open element of properties, or ""
	skip   int    // elements open at the start of what is left out, or 0
	wrote  int    // bytes of text written so far, to all stories
	delRow bool   // the properties of a table row say that it is deleted

	operator, closing string // of the open properties of a formula

	note   note // the open note
	onNote func(note)
}

// element is an open element and what to restore when it ends.
type element struct {
	name  string
	space space
	bound int  // bindings before it
	wrote int  // bytes of text before it
	said  bool // an alternative in it has written text
	story bool // its text is a story of its own
	table bool // it is a table, or stands for one

	closing string // the bracket that ends it in a formula
}

// Bounds on stories within stories: all of them, and those that are text boxes,
// of which Word has none in each other.
const (
	maxOuter = 48
	maxBoxes = 8
)

// walk reads markup to its end or to the first error, and returns the text.
func (d *document) walk(markup string, onNote func(note)) (string, error) {
	w := &walker{doc: d, story: &story{}, bound: usualBindings(), onNote: onNote}
	dec, err := ooxml.NewDecoder(markup)
	if err != nil {
		return "", err
	}
	err = w.run(dec)
	w.endStories()
	d.written += w.wrote
	return w.story.String(), err
}

func (w *walker) run(dec *xml.Decoder) error {
	for token, err := range ooxml.Tokens(w.doc.ctx, dec) {
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if len(w.open) >= maxDepth {
				return fmt.Errorf("%w: elements nest over %d deep", extract.ErrTooLarge, maxDepth)
			}
			w.start(t)
		case xml.EndElement:
			w.end()
		case xml.CharData:
			w.chars(t)
		}
		if w.doc.written+w.wrote > maxText {
			return fmt.Errorf("%w: over %d bytes of text", extract.ErrTooLarge, maxText)
		}
	}
	return nil
}

func (w *walker) start(e xml.StartElement) {
	el := element{name: e.Name.Local, bound: len(w.bound), wrote: w.wrote}
	w.bound = bind(w.bound, e.Attr)
	el.space = resolve(w.bound, e.Name.Space)
	if len(w.open) == 0 && w.doc.root == "" {
		w.doc.root = el.name
	}
	w.open = append(w.open, el)
	switch {
	case w.skip > 0:
	case w.props != "":
		w.startProperty(e)
	case isProperties(el):
		w.props = el.name
		w.startMathProperties()
	case el.space == wordSpace:
		w.startWord(e)
	case el.space == compatSpace:
		w.startAlternative(el.name)
	case el.space == mathSpace:
		w.startMath(el.name)
	case el.space == drawSpace && el.name == "br":
		w.put("\n")
	default:
		w.startDrawing(e)
	}
}

// isProperties tells whether an element and all in it describe others. No text
// is in them.
func isProperties(el element) bool {
	return strings.HasSuffix(el.name, "Pr") && el.space != otherSpace || el.name == "ffData"
}

func (w *walker) end() {
	n := len(w.open)
	if n == 0 {
		return
	}
	el := w.open[n-1]
	w.open = w.open[:n-1]
	w.bound = w.bound[:el.bound]
	if w.skip == n {
		w.skip = 0
	}
	switch {
	case w.skip > 0:
	case w.props != "":
		w.endProperties(el)
	case el.space == wordSpace:
		w.endWord(el)
	case el.space == compatSpace:
		w.endAlternative(el)
	case el.closing != "":
		w.put(el.closing)
	case el.space == drawSpace && el.name == "p":
		w.story.lineEnds++
	}
}

// chars takes the text of the elements named t, which alone hold any.
func (w *walker) chars(text []byte) {
	n := len(w.open)
	if w.skip == 0 && n > 0 && w.open[n-1].name == "instrText" && w.open[n-1].space == wordSpace {
		w.story.addCode(text)
		return
	}
	if w.skip > 0 || w.props != "" || n == 0 || w.open[n-1].name != "t" || w.open[n-1].space == otherSpace {
		return
	}
	w.put(strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\r':
			return ' '
		case r == '\u00AD': // a soft hyphen shows only at the end of a line
			return -1
		case r >= symbolArea+0x20 && r <= symbolArea+0xFF:
			return symbolRune(w.story.font, r)
		}
		return r
	}, string(text)))
}

// put writes text unless it is hidden or the code of a field.
func (w *walker) put(text string) {
	if text == "" || w.story.hidden || w.story.codes > 0 {
		return
	}
	w.story.write(text)
	w.wrote += len(text)
}

// leaveOut skips the rest of the element that is open at that depth.
func (w *walker) leaveOut(depth int) { w.skip = depth }

func (w *walker) startWord(e xml.StartElement) {
	switch name := e.Name.Local; name {
	case "del", "moveFrom", "tblGrid", "rt":
		w.leaveOut(len(w.open))
	case "tab", "ptab":
		w.put("\t")
	case "br", "cr":
		w.lineBreak(e)
	case "noBreakHyphen":
		w.put("-")
	case "sym":
		w.put(symbol(ooxml.Attr(e, "font"), ooxml.Attr(e, "char")))
	case "r":
		w.story.run, w.story.font = run{}, ""
		w.story.hidden = w.doc.lists.styles.hidden(w.story.paragraph.style, run{})
	case "fldChar":
		w.fieldChar(ooxml.Attr(e, "fldCharType"))
	case "tbl":
		w.startTable()
	case "tr":
		w.startRow()
	case "tc":
		w.startCell()
	case "txbxContent":
		if len(w.outer) < maxBoxes {
			w.openStory()
		}
	case "hyperlink":
		w.startHyperlink(e)
	case "footnoteReference", "endnoteReference":
		w.reference(e)
	case "commentReference":
		w.comment(ooxml.Attr(e, "id"))
	case "altChunk":
		if text := w.doc.chunk(ooxml.Attr(e, "id")); text != "" {
			w.put(text)
			w.story.lineEnds = 1
		}
	case "footnote", "endnote", "comment":
		if w.onNote != nil && len(w.outer) == 0 {
			w.openStory()
			w.note = note{id: ooxml.Attr(e, "id"), author: ooxml.Attr(e, "author")}
		}
	}
}

func (w *walker) endWord(el element) {
	switch el.name {
	case "p":
		w.story.endParagraph()
	case "r":
		w.story.hidden = false
	case "tr":
		if t := w.story.table(); t != nil {
			t.EndRow()
		}
	case "hyperlink":
		w.story.endLink()
	}
	if el.table {
		w.endTable()
	}
	if !el.story {
		return
	}
	cell := w.story.cell
	text := w.popStory()
	switch {
	case cell != nil:
		if t := w.story.table(); t != nil {
			cell.Text = text
			t.Add(*cell)
		}
	case el.name != "txbxContent":
		w.note.text = text
		w.onNote(w.note)
	case text != "" && !w.story.hidden:
		w.story.boxes = append(w.story.boxes, text)
	}
}

// openStory begins a note, a cell or a text box, whose text is kept apart until
// what is around it goes on. Stories nested beyond reason are read in place.
func (w *walker) openStory() {
	w.outer = append(w.outer, w.story)
	w.story = &story{}
	w.open[len(w.open)-1].story = true
}

func (w *walker) popStory() (text string) {
	text = w.story.String()
	n := len(w.outer)
	w.story, w.outer = w.outer[n-1], w.outer[:n-1]
	return text
}

// endStories ends what a damaged part leaves open: the text of cells and tables
// stays.
func (w *walker) endStories() {
	for len(w.outer) > 0 {
		cell := w.story.cell
		for len(w.story.tables) > 0 {
			w.endTable()
		}
		text := w.popStory()
		if t := w.story.table(); cell != nil && t != nil {
			cell.Text = text
			t.Add(*cell)
		}
	}
	for len(w.story.tables) > 0 {
		w.endTable()
	}
}

func (w *walker) fieldChar(kind string) {
	switch kind {
	case "begin":
		w.story.beginField()
	case "separate":
		w.story.endCode()
	case "end":
		w.put(w.story.endField())
	}
}

// reference writes the mark of a note and remembers the note's place. A mark of
// the author's own follows as ordinary text.
func (w *walker) reference(e xml.StartElement) {
	if w.story.hidden || w.story.codes > 0 {
		return
	}
	notes := &w.doc.footnotes
	if e.Name.Local == "endnoteReference" {
		notes = &w.doc.endnotes
	}
	custom := ooxml.Attr(e, "customMarkFollows")
	mark := notes.refer(ooxml.Attr(e, "id"), custom == "1" || custom == "true" || custom == "on")
	if mark != "" {
		w.put("[^" + mark + "]")
	}
}

// startAlternative handles text that is there twice, for newer and older
// readers: the first alternative that has any text is taken.
func (w *walker) startAlternative(name string) {
	if name != "Choice" && name != "Fallback" {
		return
	}
	if n := len(w.open); n > 1 && w.open[n-2].said {
		w.leaveOut(n)
	}
}

func (w *walker) endAlternative(el element) {
	n := len(w.open)
	if n == 0 || el.name != "Choice" {
		return
	}
	w.open[n-1].said = w.open[n-1].said || w.wrote > el.wrote
}

// symbol returns the character of a symbol font, given in hexadecimal.
func symbol(font, hex string) string {
	n, err := strconv.ParseUint(hex, 16, 16)
	if err != nil || n < 0x20 {
		return ""
	}
	return string(symbolRune(font, rune(n)))
}
