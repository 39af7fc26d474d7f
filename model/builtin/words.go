package builtin

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
)

// longestWord is the most bytes of a run of letters that is looked at as a word.
const longestWord = 64

// eachWord calls f with every word of s in order: a run of letters and digits,
// apostrophes inside it included, or a single character of a script without
// spaces.
func eachWord(s string, f func(start, end int)) {
	for i := 0; i < len(s); {
		c, size := utf8.DecodeRuneInString(s[i:])
		if !isWordRune(c) {
			i += size
			continue
		}
		end := i + size
		if c < firstWide {
			end = wordEnd(s, end)
		}
		f(i, end)
		i = end
	}
}

func wordEnd(s string, end int) int {
	for end < len(s) {
		c, size := utf8.DecodeRuneInString(s[end:])
		if isApostrophe(c) {
			next, _ := utf8.DecodeRuneInString(s[end+size:])
			if !unicode.IsLetter(next) {
				return end
			}
		} else if !isWordRune(c) || c >= firstWide {
			return end
		}
		end += size
	}
	return end
}

func isWordRune(c rune) bool {
	if c < utf8.RuneSelf {
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
	}
	return unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsMark(c)
}

func isApostrophe(c rune) bool { return c == '\'' || c == '’' }

// stemmer turns words into terms, which are what texts are compared by, and
// remembers them: a long text has few different words. It is not safe for
// concurrent use.
type stemmer struct{ known map[string]meaning }

// meaning is what is known of a word. Its term does not share the word's memory.
type meaning struct {
	term    string // the stem in lower case, or "" for a word too common or too long to tell texts apart
	negates bool
}

func newStemmer() *stemmer { return &stemmer{known: make(map[string]meaning)} }

// look returns the meaning of a word.
func (st *stemmer) look(word string) meaning {
	if m, ok := st.known[word]; ok {
		return m
	}
	var m meaning
	if len(word) <= longestWord {
		m = meaning{stem(word), isNegation(word)}
	}
	st.known[word] = m
	return m
}

// term returns the term of a word.
func (st *stemmer) term(word string) string { return st.look(word).term }

func stem(word string) string {
	word = strings.ToLower(strings.ReplaceAll(word, "’", "'"))
	word = strings.TrimSuffix(word, "'s")
	if stopWords[word] || len(word) == 1 && word[0] >= 'a' {
		return ""
	}
	return strings.Clone(english.Stem(word, true))
}

// list returns the terms of a text in order, repetitions included.
func (st *stemmer) list(text string) []string {
	var terms []string
	eachWord(text, func(start, end int) {
		if term := st.term(text[start:end]); term != "" {
			terms = append(terms, term)
		}
	})
	return terms
}

// set returns the different terms of a text in the order of their first use.
func (st *stemmer) set(text string) []string { return distinct(st.list(text)) }

func distinct(terms []string) []string {
	seen := make(map[string]bool, len(terms))
	kept := terms[:0]
	for _, term := range terms {
		if !seen[term] {
			seen[term] = true
			kept = append(kept, term)
		}
	}
	return kept
}

// wordSet makes a set of the words of a list separated by white space.
func wordSet(list string) map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}

// stopWords carry grammar or politeness but no topic.
var stopWords = wordSet(`
	a an the this that these those some any each every all both such same other another
	i me my mine myself we us our ours you your yours he him his she her hers it its they them their theirs one
	am is are was were be been being do does did done doing have has had having
	can could will would shall should may might must ought
	isn't aren't wasn't weren't don't doesn't didn't haven't hasn't hadn't can't couldn't won't wouldn't shouldn't
	cannot not no nor never none
	i'm i've i'd i'll you're you've you'll he's she's it's we're we've they're that's there's what's who's where's how's let's
	and or but if then else so because as while than too very also just only even still yet already
	of in on at by for with about against between into through during before after above below to from up down out off over
	under again further once here there when where why how what which who whom whose whether
	please tell say says said give gives show explain know want wants like need needs let make makes get gets got go goes
	ask asks answer question using use used based according following text user message
	thanks thank hello hi hey ok okay yes well much many lot more most few
`)

// negations turn the meaning of a sentence around.
var negations = wordSet(`not no never none nothing neither nor without cannot can't don't doesn't didn't isn't aren't
	wasn't weren't won't wouldn't shouldn't couldn't haven't hasn't hadn't nobody hardly barely`)

// isNegation reports whether a word as written negates.
func isNegation(word string) bool {
	return negations[strings.ToLower(strings.ReplaceAll(word, "’", "'"))]
}
