package builtin

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

// mostFactText is how much of a text is searched for values, in bytes.
const mostFactText = 128 << 10

// field is what a value is called and described as.
type field struct{ name, text string }

// words returns the words of a name such as "unit_price" or "unitPrice", in
// lower case.
func (f field) words() []string { return nameWords(f.name) }

func nameWords(name string) []string {
	var spaced strings.Builder
	previous := ' '
	for _, c := range name {
		switch {
		case !unicode.IsLetter(c) && !unicode.IsDigit(c):
			c = ' '
		case unicode.IsUpper(c) && unicode.IsLower(previous):
			spaced.WriteByte(' ')
		}
		spaced.WriteRune(c)
		previous = c
	}
	return strings.Fields(strings.ToLower(spaced.String()))
}

// facts are the values in a conversation that fields can be filled with.
type facts struct {
	c       *conversation
	lexicon *lexicon
	message string   // the last user message
	texts   []string // what is searched, first the message
	free    string   // what a field of free text says
	whole   bool     // the whole conversation counts, not only the message
	all     []number // the numbers in texts
	scanned bool     // all has been read
	spans   [][]span // the words of each of texts, once read
	used    map[int]bool
	mood    *analysis

	// What was found for fields before: a schema is filled in several attempts.
	values   map[field]finding[string]
	truths   map[string]finding[bool]
	lists    map[string][]string
	mentions map[string]mention
}

// finding is a value, if one was found.
type finding[T any] struct {
	value T
	ok    bool
}

func newFacts(c *conversation, lexicon *lexicon) *facts {
	f := &facts{
		c: c, lexicon: lexicon, message: c.message, free: strings.TrimSpace(c.message),
		values: map[field]finding[string]{}, truths: map[string]finding[bool]{},
		lists: map[string][]string{}, mentions: map[string]mention{},
	}
	left := mostFactText
	for _, text := range newestFirst(c) {
		text = text[:min(len(text), left)]
		left -= len(text)
		if text != "" || len(f.texts) == 0 {
			f.texts = append(f.texts, text)
		}
	}
	f.reset()
	return f
}

// remember returns what is in a map for a key, and puts there what it is for
// the first time.
func remember[K comparable, V any](known map[K]V, key K, find func() V) V {
	v, ok := known[key]
	if !ok {
		v = find()
		known[key] = v
	}
	return v
}

// reset forgets which values were used.
func (f *facts) reset() { f.used = map[int]bool{} }

// mark returns what restore goes back to.
func (f *facts) mark() map[int]bool { return maps.Clone(f.used) }

func (f *facts) restore(used map[int]bool) { f.used = used }

// freeText returns what a field without a value of its own says.
func (f *facts) freeText(fd field) string {
	const longest = 2000
	if class := f.class(fd.words()); f.free == "" || class != "" && class != "text" {
		return "unknown"
	}
	return firstRunes(f.free, longest)
}

// value returns what the text says that a field is.
func (f *facts) value(fd field) (string, bool) {
	found := remember(f.values, fd, func() finding[string] {
		text, ok := f.findValue(fd)
		return finding[string]{text, ok}
	})
	return found.value, found.ok
}

func (f *facts) findValue(fd field) (string, bool) {
	words := fd.words()
	if len(words) == 0 {
		return "", false
	}
	if v, ok := f.labelled(words); ok {
		return v, true
	}
	class := f.class(words)
	if class == "text" {
		return f.textValue(words)
	}
	for _, text := range f.texts {
		if v, ok := classValue(text, class, words); ok {
			return v, true
		}
	}
	return "", false
}

// class returns what kind of thing the words name; the last word that tells
// counts, as in "customer email".
func (f *facts) class(words []string) string {
	for _, word := range slices.Backward(words) {
		if class := classOf[word]; class != "" {
			return class
		}
	}
	if slices.Contains(words, "number") {
		return "id"
	}
	return ""
}

// textValue returns the words that a field of free text is about: what stands in
// quotes, what follows "about", or all of the message.
func (f *facts) textValue(words []string) (string, bool) {
	if quoted := quotedText().FindStringSubmatch(f.message); quoted != nil {
		return quoted[1] + quoted[2], true
	}
	if about := aboutText().FindStringSubmatch(f.message); about != nil && !f.whole && !slices.Contains(words, "question") {
		return strings.TrimSpace(about[1]), true
	}
	return firstRunes(f.free, 2000), f.free != ""
}

var (
	quotedText = newExpression(`["“]([^"”\n]{1,500})["”]|(?:^|\s)'([^'\n]{1,500})'(?:\W|$)`)
	aboutText  = newExpression(`(?i)\b(?:about|regarding|concerning|search(?: the web)? for|look up)\s+([^.?!\n]{1,300})`)
)

// newestFirst returns the last user message and then the sources from the last
// to the first.
func newestFirst(c *conversation) []string {
	texts := []string{c.message}
	for _, source := range slices.Backward(c.sources) {
		texts = append(texts, source)
	}
	return texts
}
