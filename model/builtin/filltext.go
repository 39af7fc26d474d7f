package builtin

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// longestText is the most characters made to reach a minLength.
const longestText = 1 << 14

// textShape is what schemas say about a string. Lengths are in characters.
type textShape struct {
	least, most int
	patterns    []string
	format      string
}

func textShapeOf(parts []*jsonschema.Schema) textShape {
	t := textShape{most: longestText}
	for _, s := range parts {
		if s.MinLength != nil {
			t.least = max(t.least, *s.MinLength)
		}
		if s.MaxLength != nil {
			t.most = min(t.most, *s.MaxLength)
		}
		if s.Pattern != nil && !slices.Contains(t.patterns, s.Pattern.String()) {
			t.patterns = append(t.patterns, s.Pattern.String())
		}
		if s.Format != nil {
			t.format = s.Format.Name
		}
	}
	return t
}

// text makes a string: one of the text that fits, or one made for the format or
// the pattern, or free text.
func (f *filler) text(parts []*jsonschema.Schema, w want) (filled, bool) {
	t := textShapeOf(parts)
	if t.least > t.most {
		return filled{}, false
	}
	if w.index == 0 {
		for _, candidate := range f.foundTexts(t, w.field) {
			if fitted := t.fit(candidate); fitted != "" && satisfies(parts, fitted) {
				return filled{fitted, true}, true
			}
		}
	}
	for _, candidate := range f.madeTexts(t, w) {
		if fitted := t.fit(candidate); satisfies(parts, fitted) {
			return filled{value: fitted}, true
		}
	}
	return filled{}, false
}

// foundTexts returns what the text has for a field, best first.
func (f *filler) foundTexts(t textShape, fd field) []string {
	if t.format != "" {
		return f.facts.formatted(t.format, fd)
	}
	var candidates []string
	if v, ok := f.facts.value(fd); ok {
		candidates = append(candidates, v)
	}
	for _, pattern := range t.patterns {
		candidates = append(candidates, f.facts.matching(pattern)...)
	}
	return candidates
}

// madeTexts returns strings that do not come from the text, best first.
func (f *filler) madeTexts(t textShape, w want) []string {
	var made []string
	if t.format != "" {
		made = append(made, sampleFormat(t.format, w.index))
	}
	for _, pattern := range t.patterns {
		for repeat := 0; repeat <= max(t.least, 1); repeat = max(2*repeat, 1) {
			if v, ok := sample(pattern, w.index, repeat); ok {
				made = append(made, v)
			}
		}
		if v, ok := sample(pattern, w.index, t.least); ok {
			made = append(made, v)
		}
	}
	free := f.facts.freeText(w.field)
	if w.index > 0 {
		free = numbered(free, w.index+1, t.most)
	}
	return append(made, free)
}

// numbered makes a text different from others by a number at its end.
func numbered(text string, n, most int) string {
	suffix := fmt.Sprintf(" %d", n)
	if utf8.RuneCountInString(text)+len(suffix) <= most {
		return text + suffix
	}
	if most <= len(suffix) {
		return string(rune('a' + n%26))
	}
	return firstRunes(text, most-len(suffix)) + suffix
}

// fit makes a text as long or as short as it must be.
func (t textShape) fit(text string) string {
	n := utf8.RuneCountInString(text)
	if n > t.most {
		return firstRunes(text, t.most)
	}
	if n >= t.least || t.least > longestText {
		return text
	}
	if text == "" {
		text = "x"
	}
	n = utf8.RuneCountInString(text)
	return firstRunes(strings.Repeat(text, t.least/n+1), t.least)
}

func firstRunes(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// sampleFormat returns a string of a format; index makes it differ. An unknown
// format gives "".
func sampleFormat(format string, index int) string {
	switch format {
	case "date":
		return fmt.Sprintf("2026-01-%02d", 1+index%28)
	case "time":
		return fmt.Sprintf("%02d:00:00Z", (9+index)%24)
	case "date-time":
		return fmt.Sprintf("2026-01-%02dT09:00:00Z", 1+index%28)
	case "duration", "period":
		return fmt.Sprintf("P%dD", 1+index)
	case "email", "idn-email":
		return fmt.Sprintf("user%d@example.com", 1+index)
	case "hostname", "idn-hostname":
		return fmt.Sprintf("host%d.example.com", 1+index)
	case "ipv4":
		return fmt.Sprintf("192.0.2.%d", 1+index%254)
	case "ipv6":
		return fmt.Sprintf("2001:db8::%x", 1+index)
	case "uri", "iri", "uri-reference", "iri-reference", "uri-template", "url":
		return fmt.Sprintf("https://example.com/%d", 1+index)
	case "uuid":
		return fmt.Sprintf("00000000-0000-4000-8000-%012x", 1+index)
	case "json-pointer":
		return fmt.Sprintf("/%d", index)
	case "relative-json-pointer":
		return fmt.Sprint(index)
	case "regex":
		return fmt.Sprintf("^.{%d}", index)
	case "semver":
		return fmt.Sprintf("1.0.%d", index)
	}
	return ""
}
