package builtin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/seed-506d8e5d/svc/model"
)

// facts are the values in a conversation that fields can be filled with.
type facts struct {
	texts []string        // what is searched, first the last user message
	state *state          // the same, to judge by
	free  string          // what a field of free text says
	used  map[string]bool // numbers that fields were filled with
}

// newFacts returns the facts of the last user message, or of all of a conversation.
func newFacts(c *conversation, free string, all bool) *facts {
	const most, mostFree = 16 << 10, 2000 // characters
	f := &facts{texts: []string{firstRunes(c.message, most)}, free: firstRunes(strings.TrimSpace(free), mostFree), used: map[string]bool{}}
	for _, source := range slices.Backward(c.sources) {
		if all {
			f.texts = append(f.texts, firstRunes(source, most))
		}
	}
	f.state = readState(model.Text(strings.Join(f.texts, "\n\n")))
	return f
}

const (
	proper = `\p{Lu}[\pL'’-]*(?: (?:de |la |von |van |of |the )?\p{Lu}[\pL'’-]*)*`
	month  = `(?:January|February|March|April|May|June|July|August|September|October|November|December)`
	date   = `\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}|` + month + ` \d{1,2}(?:,? \d{4})?|\d{1,2} ` + month + `(?: \d{4})?|` +
		`\b(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|today|tomorrow|tonight)\b`
	clock = `\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]m\b)?|\d{1,2}\s?[ap]m\b|noon|midnight`
)

// sorts are what fields may be filled with, by the words that name a field or its format:
// the groups of the pattern, the surest first. All of the text will do for the first sort.
var sorts = []struct {
	fields  string
	pattern func() *regexp.Regexp
}{
	{"query question search prompt text message content body input keyword topic subject title description summary note answer reply task reason",
		expression(`["“]([^"”\n]{1,500})["”]|(?:about|regarding|search(?: the web)? for|look up)\s+([^.?!\n]{1,300})`)},
	{"email mail idn-email", expression(`([\pL\pN._%+-]+@[\pL\pN-]+(?:\.[\pL\pN-]+)+)`)},
	{"url uri link website iri", expression(`(https?://[^\s"'<>)\]]*[^\s"'<>)\].,;:!?])`)},
	{"date date-time day when deadline due birthday", expression(`(?i)(\d{4}-\d{2}-\d{2}T[\d:.]+(?:Z|[+-]\d{2}:\d{2})|` + date + `)`)},
	{"time hour", expression(`(?i)(` + clock + `)`)},
	{"id code number reference uuid phone", expression(`#\s?([\pL\pN][\pL\pN_-]*)|\b([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[A-Z]+[-_]?\d[\w-]*|\+?\d[\d ()/-]{1,18}\d)\b`)},
	{"expression formula equation", expression(`([(-]?\d[\d\s.()*/+^%-]*[*/+^%-][\d\s.()*/+^%-]*\d\)?)`)},
	{"city location place town destination origin country name person author customer user people participant attendee company vendor", expression(
		`\b(?:[Ii]n|[Aa]t|[Ff]or|[Nn]ear|[Tt]o|[Ff]rom|[Ww]ith|[Nn]ame is|I am|I'm|[Cc]alled)\s+(` + proper + `)|` +
			`\b(?:weather|live|lives|forecast)\b[^.?!\n]*?\s(?:in|for)\s+(\pL+(?: \pL+)?)\s*(?:[?.!,]|$)|(` + proper + `)`)},
}

var numeral = expression(`(?i)` + date + `|` + clock + `|[\pL_]+-?\d[\pL\pN_-]*|#\d+|(-?\d+(?:,\d{3})*(?:\.\d+)?)`)

// sortOf returns the index of the sort of a field or format, or -1. The last word of a name
// tells, as in "customer email".
func sortOf(field, format string) int {
	for _, word := range slices.Backward(append(strings.Fields(strings.ToLower(named(field))), format)) {
		for i, sort := range sorts {
			if names := strings.Fields(sort.fields); slices.Contains(names, word) || slices.Contains(names, strings.TrimSuffix(word, "s")) {
				return i
			}
		}
	}
	return -1
}

