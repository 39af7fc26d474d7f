package docx

import (
	"encoding/xml"
	"strconv"

	"github.com/seed-506d8e5d/svc/extract/internal/ooxml"
)

// form is a form field of the old kind, whose state is shown in place of a
// result: a check box or a drop-down list.
type form struct {
	kind    string // the element: checkBox, ddList or ""
	checked bool
	chosen  int
	entries []string
}

const maxFormEntries = 1000

// property reads an element of the field's data.
func (f *form) property(e xml.StartElement) {
	switch e.Name.Local {
	case "checkBox", "ddList":
		f.kind = e.Name.Local
	case "default", "checked", "result":
		f.checked = isOn(e)
		if n, err := strconv.Atoi(ooxml.Attr(e, "val")); err == nil {
			f.chosen = n
		}
	case "listEntry":
		if len(f.entries) < maxFormEntries {
			f.entries = append(f.entries, ooxml.Attr(e, "val"))
		}
	}
}

// String returns what the form shows, "" if it is none.
func (f *form) String() string {
	switch {
	case f.kind == "checkBox" && f.checked:
		return "☒"
	case f.kind == "checkBox":
		return "☐"
	case f.kind == "ddList" && f.chosen >= 0 && f.chosen < len(f.entries):
		return f.entries[f.chosen]
	}
	return ""
}
