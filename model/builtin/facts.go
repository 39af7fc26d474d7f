package builtin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc/model"
)

// facts are the values in a conversation that fields can be filled with: what the text says
// that a field is, or else the piece of the right kind that stands nearest to its name.
type facts struct {
	text   string             // what is searched: the last user message, and then the other texts, the last first
	counts string             // the start of it that choices are made by
	free   string             // what a field of free text says
	stems  stems              // of the conversation
	words  []token            // of the text
	places map[string][]int   // of each stem: which words have it
	tokens map[string][]token // found so far, of each kind
	used   map[int]bool       // where the numbers stand that other fields have
	judge  *judge             // of what counts, once asked
}

// token is a piece of the text, or a value that it stands for.
type token struct {
	value   any
	at, end int // where it stands, from 1; 0 for nowhere
}

func (t token) text() string { return fmt.Sprint(t.value) }

// near is how many bytes from a word a token may stand to belong to it.
const near = 60

// newFacts returns the facts of a conversation. Choices are made by the last user message
// alone where the whole does not count.
func newFacts(c *conversation, free string, whole bool) *facts {
	const most, mostFree = 128 << 10, 2000 // bytes, characters
	texts := slices.Clone(c.sources)
	slices.Reverse(texts)
	texts = slices.Insert(texts, 0, "", c.message)
	apart := strings.Repeat("\n", near+1) // so that no token is near a word of another text
	f := &facts{free: firstRunes(strings.TrimSpace(free), mostFree), stems: c.stems, places: map[string][]int{}, tokens: map[string][]token{}, used: map[int]bool{}}
	f.text = strings.ToValidUTF8(strings.Join(texts, apart), "")
	f.text = strings.ToValidUTF8(f.text[:min(len(f.text), most)], "")
	if f.counts = f.text; !whole {
		f.counts = f.text[:min(len(apart)+len(c.message), len(f.text))]
	}
	end := 0
	for _, word := range wordsOf(f.text) {
		at := end + strings.Index(f.text[end:], word)
		end = at + len(word)
		stem := f.stems.look(word).stem
		f.places[stem] = append(f.places[stem], len(f.words))
		f.words = append(f.words, token{word, at, end})
	}
	return f
}

// nameWords returns the stems of the words of a name such as unitPrice.
func (f *facts) nameWords(name string) (words []string) {
	for _, word := range wordsOf(named(name)) {
		words = append(words, f.stems.look(word).stem)
	}
	return words
}

// class returns what kind of thing a field is, and the words that tell it from others of the
// kind. The last word that tells the kind counts, as in "customer email".
func class(words []string) (kind string, own []string) {
	for i, word := range slices.Backward(words) {
		if found := lists()["class "+word]; found != nil {
			if own = slices.Delete(slices.Clone(words), i, i+1); len(own) == 0 {
				own = words
			}
			return found[0], own
		}
	}
	if slices.Contains(words, "number") {
		return "id", words
	}
	return "", words
}

// rows returns where words stand in the text in a row, separate or joined.
func (f *facts) rows(words []string) (found []token) {
	if len(words) == 0 {
		return nil
	}
	for _, i := range f.places[words[0]] {
		last := i + len(words) - 1
		if last < len(f.words) && slices.EqualFunc(f.words[i:last+1], words, func(t token, word string) bool { return f.stems.look(t.text()).stem == word }) {
			found = append(found, token{at: f.words[i].at, end: f.words[last].end})
		}
	}
	if joined := strings.Join(words, ""); len(words) > 1 {
		found = append(found, f.rows([]string{joined})...)
	}
	return found
}

// all returns the tokens of a kind in the text.
func (f *facts) all(kind string) []token {
	found, known := f.tokens[kind]
	if !known {
		for _, pattern := range patterns()[kind] {
			found = append(found, f.matches(pattern, kind)...)
		}
		f.tokens[kind] = found
	}
	return found
}

// matches returns what an expression matches: where it has groups, what one of them does.
func (f *facts) matches(pattern *regexp.Regexp, kind string) (found []token) {
	const most = 2000
	for _, m := range pattern.FindAllStringSubmatchIndex(f.text, most) {
		at, end := m[0], m[1]
		for group := 2; group < len(m); group += 2 {
			if at, end = m[group], m[group+1]; at >= 0 {
				break
			}
		}
		if at < 0 {
			continue
		}
		text := strings.TrimSpace(f.text[at:end])
		first, _, _ := strings.Cut(text, " ")
		stem := f.stems.look(first).stem
		if in("proper", kind) && (in("stop", stem) || in("instruction", stem) || in("calendar", stem)) {
			continue // a word that begins a sentence
		}
		found = append(found, token{text, at, end})
	}
	return found
}

