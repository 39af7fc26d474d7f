package docx

import (
	"encoding/xml"
	"strings"

	"github.com/seed-506d8e5d/svc/extract/internal/ooxml"
)

// space is an XML namespace that matters here.
type space uint8

const (
	otherSpace   space = iota
	wordSpace          // WordprocessingML
	mathSpace          // formulas
	drawSpace          // DrawingML, for text in shapes
	compatSpace        // alternatives for older and newer readers
	maxBindings  = 128 // namespace declarations in force at once
	defaultSpace = ""  // the prefix of names without one
)

// spaceOf knows both generations of names, transitional and strict.
func spaceOf(uri string) space {
	switch {
	case strings.Contains(uri, "/wordprocessingml/") && strings.HasSuffix(uri, "/main"):
		return wordSpace
	case strings.HasSuffix(uri, "/drawingml/2006/main"), strings.HasSuffix(uri, "/drawingml/main"):
		return drawSpace
	case strings.HasSuffix(uri, "/math"):
		return mathSpace
	case strings.Contains(uri, "/markup-compatibility/"):
		return compatSpace
	}
	return otherSpace
}

type binding struct {
	prefix string
	space  space
}

// usualBindings hold where a document declares nothing.
func usualBindings() []binding {
	return []binding{{"w", wordSpace}, {"m", mathSpace}, {"a", drawSpace}, {"mc", compatSpace}}
}

// bind adds the declarations among the attributes.
func bind(bound []binding, attrs []xml.Attr) []binding {
	for _, a := range attrs {
		if len(bound) >= maxBindings {
			return bound
		}
		switch {
		case a.Name.Space == "xmlns":
			bound = append(bound, binding{a.Name.Local, spaceOf(a.Value)})
		case a.Name.Space == "" && a.Name.Local == "xmlns":
			bound = append(bound, binding{defaultSpace, spaceOf(a.Value)})
		}
	}
	return bound
}

func resolve(bound []binding, prefix string) space {
	for i := len(bound) - 1; i >= 0; i-- {
		if bound[i].prefix == prefix {
			return bound[i].space
		}
	}
	return otherSpace
}

// isOn reads an on/off property, which is on if it has no value.
func isOn(e xml.StartElement) bool {
	switch ooxml.Attr(e, "val") {
	case "0", "false", "off":
		return false
	}
	return true
}
