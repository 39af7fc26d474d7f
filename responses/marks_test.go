package responses

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/conversations"
)

// cited returns a text whose marks have become citations: «FILE@INDEX».
func cited(pieces ...string) string {
	m := &marks{known: map[int]*conversations.Passage{1: {File: "a"}, 2: {File: "b"}, 7: nil}}
	var b strings.Builder
	show := func(list []citedPiece) {
		for _, p := range list {
			b.WriteString(p.text)
			if p.citation != nil {
				fmt.Fprintf(&b, "«%s@%d»", p.citation.File, p.citation.Index)
			}
		}
	}
	for _, piece := range pieces {
		show(m.add(piece))
	}
	show(m.end())
	return b.String()
}

// TestMarks has texts whole and in single bytes.
func TestMarks(t *testing.T) {
	for text, want := range map[string]string{
		"A [1]. B[2]!":                      "A«a@1». B«b@4»!",
		"A [1][2].":                         "A«a@1»«b@1».",
		"A [1, 2] B":                        "A«a@1»«b@1» B",
		"Ä [1]":                             "Ä«a@1»",
		"A [3] B [7].":                      "A B.",
		"[1] A":                             "«a@0» A",
		"A [1](http://x) [2]":               "A [1](http://x)«b@15»",
		"in [2024] [] [x] [1":               "in [2024] [] [x] [1",
		"`a[1]` [1] ```\n[1]\n``` [2]":      "`a[1]`«a@6» ```\n[1]\n```«b@18»",
		"a stray ` and\n[1]":                "a stray ` and\n«a@14»",
		"A [":                               "A [",
		"A  [1]":                            "A «a@2»",
		"[" + strings.Repeat("1", 99) + "]": "[" + strings.Repeat("1", 99) + "]",
	} {
		if got := cited(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		if got := cited(strings.Split(text, "")...); got != want {
			t.Errorf("%q in pieces: got %q, want %q", text, got, want)
		}
	}
}

// FuzzMarks holds that a text in pieces is read as in one.
func FuzzMarks(f *testing.F) {
	f.Add("A [1]. `[2]`", "[1, 2](x) [", "3]")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if got, want := cited(a, b, c), cited(a+b+c); got != want && strings.ToValidUTF8(a, "") == a && strings.ToValidUTF8(b, "") == b {
			t.Errorf("%q, %q, %q: got %q, want %q", a, b, c, got, want)
		}
	})
}
