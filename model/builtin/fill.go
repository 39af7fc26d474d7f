package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/schema"
)

// fill returns JSON text that satisfies a schema, filled with the facts where they
// fit, or a Rejected error where it finds none, or the context's.
func fill(ctx context.Context, text json.RawMessage, facts *facts) (string, error) {
	if len(text) == 0 {
		return "{}", nil
	}
	var cause error
	for _, formats := range []bool{true, false} {
		s, err := schema.Parse(text, formats)
		if cause = cmp.Or(ctx.Err(), err); cause != nil || schema.Parts(s) > schema.MaxParts {
			break
		}
		f := filler{schema: s, facts: facts, root: map[string]any{}, tries: map[string]int{}}
		if f.repair(ctx) {
			f.improve(s, "", f.root, 0, func(v any) { f.root = v })
			return marshal(f.root), nil
		}
	}
	return "", cmp.Or(ctx.Err(), error(&fault.Error{Kind: fault.Rejected, Code: "unsatisfiable_schema",
		Message: "The model found no value that satisfies the JSON Schema.", Err: cause}))
}

// marshal writes a value of the types of JSON, which cannot fail.
func marshal(v any) string {
	text, _ := jsonout.Marshal(v)
	return string(text)
}

// filler makes a value that satisfies a schema: it begins with an empty object and mends
// what validation finds wrong, and then puts in what the text says.
type filler struct {
	schema *jsonschema.Schema
	facts  *facts
	root   any
	tries  map[string]int // how often each place was mended
}

// repair makes the value valid, and reports whether it could.
func (f *filler) repair(ctx context.Context) bool {
	const mostRounds, mostValues = 300, 5000
	for round := 0; round < mostRounds && len(f.tries) < mostValues && ctx.Err() == nil; round++ {
		invalid, wrong := errors.AsType[*jsonschema.ValidationError](f.schema.Validate(f.root))
		if !wrong {
			return true
		}
		f.mend(invalid, map[string]bool{})
	}
	return false
}

// mend mends the causes of an error, at most one at each place.
func (f *filler) mend(e *jsonschema.ValidationError, mended map[string]bool) {
	at := strings.Join(e.InstanceLocation, "/")
	causes := e.Causes
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.Contains, *kind.MinContains: // one of them will do
		const patience = 16 // rounds before the next is tried
		f.tries["|"+at]++
		if len(causes) > 0 {
			causes = causes[f.tries["|"+at]/patience%len(causes):][:1]
		}
	}
	for _, cause := range causes {
		f.mend(cause, mended)
	}
	if len(causes) == 0 && !mended[at] {
		mended[at] = true
		f.tries[at]++
		f.root = change(f.root, e.InstanceLocation, func(v any) any { return f.mended(v, e, f.tries[at]) })
	}
}

// change returns a value with another one at a place in it.
func change(v any, at []string, with func(any) any) any {
	if len(at) == 0 {
		return with(v)
	}
	switch v := v.(type) {
	case map[string]any:
		v[at[0]] = change(v[at[0]], at[1:], with)
	case []any:
		if i, err := strconv.Atoi(at[0]); err == nil && i < len(v) {
			v[i] = change(v[i], at[1:], with)
		}
	}
	return v
}

// mended returns what comes in the place of a value for which a keyword does not hold, for
// the nth time.
func (f *filler) mended(v any, e *jsonschema.ValidationError, n int) any {
	object, _ := v.(map[string]any)
	array, _ := v.([]any)
	text, _ := v.(string)
	add := func(names ...string) any {
		for _, name := range names {
			object[name] = nil
		}
		return object
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		field := ""
		if len(e.InstanceLocation) > 0 {
			field = e.InstanceLocation[len(e.InstanceLocation)-1]
		}
		if _, ok := v.(json.Number); ok && slices.Contains(k.Want, "integer") && n > 1 {
			return number(math.Ceil(float(v)))
		}
		return map[string]any{"object": map[string]any{}, "array": []any{}, "string": f.facts.freeText(field), "integer": json.Number("0"),
			"number": json.Number("0"), "boolean": false, "null": nil}[k.Want[n/2%len(k.Want)]]
	case *kind.Const:
		return k.Want
	case *kind.Enum:
		return k.Want[(n-1)%len(k.Want)]
	case *kind.Required:
		return add(k.Missing...)
	case *kind.DependentRequired:
		return add(k.Missing...)
	case *kind.MinProperties:
		return add(fmt.Sprintf("property%d", n))
	case *kind.AdditionalProperties:
		maps.DeleteFunc(object, func(name string, _ any) bool { return slices.Contains(k.Properties, name) })
		return object
	case *kind.MinItems, *kind.Contains, *kind.MinContains:
		return append(array, nil)
	case *kind.MaxItems:
		return array[:k.Want]
	case *kind.UniqueItems:
		i := k.Duplicates[1]
		key := fmt.Sprint(e.InstanceLocation, i)
		f.tries[key]++
		array[i] = varied(array[i], i, f.tries[key])
		return array
	case *kind.MinLength:
		return firstRunes(strings.Repeat(cmp.Or(text, "x"), min(k.Want, 1<<14)), k.Want)
	case *kind.MaxLength:
		return firstRunes(text, k.Want)
	case *kind.Pattern:
		return sample(k.Want, n/8, n-1)
	case *kind.Format:
		return fmt.Sprintf(cmp.Or(formats[k.Want], "%d"), n)
	case *kind.Minimum:
		return number(float(k.Want))
	case *kind.Maximum:
		return number(float(k.Want))
	case *kind.ExclusiveMinimum:
		return number(float(k.Want) + 1/float64(int(1)<<min(n/8, 60)))
	case *kind.ExclusiveMaximum:
		return number(float(k.Want) - 1/float64(int(1)<<min(n/8, 60)))
	case *kind.MultipleOf:
		return number((math.Floor(float(k.Got)/float(k.Want)) + 1) * float(k.Want))
	}
	return varied(v, 1, n) // such as not
}

