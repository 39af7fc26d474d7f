package html

import (
	"context"
	"fmt"
	stdhtml "html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-506d8e5d/svc/extract"
	"github.com/seed-506d8e5d/svc/extract/internal/markdown"
)

// page is a page that is being read.
type page struct {
	scanner scanner
	flows   []*flow // the page, and the cells of tables that are open; the last is written to
	tables  []*table
	lists   []list
	title   string
	headed  bool // there is a heading of the first level
	written int  // bytes of text so far

	// What is left out: the element that hides it, and how many of that name are open.
	hidden string
	depth  int
}

// flow is lines of text.
type flow struct {
	done   strings.Builder // whole lines
	line   []byte
	prefix string // of the line: of a heading or a list item
	space  bool   // a blank stands before what follows
	pre    int    // open elements whose blanks count
	link   string // the address of the open link
	linked int    // where it begins in the line
}

// table is a table that is open.
type table struct {
	markdown.Table
	cells int // of flows: those that were open before it
	span  int // of the open cell
	lists int
}

// list is a list that is open.
type list struct {
	numbered bool
	next     int
}

func newPage() *page { return &page{flows: []*flow{{}}} }

func (p *page) flow() *flow { return p.flows[len(p.flows)-1] }

func (p *page) run(ctx context.Context, markup string) error {
	p.scanner.rest = markup
	for n := 0; ; n++ {
		if err := ctx.Err(); n%1024 == 0 && err != nil {
			return err
		}
		text, t, more := p.scanner.next()
		if p.hidden == "" {
			p.add(text)
		}
		if !more {
			break
		}
		if p.hidden != "" {
			p.skip(&t)
		} else if t.name != "" {
			p.tag(&t)
		}
		if p.written > maxText {
			return fmt.Errorf("%w: text", extract.ErrTooLarge)
		}
	}
	for len(p.tables) > 0 {
		p.endTable()
	}
	p.flow().end()
	return nil
}

// text returns the whole text. A page without a heading of the first level has its
// title for one.
func (p *page) text() string {
	text := p.flow().done.String()
	if p.title != "" && !p.headed {
		text = "# " + p.title + "\n" + text
	}
	return text
}

// void are the elements that have no end.
var void = map[string]bool{"area": true, "base": true, "br": true, "col": true, "embed": true, "hr": true, "img": true, "input": true, "link": true, "meta": true, "source": true, "track": true, "wbr": true}

// unseen are the elements whose content is not shown, plain those of which it is no
// markup.
var (
	unseen = map[string]bool{"template": true, "noscript": true, "svg": true, "object": true, "audio": true, "video": true, "canvas": true, "datalist": true}
	plain  = map[string]bool{"script": true, "style": true, "title": true, "textarea": true, "iframe": true, "noembed": true, "noframes": true, "xmp": true}
)

// skip takes a tag in what is left out.
func (p *page) skip(t *tag) {
	switch {
	case plain[t.name] && !t.end:
		p.scanner.raw(t.name)
	case t.name != p.hidden:
	case !t.end:
		p.depth++
	default:
		if p.depth--; p.depth == 0 {
			p.hidden = ""
		}
	}
}

func (p *page) isHidden(t *tag) bool {
	if unseen[t.name] {
		return true
	}
	if _, ok := t.attribute("hidden"); ok {
		return true
	}
	style, _ := t.attribute("style")
	style = strings.ToLower(strings.Join(strings.Fields(style), ""))
	return strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
}

func (p *page) tag(t *tag) {
	if plain[t.name] && !t.end {
		content := p.scanner.raw(t.name)
		switch t.name {
		case "title":
			if p.title == "" {
				p.title = strings.Join(strings.Fields(stdhtml.UnescapeString(content)), " ")
			}
		case "textarea", "xmp":
			p.add(content)
		}
		return
	}
	if !t.end && !void[t.name] && p.isHidden(t) {
		if blocks[t.name] {
			p.flow().end()
		}
		p.hidden, p.depth = t.name, 1
		return
	}
	if t.end {
		p.end(t.name)
	} else {
		p.start(t)
	}
}

// blocks are the elements that begin and end lines.
var blocks = map[string]bool{"address": true, "article": true, "aside": true, "blockquote": true, "body": true, "caption": true, "center": true, "dd": true, "details": true, "dialog": true,
	"div": true, "dl": true, "dt": true, "fieldset": true, "figcaption": true, "figure": true, "footer": true, "form": true, "header": true, "hr": true, "legend": true, "main": true,
	"nav": true, "option": true, "p": true, "pre": true, "section": true, "select": true, "summary": true, "br": true}

func (p *page) start(t *tag) {
	f := p.flow()
	if blocks[t.name] {
		f.end()
	}
	switch t.name {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		f.end()
		f.prefix = strings.Repeat("#", int(t.name[1]-'0')) + " "
		p.headed = p.headed || t.name == "h1"
	case "pre":
		f.pre++
	case "ul", "ol":
		f.end()
		if len(p.lists) < maxLists {
			start, _ := t.attribute("start")
			first, err := strconv.Atoi(start)
			if err != nil {
				first = 1
			}
			p.lists = append(p.lists, list{t.name == "ol", first})
		}
	case "li":
		p.item()
	case "a":
		href, _ := t.attribute("href")
		f.link, f.linked = markdown.Address(href), len(f.line)
	case "img":
		alt, _ := t.attribute("alt")
		p.add(markdown.Picture(alt))
	case "table":
		p.startTable()
	case "tr":
		p.startRow()
	case "td", "th":
		p.startCell(t)
	}
}

