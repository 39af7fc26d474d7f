package builtin

import (
	"unicode"
	"unicode/utf8"
)

// The longest tokens, in characters. A token is a piece of a word with the space
// before it, a few digits, a run of white space, or one other character. There
// are never more tokens than bytes.
const (
	wordToken  = 8
	digitToken = 3
	spaceToken = 16
)

// countTokens returns how many tokens a text has.
func countTokens(s string) int {
	count := 0
	for len(s) > 0 {
		s = s[tokenLen(s):]
		count++
	}
	return count
}

// tokenLen returns the length in bytes of the first token of s, which is not
// empty.
func tokenLen(s string) int {
	start := 0
	if s[0] == ' ' && len(s) > 1 && kindAt(s[1:]) != spaceKind {
		start = 1
	}
	kind := kindAt(s[start:])
	limit := [...]int{otherKind: 1, letterKind: wordToken, digitKind: digitToken, spaceKind: spaceToken}[kind]
	n := start
	for range limit {
		if n >= len(s) || kindAt(s[n:]) != kind {
			break
		}
		_, size := utf8.DecodeRuneInString(s[n:])
		n += size
	}
	return n
}

type runeKind uint8

const (
	otherKind runeKind = iota
	letterKind
	digitKind
	spaceKind
)

// firstWide is where the scripts begin that write words without spaces, one
// character of which is a token and a word.
const firstWide = 0x2E80

// kindAt returns the kind of the first character of s, which is not empty.
func kindAt(s string) runeKind {
	c := rune(s[0])
	if c >= utf8.RuneSelf {
		c, _ = utf8.DecodeRuneInString(s)
	}
	switch {
	case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
		return letterKind
	case '0' <= c && c <= '9':
		return digitKind
	case c == ' ' || c == '\n' || c == '\t' || c == '\r':
		return spaceKind
	case c < utf8.RuneSelf || c >= firstWide:
		return otherKind
	case unicode.IsLetter(c) || unicode.IsMark(c):
		return letterKind
	case unicode.IsDigit(c):
		return digitKind
	case unicode.IsSpace(c):
		return spaceKind
	}
	return otherKind
}
