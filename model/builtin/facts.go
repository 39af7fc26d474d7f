package builtin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc/model"
)

// facts are the values in a conversation that fields can be filled with.
type facts struct {
	sources []source // what is searched, first the last user message
	free    string   // what a field of free text says
	whole   bool     // the whole conversation counts, not only the message
	judge   *judge   // of what counts, once asked
	words   stems
	used    map[int]bool      // the numbers that other fields have, by place
	known   map[string]string // what was found for a field
}

// source is a text that is searched, and what was read of it.
type source struct {
	text    string
	words   [][]int  // where they stand
	terms   []string // of the words
	numbers []number
}

// gap keeps places in different texts apart.
const gap = 1 << 20

// number is a number in a text.
type number struct {
	digits string // as JSON writes it
	at     int    // where it stands; texts follow one another
	money  bool   // it has a currency sign
	first  bool   // it is in the last user message
}

const (
	month = `(?:January|February|March|April|May|June|July|August|September|October|November|December)`
	date  = `\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}|` + month + ` \d{1,2}(?:st|nd|rd|th)?(?:,? \d{4})?|\d{1,2}(?:st|nd|rd|th)? ` + month + `(?: \d{4})?|` +
		`(?:next )?(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b|\b(?:today|tomorrow|yesterday|tonight)\b`
	// proper matches capitalised words in a row.
	proper = `(\p{Lu}[\pL'’-]*(?: (?:de |la |von |van |of |the )?\p{Lu}[\pL'’-]*)*)`
	placed = `\b(?:weather|live|lives|living|located|based|forecast|temperature)\b[^.?!\n]{0,20}?\s(?:in|for|at)\s+`
)

var (
	wordPattern   = expression(`[\pL\pN]+(?:['’]\pL+)?`)
	numberPattern = expression(`-?\d+(?:,\d{3})*(?:\.\d+)?|(?i:\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b)`)
	notNumbers    = expression(`(?i)` + date + `|\d{1,2}:\d{2}(?::\d{2})?|[\pL_]+-?\d[\pL\pN_-]*|#\d+`)
	datePattern   = expression(`(?i)` + date)
	quoted        = expression(`["“]([^"”\n]{1,500})["”]|(?:^|\s)'([^'\n]{1,500})'(?:\W|$)`)
	about         = expression(`(?i)\b(?:about|regarding|concerning|search(?: the web)? for|look up)\s+([^.?!\n]{1,300})`)
	fromName      = expression(`\b[Ff]rom\s+` + proper)
	toName        = expression(`\b(?:[Tt]o|[Ii]nto)\s+` + proper)
	anyName       = expression(proper)
	assignment    = expression(`^["'*` + "`" + ` ]*[:=][ *\t]*(?:"([^"]{1,500})"|“([^”]{1,500})”|([^\n,;"{}\[\]]{1,500}))`)
	statement     = expression(`^ *(?:is|was|are|will be) ["“]?([^\n,;:"”?!]{1,80})`)
	plainList     = expression(`([^,;:.!?\n]{1,60}(?:, [^,;:.!?\n]{1,60})+,? (?:and|or) [^,;:.!?\n]{1,60}|[^,;:.!?\n]{1,60}(?:, [^,;:.!?\n]{1,60}){2,})`)
	splitList     = expression(`\s*,\s*(?:and |or )?|\s+and\s+|\s+or\s+`)
	listStart     = expression(`^:? *(?:(?:are|is|of|include|like|such as) )?`)
)

