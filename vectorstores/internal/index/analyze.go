package index

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"github.com/kljensen/snowball/french"
	"github.com/kljensen/snowball/hungarian"
	"github.com/kljensen/snowball/norwegian"
	"github.com/kljensen/snowball/russian"
	"github.com/kljensen/snowball/spanish"
	"github.com/kljensen/snowball/swedish"
	"golang.org/x/text/unicode/norm"
)

// Language is the language that the words of a text are reduced to their stems in.
type Language uint8

// The languages with a stemmer. Words of Russian are found by their script, and need
// no language.
const (
	None Language = iota
	English
	French
	Spanish
	Swedish
	Norwegian
	Hungarian

	languages
)

// function words that tell languages apart. Those of languages without a stemmer keep
// their texts from being taken for others.
var functionWords = map[Language][]string{
	English: {"the", "and", "of", "is", "that", "with", "was", "for", "are", "this", "which", "by", "what", "how", "to", "not",
		"a", "an", "in", "it", "on", "or", "as", "be", "at", "from", "has", "have", "his", "can", "who", "does", "did", "do", "were", "its", "all", "no"},
	French:    {"le", "les", "des", "et", "est", "une", "dans", "pour", "qui", "que", "sur", "avec", "du", "pas", "au", "sont"},
	Spanish:   {"el", "los", "las", "y", "es", "una", "en", "por", "que", "con", "para", "del", "se", "como", "su", "más"},
	Swedish:   {"och", "att", "det", "som", "en", "är", "av", "för", "inte", "med", "till", "den", "på", "har", "ett", "om"},
	Norwegian: {"og", "det", "som", "en", "er", "av", "for", "ikke", "med", "til", "den", "på", "har", "et", "om", "å"},
	Hungarian: {"az", "és", "hogy", "nem", "egy", "volt", "ez", "meg", "csak", "mint", "vagy", "már", "van", "kell", "aki", "azt"},
	languages: {"der", "die", "das", "und", "ist", "nicht", "mit", "von", "den", "ein", "eine", "für", "auf", "werden", "zu", "im"},             // German
	101:       {"il", "di", "che", "e", "un", "una", "per", "non", "con", "del", "della", "sono", "gli", "dei", "nel", "è"},                     // Italian
	102:       {"o", "os", "e", "uma", "não", "com", "para", "do", "da", "em", "que", "um", "dos", "por", "se", "ao"},                           // Portuguese
	103:       {"de", "het", "een", "en", "van", "niet", "dat", "zijn", "met", "voor", "op", "te", "aan", "werd", "ook", "naar"},                // Dutch
	104:       {"og", "det", "som", "en", "er", "af", "for", "ikke", "med", "til", "den", "på", "har", "et", "om", "at", "blev", "også", "fra"}, // Danish
}

// languagesOf is which languages a function word speaks for.
var languagesOf = func() map[string][]Language {
	of := map[string][]Language{}
	for l, words := range functionWords {
		for _, w := range words {
			of[w] = append(of[w], l)
		}
	}
	return of
}()

// Detect returns the language of a text, None for one without a stemmer, and English
// where nothing speaks for any. It reads the beginning.
func Detect(text string) Language {
	const most = 4000 // words that are looked at
	var counts [256]int
	words := 0
	for word := range strings.FieldsFuncSeq(text[:min(len(text), 64<<10)], func(r rune) bool { return !unicode.IsLetter(r) }) {
		if words++; words > most {
			break
		}
		if len(word) > 12 {
			continue
		}
		for _, l := range languagesOf[strings.ToLower(word)] {
			counts[l]++
		}
	}
	best := English
	for l, n := range counts {
		if n > counts[best] {
			best = Language(l)
		}
	}
	if best >= languages {
		return None
	}
	return best
}

const (
	maxWord = 64      // bytes of a word beyond which it is cut
	maxMemo = 100_000 // words whose terms an [Analyzer] keeps
)

