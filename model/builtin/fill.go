package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/schema"
)

// The bounds of the search for a value.
const (
	mostSteps = 10000 // values made in one attempt, those thrown away included
	mostWays  = 32    // ways through the anyOf, oneOf and if of one schema
	mostItems = 500   // items of an array, or properties of an object, made to reach a minimum
	mostTries = 16    // rounds of making a value for one place, the second half as for a first one
)

// attempts are how a schema is filled, in turn: first with every field that the text has a
// value for, then with as little as possible, and deeper each time, for a recursive schema
// ends only where it may.
var attempts = []struct {
	eager bool
	depth int
}{{true, 6}, {false, 3}, {false, 8}, {false, 24}, {false, 64}}

// fill returns JSON text that satisfies a schema, filled with the facts where they fit, or
// a Rejected error where it finds none, or the context's.
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
		for _, attempt := range attempts {
			facts.used = map[int]bool{}
			f := filler{ctx: ctx, facts: facts, eager: attempt.eager, depth: attempt.depth, steps: mostSteps}
			if got, ok := f.fill([]*jsonschema.Schema{s}, want{}); ok {
				return marshal(got.value), nil
			}
		}
	}
	return "", cmp.Or(ctx.Err(), error(&fault.Error{Kind: fault.Rejected, Code: fault.CodeUnsatisfiable,
		Message: "The model found no value that satisfies the JSON Schema.", Err: cause}))
}

// marshal writes a value of the types of JSON, which cannot fail.
func marshal(v any) string {
	text, _ := jsonout.Marshal(v)
	return string(text)
}

// filler makes a value that satisfies a schema. It proposes values by what the schema says
// of their kind, size and members, and validation decides: what it does not know, such as
// not, is satisfied by the first proposal that happens to.
type filler struct {
	ctx   context.Context
	facts *facts
	eager bool // look for optional fields and at all alternatives
	depth int  // how deep values may nest
	steps int  // how many values may still be made
}

// want says what a value is for.
type want struct {
	field string
	index int // which of several values that must differ
	depth int
	fits  func(any) bool // what else must hold, nil for nothing
}

// filled is a value; found says that it comes from the text.
type filled struct {
	value any
	found bool
}

// fill makes a value that satisfies all the schemas: one of the text, or else the first. It
// fails where it finds none within its bounds.
func (f *filler) fill(schemas []*jsonschema.Schema, w want) (best filled, have bool) {
	ways, start, proposed := expand([][]*jsonschema.Schema{nil}, schemas), w.index, w.depth <= f.depth
	for try := 0; try < mostTries && !have && proposed; try++ {
		if w.index = start + try; try >= mostTries/2 {
			w.index = try - mostTries/2
		}
		proposed = false
		for _, parts := range ways {
			if f.steps--; f.steps < 0 || f.ctx.Err() != nil {
				return best, have
			}
			before := maps.Clone(f.facts.used)
			for got := range f.proposals(shapeOf(parts), w) {
				f.steps--
				proposed = true
				if satisfies(parts, got.value) && (w.fits == nil || w.fits(got.value)) {
					if got.found || !f.eager {
						return got, true
					} else if !have {
						best, have = got, true
					}
				}
				f.facts.used = maps.Clone(before)
			}
		}
	}
	return best, have
}

func satisfies(schemas []*jsonschema.Schema, v any) bool {
	return !slices.ContainsFunc(schemas, func(s *jsonschema.Schema) bool { return s.Validate(v) != nil })
}

// expand adds schemas to each way of satisfying others, with what they refer to: a way is
// a list of schemas whose own keywords, all together, are to be satisfied. What is not
// resolved, such as not, is left for validation. A schema that a way has already adds
// nothing, which also ends references in a circle.
func expand(ways [][]*jsonschema.Schema, schemas []*jsonschema.Schema) [][]*jsonschema.Schema {
	for _, s := range schemas {
		var next [][]*jsonschema.Schema
		for _, way := range ways {
			if s == nil || slices.Contains(way, s) {
				next = append(next, way)
				continue
			}
			more := [][]*jsonschema.Schema{append(slices.Clip(way), s)}
			for _, branches := range alternatives(s) {
				var all [][]*jsonschema.Schema
				for _, branch := range branches {
					all = append(all, expand(more, branch)...)
				}
				more = all[:min(len(all), mostWays)]
			}
			next = append(next, more...)
		}
		ways = next[:min(len(next), mostWays)]
	}
	return ways
}

