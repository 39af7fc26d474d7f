package rtf

import (
	"strconv"
	"strings"

	"github.com/seed-506d8e5d/svc/extract/internal/word"
)

// aside makes the group a story of its own, and returns it.
func (p *parser) aside() *story {
	s := &story{}
	p.to, p.inTable, p.level = s, false, 0
	inRow := p.inRow
	p.inRow = false
	p.ends = func() { p.inRow = inRow }
	return s
}

// destination handles the control words that say what a group is for, and reports
// whether t is one.
func (p *parser) destination(t token) bool {
	switch t.name {
	case "shptxt", "ud": // within one that is off
		p.off = false
	case "shppict", "result", "pntext", "listtext":
	case "nesttableprops":
		p.inner = true
	case "stylesheet":
		p.aside()
		p.sheet = true
	case "footnote":
		if !p.shows() || len(p.notes) >= maxStories {
			p.off = true
			break
		}
		p.write("[^" + strconv.Itoa(len(p.notes)+1) + "]")
		p.notes = append(p.notes, p.aside())
	case "header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf":
		if len(p.around) >= maxStories {
			p.off = true
			break
		}
		p.around = append(p.around, p.aside())
	case "atnauthor":
		s := p.aside()
		p.then(func() { p.author = strings.TrimSpace(s.text()) })
	case "annotation":
		s := p.aside()
		p.then(func() {
			by := ""
			if p.author != "" {
				by = " (" + p.author + ")"
			}
			p.author = ""
			if text := strings.Join(strings.Fields(s.text()), " "); text != "" {
				p.write(" [Comment" + by + ": " + text + "]")
			}
		})
	default:
		if p.field(t) {
			break
		}
		if !textless[t.name] {
			return false
		}
		p.off = true
	}
	return true
}

// field begins a field, or a part of one, and reports whether t does that.
func (p *parser) field(t token) bool {
	switch t.name {
	case "field":
		url, shown, to, from := p.url, p.shown, p.to, len(p.to.line)
		p.url, p.shown = "", ""
		p.then(func() {
			if len(to.line) == from {
				p.write(p.shown)
			}
			p.url, p.shown = url, shown
		})
	case "fldinst":
		s := p.aside()
		p.then(func() {
			code := s.text()
			p.url, p.shown = hyperlink(code), word.FieldEquation(code)
		})
	case "fldrslt":
		url, to, from := p.url, p.to, len(p.to.line)
		p.url = ""
		p.then(func() {
			if url != "" && p.shows() {
				p.spent += len(url)
				to.link(from, url)
			}
		})
	default:
		return false
	}
	return true
}

// then adds to what is done when the group ends, with the state of the outer one.
func (p *parser) then(f func()) {
	before := p.ends
	p.ends = func() {
		if before != nil {
			before()
		}
		f()
	}
}