// varied returns another value: the first time by its position, and then one by one.
func varied(v any, position, n int) any {
	delta := -1
	if n == 1 {
		delta = position
	}
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = varied(v[name], position, n)
		}
		return v
	case []any:
		return append(v, delta)
	case string:
		return fmt.Sprintf("%d %s", position+n, v)
	case bool:
		return !v
	}
	return number(float(v) + float64(delta))
}

// improve puts what the text says about a field in the place of what is there now, where
// the whole stays valid, and reports whether it did.
func (f *filler) improve(s *jsonschema.Schema, field string, now any, depth int, set func(any)) bool {
	const deepest = 24
	object, isObject := now.(map[string]any)
	if s == nil || depth > deepest || isObject && s.Validate(now) != nil {
		return false
	}
	for _, part := range slices.Concat([]*jsonschema.Schema{s.Ref, s.RecursiveRef}, s.AllOf, s.AnyOf, s.OneOf) {
		if f.improve(part, field, now, depth+1, set) {
			return true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if v, ok := object[name]; isObject && !f.improve(s.Properties[name], name, v, depth+1, func(v any) { object[name] = v }) && !ok {
			delete(object, name)
		}
	}
	for _, candidate := range f.facts.values(field, s) {
		if isObject || s.Validate(candidate) != nil {
			continue
		}
		if set(candidate); f.schema.Validate(f.root) == nil {
			f.facts.used[strings.Trim(marshal(candidate), `"`)] = true
			return true
		}
		set(now)
	}
	array, _ := now.([]any)
	items, _ := s.Items.(*jsonschema.Schema)
	for i := range array {
		schemas := append(s.PrefixItems, cmp.Or(s.Items2020, items))
		f.improve(schemas[min(i, len(schemas)-1)], field, array[i], depth+1, func(v any) { array[i] = v })
	}
	return false
}

// formats are how strings of a format are made, with a number that makes them differ.
var formats = map[string]string{
	"date": "2026-01-%02d", "time": "09:%02d:00Z", "date-time": "2026-01-01T09:%02d:00Z", "duration": "P%dD", "email": "user%d@example.com",
	"hostname": "host%d.example.com", "ipv4": "192.0.2.%d", "ipv6": "2001:db8::%x", "uri": "https://example.com/%d", "uri-reference": "/%d",
	"iri": "https://example.com/%d", "iri-reference": "/%d", "uri-template": "/%d", "uuid": "00000000-0000-4000-8000-%012x",
	"json-pointer": "/%d", "relative-json-pointer": "%d", "regex": "^.{%d}", "semver": "1.0.%d", "period": "P%dD",
}

func number(v float64) json.Number { return json.Number(strconv.FormatFloat(v, 'f', -1, 64)) }

// float reads a number of the validator or of the value, and anything else as 0.
func float(v any) float64 {
	if r, ok := v.(*big.Rat); ok {
		v = r.FloatString(30)
	}
	f, _ := strconv.ParseFloat(fmt.Sprint(v), 64)
	return f
}

// sample returns a string that a regular expression is likely to match: anchors are taken
// for satisfied. Open repetitions are taken repeat times beyond their least, and different
// indexes prefer different characters and branches.
func sample(pattern string, index, repeat int) string {
	const longest = 1 << 12
	var out strings.Builder
	var write func(re *syntax.Regexp)
	write = func(re *syntax.Regexp) {
		times, subs := map[syntax.Op]int{syntax.OpStar: repeat, syntax.OpPlus: 1 + repeat, syntax.OpQuest: min(repeat, 1)}, re.Sub
		switch re.Op {
		case syntax.OpLiteral:
			out.WriteString(string(re.Rune))
		case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
			bounds := append([]rune{'a', 'z'}, re.Rune...) // the last two are likeliest to be of letters
			low, high := bounds[len(bounds)-2], bounds[len(bounds)-1]
			out.WriteRune(low + rune(index)%(high-low+1))
		case syntax.OpAlternate:
			subs = subs[index%len(subs):][:1]
		}
		n, repeats := times[re.Op]
		for i := 0; (i < n || i < 1 && !repeats) && out.Len() < longest; i++ {
			for _, sub := range subs {
				write(sub)
			}
		}
	}
	if re, err := syntax.Parse(pattern, syntax.Perl); err == nil {
		write(re.Simplify())
	}
	return out.String()
}