// classPatterns find values of a class or format, the surest first; the first group that
// matches is the value, or else the whole match.
var classPatterns = map[string][]func() *regexp.Regexp{
	"place": {expression(`\b(?:[Ii]n|[Aa]t|[Ff]or|[Nn]ear|[Tt]o|[Ff]rom|[Oo]f)\s+` + proper), expression(proper + `['’]s\b`),
		expression(placed + `(\pL+(?: \pL+)?)\s*(?:[?.!,]|$)`), expression(placed + `(\pL+)`), expression(`[\pL,] ` + proper)},
	"person": {expression(`\b(?:[Nn]ame is|I am|I'm|I’m|named|called)\s+` + proper), expression(`\b(?:with|to|from|by|for|invite|contact|call|email)\s+` + proper),
		expression(`(?:^|[.!?\n]\s*|[\pL,] )` + proper)},
	"company":   {expression(proper + ` (?:Inc|Corp|Ltd|LLC|GmbH|AG)\b`), expression(`\b(?:from|by|at|with|for)\s+` + proper)},
	"email":     {expression(`[\pL\pN._%+-]+@[\pL\pN-]+(?:\.[\pL\pN-]+)+`)},
	"url":       {expression(`https?://[^\s"'<>)\]]*[^\s"'<>)\].,;:!?]`)},
	"phone":     {expression(`\+?\d[\d ()/-]{5,18}\d`)},
	"date":      {datePattern},
	"time":      {expression(`(?i)\b(?:\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]\.?m\b)?|\d{1,2}\s?[ap]\.?m\b|noon|midnight)`)},
	"currency":  {expression(`\b(USD|EUR|GBP|JPY|CHF|CNY|INR|CAD|AUD|SEK|NOK|DKK|BRL|MXN|KRW|PLN)\b`)},
	"symbol":    {expression(`\b([A-Z]{2,5})\b`)},
	"id":        {expression(`#\s?([\pL\pN][\pL\pN_-]*)`), expression(`\b([A-Z]+[-_]?\d[\w-]*)\b`), expression(`\b(\d{3,})\b`)},
	"language":  {expression(`\b(English|French|German|Spanish|Italian|Portuguese|Dutch|Russian|Chinese|Japanese|Korean|Arabic|Hindi|Polish|Swedish|Norwegian|Danish|Finnish|Greek|Turkish|Latin)\b`)},
	"formula":   {expression(`[(-]?\d[\d\s.()*/+^%-]*[*/+^%-][\d\s.()*/+^%-]*\d\)?`)},
	"date-time": {expression(`\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})`)},
	"uuid":      {expression(`[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`)},
	"ipv4":      {expression(`\b\d{1,3}(?:\.\d{1,3}){3}\b`)},
	"ipv6":      {expression(`[0-9a-fA-F:]{3,39}`)},
	"hostname":  {expression(`\b(?:[a-zA-Z0-9-]+\.)+[a-zA-Z]{2,}\b`)},
	"duration":  {expression(`\bP(?:\d+[YMWD])*(?:T(?:\d+[HMS])+)?\b`)},
}

// newFacts returns the facts of a conversation. Those of the last user message come first,
// and only they count where the whole does not.
func newFacts(c *conversation, free string, whole bool) *facts {
	const most, mostFree = 128 << 10, 2000 // bytes, characters
	f := &facts{free: firstRunes(strings.TrimSpace(free), mostFree), whole: whole, words: c.stems, used: map[int]bool{}, known: map[string]string{}}
	left, texts := most, slices.Clone(c.sources)
	slices.Reverse(texts)
	for i, text := range slices.Insert(texts, 0, c.message) {
		s := source{text: strings.ToValidUTF8(text[:min(len(text), left)], "")}
		if left -= len(s.text); s.text == "" && i > 0 {
			continue
		}
		s.words = wordPattern().FindAllStringIndex(s.text, -1)
		for _, at := range s.words {
			s.terms = append(s.terms, f.words.look(s.text[at[0]:at[1]]).term)
		}
		skip := notNumbers().FindAllStringIndex(s.text, -1)
		for _, at := range numberPattern().FindAllStringIndex(s.text, -1) {
			for len(skip) > 0 && skip[0][1] <= at[0] {
				skip = skip[1:]
			}
			digits := strings.ReplaceAll(s.text[at[0]:at[1]], ",", "")
			if n := slices.Index(strings.Fields("two three four five six seven eight nine ten eleven twelve"), strings.ToLower(digits)); n >= 0 {
				digits = fmt.Sprint(n + 2)
			}
			if json.Valid([]byte(digits)) && (len(skip) == 0 || skip[0][0] > at[0]) {
				s.numbers = append(s.numbers, number{digits, i*gap + at[0], strings.ContainsAny(s.text[max(0, at[0]-4):at[0]], "$€£¥"), i == 0})
			}
		}
		f.sources = append(f.sources, s)
	}
	return f
}

// mark returns what is to be put back into used where a value is thrown away.
func (f *facts) mark() map[int]bool { return maps.Clone(f.used) }

// counting returns the texts that choices are made by.
func (f *facts) counting() []source {
	if f.whole {
		return f.sources
	}
	return f.sources[:1]
}

func nameWords(name string) []string {
	return strings.Fields(strings.ToLower(strings.Join(wordsOf(named(name)), " ")))
}

