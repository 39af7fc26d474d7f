// Package rtl has what all readers need for scripts that are written from right to
// left.
package rtl

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Letters replaces presentation forms, the shapes that Arabic and Hebrew letters and
// ligatures have within words (U+FB1D to U+FDFF and U+FE70 to U+FEFC), with the
// letters that they show. The text is in reading order: the letters of a ligature
// come out in that order.
func Letters(text string) string {
	if strings.IndexFunc(text, isForm) < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range text {
		if !isForm(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.TrimLeft(norm.NFKC.String(string(r)), " ")) // vowel signs stand on a space
	}
	return b.String()
}

func isForm(r rune) bool {
	return r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfefc
}
