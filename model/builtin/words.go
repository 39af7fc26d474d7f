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

// lists are those of words.txt, by list and word or stem; a list "like" says what its words
// are like, and of the first what all are, and a scale how far a word is on it. Like
// expressions they are made when they are first used: a program that never asks this
// backend starts without that work.
var lists = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	add := func(key, value string) {
		if !slices.Contains(all[key], value) {
			all[key] = append(all[key], value)
		}
	}
	for line := range strings.Lines(wordLists) {
		words := strings.Fields(line)
		list, first := words[0], english.Stem(words[1], true)
		for _, word := range words[2:] {
			switch term := english.Stem(word, true); list {
			case "like":
				add("like "+term, first)
				add("like "+first, term)
			case "mood", "urgency":
				all[list+" "+term] = words[1:2] // of a stem that is there twice, the last
			case "class":
				add("class "+word, words[1])
			case "unit": // of numbers of a field
				add("unit "+words[1], word)
			default:
				add(list+" "+word, "")
				add(list+" "+term, "")
			}
		}
		if !slices.Contains([]string{"like", "mood", "urgency", "class", "unit"}, list) {
			add(list+" "+words[1], "")
			add(list+" "+first, "")
		}
	}
	return all
})

// in reports whether a list has a word.
func in(list, word string) bool {
	_, ok := lists()[list+" "+plain(word)]
	return ok
}

func plain(word string) string { return strings.ReplaceAll(strings.ToLower(word), "’", "'") }

func expression(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
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

// meaning is what is known of a word: its term, by which texts are compared, which is its
// stem or "" where it is too common or too long to tell texts apart.
type meaning struct {
	term    string
	negates bool
}

func (st stems) look(word string) meaning {
	const longest = 64
	m, known := st[word]
	if own := strings.TrimSuffix(plain(word), "'s"); !known && len(word) <= longest {
		if !in("stop", own) && (len(own) > 1 || own < "a") {
			m.term = strings.Clone(english.Stem(own, true))
		}
		m.negates = in("negation", word)
	}
	if !known {
		st[word] = m
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

// share returns how many of the terms are among others, from 0 to 1.
func share(terms, others []string) float64 {
	n := 0.0
	for _, term := range terms {
		if slices.Contains(others, term) {
			n++
		}
	}
	return n / max(float64(len(terms)), 1)
}

var (
	camel = expression(`(\p{Ll})(\p{Lu})|[_/-]`)
	// ends is where a sentence may end.
	ends = expression(`[.!?]["'”’)\]».!?]*(?:\s+|$)|[。！？]["'”’)\]»]*|\n\s*`)
)

// named separates the words of names such as unit_price and unitPrice.
func named(name string) string { return camel().ReplaceAllString(name, "$1 $2") }

// sentences cuts a text into sentences: parts of it without the space around them, none
// empty, which together hold everything that is not space. A line ends a sentence unless
// the next goes on in lower case.
func sentences(text string) (found []string) {
	start := 0
	for _, at := range append(ends().FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		before, mark := strings.TrimSpace(text[start:at[1]]), strings.TrimSpace(text[at[0]:at[1]])
		last := strings.TrimSuffix(before[strings.LastIndexAny(before, " \n(")+1:], ".")
		abbreviated := mark == "." && at[1] < len(text) && (in("abbreviation", last) || len(last) == 1 && last[0] < 'a')
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
	words := slices.DeleteFunc(wordsOf(sentence), func(word string) bool { return in("polite", word) })
	return strings.ContainsAny(sentence[max(0, len(sentence)-4):], "?？") || edge && len(words) > 0 && in("instruction", words[0])
}

func firstRunes(text string, n int) string {
	for i := range text {
		if n--; n < 0 {
			return text[:i]
		}
	}
	return text
}