// class returns what kind of thing a field is; the last word that tells counts, as in
// "customer email".
func class(words []string) string {
	for _, word := range slices.Backward(words) {
		if found := lists()["class "+word]; found != nil {
			return found[0]
		}
	}
	if slices.Contains(words, "number") {
		return "id"
	}
	return ""
}

// freeText returns what a field without a value of its own says.
func (f *facts) freeText(field string) string {
	if kind := class(nameWords(field)); kind != "" && kind != "text" {
		return "unknown"
	}
	return cmp.Or(f.free, "unknown")
}

// texts returns what the text has for a field of a format or of patterns, best first.
func (f *facts) texts(field, format string, patterns []string) (found []string) {
	const most = 8
	if format != "" {
		words := nameWords(field)
		kind := map[string]string{"idn-email": "email", "uri": "url", "iri": "url", "uri-reference": "url"}[format]
		for _, s := range f.sources {
			if v := dated(s.text, words); format == "date" && v != "" {
				found = append(found, standard(format, v), v)
			}
		}
		for _, s := range f.sources {
			for _, pattern := range classPatterns[cmp.Or(kind, format)] {
				for _, v := range pattern().FindAllString(s.text, most) {
					found = append(found, v, standard(format, v))
				}
			}
		}
		return found
	}
	if v := f.value(field); v != "" {
		found = append(found, v)
	}
	for _, pattern := range patterns {
		re, err := regexp.Compile(strings.TrimSuffix(strings.TrimPrefix(pattern, "^"), "$"))
		for _, s := range f.sources {
			if err == nil {
				found = append(found, re.FindAllString(s.text, most)...)
			}
		}
	}
	return found
}

// value returns what the text says that a field is, or "".
func (f *facts) value(field string) string {
	v, ok := f.known[field]
	if !ok {
		v = f.find(nameWords(field))
		f.known[field] = v
	}
	return v
}

func (f *facts) find(words []string) string {
	if len(words) == 0 {
		return ""
	}
	if v := f.labelled(words); v != "" {
		return v
	}
	kind := class(words)
	if kind == "text" {
		return f.textValue(words)
	}
	patterns := classPatterns[kind]
	isOne := func(word string) func(string) bool {
		return func(of string) bool { return slices.Contains(words, of) && word != "date" }
	}
	if slices.ContainsFunc([]string{"from", "origin", "source", "departure"}, isOne(kind)) {
		patterns = append([]func() *regexp.Regexp{fromName}, patterns...)
	} else if slices.ContainsFunc([]string{"to", "destination", "target", "arrival"}, isOne(kind)) {
		patterns = append([]func() *regexp.Regexp{toName}, patterns...)
	}
	for _, s := range f.sources {
		if v := dated(s.text, words); kind == "date" && v != "" {
			return v
		}
		for _, pattern := range patterns {
			for _, m := range pattern().FindAllStringSubmatch(s.text, -1) {
				if v := strings.TrimSpace(cmp.Or(cmp.Or(m[1:]...), m[0])); !common(v) {
					return v
				}
			}
		}
	}
	return ""
}

// common reports whether what looks like a name is a word that begins a sentence.
func common(value string) bool {
	first, _, _ := strings.Cut(value, " ")
	return in("stop", first) || in("instruction", first)
}

// textValue returns what a field of free text is about: what stands in quotes, what follows
// "about", or all of the text.
func (f *facts) textValue(words []string) string {
	if m := quoted().FindStringSubmatch(f.sources[0].text); m != nil {
		return m[1] + m[2]
	}
	if m := about().FindStringSubmatch(f.sources[0].text); m != nil && !f.whole && !slices.Contains(words, "question") {
		return strings.TrimSpace(m[1])
	}
	return f.free
}

// after returns what follows each place where a text has the words in a row, separate or
// joined.
func (s *source) after(words []string) (rests []string) {
	for i, at := range s.words {
		end := at[1]
		if !strings.EqualFold(s.text[at[0]:at[1]], strings.Join(words, "")) {
			for n, word := range words {
				if i+n >= len(s.words) || !strings.EqualFold(s.text[s.words[i+n][0]:s.words[i+n][1]], word) ||
					n > 0 && strings.Trim(s.text[end:s.words[i+n][0]], " _-") != "" {
					end = -1
					break
				}
				end = s.words[i+n][1]
			}
		}
		if end >= 0 {
			rests = append(rests, s.text[end:])
		}
	}
	return rests
}