// Analyzer turns the words of texts into terms. A word becomes one term for its form,
// without the ending of the plural in English, and one for its stem where that is
// another. Written characters without spaces between words (Chinese, Japanese, Thai and
// others) become pairs of characters. An identifier is a term as a whole besides its
// parts. An Analyzer keeps the terms of words it has met; it is not safe for
// concurrent use.
type Analyzer struct {
	memo map[memoKey]terms
}

type memoKey struct {
	word     string
	language Language
}

// terms are what a word becomes: the form that counts for the length of the text, and
// a stem that is another term, or nothing.
type terms struct{ form, stem string }

// NewAnalyzer returns an Analyzer.
func NewAnalyzer() *Analyzer { return &Analyzer{memo: map[memoKey]terms{}} }

// token is a term in a text.
type token struct {
	form  string
	stem  string // empty: that of the form
	extra bool   // a whole identifier, whose parts follow: it does not count for the length
}

// tokens calls emit for the terms of a text in order.
func (a *Analyzer) tokens(text string, l Language, emit func(token)) {
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if !isWordByte(c) {
				i++
				continue
			}
		} else if r, n := utf8.DecodeRuneInString(text[i:]); !isWord(r) {
			i += n
			continue
		} else if isUnspaced(r) {
			i = pairs(text, i, emit)
			continue
		}
		i = a.spaced(text, i, l, emit)
	}
}

// spaced takes what begins with a word at i: words that are joined without spaces. It
// returns where that ends.
func (a *Analyzer) spaced(text string, start int, l Language, emit func(token)) int {
	end, digits, joined, mixed := start, false, false, false
	wordEnd := start
scan:
	for end < len(text) {
		c := text[end]
		switch {
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(text[end:])
			if !isWord(r) || isUnspaced(r) {
				break scan
			}
			end += n
			wordEnd = end
		case isWordByte(c):
			digits = digits || c >= '0' && c <= '9'
			mixed = mixed || c >= 'A' && c <= 'Z' && end > start && text[end-1] >= 'a' && text[end-1] <= 'z'
			end++
			wordEnd = end
		case isJoiner(c) && end == wordEnd && end+1 < len(text) && (isWordByte(text[end+1]) || text[end+1] >= utf8.RuneSelf):
			joined = true
			digits = digits || c == '_' || c == '@'
			end++
		default:
			break scan
		}
	}
	whole := text[start:wordEnd]
	if joined && digits && len(whole) <= maxWord {
		emit(token{form: identifier(whole), extra: true})
	}
	if !joined {
		a.word(whole, l, mixed, emit)
		return end
	}
	for part := range strings.FieldsFuncSeq(whole, func(r rune) bool { return r < utf8.RuneSelf && !isWordByte(byte(r)) }) {
		if part == "s" && strings.ContainsAny(whole, "'") {
			continue // a genitive
		}
		a.word(part, l, mixed, emit)
	}
	return end
}

// word emits a word, and the words that capital letters inside it begin.
func (a *Analyzer) word(word string, l Language, mixed bool, emit func(token)) {
	if len(word) > maxWord {
		word = strings.ToValidUTF8(word[:maxWord], "")
	}
	t := a.terms(word, l)
	emit(token{form: t.form, stem: t.stem})
	if !mixed {
		return
	}
	start := 0
	for i := 1; i < len(word); i++ {
		if upper(word[i]) && lower(word[i-1]) {
			part := a.terms(word[start:i], l)
			emit(token{form: part.form, stem: part.stem, extra: true})
			start = i
		}
	}
	if start > 0 {
		part := a.terms(word[start:], l)
		emit(token{form: part.form, stem: part.stem, extra: true})
	}
}

func upper(c byte) bool { return c >= 'A' && c <= 'Z' }
func lower(c byte) bool { return c >= 'a' && c <= 'z' }

// identifier is the term of words that are joined.
func identifier(s string) string {
	s = strings.ToLower(s)
	if strings.Trim(s, "0123456789,") == "" {
		return strings.ReplaceAll(s, ",", "") // thousands
	}
	return fold(s)
}

