package generation

import (
	"strings"
	"testing"
)

// TestInputOfACustomTool reads the input of arguments whole and in pieces of every
// length: what streams is what is stored, and nothing is cut where a model writes what
// is no strict JSON.
func TestInputOfACustomTool(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"input":"plain"}`:                     "plain",
		` { "input" : "a\n\u00e9\ud83d\ude00"}`: "a\né😀",
		"{\"input\":\"a\nb\tc\"}":               "a\nb\tc",
		`{"input":"s/\d+/\w/ and \\d"}`:         `s/\d+/\w/ and \d`,
		`{"input":"bad \uZZZZ escape"}`:         `bad \uZZZZ escape`,
		`{"input":"say "hi" to them"}`:          `say "hi" to them`,
		`{"input":"say "hi""}`:                  `say "hi"`,
		`{"input":"one","more":"two"}`:          "one",
		`{"input":"cut`:                         "cut",
		`{"input":"cut"`:                        "cut",
		`{"input":"cut \u00`:                    "cut ",
		`{"other":"one text"}`:                  "one text",
		`no JSON at all`:                        "no JSON at all",
		`{"input":""}`:                          "",
	} {
		for size := 1; size <= len(arguments); size++ {
			var r CustomInput
			var streamed strings.Builder
			for rest := arguments; rest != ""; {
				n := min(size, len(rest))
				streamed.WriteString(r.Add(rest[:n]))
				rest = rest[n:]
			}
			whole, rest := r.End()
			streamed.WriteString(rest)
			if whole != want || streamed.String() != want {
				t.Fatalf("%s in pieces of %d: got %q, streamed %q, want %q", arguments, size, whole, streamed.String(), want)
			}
		}
	}
}
