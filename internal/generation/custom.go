package generation

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/seed-506d8e5d/svc/internal/jsonout"
)

// CustomArguments returns the arguments of the function that stands for a custom
// tool.
func CustomArguments(input string) string {
	data, err := jsonout.Marshal(map[string]string{CustomParameter: input})
	if err != nil {
		return "{}" // a string always encodes
	}
	return string(data)
}

// CustomParameter is the name of the one parameter of the function that stands for a
// custom tool.
const CustomParameter = "input"

// CustomInput reads the input of a custom tool out of the arguments that a model
// writes, as they come. The zero value has read nothing.
type CustomInput struct {
	arguments strings.Builder // so far
	at        int             // where in them the input goes on, 0 before it has begun
	input     strings.Builder // so far
	ended     bool
}

// inputBegins is what arguments begin with whose input can be read as it comes.
var inputBegins = regexp.MustCompile(`^\s*\{\s*"` + CustomParameter + `"\s*:\s*"`)

// Add takes a piece of the arguments and returns what it adds to the input.
func (r *CustomInput) Add(piece string) string {
	r.arguments.WriteString(piece)
	whole := r.arguments.String()
	if r.at == 0 {
		r.at = len(inputBegins.FindString(whole))
	}
	if r.at == 0 || r.ended {
		return ""
	}
	n, ended := stringPrefix(whole[r.at:])
	r.ended = ended
	text := unescape(whole[r.at : r.at+n])
	r.at += n
	r.input.WriteString(text)
	return text
}

// End returns the whole input and what of it no Add has returned. Arguments that
// are not those that were asked for are taken for the input as they are, but for
// an object with one text in it.
func (r *CustomInput) End() (whole, rest string) {
	if r.at > 0 {
		rest = r.behind()
		r.input.WriteString(rest)
		return r.input.String(), rest
	}
	whole = r.arguments.String()
	var texts map[string]string
	if json.Unmarshal([]byte(whole), &texts) == nil && len(texts) <= 1 {
		whole = ""
		for _, text := range texts {
			whole = text
		}
	}
	return whole, whole
}

// inputEnds is what arguments end with.
var inputEnds = regexp.MustCompile(`"\s*\}\s*$`)

// behind returns the rest of an input with a quote that the model has not escaped:
// it is no JSON behind that.
func (r *CustomInput) behind() string {
	whole := r.arguments.String()
	if !r.ended || json.Valid([]byte(whole)) {
		return ""
	}
	tail := whole[r.at:]
	if after := strings.TrimSpace(tail[1:]); after == "" || after == "}" {
		return ""
	}
	return unescape(inputEnds.ReplaceAllString(tail, ""))
}

// unescape decodes the content of a JSON string. Models write such strings with
// characters and escapes that JSON does not have, line feeds and \d for example:
// those are taken as they are.
func unescape(s string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		s = s[i:]
		n := escapeSize(s)
		if n == 0 {
			n = len(s)
		}
		var text string
		if json.Unmarshal([]byte(`"`+s[:n]+`"`), &text) != nil {
			text = s[:n]
		}
		b.WriteString(text)
		s = s[n:]
	}
}

// stringPrefix returns how much of what follows the opening quote of a JSON
// string can be decoded by itself, and whether the string ends there.
func stringPrefix(s string) (n int, ended bool) {
	for n < len(s) {
		switch {
		case s[n] == '"':
			return n, true
		case s[n] != '\\':
			_, size := utf8.DecodeRuneInString(s[n:])
			n += size
		default:
			size := escapeSize(s[n:])
			if size == 0 {
				return n, false
			}
			n += size
		}
	}
	return n, false
}

// escapeSize returns how long the escape is that s begins with, 0 where more of
// it is to come. The two halves of a surrogate pair are one escape.
func escapeSize(s string) int {
	const short, long = 2, 6 // \n, \u000a
	if len(s) < short {
		return 0
	}
	if s[1] != 'u' {
		return short
	}
	if len(s) < long {
		return 0
	}
	if !strings.EqualFold(s[2:3], "d") || !strings.Contains("89abAB", s[3:4]) {
		return long
	}
	rest := s[long:] // where the other half is
	pair := strings.HasPrefix(rest, `\u`)
	switch {
	case pair && len(rest) < long || !pair && strings.HasPrefix(`\u`, rest):
		return 0
	case pair:
		return 2 * long
	}
	return long
}