// terms returns the terms of a word.
func (a *Analyzer) terms(word string, l Language) terms {
	key := memoKey{word, l}
	if t, ok := a.memo[key]; ok {
		return t
	}
	if len(a.memo) >= maxMemo {
		clear(a.memo)
	}
	key.word = strings.Clone(word)
	t := makeTerms(key.word, l)
	a.memo[key] = t
	return t
}

func makeTerms(word string, l Language) terms {
	word = strings.ToLower(word)
	ascii := isASCII(word)
	if !ascii {
		word = strings.ToLower(norm.NFKC.String(word))
	}
	form := word
	if l == English {
		form = singular(word)
	}
	stem := word
	if hasDigit(word) {
		stem = form
	} else {
		stem = stemOf(word, form, l, ascii)
	}
	t := terms{form: fold(form), stem: fold(stem)}
	if t.stem == t.form {
		t.stem = ""
	}
	return t
}

// stemOf returns the stem of a word in lower case.
func stemOf(word, form string, l Language, ascii bool) string {
	if !ascii {
		if r, _ := utf8.DecodeRuneInString(word); unicode.Is(unicode.Cyrillic, r) {
			return russian.Stem(word, false)
		}
	}
	switch l {
	case English:
		return english.Stem(word, false)
	case French:
		return french.Stem(word, false)
	case Spanish:
		return spanish.Stem(word, false)
	case Swedish:
		return swedish.Stem(word, false)
	case Norwegian:
		return norwegian.Stem(word, false)
	case Hungarian:
		return hungarian.Stem(word, false)
	}
	return form
}

// singular removes the ending of the plural from a word of English, by Harman's rules.
func singular(w string) string {
	n := len(w)
	switch {
	case n <= 3 || w[n-1] != 's':
		return w
	case strings.HasSuffix(w, "ies"):
		if n > 4 && w[n-4] != 'e' && w[n-4] != 'a' {
			return w[:n-3] + "y"
		}
		return w[:n-1]
	case w[n-2] == 'u' || w[n-2] == 's':
		return w
	}
	return w[:n-1]
}

// fold removes the accents of Latin letters.
func fold(s string) string {
	if isASCII(s) {
		return s
	}
	var b strings.Builder
	for _, r := range norm.NFD.String(s) {
		if r < 0x300 || r > 0x36f {
			b.WriteRune(r)
		}
	}
	return norm.NFC.String(b.String())
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

func isWordByte(c byte) bool { return lower(c) || upper(c) || c >= '0' && c <= '9' }

func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
}

// isJoiner reports whether a character between two words makes them one identifier.
func isJoiner(c byte) bool { return strings.IndexByte("-_./:@#'+,", c) >= 0 }

// isUnspaced reports whether a character is of a script that has no spaces between
// words.
func isUnspaced(r rune) bool {
	switch {
	case r < 0xe00:
		return false
	case r < 0x1100:
		return r <= 0xeff || r >= 0x1000 && r <= 0x109f // Thai, Lao, Burmese
	}
	return r >= 0x1780 && r <= 0x17ff || r >= 0x3040 && r <= 0x30ff || r >= 0x31f0 && r <= 0x31ff || r >= 0x3400 && r <= 0x9fff ||
		r >= 0xac00 && r <= 0xd7af || r >= 0xf900 && r <= 0xfaff || r >= 0x20000 && r <= 0x3ffff // Khmer, kana, Han, Hangul
}

// pairs emits the pairs of characters of a run without spaces that begins at start, or
// its only character. It returns where the run ends.
func pairs(text string, start int, emit func(token)) int {
	previous, i := -1, start
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !isWord(r) || !isUnspaced(r) {
			break
		}
		if previous >= 0 {
			emit(token{form: text[previous : i+n]})
		}
		previous = i
		i += n
	}
	if _, n := utf8.DecodeRuneInString(text[start:]); start+n == i {
		emit(token{form: text[start:i]})
	}
	return i
}
