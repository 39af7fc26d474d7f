package docx

import (
	"encoding/xml"

	"github.com/seed-506d8e5d/svc/extract/internal/ooxml"
)

// startMath keeps fractions and powers readable on one line.
func (w *walker) startMath(name string) {
	switch name {
	case "den":
		w.put("/")
	case "sup":
		w.put("^")
	case "sub":
		w.put("_")
	}
}

// mathProperty reads the characters that formulas keep as properties: the sign
// of a sum or an integral and the brackets of a delimiter.
func (w *walker) mathProperty(e xml.StartElement) {
	switch e.Name.Local {
	case "chr", "begChr":
		w.operator = ooxml.Attr(e, "val")
	case "endChr":
		w.closing = ooxml.Attr(e, "val")
	}
}

// startMathProperties sets the characters that hold where none are given.
func (w *walker) startMathProperties() {
	w.operator, w.closing = "", ""
	switch w.props {
	case "naryPr":
		w.operator = "∫"
	case "dPr":
		w.operator, w.closing = "(", ")"
	}
}

// endMathProperties writes the operator, and leaves the closing bracket to the
// end of the element that is now the innermost.
func (w *walker) endMathProperties() {
	if w.props != "naryPr" && w.props != "dPr" {
		return
	}
	w.put(w.operator)
	if n := len(w.open); n > 0 {
		w.open[n-1].closing = w.closing
	}
}
