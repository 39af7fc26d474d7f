package o200k

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// piece returns where the first piece of a text ends. It is the first of these
// alternatives that matches, and of it the longest match:
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	\p{N}{1,3}
//	 ?[^\s\p{L}\p{N}]+[\r\n/]*
//	\s*[\r\n]+
//	\s+(?!\S)
//	\s+
func piece(text string) int {
	first, width := utf8.DecodeRuneInString(text)
	if end := word(text, first, width); end > 0 {
		return end
	}
	switch {
	case unicode.IsNumber(first):
		return digits(text)
	case !unicode.IsSpace(first):
		return signs(text, 0)
	case first == ' ':
		if end := signs(text, 1); end > 1 {
			return end
		}
	}
	return spaces(text)
}

// Kinds of characters in words. Most letters that are neither upper nor lower case
// are both here.
const (
	upper = 1 << iota // of [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
	lower             // of [\p{Ll}\p{Lm}\p{Lo}\p{M}]
)

func kind(r rune) int {
	switch {
	case r < utf8.RuneSelf:
		switch {
		case 'a' <= r && r <= 'z':
			return lower
		case 'A' <= r && r <= 'Z':
			return upper
		}
		return 0
	case unicode.Is(unicode.Ll, r):
		return lower
	case unicode.Is(unicode.Lu, r), unicode.Is(unicode.Lt, r):
		return upper
	case unicode.IsLetter(r), unicode.IsMark(r):
		return upper | lower
	}
	return 0
}

// word returns where a piece of the first two alternatives ends, or 0. A word may have
// one character before it that is no letter, no number and no line break.
func word(text string, first rune, width int) int {
	var starts [2]int
	tries := starts[:0]
	if first != '\r' && first != '\n' && !unicode.IsLetter(first) && !unicode.IsNumber(first) {
		tries = append(tries, width)
	}
	tries = append(tries, 0)
	for _, start := range tries {
		if end := small(text, start); end > 0 {
			return contraction(text, end)
		}
	}
	for _, start := range tries {
		if end := run(text, start, upper); end > start {
			return contraction(text, end)
		}
	}
	return 0
}

// run returns where the characters of a kind end that begin at start.
func run(text string, start, of int) int {
	for start < len(text) {
		r, width := utf8.DecodeRuneInString(text[start:])
		if kind(r)&of == 0 {
			break
		}
		start += width
	}
	return start
}

// small returns where a word ends that begins at start and has a lower letter behind
// its upper ones, or 0.
func small(text string, start int) int {
	last := 0 // where the last character of both kinds ends
	at := start
	for at < len(text) {
		r, width := utf8.DecodeRuneInString(text[at:])
		k := kind(r)
		if k&upper == 0 {
			break
		}
		at += width
		if k&lower != 0 {
			last = at
		}
	}
	if end := run(text, at, lower); end > at {
		return end
	}
	return last
}

// contraction returns where the end of a word such as 's or 'll ends that may be at
// start.
func contraction(text string, start int) int {
	rest := text[start:]
	if len(rest) < 2 || rest[0] != '\'' {
		return start
	}
	switch rest[1] | 0x20 {
	case 's', 't', 'm', 'd':
		return start + 2
	}
	if strings.HasPrefix(rest[1:], "ſ") { // which is an s to who ignores case
		return start + 1 + len("ſ")
	}
	if len(rest) >= 3 {
		switch strings.ToLower(rest[1:3]) {
		case "re", "ve", "ll":
			return start + 3
		}
	}
	return start
}

// digits returns where a number of at most three digits ends.
func digits(text string) int {
	end := 0
	for range 3 {
		r, width := utf8.DecodeRuneInString(text[end:])
		if width == 0 || !unicode.IsNumber(r) {
			break
		}
		end += width
	}
	return end
}

// signs returns where characters end that begin at start and are no letters, numbers
// or spaces, with the line breaks and slashes behind them.
func signs(text string, start int) int {
	end := start
	for end < len(text) {
		r, width := utf8.DecodeRuneInString(text[end:])
		if unicode.IsSpace(r) || unicode.IsLetter(r) || unicode.IsNumber(r) {
			break
		}
		end += width
	}
	if end == start {
		return start
	}
	for end < len(text) && (text[end] == '\r' || text[end] == '\n' || text[end] == '/') {
		end++
	}
	return end
}

// spaces returns where a piece of spaces ends: behind the last line break, or before
// the last space where something follows, to which that belongs.
func spaces(text string) int {
	end, last, lineBreak := 0, 0, 0
	for end < len(text) {
		r, width := utf8.DecodeRuneInString(text[end:])
		if !unicode.IsSpace(r) {
			break
		}
		last = end
		end += width
		if r == '\r' || r == '\n' {
			lineBreak = end
		}
	}
	switch {
	case lineBreak > 0:
		return lineBreak
	case end < len(text) && last > 0:
		return last
	}
	return end
}