// freeText returns what a field without a value of its own says.
func (f *facts) freeText(field string) string {
	if sortOf(field, "") > 0 {
		return "unknown"
	}
	return cmp.Or(f.free, "unknown")
}

// values returns what the texts may say that a field is, best first.
func (f *facts) values(field string, s *jsonschema.Schema) (found []any) {
	words, format, types := strings.Fields(strings.ToLower(named(field))), "", ""
	if s.Format != nil {
		format = s.Format.Name
	}
	if s.Types != nil {
		types = s.Types.String()
	}
	sort := sortOf(field, format)
	switch items, _ := s.Items.(*jsonschema.Schema); {
	case s.Enum != nil:
		return slices.DeleteFunc(slices.Clone(s.Enum.Values), func(v any) bool { return f.state.match(fmt.Sprint(v)) == 0 })
	case strings.Contains(types, "array"):
		return f.lists(field, sort, cmp.Or(s.Items2020, items))
	case strings.Contains(types, "boolean"):
		if support := f.state.support(strings.Join(words, " ")); math.Abs(support) > 0.5 {
			found = append(found, support > 0)
		}
		return found
	}
	all := strings.Join(f.texts, "\n")
	if len(words) > 0 { // "name: value", "name = value", a member of a JSON object, or "the name is value"
		label := regexp.MustCompile(`(?i)\b` + strings.Join(words, `[ _-]?`) + `["'*]*(?:\s*[:=]\s*|\s+(?:is|was|are|will be)\s+)["“]?([^\n,;"”{}\[\]?!]{1,100})`)
		if m := label.FindStringSubmatch(all); m != nil {
			value, _, _ := strings.Cut(m[1]+" ", ". ")
			value, _, _ = strings.Cut(value, " and ")
			value = strings.TrimRight(value, ". ")
			found = append(found, value, json.Number(value))
		}
	}
	for _, word := range append(words, "") { // first what stands behind a word of the field
		word = cmp.Or(map[string]string{"origin": "from ", "destination": "to "}[word], word)
		if i := strings.Index(all, word); i >= 0 && sort >= 0 {
			found = append(found, sorted(sort, all[i:])...)
		}
	}
	if sort == 0 {
		found = append(found, f.free)
	}
	for _, m := range numeral().FindAllStringSubmatch(all, 64) {
		if n := strings.ReplaceAll(m[1], ",", ""); !f.used[n] { // each is for one field
			found = append(found, json.Number(n))
		}
	}
	return slices.DeleteFunc(found, func(v any) bool {
		number, ok := v.(json.Number)
		return v == "" || ok && !json.Valid([]byte(number))
	})
}

// sorted returns the values of a sort in a text.
func sorted(sort int, text string) (found []any) {
	matches := sorts[sort].pattern().FindAllStringSubmatch(text, 8)
	for group := 1; group <= sorts[sort].pattern().NumSubexp(); group++ {
		for _, match := range matches {
			value := strings.TrimSpace(match[group])
			first, _, _ := strings.Cut(value, " ")
			if name := sort == len(sorts)-1; name && (in("stop", first) || in("instruction", first) || in("calendar", first)) {
				continue
			}
			for _, layout := range []string{"January 2, 2006", "January 2 2006", "2 January 2006"} { // as JSON Schema writes dates
				if t, err := time.Parse(layout, value); err == nil {
					found = append(found, t.Format(time.DateOnly))
				}
			}
			found = append(found, value)
		}
	}
	return found
}

// lists returns the list that an array may be: all of what its items may be, or of free
// text the first.
func (f *facts) lists(field string, sort int, items *jsonschema.Schema) []any {
	list := []any{}
	if items != nil {
		for _, v := range f.values(field, items) {
			if items.Validate(v) == nil && !slices.Contains(list, v) && (sort > 0 || items.Enum != nil || len(list) == 0) {
				list = append(list, v)
			}
		}
	}
	return []any{list}[:min(len(list), 1)]
}
