package builtin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// judgement returns a judge of the text that fields are filled from.
func (f *facts) judgement() judge {
	if f.mood == nil {
		text := f.message
		if f.whole {
			text = strings.Join(f.texts, "\n\n")
		}
		f.mood = analyseText(text, f.lexicon)
	}
	return judge{state: f.mood, lexicon: f.lexicon, stemmer: f.c.stemmer}
}

// choose returns which of the values the text speaks of: one that it mentions,
// or one that its words are evidence for.
func (f *facts) choose(fd field, values []any) (int, bool) {
	names := make([]string, len(values))
	for i, v := range values {
		if v != nil {
			names[i] = fmt.Sprint(v)
		}
	}
	texts := f.texts
	if !f.whole {
		texts = texts[:1]
	}
	if v, ok := f.value(fd); ok {
		texts = append([]string{v}, texts...)
	}
	for _, text := range texts {
		if i, ok := mentioned(text, names); ok {
			return i, true
		}
	}
	if len(values) < 2 || slices.ContainsFunc(values, func(v any) bool { _, ok := v.(string); return !ok }) {
		return 0, false
	}
	return clearWinner(f.judgement().weigh(names))
}

// clearWinner returns the index of the greatest evidence where it stands out.
func clearWinner(evidence []float64) (int, bool) {
	const margin = 0.3
	best := 0
	for i, e := range evidence {
		if e > evidence[best] {
			best = i
		}
	}
	for i, e := range evidence {
		if i != best && e > evidence[best]-margin {
			return 0, false
		}
	}
	return best, true
}

// mentioned returns the name that comes first in a text as whole words; of two
// in the same place, the longer.
func mentioned(text string, names []string) (int, bool) {
	words := " " + strings.Join(nameWords(text), " ") + " "
	best, at := -1, 0
	for i, name := range names {
		own := strings.Join(nameWords(name), " ")
		if own == "" {
			continue
		}
		place := strings.Index(words, " "+own+" ")
		if place < 0 {
			place = strings.Index(words, " "+own+"s ")
		}
		if place >= 0 && (best < 0 || place < at || place == at && len(name) > len(names[best])) {
			best, at = i, place
		}
	}
	return best, best >= 0
}

// boolean returns whether the text supports what a field is called, and whether
// the text says anything about it.
func (f *facts) boolean(fd field) (value, found bool) {
	truth := remember(f.truths, fd.name, func() finding[bool] {
		value, found := f.findTruth(fd)
		return finding[bool]{value, found}
	})
	return truth.value, truth.ok
}