// alternatives returns what a schema has of others: a list of alternatives for each
// keyword, and an alternative is the schemas that hold together.
func alternatives(s *jsonschema.Schema) [][][]*jsonschema.Schema {
	together := append([]*jsonschema.Schema{s.Ref, s.RecursiveRef}, s.AllOf...)
	if s.DynamicRef != nil {
		together = append(together, s.DynamicRef.Ref)
	}
	all := [][][]*jsonschema.Schema{{together}}
	for _, list := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		if list != nil {
			all = append(all, slices.Collect(slices.Chunk(list, 1)))
		}
	}
	if s.If != nil {
		all = append(all, [][]*jsonschema.Schema{{s.If, s.Then}, {s.Else}})
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(s.DependentSchemas)), maps.Keys(s.Dependencies))
	for _, name := range slices.Sorted(slices.Values(names)) {
		old, _ := s.Dependencies[name].(*jsonschema.Schema)
		all = append(all, [][]*jsonschema.Schema{{s.DependentSchemas[name], old}, nil})
	}
	return all
}

var allKinds = []string{"string", "object", "array", "number", "integer", "boolean", "null"}

// shape is what the own keywords of schemas say together.
type shape struct {
	parts                     []*jsonschema.Schema
	kinds                     []string // those allowed, first the one that they are about
	listed                    []any    // by const or enum
	properties, items, length span
	names                     map[string]bool // of properties
	contains, tuple           int             // how many of the items
	unique                    bool
	bounds, multiples         []*big.Rat
	format                    string
	patterns                  []string
}

// span is how many there may be of something.
type span struct{ least, most int }

func (s *span) narrow(least, most *int) {
	s.least, s.most = max(s.least, or(least, 0)), min(s.most, or(most, s.most))
}

func or(p *int, otherwise int) int {
	if p == nil {
		return otherwise
	}
	return *p
}

func shapeOf(parts []*jsonschema.Schema) *shape {
	const longest = 1 << 14
	all := span{0, mostItems}
	sh := &shape{parts: parts, kinds: slices.Clone(allKinds), properties: all, items: all, length: span{0, longest}, names: map[string]bool{}}
	for _, s := range parts {
		if s.Const != nil {
			sh.listed = []any{*s.Const}
		} else if s.Enum != nil && sh.listed == nil {
			sh.listed = s.Enum.Values
		}
		if s.Properties != nil || s.Required != nil || s.PatternProperties != nil || s.MinProperties != nil {
			sh.kinds = slices.Insert(sh.kinds, 0, "object")
		} else if s.Items != nil || s.Items2020 != nil || s.PrefixItems != nil || s.Contains != nil || s.MinItems != nil {
			sh.kinds = slices.Insert(sh.kinds, 0, "array")
		}
		sh.properties.narrow(s.MinProperties, s.MaxProperties)
		sh.items.narrow(s.MinItems, s.MaxItems)
		sh.length.narrow(s.MinLength, s.MaxLength)
		for name := range s.Properties {
			sh.names[name] = true
		}
		if s.Contains != nil {
			sh.contains = max(sh.contains, or(s.MinContains, 1))
		}
		items, _ := s.Items.([]*jsonschema.Schema)
		sh.tuple, sh.unique = max(sh.tuple, len(s.PrefixItems), len(items)), sh.unique || s.UniqueItems
		sh.bounds = append(sh.bounds, s.Minimum, s.ExclusiveMinimum, s.Maximum, s.ExclusiveMaximum)
		sh.multiples = append(sh.multiples, s.MultipleOf)
		if s.Format != nil {
			sh.format = s.Format.Name
		}
		if s.Pattern != nil {
			sh.patterns = append(sh.patterns, s.Pattern.String())
		}
	}
	for _, s := range parts {
		sh.kinds = slices.DeleteFunc(sh.kinds, func(kind string) bool {
			return s.Types != nil && !slices.Contains(s.Types.ToStrings(), kind) && !(kind == "integer" && slices.Contains(s.Types.ToStrings(), "number"))
		})
	}
	slices.Sort(sh.patterns)
	none := func(bound *big.Rat) bool { return bound == nil }
	sh.bounds, sh.multiples = slices.DeleteFunc(sh.bounds, none), slices.DeleteFunc(sh.multiples, none)
	sh.patterns, sh.items.least = slices.Compact(sh.patterns), max(sh.items.least, sh.contains)
	return sh
}

