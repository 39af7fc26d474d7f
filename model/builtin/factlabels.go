package builtin

import (
	"strings"
)

// span is where a word stands.
type span struct{ start, end int }

// wordsOf returns where the words of a text stand.
func (f *facts) wordsOf(i int) []span {
	if f.spans == nil {
		f.spans = make([][]span, len(f.texts))
	}
	if f.spans[i] == nil {
		eachWord(f.texts[i], func(start, end int) { f.spans[i] = append(f.spans[i], span{start, end}) })
	}
	return f.spans[i]
}

// labelled returns the value that the text gives to a name: "name: value",
// "name = value" or a member of a JSON object, or else "the name is value".
func (f *facts) labelled(words []string) (string, bool) {
	for i, text := range f.texts {
		spans := f.wordsOf(i)
		stated := ""
		for n := range spans {
			end, ok := labelEnd(text, spans[n:], words)
			if !ok {
				continue
			}
			if v := assigned(text[end:]); v != "" {
				return v, true
			}
			if stated == "" {
				stated = isValue(text[end:])
			}
		}
		if stated != "" {
			return stated, true
		}
	}
	return "", false
}

// labelEnd returns where a label ends that begins with the first of the spans
// and is made of the words, separate or joined.
func labelEnd(text string, spans []span, words []string) (int, bool) {
	if strings.EqualFold(text[spans[0].start:spans[0].end], strings.Join(words, "")) {
		return spans[0].end, true
	}
	if len(spans) < len(words) {
		return 0, false
	}
	for i, word := range words {
		s := spans[i]
		if !strings.EqualFold(text[s.start:s.end], word) {
			return 0, false
		}
		if i > 0 && strings.Trim(text[spans[i-1].end:s.start], " _-") != "" {
			return 0, false
		}
	}
	return spans[len(words)-1].end, true
}

// mostValueWords is how many words a value may have that has no quotes.
const mostValueWords = 8

// assigned returns the value behind a colon or an equals sign at the start of a
// text, or "".
func assigned(rest string) string {
	const longest = 500
	rest = strings.TrimLeft(rest[:min(len(rest), longest)], "\"'*` ")
	if rest == "" || rest[0] != ':' && rest[0] != '=' {
		return ""
	}
	rest = strings.TrimLeft(rest[1:], " *\t")
	for _, quotes := range []struct{ open, end string }{{`"`, `"`}, {"“", "”"}} {
		if value, ok := strings.CutPrefix(rest, quotes.open); ok {
			return until(value, quotes.end)
		}
	}
	return plainValue(until(rest, "\n,;\"{}[]"))
}

// isValue returns the value behind "is" or the like at the start of a text, or
// "".
func isValue(rest string) string {
	const longest = 80
	rest = strings.TrimLeft(rest[:min(len(rest), longest)], " ")
	for _, verb := range []string{"is ", "was ", "are ", "will be "} {
		if value, ok := strings.CutPrefix(rest, verb); ok {
			value = strings.TrimLeft(value, "\"“ ")
			value, _, _ = strings.Cut(value, " and ")
			value, _, _ = strings.Cut(value, " but ")
			return plainValue(untilSentenceEnd(until(value, "\n,;:\"”?!")))
		}
	}
	return ""
}

func plainValue(value string) string {
	value = strings.TrimRight(strings.TrimSpace(value), ".!? ")
	if len(strings.Fields(value)) > mostValueWords {
		return ""
	}
	return value
}

// until returns the text before the first of the characters.
func until(text, characters string) string {
	if i := strings.IndexAny(text, characters); i >= 0 {
		return text[:i]
	}
	return text
}

// untilSentenceEnd returns the text before a full stop that is not within a
// number or name.
func untilSentenceEnd(text string) string {
	before, _, _ := strings.Cut(text+" ", ". ")
	return before
}
