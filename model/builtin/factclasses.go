package builtin

import (
	"regexp"
	"slices"
	"strings"
)

// classOf says what kind of value a word in the name of a field asks for.
var classOf = classes(map[string]string{
	"place":    "city location place town destination origin country region where venue state capital",
	"person":   "name person author customer user contact recipient sender attendee owner firstname lastname fullname patient employee speaker participant guest member people",
	"company":  "company vendor supplier merchant organization organisation employer brand seller buyer",
	"email":    "email mail",
	"url":      "url uri link website homepage",
	"phone":    "phone telephone mobile fax",
	"date":     "date day when deadline birthday departure arrival",
	"time":     "time hour clock",
	"currency": "currency",
	"symbol":   "symbol ticker",
	"id":       "id identifier code reference sku",
	"language": "language lang",
	"formula":  "expression formula equation calculation",
	"text": "query queries q search question prompt text message content body input keyword keywords term terms topic subject title " +
		"description summary note notes answer response reply comment task reason explanation",
})

func classes(lists map[string]string) map[string]string {
	byWord := make(map[string]string)
	for class, list := range lists {
		for word := range strings.FieldsSeq(list) {
			byWord[word] = class
		}
	}
	return byWord
}

// properName matches capitalised words in a row.
const properName = `(\p{Lu}[\pL'’-]*(?: (?:de |la |von |van |of |the )?\p{Lu}[\pL'’-]*)*)`

const datePattern = `\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}` +
	`|(?:January|February|March|April|May|June|July|August|September|October|November|December) \d{1,2}(?:st|nd|rd|th)?(?:,? \d{4})?` +
	`|\d{1,2}(?:st|nd|rd|th)? (?:January|February|March|April|May|June|July|August|September|October|November|December)(?: \d{4})?` +
	`|(?:next )?(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)|\b(?:today|tomorrow|yesterday|tonight)\b`

// classPatterns find values of a class; the first group that matches is the
// value, or else the whole match.
var classPatterns = map[string][]expression{
	"place": {
		newExpression(`\b(?:[Ii]n|[Aa]t|[Ff]or|[Nn]ear|[Tt]o|[Ff]rom|[Oo]f)\s+` + properName),
		newExpression(properName + `['’]s\b`),
		newExpression(`\b(?:weather|live|lives|living|located|based|forecast|temperature)\b[^.?!\n]{0,20}?\s(?:in|for|at)\s+(\pL+(?: \pL+)?)\s*(?:[?.!,]|$)`),
		newExpression(`\b(?:weather|live|lives|living|located|based|forecast|temperature)\b[^.?!\n]{0,20}?\s(?:in|for|at)\s+(\pL+)`),
		newExpression(`[\pL,] ` + properName),
	},
	"person": {
		newExpression(`\b(?:[Nn]ame is|I am|I'm|I’m|named|called)\s+` + properName),
		newExpression(`\b(?:with|to|from|by|for|invite|contact|call|email)\s+` + properName),
		newExpression(`(?:^|[.!?\n]\s*|[\pL,] )` + properName),
	},
	"company": {
		newExpression(properName + ` (?:Inc|Corp|Ltd|LLC|GmbH|AG)\b`),
		newExpression(`\b(?:from|by|at|with|for)\s+` + properName),
	},
	"email":    {emailPattern},
	"url":      {urlPattern},
	"phone":    {newExpression(`\+?\d[\d ()/-]{5,18}\d`)},
	"date":     {newExpression(`(?i)` + datePattern)},
	"time":     {newExpression(`(?i)\b(?:\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]\.?m\b)?|\d{1,2}\s?[ap]\.?m\b|noon|midnight)`)},
	"currency": {newExpression(`\b(USD|EUR|GBP|JPY|CHF|CNY|INR|CAD|AUD|SEK|NOK|DKK|BRL|MXN|KRW|PLN)\b`)},
	"symbol":   {newExpression(`\b([A-Z]{2,5})\b`)},
	"id": {
		newExpression(`#\s?([\pL\pN][\pL\pN_-]*)`),
		newExpression(`\b([A-Z]+[-_]?\d[\w-]*)\b`),
		newExpression(`\b(\d{3,})\b`),
	},
	"language": {newExpression(`\b(?:in|to|into|from)?\s?\b(English|French|German|Spanish|Italian|Portuguese|Dutch|Russian|Chinese|Japanese|Korean|Arabic|Hindi|Polish|Swedish|Norwegian|Danish|Finnish|Greek|Turkish|Latin)\b`)},
	"formula":  {newExpression(`[(-]?\d[\d\s.()*/+^%-]*[*/+^%-][\d\s.()*/+^%-]*\d\)?`)},
}