func (p *page) end(name string) {
	f := p.flow()
	if blocks[name] {
		f.end()
	}
	switch name {
	case "h1", "h2", "h3", "h4", "h5", "h6", "li":
		f.end()
		f.prefix = "" // of one that is empty
	case "pre":
		f.pre = max(0, f.pre-1)
	case "ul", "ol":
		f.end()
		if n := len(p.lists); n > p.listsBefore() {
			p.lists = p.lists[:n-1]
		}
	case "a":
		f.endLink()
	case "td", "th":
		p.endCell()
	case "tr":
		p.endRow()
	case "table":
		p.endTable()
	}
}

// item begins a list item.
func (p *page) item() {
	f := p.flow()
	f.end()
	mark := "- "
	depth := len(p.lists) - p.listsBefore()
	if depth > 0 {
		if l := &p.lists[len(p.lists)-1]; l.numbered {
			mark = strconv.Itoa(l.next) + ". "
			l.next++
		}
	}
	f.prefix = strings.Repeat("  ", max(0, depth-1)) + mark
}

// listsBefore returns how many lists were open before the table that is open.
func (p *page) listsBefore() int {
	if n := len(p.tables); n > 0 {
		return p.tables[n-1].lists
	}
	return 0
}

func (p *page) startTable() {
	p.flow().end()
	if len(p.tables) < maxTables {
		p.tables = append(p.tables, &table{cells: len(p.flows), lists: len(p.lists)})
	}
}

func (p *page) startRow() {
	if n := len(p.tables); n > 0 {
		p.endRow()
		p.tables[n-1].StartRow()
	}
}

func (p *page) endRow() {
	if n := len(p.tables); n > 0 {
		p.endCell()
		p.tables[n-1].EndRow()
	}
}

// maxSpan is how many columns a cell is taken for at the most.
const maxSpan = 64

func (p *page) startCell(t *tag) {
	n := len(p.tables)
	if n == 0 {
		return
	}
	p.endCell()
	span, _ := t.attribute("colspan")
	columns, err := strconv.Atoi(span)
	if err != nil {
		columns = 1
	}
	p.tables[n-1].span = min(max(columns, 1), maxSpan)
	p.flows = append(p.flows, &flow{})
}

func (p *page) endCell() {
	n := len(p.tables)
	if n == 0 || len(p.flows) <= p.tables[n-1].cells {
		return
	}
	t := p.tables[n-1]
	f := p.flow()
	f.end()
	p.flows, p.lists = p.flows[:len(p.flows)-1], p.lists[:t.lists]
	p.written += t.Add(markdown.Cell{Text: strings.TrimRight(f.done.String(), "\n"), Span: t.span})
}

func (p *page) endTable() {
	n := len(p.tables)
	if n == 0 {
		return
	}
	p.endRow()
	t := p.tables[n-1]
	p.tables, p.lists = p.tables[:n-1], p.lists[:t.lists]
	text := t.String()
	if n > 1 {
		text = t.Inner()
	}
	f := p.flow()
	f.end()
	if text != "" {
		f.done.WriteString(text + "\n")
	}
}

// add adds text to the open line.
func (p *page) add(text string) {
	if text == "" {
		return
	}
	f := p.flow()
	text = stdhtml.UnescapeString(text)
	p.written += len(text)
	if f.pre > 0 {
		for i, line := range strings.Split(text, "\n") {
			if i > 0 {
				f.keep()
			}
			f.line = append(f.line, strings.TrimRight(line, "\r")...)
		}
		return
	}
	words := strings.Fields(text)
	if first, _ := utf8.DecodeRuneInString(text); unicode.IsSpace(first) {
		f.space = true
	}
	for _, word := range words {
		if f.space && len(f.line) > 0 {
			f.line = append(f.line, ' ')
		}
		f.line = append(f.line, word...)
		f.space = true
	}
	if last, _ := utf8.DecodeLastRuneInString(text); len(words) > 0 {
		f.space = unicode.IsSpace(last)
	}
}

// keep ends a line whose blanks count, also an empty one.
func (f *flow) keep() {
	f.endLink()
	f.done.WriteString(f.prefix + string(f.line) + "\n")
	f.prefix, f.line = "", f.line[:0]
}

// end ends the open line, if something stands in it.
func (f *flow) end() {
	f.endLink()
	f.space = false
	text := strings.TrimRight(string(f.line), " \t")
	f.line = f.line[:0]
	if strings.TrimSpace(text) != "" {
		f.done.WriteString(f.prefix + text + "\n")
		f.prefix = ""
	}
}

// endLink gives the text of the open link its address.
func (f *flow) endLink() {
	if f.link == "" {
		return
	}
	text := strings.TrimLeft(string(f.line[f.linked:]), " ")
	if markdown.IsLink(text, f.link) {
		f.line = append(f.line[:len(f.line)-len(text)], "["+text+"]("+f.link+")"...)
	}
	f.link = ""
}