// nearest puts those tokens first that stand near one of the words, the nearest first, and
// says how many these are.
func (f *facts) nearest(tokens []token, words []string) (sorted []token, close int) {
	const after = 3 // a word after a token is that much farther than one before
	var places []int
	for _, word := range words {
		for _, other := range append(lists()["unit "+word], word) {
			places = append(places, f.places[f.stems.look(other).stem]...)
		}
	}
	slices.Sort(places)
	distances := map[int]int{}
	for _, t := range tokens {
		next, _ := slices.BinarySearchFunc(places, t.at, func(place, at int) int { return cmp.Compare(f.words[place].at, at) })
		best := near + 1
		if next > 0 {
			best = min(best, max(0, t.at-f.words[places[next-1]].end))
		}
		if next < len(places) {
			best = min(best, max(0, f.words[places[next]].at-t.end)+after)
		}
		if distances[t.at] = best; best <= near {
			close++
		}
	}
	sorted = slices.Clone(tokens)
	slices.SortStableFunc(sorted, func(a, b token) int { return cmp.Compare(distances[a.at], distances[b.at]) })
	return sorted, close
}

// freeText returns what a field without a value of its own says.
func (f *facts) freeText(field string) string {
	if kind, _ := class(f.nameWords(field)); kind != "" && kind != "text" {
		return "unknown"
	}
	return cmp.Or(f.free, "unknown")
}

// strings returns what the text has for a field of a format or of patterns, best first.
func (f *facts) strings(field, format string, expressions []string) (found []string) {
	const most = 8
	words := f.nameWords(field)
	kind, own := class(words)
	found = append(found, f.labelled(words))
	if format != "" {
		kind = format
	}
	if kind == "text" {
		found = append(found, f.textValue(words))
	}
	tokens, _ := f.nearest(f.all(kind), own)
	tokens = tokens[:min(len(tokens), most)]
	for _, expression := range expressions {
		if re, err := regexp.Compile(strings.TrimSuffix(strings.TrimPrefix(expression, "^"), "$")); err == nil {
			tokens = append(tokens, f.matches(re, "")...)
		}
	}
	for _, t := range tokens {
		found = append(found, t.text())
	}
	for _, text := range found {
		found = append(found, standard(format, text))
	}
	return slices.DeleteFunc(found, func(text string) bool { return text == "" })
}

// textValue returns what a field of free text is about: what stands in quotes, what follows
// "about", or all of the text.
func (f *facts) textValue(words []string) string {
	for _, kind := range []string{"quoted", "about"} {
		if m := pattern(kind).FindStringSubmatch(f.counts); m != nil && !slices.Contains(words, "question") {
			return strings.TrimSpace(cmp.Or(m[1:]...))
		}
	}
	return f.free
}

// labelled returns the value that the text gives to a name: "name: value", "name = value"
// or a member of a JSON object, or else "the name is value".
func (f *facts) labelled(words []string) string {
	for _, form := range patterns()["label"] {
		for _, row := range f.rows(words) {
			if m := form.FindStringSubmatch(firstRunes(f.text[row.end:], 600)); m != nil {
				return strings.TrimSpace(cmp.Or(m[1:]...))
			}
		}
	}
	return ""
}

// layouts are how a text may write what a format wants as the first of them.
var layouts = map[string][]string{
	"date": {time.DateOnly, "January 2, 2006", "January 2 2006", "2 January 2006"},
	"time": {"15:04:05Z", "15:04:05", "15:04", "3:04 PM", "3:04PM", "3 PM", "3PM"},
}

// standard writes a date or a time of day as the format wants it, or "".
func standard(format, value string) string {
	for _, layout := range layouts[format] {
		if t, err := time.Parse(layout, strings.ToUpper(pattern("ordinal").ReplaceAllString(value, "$1"))); err == nil {
			return t.Format(layouts[format][0])
		}
	}
	return ""
}

// numbers returns the numbers of the text that may be a field's, best first: those near a
// word of the field, and those of the message that no other field has used.
func (f *facts) numbers(field string) (found []token) {
	words := f.nameWords(field)
	kind, _ := class(words)
	tokens, close := f.nearest(append(slices.Clone(f.all(kind)), f.all("number")...), words)
	for i, t := range tokens {
		digits := strings.ReplaceAll(t.text(), ",", "")
		if n := slices.Index(strings.Fields("two three four five six seven eight nine ten eleven twelve"), strings.ToLower(digits)); n >= 0 {
			digits = fmt.Sprint(n + 2)
		}
		if json.Valid([]byte(digits)) && (i < close || t.at < len(f.counts) && !f.used[t.at]) {
			found = append(found, token{json.Number(digits), t.at, t.end})
		}
	}
	return found
}

