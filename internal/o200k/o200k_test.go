package o200k

import (
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// TestCount has texts with the number of tokens that OpenAI's encoder makes of them.
func TestCount(t *testing.T) {
	for text, want := range map[string]int{
		"":                             0,
		"a":                            1,
		"hello world":                  2,
		"Hello, World!":                4,
		"\n\n \n":                      1,
		"12345":                        2,
		strings.Repeat("a", 8):         1,
		"🙂":                            1,
		"\x7f":                         1,
		"\xff\xfe":                     2,
		"antidisestablishmentarianism": 6,
	} {
		if got := Count(text); got != want {
			t.Errorf("%q: %d tokens, want %d", text, got, want)
		}
	}
	is.New(t).Equal(len(vocabulary()), size)
}

func TestPieces(t *testing.T) {
	for text, want := range map[string][]string{
		"Hello, World!":     {"Hello", ",", " World", "!"},
		"don't WON'T we'll": {"don't", " WON'T", " we'll"},
		"HTTPServer iPhone": {"HTTPServer", " i", "Phone"},
		"iPHONE":            {"i", "PHONE"},
		"1234567":           {"123", "456", "7"},
		"a  b":              {"a", " ", " b"},
		"a \n\n  b":         {"a", " \n\n", " ", " b"},
		"end  ":             {"end", "  "},
		"x = y//z\n":        {"x", " =", " y", "//", "z", "\n"},
		"(/path/\n\nnext":   {"(/", "path", "/\n\n", "next"},
		"漢字かな":              {"漢字かな"},
		"né\u0301":          {"né\u0301"},
		"A\u0301B":          {"A\u0301", "B"},
		"\r\n\t ":           {"\r\n", "\t "},
		"\u2028\u00a0x":     {"\u2028", "\u00a0x"},
		"ſ'ſ it'ſ":          {"ſ'ſ", " it'ſ"},
	} {
		var got []string
		for rest := text; rest != ""; {
			end := piece(rest)
			got = append(got, rest[:end])
			rest = rest[end:]
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// FuzzCount holds that counting ends, that both ways of merging agree, and that a text
// of ASCII has no more tokens than bytes.
func FuzzCount(f *testing.F) {
	for _, seed := range []string{"Hello, World!", "\n\n \n", "\xff", strings.Repeat("ab", 40), "漢字'ſ"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got := Count(text); got > len(text) || got == 0 && text != "" {
			t.Errorf("%q: %d tokens", text, got)
		}
		if short := text[:min(len(text), shortPiece)]; mergeLong(vocabulary(), short) != mergeShort(vocabulary(), short) {
			t.Errorf("%q: %d and %d tokens", short, mergeLong(vocabulary(), short), mergeShort(vocabulary(), short))
		}
	})
}

func BenchmarkCount(b *testing.B) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog; 12,345 times.\n", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Count(text)
	}
}
