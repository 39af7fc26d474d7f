package builtin

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// object makes an object: the required properties, those optional ones that the text has
// values for, and as many more as a minimum demands.
func (f *filler) object(parts []*jsonschema.Schema, w want) (filled, bool) {
	names, parts := required(parts)
	value, found, least, most := map[string]any{}, false, 0, mostItems
	for _, s := range parts {
		if s.MinProperties != nil {
			least = max(least, *s.MinProperties)
		}
		if s.MaxProperties != nil {
			most = min(most, *s.MaxProperties)
		}
	}
	put := func(name string, needed bool) bool {
		before := f.facts.mark()
		got, ok := f.property(parts, name, w)
		if !ok || !needed && !got.found {
			f.facts.used = before
			return false
		}
		value[name] = got.value
		found = found || got.found
		return true
	}
	for _, name := range names {
		if !put(name, true) {
			return filled{}, false
		}
	}
	optional := map[string]bool{}
	for _, s := range parts {
		for name := range s.Properties {
			optional[name] = true
		}
	}
	order := slices.Sorted(maps.Keys(optional))
	if len(order) > 0 {
		first := w.variant % len(order)
		order = slices.Concat(order[first:], order[:first])
	}
	for _, name := range order {
		needed := len(value) < least
		if _, there := value[name]; !there && len(value) < most && (needed || f.eager) {
			put(name, needed)
		}
	}
	for i := 0; len(value) < least; i++ {
		if i > 2*least+2*mostVariants || least > mostItems {
			return filled{}, false
		}
		name, ok := f.newName(parts, i+w.variant)
		for _, more := range []string{"", fmt.Sprint(i), "x"} {
			if _, taken := value[name+more]; ok && !taken && allowsName(parts, name+more) && put(name+more, true) {
				break
			}
		}
	}
	return filled{value: value, found: found}, true
}

