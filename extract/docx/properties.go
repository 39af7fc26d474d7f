package docx

import (
	"encoding/xml"
	"strings"

	"github.com/seed-506d8e5d/svc/extract/internal/ooxml"
)

// startProperty reads the properties that decide about text. Those of w.props,
// the outermost element, count; what they were before a tracked change does not.
func (w *walker) startProperty(e xml.StartElement) {
	name := e.Name.Local
	if strings.HasSuffix(name, "Change") {
		w.leaveOut(len(w.open))
		return
	}
	switch w.props {
	case "pPr":
		w.paragraphProperty(e)
	case "rPr":
		w.runProperty(e)
	case "tcPr":
		w.cellProperty(e)
	case "trPr":
		w.delRow = w.delRow || name == "del"
	case "sectPr":
		w.sectionProperty(e)
	case "naryPr", "dPr":
		w.mathProperty(e)
	case "ffData":
		if n := len(w.story.fields); n > 0 {
			w.story.fields[n-1].form.property(e)
		}
	}
}

func (w *walker) runProperty(e xml.StartElement) {
	switch e.Name.Local {
	case "vanish":
		hidden := isOn(e)
		w.story.run.vanish = &hidden
	case "rStyle":
		w.story.run.style = ooxml.Attr(e, "val")
	case "rFonts":
		w.story.font = ooxml.Attr(e, "ascii")
	}
}

func (w *walker) paragraphProperty(e xml.StartElement) {
	p := &w.story.paragraph
	switch e.Name.Local {
	case "pStyle":
		p.style = ooxml.Attr(e, "val")
	case "numId":
		p.numID = ooxml.Attr(e, "val")
	case "pageBreakBefore":
		p.newPage = isOn(e)
	case "outlineLvl":
		p.outline = ooxml.Attr(e, "val")
	case "ilvl":
		p.level = ooxml.Attr(e, "val")
	case "del", "moveFrom":
		p.joined = true
	case "headerReference", "footerReference":
		w.sectionProperty(e)
	}
}

func (w *walker) sectionProperty(e xml.StartElement) {
	switch e.Name.Local {
	case "headerReference":
		w.doc.headers.add(ooxml.Attr(e, "id"))
	case "footerReference":
		w.doc.footers.add(ooxml.Attr(e, "id"))
	}
}

func (w *walker) endProperties(el element) {
	if el.name != w.props {
		return
	}
	// A paragraph's properties hold those of its mark and of its section,
	// under names of their own, so that an equal name ends the outermost.
	w.endMathProperties()
	w.props = ""
	switch {
	case el.name == "rPr":
		w.story.hidden = w.doc.lists.styles.hidden(w.story.paragraph.style, w.story.run)
	case el.name == "pPr" && !w.story.paragraph.joined:
		w.beginParagraph()
	case el.name == "trPr" && w.delRow:
		w.delRow = false
		w.leaveOut(len(w.open))
	}
}