// labelled returns the value that the text gives to a name: "name: value", "name = value"
// or a member of a JSON object, or else "the name is value".
func (f *facts) labelled(words []string) string {
	const mostWords = 8
	for _, s := range f.sources {
		for _, pattern := range []func() *regexp.Regexp{assignment, statement} {
			for _, rest := range s.after(words) {
				m := pattern().FindStringSubmatch(firstRunes(rest, 600))
				if m == nil {
					continue
				}
				value := cmp.Or(m[1:]...)
				if value != m[1] || len(m) == 2 {
					if len(m) == 2 {
						value, _, _ = strings.Cut(value, " but ")
						value, _, _ = strings.Cut(value, " and ")
					}
					value, _, _ = strings.Cut(value+" ", ". ")
					value = strings.TrimRight(value, ".!? ")
				}
				if value != "" && (m[1] == value || len(strings.Fields(value)) <= mostWords) {
					return strings.TrimSpace(value)
				}
			}
		}
	}
	return ""
}

// dated returns the date that follows a word of a field, as in "due 2026-03-01" for
// due_date.
func dated(text string, words []string) string {
	const near = 12
	lower := strings.ToLower(text)
	for _, word := range words {
		for i := strings.Index(lower, word); i >= 0 && len(lower) == len(text); {
			rest := firstRunes(text[i+len(word):], 40)
			if at := datePattern().FindStringIndex(rest); at != nil && at[0] <= near {
				return rest[at[0]:at[1]]
			}
			next := strings.Index(lower[i+len(word):], word)
			if next < 0 {
				break
			}
			i += len(word) + next
		}
	}
	return ""
}

// standard writes a date or a time of day as the format wants it, or "".
func standard(format, value string) string {
	value = strings.NewReplacer("st ", " ", "nd ", " ", "rd ", " ", "th ", " ", "th,", ",", "st,", ",").Replace(value)
	layouts, want := []string{"January 2, 2006", "January 2 2006", "2 January 2006"}, time.DateOnly
	if format == "time" {
		layouts, want = []string{"15:04", "15:04:05", "3:04 pm", "3:04pm", "3 pm", "3pm", "3:04 PM", "3:04PM", "3 PM", "3PM"}, "15:04:05Z"
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, value); err == nil && (format == "date" || format == "time") {
			return t.Format(want)
		}
	}
	return ""
}

