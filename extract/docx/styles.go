package docx

import "github.com/seed-506d8e5d/svc/extract/internal/ooxml"

// styles are the styles of a document.
type styles struct {
	byID      map[string]*style
	usual     string // the style of paragraphs that name none
	usualRun  string // and of runs
	hidesText bool   // the defaults of the document hide text
}

// style is what a style says about text.
type style struct {
	ID      string   `xml:"styleId,attr"`
	Type    string   `xml:"type,attr"`
	Default string   `xml:"default,attr"`
	BasedOn value    `xml:"basedOn"`
	Name    value    `xml:"name"`
	Outline *value   `xml:"pPr>outlineLvl"`
	Num     numbered `xml:"pPr>numPr"`
	Vanish  *value   `xml:"rPr>vanish"`
}

// parseStyles reads the part; ok says whether it was whole.
func parseStyles(part []byte) (s styles, ok bool) {
	var sheet struct {
		Vanish *value   `xml:"docDefaults>rPrDefault>rPr>vanish"`
		Style  []*style `xml:"style"`
	}
	ok = ooxml.Decode(part, &sheet)
	s = styles{byID: map[string]*style{}, hidesText: sheet.Vanish.isOn()}
	for _, one := range sheet.Style {
		s.byID[one.ID] = one
		if isDefault := (&value{one.Default}).isOn(); isDefault && one.Default != "" {
			switch one.Type {
			case "paragraph":
				s.usual = one.ID
			case "character":
				s.usualRun = one.ID
			}
		}
	}
	return s, ok
}

// isOn reads an on/off property, which is on where it has no value and off where
// it is not there.
func (v *value) isOn() bool {
	if v == nil {
		return false
	}
	switch v.Val {
	case "0", "false", "off":
		return false
	}
	return true
}

// hides reports whether a style makes its text hidden, by itself or by the
// nearest of those that it is based on that says something about it.
func (s *styles) hides(id string) bool {
	for range maxChain {
		one := s.byID[id]
		if one == nil {
			return false
		}
		if one.Vanish != nil {
			return one.Vanish.isOn()
		}
		id = one.BasedOn.Val
	}
	return false
}

// hidden reports whether a run does not show: by its own property, or else by its
// styles, of which one turns around what the other says (ECMA-376, 17.7.3).
func (s *styles) hidden(paragraphStyle string, r run) bool {
	if r.vanish != nil {
		return *r.vanish
	}
	if paragraphStyle == "" {
		paragraphStyle = s.usual
	}
	runStyle := r.style
	if runStyle == "" {
		runStyle = s.usualRun
	}
	return s.hidesText || s.hides(paragraphStyle) != s.hides(runStyle)
}
