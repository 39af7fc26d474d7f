package builtin

import (
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"
)

func tokens(s string) []string {
	var all []string
	for s != "" {
		n := tokenLen(s)
		all = append(all, s[:n])
		s = s[n:]
	}
	return all
}

func TestTokens(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{"", nil},
		{"Hello, world!", []string{"Hello,", " world!"}},
		{"internationalisation", []string{"internat", "ionalisa", "tion"}},
		{"in 12345 ways", []string{"in", " 12345", " ways"}},
		{"a  b\n\n\tc ", []string{"a", " ", " b\n\n\tc", " "}},
		{"čeština je", []string{"č", "e", "š", "tina", " je"}},
		{"日本 語", []string{"日", "本", " ", "語"}},
		{"a\xffb", []string{"a", "\xff", "b"}},
	}
	for _, tt := range tests {
		is := is.New(t)
		is.Equal(tokens(tt.text), tt.want)
		is.Equal(countTokens(tt.text), len(tt.want))
	}
}

func TestSentences(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{"", nil},
		{"One. Two! Three? Four", []string{"One.", "Two!", "Three?", "Four"}},
		{"Dr. Smith paid 3.50 to J. Doe, e.g. in cash. Fine.", []string{"Dr. Smith paid 3.50 to J. Doe, e.g. in cash.", "Fine."}},
		{"Title\n\nA line that\nwraps. Next\nLine", []string{"Title", "A line that\nwraps.", "Next", "Line"}},
		{`He said "Stop." Then he left.`, []string{`He said "Stop."`, "Then he left."}},
		{"1. Open the box.\n2. Look.", []string{"1. Open the box.", "2. Look."}},
		{"一。二？三", []string{"一。", "二？", "三"}},
	}
	for _, tt := range tests {
		is.New(t).Equal(sentences(tt.text), tt.want)
	}
}

func FuzzSentences(f *testing.F) {
	f.Add(refundPolicy)
	f.Add(strings.Repeat("x", 2000) + "。\n. ?! \"'")
	f.Add("\xff\xfe. a\n\nb ... c")
	f.Fuzz(func(t *testing.T, text string) {
		rest := text
		for _, s := range sentences(text) {
			rest = strings.TrimSpace(rest)
			if s == "" || s != strings.TrimSpace(s) || !strings.HasPrefix(rest, s) {
				t.Fatalf("the sentence %q is not at the start of %q", s, rest)
			}
			rest = rest[len(s):]
		}
		if strings.TrimSpace(rest) != "" {
			t.Fatalf("%q is in no sentence of %q", rest, text)
		}
	})
}

func FuzzTokens(f *testing.F) {
	f.Add("Hello, 12345 worlds\n\n日本\xff")
	f.Fuzz(func(t *testing.T, text string) {
		all := tokens(text)
		if strings.Join(all, "") != text || len(all) > len(text) || slices.Contains(all, "") || len(all) != countTokens(text) {
			t.Fatalf("%q has the tokens %q", text, all)
		}
	})
}
