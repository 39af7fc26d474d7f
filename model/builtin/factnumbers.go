package builtin

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"
)

// number is a number in a text.
type number struct {
	digits string // as JSON writes it
	at     int    // where it stands; texts follow one another
	money  bool   // it has a currency sign
	text   int    // which text it is in
}

var (
	numberPattern = newExpression(`-?\d+(?:,\d{3})*(?:\.\d+)?`)
	moneyBefore   = newExpression(`[$€£¥]\s?$`)
	notNumbers    = newExpression(`(?i)` + datePattern + `|\d{1,2}:\d{2}(?::\d{2})?|[\pL_]+-?\d[\pL\pN_-]*|#\d+`)
	numberWord    = newExpression(`(?i)\b(two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b`)
)

var numberWords = map[string]string{"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
	"eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12"}

// textGap keeps numbers of different texts apart.
const textGap = 1 << 20

// scan reads the numbers of all texts, those in dates and names left out.
func (f *facts) scan() {
	if f.scanned {
		return
	}
	f.scanned = true
	for i, text := range f.texts {
		skip := notNumbers().FindAllStringIndex(text, -1)
		for _, m := range numberPattern().FindAllStringIndex(text, -1) {
			if within(skip, m[0]) {
				continue
			}
			digits := strings.ReplaceAll(text[m[0]:m[1]], ",", "")
			if v := json.Number(digits); !json.Valid([]byte(v)) {
				continue
			}
			f.all = append(f.all, number{digits, i*textGap + m[0], moneyBefore().MatchString(text[max(0, m[0]-4):m[0]]), i})
		}
		for _, m := range numberWord().FindAllStringIndex(text, -1) {
			f.all = append(f.all, number{numberWords[strings.ToLower(text[m[0]:m[1]])], i*textGap + m[0], false, i})
		}
	}
}

// within reports whether a position is in one of the spans, which are in order.
func within(spans [][]int, at int) bool {
	i, _ := slices.BinarySearchFunc(spans, at, func(span []int, at int) int {
		if span[1] <= at {
			return -1
		}
		return 1
	})
	return i < len(spans) && spans[i][0] <= at
}

// near is how far a number may be from the word that says what it counts, in
// bytes.
const near = 60

// numbers returns the numbers of the text that may be a field's, best first:
// those near a word of the field, and, where the text has none, those of the
// message that no other field has used.
func (f *facts) numbers(fd field) []number {
	f.scan()
	if len(f.all) == 0 {
		return nil
	}
	m := remember(f.mentions, fd.name, func() mention { return f.findMentions(fd.words()) })
	type rated struct {
		number
		distance float64
	}
	var close []rated
	for _, n := range f.all {
		if distance := m.distance(n); distance <= near {
			close = append(close, rated{n, distance})
		}
	}
	slices.SortStableFunc(close, func(a, b rated) int { return int(a.distance - b.distance) })
	var found []number
	for _, r := range close {
		found = append(found, r.number)
	}
	for _, n := range f.all {
		if n.text == 0 && !f.used[n.at] {
			found = append(found, n)
		}
	}
	return found
}

// mention is where the text has the words of a field, or words that go with
// them, and whether the field is a sum of money.
type mention struct {
	places []int
	money  bool
}

// distance returns how far the nearest mention is from a number, in bytes.
func (m mention) distance(n number) float64 {
	best := math.Inf(1)
	if m.money && n.money {
		best = 0
	}
	for _, place := range m.places {
		best = min(best, math.Abs(float64(place-n.at)))
	}
	return best
}

func (f *facts) findMentions(words []string) mention {
	var m mention
	wanted := map[string]bool{}
	for _, word := range words {
		wanted[stem(word)] = true
		for _, other := range unitWords[word] {
			wanted[stem(other)] = true
			m.money = m.money || other == "dollars"
		}
	}
	delete(wanted, "")
	for i, text := range f.texts {
		eachWord(text, func(start, end int) {
			if wanted[f.c.stemmer.term(text[start:end])] {
				m.places = append(m.places, i*textGap+start)
			}
		})
	}
	return m
}

var moneyWords = []string{"price", "cost", "costs", "paid", "pay", "dollars", "euros", "usd", "eur", "amount", "total", "budget", "fee"}

// unitWords are words that stand beside the numbers of a field.
var unitWords = map[string][]string{
	"age": {"years", "old", "aged"}, "price": moneyWords, "cost": moneyWords, "amount": moneyWords, "total": moneyWords, "budget": moneyWords,
	"temperature": {"degrees", "celsius", "fahrenheit"}, "guests": {"people", "persons", "guests"}, "people": {"persons", "guests"},
	"duration": {"minutes", "hours", "days", "seconds"}, "weight": {"kg", "kilos", "pounds"}, "height": {"cm", "meters", "feet"},
	"distance": {"km", "miles", "meters"}, "salary": moneyWords, "percent": {"percent"}, "rating": {"stars", "rating"},
}

// use marks a number as used.
func (f *facts) use(n number) { f.used[n.at] = true }

// standard writes a date or a time of day as the format wants it.
func standard(format, value string) (string, bool) {
	value = strings.NewReplacer("st ", " ", "nd ", " ", "rd ", " ", "th ", " ", "th,", ",", "st,", ",").Replace(value)
	layouts, want := []string{"January 2, 2006", "January 2 2006", "2 January 2006"}, "2006-01-02"
	if format == "time" {
		layouts, want = []string{"15:04", "15:04:05", "3:04 pm", "3:04pm", "3 pm", "3pm", "3:04 PM", "3:04PM", "3 PM", "3PM"}, "15:04:05Z"
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, value); err == nil {
			return t.Format(want), true
		}
	}
	return "", false
}