// proposals yields values for schemas whose references and alternatives have been resolved,
// so that their own keywords say what may be: those that are listed, or of each kind those of
// the text and those that are made.
func (f *filler) proposals(sh *shape, w want) iter.Seq[filled] {
	return func(yield func(filled) bool) {
		if w.index == 0 {
			if i, ok := f.facts.choose(w.field, sh.listed); ok && !yield(filled{sh.listed[i], true}) {
				return
			}
			nullable := slices.Contains(sh.kinds, "null") && !slices.Equal(sh.kinds, allKinds)
			if (nullable || slices.Contains(sh.listed, nil)) && !yield(filled{}) { // rather than a guess
				return
			}
		}
		for i := range sh.listed {
			if !yield(filled{value: sh.listed[(w.index+i)%len(sh.listed)]}) {
				return
			}
		}
		for i, kind := range sh.kinds {
			more := true
			switch {
			case sh.listed != nil || slices.Index(sh.kinds, kind) < i:
			case kind == "string":
				more = f.strings(sh, w, yield)
			case kind == "number" || kind == "integer":
				more = f.numbers(kind == "integer", sh, w, yield)
			case kind == "boolean" && w.index > 0:
				more = yield(filled{value: w.index%2 == 0})
			case kind == "boolean":
				more = yield(f.facts.boolean(w.field))
			case kind == "null":
				more = yield(filled{})
			default:
				made := map[string]func(*shape, want) (filled, bool){"object": f.object, "array": f.array}[kind]
				if got, ok := made(sh, w); ok {
					more = yield(got)
				}
			}
			if !more {
				return
			}
		}
	}
}

// object makes an object: the required properties, those optional ones that the text has
// values for, and as many more as a minimum demands.
func (f *filler) object(sh *shape, w want) (filled, bool) {
	value, found, least, most := map[string]any{}, false, sh.properties.least, sh.properties.most
	put := func(name string, needed bool) bool {
		schemas, ok := property(sh.parts, name)
		if _, there := value[name]; there || !ok || !needed && (!f.eager || len(value) >= most) {
			return false
		}
		before := f.facts.used
		got, ok := f.fill(schemas, want{field: name, index: w.index, depth: w.depth + 1})
		if !ok || !needed && !got.found {
			f.facts.used = before
			return false
		}
		value[name], found = got.value, found || got.found
		return true
	}
	complete := func() bool {
		for names := missing(sh.parts, value); len(names) > 0; names = missing(sh.parts, value) {
			if slices.ContainsFunc(names, func(name string) bool { return !put(name, true) }) {
				return false
			}
		}
		return true
	}
	if !complete() {
		return filled{}, false
	}
	order := slices.Sorted(maps.Keys(sh.names))
	for i := range order {
		put(order[(i+w.index)%len(order)], len(value) < least)
	}
	for i := 0; len(value) < least && i <= 2*least+mostTries && least <= mostItems; i++ {
		_ = slices.ContainsFunc(f.names(sh.parts, i+w.index), func(name string) bool { return put(name, true) })
	}
	return filled{value, found}, complete() && len(value) >= least
}