func (f *facts) judgement() *judge {
	if f.judge == nil {
		f.judge = &judge{readState(f.stems, model.Text(f.counts)), f.stems}
	}
	return f.judge
}

// mentioned returns where what counts has the words of a value.
func (f *facts) mentioned(value any) (found []token) {
	if value == nil {
		return nil
	}
	for _, row := range f.rows(f.nameWords(fmt.Sprint(value))) {
		if row.end <= len(f.counts) {
			found = append(found, token{value, row.at, row.end})
		}
	}
	return found
}

// choose returns which of the values the text speaks of: one that it mentions, nearest to
// the field and of two in the same place the longer, or one that its words are evidence for.
func (f *facts) choose(field string, values []any) (int, bool) {
	const margin = 0.3
	var tokens []token
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = fmt.Sprint(v)
		for _, t := range f.mentioned(v) {
			tokens = append(tokens, token{i, t.at, t.end})
		}
	}
	if len(tokens) > 0 {
		slices.SortFunc(tokens, func(a, b token) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.end, a.end)) })
		tokens, _ = f.nearest(tokens, f.nameWords(field))
		return tokens[0].value.(int), true
	}
	if len(values) < 2 || slices.ContainsFunc(values, func(v any) bool { _, ok := v.(string); return !ok }) {
		return 0, false
	}
	evidence := f.judgement().weigh(names)
	sorted := slices.Sorted(slices.Values(evidence))
	best := sorted[len(sorted)-1]
	return slices.Index(evidence, best), sorted[len(sorted)-2] <= best-margin
}

// boolean returns whether the text supports what a field is called, found where it says
// anything about it.
func (f *facts) boolean(field string) filled {
	const sure, denied = 0.3, -2.3 // of what is not so, as opposed to nothing being said of it
	words := f.nameWords(field)
	switch f.labelled(words) {
	case "true", "yes":
		return filled{true, true}
	case "false", "no":
		return filled{false, true}
	}
	words = slices.DeleteFunc(words, func(word string) bool { return in("stop", word) })
	if len(words) == 0 {
		return filled{false, false}
	}
	support := f.judgement().support(strings.Join(words, " "))
	return filled{support > sure, support > sure || support < denied}
}

// list returns the values in the text that may be the items of an array, in order: of the
// allowed values those that it mentions, or else the members of a list.
func (f *facts) list(field string, allowed []any) (found []any) {
	var tokens []token
	words, seen := f.nameWords(field), map[string]bool{}
	kind, _ := class(words)
	switch {
	case allowed != nil:
		for _, v := range allowed {
			tokens = append(tokens, f.mentioned(v)...)
		}
	case kind == "person":
		tokens = f.all("name")
	case in("literal", kind):
		tokens = f.all(kind)
	default:
		for _, item := range f.listed(words) {
			tokens = append(tokens, token{value: item})
			if n := pattern("digits").FindString(item); n == item && json.Valid([]byte(item)) {
				tokens[len(tokens)-1].value = json.Number(item)
			}
		}
		if len(tokens) == 0 && kind == "text" && f.free != "" {
			tokens = append(tokens, token{value: f.textValue(words)})
		}
	}
	for _, t := range tokens {
		if !seen[t.text()] && t.at <= len(f.counts) {
			found = append(found, t.value)
		}
		seen[t.text()] = true
	}
	return found
}

// listed returns the members of a list in the text: the one after a word of the field, or the
// first among commas.
func (f *facts) listed(words []string) (items []string) {
	const longest = 300
	split := func(list string) (items []string) {
		for _, item := range pattern("list-break").Split(list, -1) {
			if item = strings.Trim(item, " \"“”'*-"); item != "" {
				items = append(items, item)
			}
		}
		return items
	}
	for _, word := range words {
		for _, i := range f.places[word] {
			m := pattern("list-after").FindStringSubmatch(firstRunes(f.text[f.words[i].end:], longest))
			if m == nil || in("stop", word) {
				continue
			}
			if items = split(m[2]); m[1] != "" || len(items) > 1 && strings.Contains(m[2], " and ") {
				return items
			}
		}
	}
	if items = split(pattern("list").FindString(f.text)); len(items) > 1 {
		// Of "I need to buy milk, eggs and bread" the last words are the first item.
		first := strings.Fields(items[0])
		items[0] = strings.Join(first[max(0, len(first)-len(strings.Fields(items[1]))):], " ")
	}
	return items
}