// required returns the properties that must be there and adds to parts the schemas that
// depend on them.
func required(parts []*jsonschema.Schema) (names []string, all []*jsonschema.Schema) {
	all = slices.Clone(parts)
	add := func(more []string) {
		for _, name := range more {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, s := range all {
		add(s.Required)
	}
	for n := 0; n < len(names); n++ {
		for i := 0; i < len(all); i++ {
			add(all[i].DependentRequired[names[n]])
			dependent := all[i].DependentSchemas[names[n]]
			switch d := all[i].Dependencies[names[n]].(type) {
			case []string:
				add(d)
			case *jsonschema.Schema:
				dependent = d
			}
			if dependent != nil && !slices.Contains(all, dependent) {
				for _, s := range expand([]*jsonschema.Schema{dependent})[0] {
					all = append(all, s)
					add(s.Required)
				}
			}
		}
	}
	return names, all
}

// property makes the value of one property.
func (f *filler) property(parts []*jsonschema.Schema, name string, w want) (filled, bool) {
	var schemas, rest []*jsonschema.Schema
	for _, s := range parts {
		own, ok := propertySchemas(s, name)
		if !ok {
			return filled{}, false
		}
		schemas = append(schemas, own...)
		if s.UnevaluatedProperties != nil {
			rest = append(rest, s.UnevaluatedProperties)
		}
	}
	if len(schemas) == 0 {
		schemas = rest
	}
	return f.fill(schemas, want{field: name, index: w.index, depth: w.depth + 1})
}

// propertySchemas returns what s says about a property, and whether it allows it at all.
func propertySchemas(s *jsonschema.Schema, name string) (schemas []*jsonschema.Schema, ok bool) {
	if own := s.Properties[name]; own != nil {
		schemas = append(schemas, own)
	}
	for _, pattern := range patterns(s) {
		if pattern.MatchString(name) {
			schemas = append(schemas, s.PatternProperties[pattern])
		}
	}
	if len(schemas) > 0 {
		return schemas, true
	}
	switch more := s.AdditionalProperties.(type) {
	case bool:
		return nil, more
	case *jsonschema.Schema:
		return []*jsonschema.Schema{more}, more.Bool == nil || *more.Bool
	}
	return nil, true
}

// allowsName reports whether the schemas allow a property of a name.
func allowsName(parts []*jsonschema.Schema, name string) bool {
	return !slices.ContainsFunc(parts, func(s *jsonschema.Schema) bool {
		_, ok := propertySchemas(s, name)
		return !ok || s.PropertyNames != nil && s.PropertyNames.Validate(name) != nil
	})
}

// newName makes a property name that the schemas allow.
func (f *filler) newName(parts []*jsonschema.Schema, i int) (string, bool) {
	var rules []*jsonschema.Schema
	name, allowed := fmt.Sprintf("property%d", i+1), true
	for _, s := range parts {
		if s.PropertyNames != nil {
			rules = append(rules, s.PropertyNames)
		}
	}
	for _, s := range parts {
		if _, ok := propertySchemas(s, name); (!ok || len(rules) > 0) && len(s.PatternProperties) > 0 {
			all := patterns(s)
			name, allowed = sample(all[i%len(all)].String(), i/len(all), 0)
		} else {
			allowed = allowed && ok
		}
	}
	if allowed && satisfies(rules, name) {
		return name, true
	} else if len(rules) == 0 {
		return "", false
	}
	got, ok := f.fill(rules, want{index: i + 1})
	name, isText := got.value.(string)
	return name, ok && isText
}

// patterns returns those of patternProperties in one order.
func patterns(s *jsonschema.Schema) []jsonschema.Regexp {
	return slices.SortedFunc(maps.Keys(s.PatternProperties), func(a, b jsonschema.Regexp) int {
		return strings.Compare(a.String(), b.String())
	})
}

// array makes an array: the items that the text lists, or one that has something of the
// text in it, and as many more as a minimum demands.
func (f *filler) array(parts []*jsonschema.Schema, w want) (filled, bool) {
	least, most, holding, tuple, unique := 0, mostItems, 0, 0, false
	for _, s := range parts {
		own := 0
		if s.Contains != nil {
			own = 1
			if s.MinContains != nil {
				own = *s.MinContains
			}
		}
		if s.MinItems != nil {
			least = max(least, *s.MinItems)
		}
		if s.MaxItems != nil {
			most = min(most, *s.MaxItems)
		}
		items, _ := s.Items.([]*jsonschema.Schema)
		holding, tuple, unique = max(holding, own), max(tuple, len(s.PrefixItems), len(items)), unique || s.UniqueItems
	}
	if least = max(least, holding); least > most || least > mostItems {
		return filled{}, false
	}
	item := func(i int) []*jsonschema.Schema { return itemSchemas(parts, i, tuple, holding) }
	items, goal := []any{}, least
	if f.eager && tuple == 0 && w.index == 0 {
		items = f.listItems(parts, item, most, w)
	}
	found := len(items) > 0
	if f.eager {
		goal = max(goal, min(tuple, most))
	}
	if f.eager && !found && goal == 0 && most > 0 {
		before := f.facts.mark()
		if got, ok := f.fill(item(0), want{field: w.field, depth: w.depth + 1}); ok && got.found {
			return filled{value: []any{got.value}, found: true}, true
		}
		f.facts.used = before
	}
	for index, variant := w.index, 0; len(items) < goal; index++ {
		got, ok := f.fill(item(len(items)), want{w.field, index, w.depth + 1, variant})
		if !ok || index-w.index > 2*goal+8 {
			return filled{}, false
		}
		if unique && has(items, got.value) || overfull(parts, append(slices.Clip(items), got.value)) {
			variant++
			continue
		}
		variant = 0
		items, found = append(items, got.value), found || got.found
	}
	return filled{value: items, found: found}, true
}

// itemSchemas returns what must hold for the item at a position. The first that are free
// satisfy contains.
func itemSchemas(parts []*jsonschema.Schema, i, tuple, holding int) (schemas []*jsonschema.Schema) {
	for _, s := range parts {
		prefix, rest := s.PrefixItems, s.Items2020
		switch items := s.Items.(type) {
		case []*jsonschema.Schema:
			prefix = items
			rest, _ = s.AdditionalItems.(*jsonschema.Schema)
		case *jsonschema.Schema:
			rest = items
		}
		if i < len(prefix) {
			schemas = append(schemas, prefix[i])
		} else if rest != nil {
			schemas = append(schemas, rest)
		}
		if s.Contains != nil && i < holding {
			schemas = append(schemas, s.Contains)
		}
	}
	return schemas
}

// overfull reports whether more items satisfy contains than may.
func overfull(parts []*jsonschema.Schema, items []any) bool {
	for _, s := range parts {
		if s.Contains == nil || s.MaxContains == nil {
			continue
		}
		n := 0
		for _, item := range items {
			if s.Contains.Validate(item) == nil {
				n++
			}
		}
		if n > *s.MaxContains {
			return true
		}
	}
	return false
}

// listItems returns the values of a list in the text that fit the items.
func (f *filler) listItems(parts []*jsonschema.Schema, item func(int) []*jsonschema.Schema, most int, w want) []any {
	items, allowed := []any{}, []any(nil)
	for _, way := range expand(item(0)) {
		if values, ok := listed(way); ok && allowed == nil {
			allowed = values
		}
	}
	for _, candidate := range f.facts.list(w.field, allowed) {
		if len(items) < most && !has(items, candidate) && satisfies(item(len(items)), candidate) && !overfull(parts, append(slices.Clip(items), candidate)) {
			items = append(items, candidate)
		}
	}
	return items
}

func has(items []any, v any) bool {
	text := marshal(v)
	return slices.ContainsFunc(items, func(item any) bool { return marshal(item) == text })
}

// number makes a number: one of the text that fits, or one near zero or a bound.
func (f *filler) number(kind string, parts []*jsonschema.Schema, w want) (filled, bool) {
	if w.index == 0 {
		for _, n := range f.facts.numbersFor(w.field) {
			if v := json.Number(n.digits); satisfies(parts, v) {
				f.facts.used[n.at] = true
				return filled{value: v, found: true}, true
			}
		}
	}
	var low, high, step *big.Rat
	if kind == "integer" {
		step = big.NewRat(1, 1)
	}
	for _, s := range parts {
		for _, bound := range []*big.Rat{s.Minimum, s.ExclusiveMinimum} {
			if bound != nil && (low == nil || bound.Cmp(low) > 0) {
				low = bound
			}
		}
		for _, bound := range []*big.Rat{s.Maximum, s.ExclusiveMaximum} {
			if bound != nil && (high == nil || bound.Cmp(high) < 0) {
				high = bound
			}
		}
		if s.MultipleOf != nil && s.MultipleOf.Sign() > 0 {
			step = commonMultiple(step, s.MultipleOf)
		}
	}
	start, pieces := new(big.Rat), big.NewRat(1024, 1)
	up := high == nil || high.Sign() > 0 && (low == nil || new(big.Rat).Add(low, high).Sign() >= 0)
	if low != nil && low.Sign() >= 0 {
		start, up = low, true
	} else if high != nil && high.Sign() <= 0 {
		start, up = high, false
	}
	if step != nil { // the multiple next to the start
		quotient := new(big.Rat).Quo(start, step)
		count := new(big.Int).Div(quotient.Num(), quotient.Denom()) // rounds down
		if up && !quotient.IsInt() {
			count.Add(count, big.NewInt(1))
		}
		start = new(big.Rat).Mul(new(big.Rat).SetInt(count), step)
	} else if step = big.NewRat(1, 1); low != nil && high != nil && high.Cmp(low) > 0 && new(big.Rat).Sub(high, low).Cmp(pieces) < 0 {
		step = new(big.Rat).Quo(new(big.Rat).Sub(high, low), pieces)
	}
	if !up {
		step = new(big.Rat).Neg(step)
	}
	// From the start the way leads to one bound, and then from the start to the other.
	skip := max(w.index-1, 0)
	if n := decimal(new(big.Rat).Add(start, new(big.Rat).Mul(step, big.NewRat(int64(skip), 1)))); satisfies(parts, n) {
		return filled{value: n}, true
	}
	for _, direction := range []*big.Rat{step, new(big.Rat).Neg(step)} {
		v := start
		if direction != step {
			v = new(big.Rat).Add(v, direction)
		}
		for range skip + 16 {
			if n := decimal(v); satisfies(parts, n) {
				if skip == 0 {
					return filled{value: n}, true
				}
				skip--
			}
			v = new(big.Rat).Add(v, direction)
		}
	}
	return filled{wrong: true}, false
}

// commonMultiple returns the least number that is a multiple of both. For reduced fractions
// that is the least common multiple of the numerators over the greatest common divisor of
// the denominators.
func commonMultiple(a, b *big.Rat) *big.Rat {
	if a == nil {
		return b
	}
	num := new(big.Int).Mul(a.Num(), b.Num())
	num.Quo(num, new(big.Int).GCD(nil, nil, a.Num(), b.Num()))
	return new(big.Rat).SetFrac(num, new(big.Int).GCD(nil, nil, a.Denom(), b.Denom()))
}

// decimal writes a number with as many digits as it needs, up to a bound.
func decimal(v *big.Rat) json.Number {
	const mostDigits = 400
	if v.IsInt() {
		return json.Number(v.Num().String())
	}
	digits, _ := v.FloatPrec()
	return json.Number(strings.TrimRight(strings.TrimRight(v.FloatString(min(max(digits, 1), mostDigits)), "0"), "."))
}

// text makes a string: one of the text that fits, or one made for the format or the
// pattern, or free text.
func (f *filler) text(parts []*jsonschema.Schema, w want) (filled, bool) {
	const longest = 1 << 14
	least, most, format := 0, longest, ""
	var expressions []string
	for _, s := range parts {
		if s.MinLength != nil {
			least = max(least, *s.MinLength)
		}
		if s.MaxLength != nil {
			most = min(most, *s.MaxLength)
		}
		if s.Pattern != nil && !slices.Contains(expressions, s.Pattern.String()) {
			expressions = append(expressions, s.Pattern.String())
		}
		if s.Format != nil {
			format = s.Format.Name
		}
	}
	if least > most {
		return filled{}, false
	}
	fit := func(text string) string {
		if n := utf8.RuneCountInString(text); n < least {
			text = strings.Repeat(text+"x"[:min(1, max(0, 1-n))], least/max(n, 1)+1)
			return firstRunes(text, least)
		}
		return firstRunes(text, most)
	}
	if w.index == 0 {
		for _, candidate := range f.facts.texts(w.field, format, expressions) {
			if fitted := fit(candidate); fitted != "" && satisfies(parts, fitted) {
				return filled{value: fitted, found: true}, true
			}
		}
	}
	made := []string{sampleFormat(format, w.index)}[:min(len(format), 1)]
	for _, pattern := range expressions {
		for repeat := 0; repeat <= least; repeat = max(2*repeat, 1) {
			v, _ := sample(pattern, w.index, repeat)
			made = append(made, v)
		}
		for _, repeat := range []int{1, least} {
			v, _ := sample(pattern, w.index, repeat)
			made = append(made, v)
		}
	}
	for i := range made[:len(made):len(made)] { // one that more patterns match
		for _, end := range made {
			if len(expressions) > 1 && len(made) < 256 {
				made = append(made, made[i]+end)
			}
		}
	}
	free := numbered(f.facts.freeText(w.field), w.index, most)
	if w.variant > 1 {
		free = fmt.Sprint(w.index)
	}
	for _, candidate := range append(made, free) {
		if fitted := fit(candidate); satisfies(parts, fitted) {
			return filled{value: fitted}, true
		}
	}
	return filled{wrong: true}, false
}

// numbered makes a text different from others by a number at its end.
func numbered(text string, index, most int) string {
	if suffix := fmt.Sprintf(" %d", index+1); index > 0 && most > len(suffix) {
		return firstRunes(text, most-len(suffix)) + suffix
	} else if index > 0 {
		return string(rune('a' + (index+1)%26))
	}
	return text
}

// sampleFormat returns a string of a format; index makes it differ.
func sampleFormat(format string, index int) string {
	text := map[string]string{
		"date": "2026-01-%02d", "date-time": "2026-01-%02dT09:00:00Z", "time": "09:%02d:00Z", "duration": "P%dD", "period": "P%dD",
		"email": "user%d@example.com", "idn-email": "user%d@example.com", "hostname": "host%d.example.com", "idn-hostname": "host%d.example.com",
		"ipv4": "192.0.2.%d", "ipv6": "2001:db8::%x", "uuid": "00000000-0000-4000-8000-%012x", "json-pointer": "/%d", "relative-json-pointer": "%d",
		"regex": "^.{%d}", "semver": "1.0.%d",
	}[format]
	if text == "" {
		text = "https://example.com/%d"
	}
	if n := 1 + index; strings.HasPrefix(text, "2026") {
		return fmt.Sprintf(text, 1+index%28)
	} else {
		return fmt.Sprintf(text, n%250)
	}
}

// sample returns a string that a regular expression is likely to match: anchors are taken
// for satisfied. Open repetitions are taken repeat times beyond their least, and different
// indexes prefer different characters and branches. It fails for an expression that cannot
// be read.
func sample(pattern string, index, repeat int) (string, bool) {
	const longest = 1 << 12
	var out strings.Builder
	var write func(re *syntax.Regexp)
	write = func(re *syntax.Regexp) {
		times := 1
		switch re.Op {
		case syntax.OpLiteral:
			out.WriteString(string(re.Rune))
		case syntax.OpCharClass:
			c, choices := runeOf(re.Rune, index)
			out.WriteRune(c)
			index /= choices
		case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
			out.WriteRune('a' + rune(index%26))
			index /= 26
		case syntax.OpAlternate:
			sub := re.Sub[index%len(re.Sub)]
			index /= len(re.Sub)
			write(sub)
			return
		case syntax.OpStar:
			times = repeat
		case syntax.OpPlus:
			times = 1 + repeat
		case syntax.OpQuest:
			times = min(repeat, 1)
		case syntax.OpRepeat:
			if times = re.Min + repeat; re.Max >= 0 {
				times = min(times, re.Max)
			}
		}
		for i := 0; i < times && out.Len() < longest; i++ {
			for _, sub := range re.Sub {
				write(sub)
			}
		}
	}
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err == nil {
		write(re)
	}
	return out.String(), err == nil
}

// runeOf chooses a character of a class, given as pairs of bounds, and says of how many: a
// small letter where there is one, or else a digit, a capital, or what can be seen.
func runeOf(pairs []rune, index int) (c rune, choices int) {
	for _, kind := range [][2]rune{{'a', 'z'}, {'1', '9'}, {'0', '9'}, {'A', 'Z'}, {'!', '~'}, {0, utf8.MaxRune}} {
		total := rune(0)
		for pass := range 2 {
			for i, left := 0, rune(index)%max(total, 1); i+1 < len(pairs); i += 2 {
				low, high := max(pairs[i], kind[0]), min(pairs[i+1], kind[1])
				if n := high - low + 1; pass == 0 {
					total += max(n, 0)
				} else if n > left {
					return low + left, int(total)
				} else {
					left -= max(n, 0)
				}
			}
		}
	}
	return 'a', 1
}
