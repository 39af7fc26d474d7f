package docx

import (
	"encoding/xml"
	"strconv"
	"strings"

	"github.com/seed-506d8e5d/svc/extract/internal/markdown"
	"github.com/seed-506d8e5d/svc/extract/internal/ooxml"
)

// beginParagraph writes what begins the line of a paragraph whose properties have
// been read: the mark of a heading, the number or bullet of a list.
func (w *walker) beginParagraph() {
	p := w.story.paragraph
	if p.newPage && w.story.cell == nil && len(w.outer) == 0 && len(w.story.text) > 0 {
		w.block("---")
	}
	item := w.doc.lists.item(p)
	level := w.doc.lists.styles.heading(p)
	if w.story.cell != nil {
		w.put(item.label)
		return
	}
	if level > 0 {
		w.story.paragraph.heading = true
		w.story.due = strings.Repeat("#", level) + " "
		w.put(item.label)
		return
	}
	if item.label != "" {
		w.put(strings.Repeat("  ", item.level) + item.label)
	}
}

// heading returns the level of a heading, 1 to 6, or 0 for other text. It is that
// of the paragraph's outline or of its style's.
func (s *styles) heading(p paragraph) int {
	if p.outline != "" {
		return headingLevel(p.outline)
	}
	id := p.style
	for range maxChain {
		one := s.byID[id]
		if one == nil {
			return 0
		}
		if one.Outline != nil {
			return headingLevel(one.Outline.Val)
		}
		if level := namedHeading(one.Name.Val); level > 0 {
			return level
		}
		id = one.BasedOn.Val
	}
	return 0
}

// headingLevel reads a level that is counted from 0; 9 is text.
func headingLevel(outline string) int {
	n, err := strconv.Atoi(outline)
	if err != nil || n < 0 || n > 8 {
		return 0
	}
	return min(n+1, 6)
}

// namedHeading knows the names of Word's own styles, which are the same in all of
// its languages.
func namedHeading(name string) int {
	name = strings.ToLower(name)
	if name == "title" {
		return 1
	}
	level, ok := strings.CutPrefix(name, "heading ")
	if n, err := strconv.Atoi(level); ok && err == nil && n >= 1 && n <= 9 {
		return min(n, 6)
	}
	return 0
}

// startHyperlink begins a link to another document. Those within the document have
// no address that a reader could use.
func (w *walker) startHyperlink(e xml.StartElement) {
	url := ""
	if id := ooxml.Attr(e, "id"); id != "" {
		url = markdown.Address(w.doc.links[id])
	}
	w.story.startLink(url)
}