var (
	emailPattern = newExpression(`[\pL\pN._%+-]+@[\pL\pN-]+(?:\.[\pL\pN-]+)+`)
	urlPattern   = newExpression(`https?://[^\s"'<>)\]]*[^\s"'<>)\].,;:!?]`)
)

// From and to tell the two ends of a journey or a conversion apart.
var (
	fromName = newExpression(`\b[Ff]rom\s+` + properName)
	toName   = newExpression(`\b(?:[Tt]o|[Ii]nto)\s+` + properName)
)

// classValue returns the first value of a class in a text.
func classValue(text, class string, words []string) (string, bool) {
	patterns := classPatterns[class]
	switch {
	case containsAny(words, "from", "origin", "source", "departure") && class != "date":
		patterns = append([]expression{fromName}, patterns...)
	case containsAny(words, "to", "destination", "target", "arrival") && class != "date":
		patterns = append([]expression{toName}, patterns...)
	}
	if class == "date" {
		patterns = append([]expression{afterWords(words)}, patterns...)
	}
	for _, pattern := range patterns {
		for _, m := range pattern().FindAllStringSubmatch(text, -1) {
			if value := firstGroup(m); !isCommonName(value) {
				return value, true
			}
		}
	}
	return "", false
}

// afterWords returns the pattern of a date that follows a word of a field, as in
// "due 2026-03-01" for due_date.
func afterWords(words []string) expression {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = regexp.QuoteMeta(word)
	}
	return newExpression(`(?i)\b(?:` + strings.Join(quoted, "|") + `)\b\W{0,3}(?:(?:on|by|at|is|date)\W{1,2}){0,2}(` + datePattern + `)`)
}

func containsAny(words []string, wanted ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(wanted, word) })
}

func firstGroup(match []string) string {
	for _, group := range match[1:] {
		if group != "" {
			return strings.TrimSpace(group)
		}
	}
	return strings.TrimSpace(match[0])
}

// isCommonName reports whether what looks like a name is a word that begins a
// sentence.
func isCommonName(value string) bool {
	first, _, _ := strings.Cut(strings.ToLower(value), " ")
	return stopWords[strings.ReplaceAll(first, "’", "'")] || instructions[first] && strings.Contains(value, " ") || instructions[strings.ToLower(value)]
}

// formatClass says which class of values has a format.
var formatClass = map[string]string{"email": "email", "idn-email": "email", "uri": "url", "iri": "url", "url": "url",
	"uri-reference": "url", "date": "date", "time": "time"}

var formatPatterns = map[string]expression{
	"date":      newExpression(`\d{4}-\d{2}-\d{2}`),
	"date-time": newExpression(`\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})`),
	"time":      newExpression(`\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})`),
	"uuid":      newExpression(`[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`),
	"ipv4":      newExpression(`\b\d{1,3}(?:\.\d{1,3}){3}\b`),
	"ipv6":      newExpression(`[0-9a-fA-F:]{3,39}`),
	"hostname":  newExpression(`\b(?:[a-zA-Z0-9-]+\.)+[a-zA-Z]{2,}\b`),
	"duration":  newExpression(`\bP(?:\d+[YMWD])*(?:T(?:\d+[HMS])+)?\b`),
}

// formatted returns the strings in the text that have a format, those first that
// the words of a field lead to.
func (f *facts) formatted(format string, fd field) []string {
	const most = 8
	var patterns []expression
	var found []string
	if format == "date" {
		for _, text := range f.texts {
			if m := afterWords(fd.words())().FindStringSubmatch(text); m != nil {
				found = append(found, m[1])
			}
		}
	}
	if own := formatPatterns[format]; own != nil {
		patterns = append(patterns, own)
	}
	patterns = append(patterns, classPatterns[formatClass[format]]...)
	for _, text := range f.texts {
		for _, pattern := range patterns {
			found = append(found, pattern().FindAllString(text, most)...)
		}
	}
	var forms []string
	for _, value := range found {
		forms = append(forms, value)
		if whole, ok := standard(format, value); ok {
			forms = append(forms, whole)
		}
	}
	return forms
}

// matching returns the parts of the text that a pattern matches once its anchors
// are taken off.
func (f *facts) matching(pattern string) []string {
	const most = 8
	pattern = strings.TrimSuffix(strings.TrimPrefix(pattern, "^"), "$")
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil
	}
	var found []string
	for _, text := range f.texts {
		found = append(found, re.FindAllString(text, most)...)
	}
	return found
}