// missing returns the properties that must be in an object and are not, in order.
func missing(parts []*jsonschema.Schema, object map[string]any) (names []string) {
	for _, s := range parts {
		names = append(names, s.Required...)
		for name, more := range s.DependentRequired {
			if _, there := object[name]; there {
				names = append(names, more...)
			}
		}
		for name, of := range s.Dependencies {
			if more, ok := of.([]string); ok {
				if _, there := object[name]; there {
					names = append(names, more...)
				}
			}
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { _, there := object[name]; return there })
}

// property returns what the schemas say about a property, and whether they allow it at all.
func property(parts []*jsonschema.Schema, name string) (schemas []*jsonschema.Schema, ok bool) {
	var rest []*jsonschema.Schema
	for _, s := range parts {
		own := []*jsonschema.Schema{s.Properties[name]}
		for _, pattern := range propertyPatterns(s) {
			if pattern.MatchString(name) {
				own = append(own, s.PatternProperties[pattern])
			}
		}
		if own = slices.DeleteFunc(own, func(s *jsonschema.Schema) bool { return s == nil }); len(own) == 0 {
			more, _ := s.AdditionalProperties.(*jsonschema.Schema)
			own = append(own, more)
		}
		if s.AdditionalProperties == false && own[0] == nil || s.PropertyNames != nil && s.PropertyNames.Validate(name) != nil {
			return nil, false
		}
		schemas, rest = append(schemas, own...), append(rest, s.UnevaluatedProperties)
	}
	if slices.ContainsFunc(schemas, func(s *jsonschema.Schema) bool { return s != nil }) {
		return schemas, true
	}
	return rest, true
}

// propertyPatterns returns those of patternProperties in one order.
func propertyPatterns(s *jsonschema.Schema) []jsonschema.Regexp {
	return slices.SortedFunc(maps.Keys(s.PatternProperties), func(a, b jsonschema.Regexp) int {
		return strings.Compare(a.String(), b.String())
	})
}

// names returns names that a further property may have.
func (f *filler) names(parts []*jsonschema.Schema, i int) (names []string) {
	made := []string{fmt.Sprint("property", i+1)}
	for _, s := range parts {
		for _, pattern := range propertyPatterns(s) {
			made = append(made, sample(pattern.String(), i, 0))
		}
		if s.PropertyNames != nil {
			got, _ := f.fill([]*jsonschema.Schema{s.PropertyNames}, want{index: i + 1, depth: f.depth})
			made = append(made, fmt.Sprint(got.value))
		}
	}
	for _, name := range made {
		names = append(names, name, name+fmt.Sprint(i), name+"x")
	}
	return names
}

// array makes an array: the items that the text lists, or one that has something of the
// text in it, and as many more as a minimum demands.
func (f *filler) array(sh *shape, w want) (filled, bool) {
	least, most, parts := sh.items.least, sh.items.most, sh.parts
	if least > most {
		return filled{}, false
	}
	items, seen, held := []any{}, map[string]bool{}, map[*jsonschema.Schema]int{}
	fits := func(v any) bool {
		return !(sh.unique && seen[marshal(v)]) && !slices.ContainsFunc(parts, func(s *jsonschema.Schema) bool {
			return s.Contains != nil && held[s] >= or(s.MaxContains, mostItems) && s.Contains.Validate(v) == nil
		})
	}
	add := func(v any) {
		items, seen[marshal(v)] = append(items, v), true
		for _, s := range parts {
			if s.Contains != nil && s.Contains.Validate(v) == nil {
				held[s]++
			}
		}
	}
	if f.eager && sh.tuple == 0 && w.index == 0 {
		item := shapeOf(slices.Concat(expand([][]*jsonschema.Schema{nil}, itemSchemas(parts, 0, sh.contains))...))
		for _, v := range f.facts.list(w.field, item.listed) {
			if len(items) < most && satisfies(itemSchemas(parts, len(items), sh.contains), v) && fits(v) {
				add(v)
			}
		}
	}
	found := len(items) > 0
	if f.eager {
		least = max(least, min(sh.tuple, most))
	}
	for try := least == 0 && f.eager && !found && most > 0; len(items) < least || try; try = false {
		got, ok := f.fill(itemSchemas(parts, len(items), sh.contains), want{w.field, w.index + len(items), w.depth + 1, fits})
		if ok && (!try || got.found) {
			add(got.value)
		} else if !try {
			return filled{}, false
		}
		found = found || got.found
	}
	return filled{items, found}, true
}

// itemSchemas returns what must hold for the item at a position. The first that are free
// satisfy contains.
func itemSchemas(parts []*jsonschema.Schema, i, holding int) (schemas []*jsonschema.Schema) {
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
			rest = prefix[i]
		}
		if schemas = append(schemas, rest); i < holding {
			schemas = append(schemas, s.Contains)
		}
	}
	return slices.DeleteFunc(schemas, func(s *jsonschema.Schema) bool { return s == nil })
}
