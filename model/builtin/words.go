package builtin

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
)

//go:embed words.txt
var wordLists string

// table is words.txt, whose lines are a list, a heading, and words. Like its expressions it
// is read when it is first used: a program that never asks this backend starts without it.
type table struct {
	lists    map[string][]string // of "list heading" its words, and of "list stem" the headings of the word
	patterns map[string][]*regexp.Regexp
}

var read = sync.OnceValue(func() table {
	t, defined := table{map[string][]string{}, map[string][]*regexp.Regexp{}}, []string{}
	add := func(key, value string) {
		if !slices.Contains(t.lists[key], value) {
			t.lists[key] = append(t.lists[key], value)
		}
	}
	for line := range strings.Lines(wordLists) {
		list, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		heading, rest, _ := strings.Cut(rest, " ")
		switch list {
		case "define": // stands for its name after a $
			defined = append(defined, "$"+heading, strings.NewReplacer(defined...).Replace(rest))
			continue
		case "pattern":
			t.patterns[heading] = append(t.patterns[heading], regexp.MustCompile(strings.NewReplacer(defined...).Replace(rest)))
			continue
		case "like", "unit": // what is alike goes both ways
			heading = english.Stem(heading, true)
		}
		for word := range strings.FieldsSeq(rest) {
			stem := english.Stem(word, true)
			if list == "like" {
				word = stem
			}
			if strings.Contains("like unit format colour", list) { // whose headings are looked up
				add(list+" "+heading, word)
			}
			add(list+" "+stem, heading)
			add(list+" "+word, heading)
		}
	}
	return t
})

func lists() map[string][]string { return read().lists }

// patterns are the regular expressions by name, the surest first; where one has groups, the
// first that matches is the value, or else the whole match.
func patterns() map[string][]*regexp.Regexp { return read().patterns }

func pattern(name string) *regexp.Regexp { return patterns()[name][0] }

// in reports whether a list has a word, or the word of a stem.
func in(list, word string) bool {
	_, ok := lists()[list+" "+word]
	return ok
}

// tokenLen returns the bytes of the first token of s, which is not empty: up to eight
// characters of ASCII, the first of which alone may be a space, or one other character.
func tokenLen(s string) (n int) {
	for n < min(len(s), 8) && s[n] < utf8.RuneSelf && (n == 0 || s[n] != ' ') {
		n++
	}
	if n == 0 {
		_, n = utf8.DecodeRuneInString(s)
	}
	return n
}

// countTokens returns how many tokens a text has, which is never more than bytes.
func countTokens(s string) (count int) {
	for ; s != ""; count++ {
		s = s[tokenLen(s):]
	}
	return count
}

// wordsOf returns the words of s: runs of letters and digits, apostrophes inside them
// included, and single characters of scripts without spaces.
func wordsOf(s string) (words []string) {
	apart := func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c) && c != '\'' && c != '’'
	}
	for word := range strings.FieldsFuncSeq(s, apart) {
		if word = strings.Trim(word, "'’"); strings.ContainsFunc(word, func(c rune) bool { return c >= 0x2E80 }) {
			words = append(words, strings.Split(word, "")...)
		} else if word != "" {
			words = append(words, word)
		}
	}
	return words
}

// stems remembers the meanings of words: a long text has few different ones. It is not
// safe for concurrent use.
type stems map[string]meaning

// meaning is what is known of a word: its stem, and its term, by which texts are compared,
// which is "" where it is too common or too long to tell texts apart.
type meaning struct {
	stem, term string
	negates    bool
}

func (st stems) look(word string) meaning {
	const longest = 64
	m, known := st[word]
	if !known {
		own := strings.TrimSuffix(strings.ReplaceAll(strings.ToLower(word), "’", "'"), "'s")
		if m.stem = own; len(word) <= longest {
			m.stem = strings.Clone(english.Stem(own, true))
			if !in("stop", own) && (len(own) > 1 || own < "a") {
				m.term = m.stem
			}
		}
		m.negates = in("negation", own)
		st[strings.Clone(word)] = m
	}
	return m
}

// list returns the different terms of a text in the order of their first use.
func (st stems) list(text string) (terms []string) {
	seen := map[string]bool{"": true}
	for _, word := range wordsOf(text) {
		term := st.look(word).term
		if !seen[term] {
			terms = append(terms, term)
		}
		seen[term] = true
	}
	return terms
}

// named separates the words of names such as unit_price and unitPrice.
func named(name string) string { return pattern("camel").ReplaceAllString(name, "$1 $2") }

// sentences cuts a text into sentences: parts of it without the space around them, none
// empty, which together hold everything that is not space. A line ends a sentence unless
// the next goes on in lower case.
func sentences(text string) (found []string) {
	start := 0
	for _, at := range append(pattern("sentence-end").FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		before, mark := strings.TrimSpace(text[start:at[1]]), strings.TrimSpace(text[at[0]:at[1]])
		last := strings.TrimSuffix(before[strings.LastIndexAny(before, " \n(")+1:], ".")
		abbreviated := mark == "." && at[1] < len(text) && (in("abbreviation", english.Stem(last, true)) || len(last) == 1 && last[0] < 'a')
		if abbreviated || mark == "" && strings.Count(text[at[0]:at[1]], "\n") == 1 && strings.IndexFunc(text[at[1]:], unicode.IsLower) == 0 {
			continue
		}
		if before != "" {
			found = append(found, before)
		}
		start = at[1]
	}
	return found
}

// asks reports whether a sentence asks a question or, standing first or last, tells the
// model to do something.
func asks(sentence string, edge bool) bool {
	for _, word := range wordsOf(sentence) {
		if stem := english.Stem(word, true); !in("polite", stem) {
			edge = edge && in("instruction", stem)
			break
		}
	}
	return edge || strings.ContainsAny(sentence[max(0, len(sentence)-4):], "?？")
}

func firstRunes(text string, n int) string {
	for i := range text {
		if n--; n < 0 {
			return text[:i]
		}
	}
	return text
}