// numbersFor returns the numbers of the text that may be a field's, best first: those near
// a word of the field, and those of the message that no other field has used.
func (f *facts) numbersFor(field string) []number {
	const near = 60 // bytes
	wanted, money := map[string]bool{}, false
	for _, word := range nameWords(field) {
		for _, unit := range append(lists()["unit "+word], word) {
			wanted[f.words.look(unit).term] = true
			money = money || unit == "dollars"
		}
	}
	delete(wanted, "")
	var found, rest []number
	distances := map[int]int{}
	for _, s := range f.sources {
		var places []int // in order
		for i, at := range s.words {
			if wanted[s.terms[i]] {
				places = append(places, at[0])
			}
		}
		for _, n := range s.numbers {
			best, at := math.MaxInt, n.at%gap
			next, _ := slices.BinarySearch(places, at)
			for _, place := range places[max(0, next-1):min(next+1, len(places))] {
				best = min(best, max(place-at, at-place))
			}
			if money && n.money {
				best = 0
			}
			if distances[n.at] = best; best <= near {
				found = append(found, n)
			}
			if n.first && !f.used[n.at] {
				rest = append(rest, n)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b number) int { return cmp.Compare(distances[a.at], distances[b.at]) })
	return append(found, rest...)
}

func (f *facts) judgement() *judge {
	if f.judge == nil {
		var parts []model.Part
		for _, s := range f.counting() {
			parts = append(parts, model.Text(s.text))
		}
		f.judge = &judge{readState(f.words, parts...), f.words}
	}
	return f.judge
}

// choose returns which of the values the text speaks of: one that it mentions, or one that
// its words are evidence for.
func (f *facts) choose(field string, values []any) (int, bool) {
	const margin = 0.3
	names := make([]string, len(values))
	for i, v := range values {
		if v != nil {
			names[i] = fmt.Sprint(v)
		}
	}
	texts := []string{f.value(field)}
	for _, s := range f.counting() {
		texts = append(texts, s.text)
	}
	for _, text := range texts {
		if i := mentioned(text, names); i >= 0 {
			return i, true
		}
	}
	if len(values) < 2 || slices.ContainsFunc(values, func(v any) bool { _, ok := v.(string); return !ok }) {
		return 0, false
	}
	evidence := f.judgement().weigh(names)
	sorted := slices.Sorted(slices.Values(evidence))
	best := sorted[len(sorted)-1]
	return slices.Index(evidence, best), sorted[len(sorted)-2] <= best-margin
}

// mentioned returns the name that comes first in a text as whole words, of two in the same
// place the longer, or -1.
func mentioned(text string, names []string) int {
	words := " " + strings.Join(nameWords(text), " ") + " "
	best, at := -1, 0
	for i, name := range names {
		own := strings.Join(nameWords(name), " ")
		place := strings.Index(words, " "+own+" ")
		if place < 0 {
			place = strings.Index(words, " "+own+"s ")
		}
		if own != "" && place >= 0 && (best < 0 || place < at || place == at && len(name) > len(names[best])) {
			best, at = i, place
		}
	}
	return best
}

// boolean returns whether the text supports what a field is called, and whether it says
// anything about it.
func (f *facts) boolean(field string) (value, found bool) {
	const sure, denied = 0.3, -2.3 // of what is not so, as opposed to nothing being said of it
	words := nameWords(field)
	switch f.labelled(words) {
	case "true", "yes":
		return true, true
	case "false", "no":
		return false, true
	}
	words = slices.DeleteFunc(words, func(word string) bool { return in("stop", word) })
	if len(words) == 0 {
		return false, false
	}
	support := f.judgement().support(strings.Join(words, " "))
	return support > sure, support > sure || support < denied
}

// list returns the values in the text that may be the items of an array, in order: of the
// allowed values those that it mentions, or else the members of a list.
func (f *facts) list(field string, allowed []any) (found []any) {
	add := func(v any) {
		if !slices.Contains(found, v) {
			found = append(found, v)
		}
	}
	if allowed != nil {
		for _, v := range allowed {
			for _, s := range f.counting() {
				if v != nil && mentioned(s.text, []string{fmt.Sprint(v)}) >= 0 {
					found = append(found, v)
					break
				}
			}
		}
		return found
	}
	words := nameWords(field)
	for i, word := range words {
		words[i] = strings.TrimSuffix(word, "s")
	}
	kind := class(words)
	for i, s := range f.sources {
		switch {
		case kind == "email" || kind == "url" || kind == "date":
			for _, v := range classPatterns[kind][0]().FindAllString(s.text, 100) {
				add(v)
			}
		case kind == "person" && i == 0:
			for _, name := range anyName().FindAllString(s.text, 100) {
				if first, _, _ := strings.Cut(name, " "); !common(name) && !in("calendar", first) {
					add(name)
				}
			}
		case kind != "person" && len(found) == 0:
			for _, item := range s.listed(words) {
				if n := numberPattern().FindString(item); n == item && json.Valid([]byte(item)) {
					add(json.Number(item))
				} else {
					add(item)
				}
			}
		}
	}
	if len(found) == 0 && kind == "text" && f.free != "" {
		add(f.textValue(words))
	}
	return found
}

// listed returns the members of a list in a text: the one after a word of the field, or the
// first among commas.
func (s *source) listed(words []string) (items []string) {
	const longest = 300
	for _, word := range words {
		for _, rest := range append(s.after([]string{word}), s.after([]string{word + "s"})...) {
			if in("stop", word) {
				continue
			}
			colon := strings.HasPrefix(rest, ":")
			rest = listStart().ReplaceAllString(firstRunes(rest, longest), "")
			if i := strings.IndexAny(rest, ";:.!?\n"); i >= 0 {
				rest = rest[:i]
			}
			if items = splitList().Split(rest, -1); colon && rest != "" || len(items) > 1 && strings.Contains(rest, " and ") {
				return clean(items)
			}
		}
	}
	if m := plainList().FindString(s.text); m != "" {
		items = splitList().Split(m, -1)
		// Of "I need to buy milk, eggs and bread" the last words are the first item.
		first := strings.Fields(items[0])
		items[0] = strings.Join(first[max(0, len(first)-len(strings.Fields(items[1]))):], " ")
		return clean(items)
	}
	return nil
}

func clean(items []string) (kept []string) {
	for _, item := range items {
		if item = strings.Trim(item, " \"“”'*-"); item != "" {
			kept = append(kept, item)
		}
	}
	return kept
}
