package websearch

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/matryer/is"
)

func TestFormat(t *testing.T) {
	is := is.New(t)
	is.Equal(Format("a \"b\"", nil), "Results for \"a \\\"b\\\"\":\nNothing was found.\n")
	is.Equal(Format("x", []Result{{"One\ntitle", "https://one.example/", " <b>much</b>\t\n text "}, {"", "u", ""}}),
		"Results for \"x\":\n1. One title\nhttps://one.example/\n<b>much</b> text\n2. \nu\n\n")

	many := slices.Repeat([]Result{{"T", "u", "s"}}, MaxResults+1)
	is.Equal(strings.Count(Format("x", many), "T\n"), MaxResults)
	is.Equal(Format("x", []Result{{strings.Repeat("é", 501), "u", "s"}}), "Results for \"x\":\n1. "+strings.Repeat("é", 500)+"…\nu\ns\n")
	is.Equal(Format("x", []Result{{"x" + strings.Repeat("é", 501), "u", "s"}}), "Results for \"x\":\n1. x"+strings.Repeat("é", 499)+"…\nu\ns\n")
}

// FuzzFormat formats a result with any texts: what models read is bounded, valid
// UTF-8 and has the lines that it should have.
func FuzzFormat(f *testing.F) {
	f.Add("query", "title", "https://u.example/", "snippet\nof lines")
	f.Add("\xff", "\xff", strings.Repeat("é", 1000), "\u2028\x00")
	f.Fuzz(func(t *testing.T, query, title, url, snippet string) {
		text := Format(query, []Result{{title, url, snippet}})
		if !utf8.ValidString(text) || strings.Count(text, "\n") != 4 || len(text) > len(query)*10+3*(maxField+3)+100 {
			t.Fatalf("got %q", text)
		}
	})
}