func (f *facts) findTruth(fd field) (value, found bool) {
	var words []string
	for _, word := range fd.words() {
		if !stopWords[word] {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		return false, false
	}
	if v, ok := f.labelled(fd.words()); ok && (v == "true" || v == "yes" || v == "false" || v == "no") {
		return v == "true" || v == "yes", true
	}
	const sure = 0.3
	support := f.judgement().support(strings.Join(words, " "))
	return support > sure, support > sure || support < -slopeOfNo
}

// slopeOfNo is how much evidence says that something is not so, as opposed to
// nothing being said of it.
const slopeOfNo = 2.3

// list returns the values in the text that may be the items of an array, in
// order: of the allowed values those that it mentions, or else the members of a
// list.
func (f *facts) list(fd field, allowed []any) []any {
	if allowed != nil {
		return f.mentionedValues(allowed)
	}
	class := f.class(singulars(fd.words()))
	if pattern := classPatterns[class]; pattern != nil && (class == "email" || class == "url" || class == "date") {
		return asValues(f.findAll(pattern[0]))
	}
	if class == "person" {
		return asValues(f.people())
	}
	if items := remember(f.lists, fd.name, func() []string { return f.findList(fd.words()) }); len(items) > 0 {
		return typedValues(items)
	}
	if class == "text" && f.free != "" {
		v, _ := f.textValue(fd.words())
		return []any{v}
	}
	return nil
}

var (
	anyName  = newExpression(properName)
	dateName = newExpression(`^(?:` + datePattern + `|January|February|March|April|June|July|August|September|October|November|December)`)
)

// people returns what looks like names of people in the message.
func (f *facts) people() []string {
	var found []string
	for _, name := range anyName().FindAllString(f.message, -1) {
		if !isCommonName(name) && !dateName().MatchString(name) && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}

func (f *facts) findList(words []string) []string {
	for i, text := range f.texts {
		if items := listIn(text, f.wordsOf(i), words); len(items) > 0 {
			return items
		}
	}
	return nil
}

func (f *facts) mentionedValues(allowed []any) []any {
	texts := f.texts
	if !f.whole {
		texts = texts[:1]
	}
	var found []any
	for _, v := range allowed {
		name := ""
		if v != nil {
			name = fmt.Sprint(v)
		}
		if slices.ContainsFunc(texts, func(text string) bool { _, ok := mentioned(text, []string{name}); return ok }) {
			found = append(found, v)
		}
	}
	return found
}

func (f *facts) findAll(p expression) []string {
	const most = 100
	var found []string
	for _, text := range f.texts {
		for _, value := range p().FindAllString(text, most) {
			if !slices.Contains(found, value) {
				found = append(found, value)
			}
		}
	}
	return found
}

func singulars(words []string) []string {
	singular := make([]string, len(words))
	for i, word := range words {
		singular[i] = strings.TrimSuffix(word, "s")
	}
	return singular
}

var (
	listItem  = `[^,;:.!?\n]{1,60}`
	plainList = newExpression(`(` + listItem + `(?:, ` + listItem + `)+,? (?:and|or) [^,;:.!?\n]{1,60}|` + listItem + `(?:, ` + listItem + `){2,})`)
	splitList = newExpression(`\s*,\s*(?:and |or )?|\s+and\s+|\s+or\s+`)
)

// listIn returns the members of a list in a text: the one after a word of the
// field, or the first among commas.
func listIn(text string, spans []span, words []string) []string {
	const longest = 300
	for _, word := range words {
		single := strings.TrimSuffix(word, "s")
		for _, s := range spans {
			if stopWords[word] || !strings.EqualFold(strings.TrimSuffix(text[s.start:s.end], "s"), single) {
				continue
			}
			rest := text[s.end:min(len(text), s.end+longest)]
			colon := strings.HasPrefix(rest, ":")
			rest = strings.TrimLeft(rest, ": ")
			for _, link := range []string{"are ", "is ", "of ", "include ", "like ", "such as "} {
				rest = strings.TrimPrefix(rest, link)
			}
			rest = until(rest, ";:.!?\n")
			items := splitList().Split(rest, -1)
			if len(items) > 1 && strings.Contains(rest, " and ") || colon && rest != "" {
				return cleanItems(items, 0)
			}
		}
	}
	if m := plainList().FindStringSubmatch(text); m != nil {
		items := splitList().Split(m[1], -1)
		return cleanItems(items, len(strings.Fields(items[1])))
	}
	return nil
}

// cleanItems trims the members of a list. Of the first, only the last words are
// kept where their number is not 0: in "I need to buy milk, eggs and bread" it
// is one.
func cleanItems(items []string, words int) []string {
	var clean []string
	for i, item := range items {
		item = strings.Trim(item, " \"“”'*-")
		if i == 0 && words > 0 {
			item = lastWords(item, words)
		}
		if item != "" {
			clean = append(clean, item)
		}
	}
	return clean
}

// lastWords returns the last n words of a text.
func lastWords(text string, n int) string {
	words := strings.Fields(text)
	return strings.Join(words[max(0, len(words)-n):], " ")
}

func asValues(texts []string) []any {
	values := make([]any, len(texts))
	for i, text := range texts {
		values[i] = text
	}
	return values
}

// typedValues makes numbers of texts that are numbers.
func typedValues(texts []string) []any {
	values := asValues(texts)
	for i, text := range texts {
		if numberPattern().FindString(text) == text && json.Valid([]byte(text)) {
			values[i] = json.Number(text)
		}
	}
	return values
}
