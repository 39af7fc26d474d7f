package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/schema"
)

// The bounds of the search for a value.
const (
	mostSteps        = 10000 // values made in one attempt, those thrown away included
	mostAlternatives = 32    // ways through the anyOf, oneOf and if of one schema
	mostItems        = 500   // items of an array, or properties of an object, made to reach a minimum
	mostVariants     = 4     // values made where the first are wrong, as for not
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
			if got, ok := f.fill([]*jsonschema.Schema{s}, want{}); ok && s.Validate(got.value) == nil {
				return marshal(got.value), nil
			}
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

// filler makes a value that satisfies a schema.
type filler struct {
	ctx   context.Context
	facts *facts
	eager bool // look for optional fields and at all alternatives
	depth int  // how deep values may nest
	steps int  // how many values may still be made
}

// want says what a value is for.
type want struct {
	field   string
	index   int // which of several values that must differ
	depth   int
	variant int // how many kinds of values were wrong
}

// filled is a value; found says that it comes from the text, and wrong, where there is
// none, that one was made which does not satisfy the schemas: another may.
type filled struct {
	value any
	found bool
	wrong bool
}

// fill makes a value that satisfies all the schemas. It fails where it finds none within
// its bounds.
func (f *filler) fill(schemas []*jsonschema.Schema, w want) (best filled, have bool) {
	if w.depth > f.depth {
		return filled{}, false
	}
	ways := expand(schemas)
	last, again := w.variant+mostVariants, true
	for ; again && w.variant < last && !have; w.variant, w.index = w.variant+1, w.index+1 {
		again = false
		for _, parts := range ways {
			if f.steps--; f.steps < 0 || f.ctx.Err() != nil {
				return best, have
			}
			before := f.facts.mark()
			got, ok := f.fillParts(parts, w)
			if !ok || !satisfies(schemas, got.value) {
				f.facts.used, again = before, again || ok || got.wrong
				continue
			}
			if got.found || !f.eager {
				return got, true
			}
			if !have || got.value == nil {
				best, have = got, true
			}
		}
	}
	return best, have
}

func satisfies(schemas []*jsonschema.Schema, v any) bool {
	return !slices.ContainsFunc(schemas, func(s *jsonschema.Schema) bool { return s.Validate(v) != nil })
}

// fillParts makes a value for schemas whose references and alternatives have been
// resolved: what it makes depends on their own keywords alone.
func (f *filler) fillParts(parts []*jsonschema.Schema, w want) (best filled, have bool) {
	if values, ok := listed(parts); ok {
		return f.chooseValue(parts, values, w)
	}
	untyped := !slices.ContainsFunc(parts, func(s *jsonschema.Schema) bool { return s.Types != nil })
	order := kinds(parts)
	if untyped && len(order) > 0 {
		first := w.variant % len(order)
		order = slices.Concat(order[first:], order[:first])
	}
	for _, kind := range order {
		got, ok := f.fillKind(kind, parts, w)
		if !ok || !satisfies(parts, got.value) {
			best.wrong = best.wrong || !have && (ok || got.wrong)
			continue
		}
		if got.found {
			return got, true
		}
		if !have || got.value == nil {
			best, have = got, true
		}
		if untyped || !f.eager {
			break
		}
	}
	if given, ok := suggested(parts); ok && w.index == 0 && (!have || !best.found) {
		return filled{value: given}, true
	}
	return best, have
}

func (f *filler) fillKind(kind string, parts []*jsonschema.Schema, w want) (filled, bool) {
	switch kind {
	case "object":
		return f.object(parts, w)
	case "array":
		return f.array(parts, w)
	case "string":
		return f.text(parts, w)
	case "integer", "number":
		return f.number(kind, parts, w)
	case "boolean":
		value, found := f.facts.boolean(w.field)
		if w.index > 0 {
			value, found = w.index%2 == 0, false
		}
		return filled{value: value, found: found}, true
	}
	return filled{value: nil}, true
}

// listed returns the values that const and enum allow.
func listed(parts []*jsonschema.Schema) (values []any, ok bool) {
	for _, s := range parts {
		if s.Const != nil {
			return []any{*s.Const}, true
		} else if s.Enum != nil && !ok {
			values, ok = s.Enum.Values, true
		}
	}
	return values, ok
}

// chooseValue picks one of the listed values: the one the text speaks of, or the default,
// or none, or the first.
func (f *filler) chooseValue(parts []*jsonschema.Schema, values []any, w want) (filled, bool) {
	allowed := slices.DeleteFunc(slices.Clone(values), func(v any) bool { return !satisfies(parts, v) })
	if len(allowed) == 0 {
		return filled{}, false
	}
	if w.index == 0 {
		if i, ok := f.facts.choose(w.field, allowed); ok {
			return filled{value: allowed[i], found: true}, true
		}
		if given, ok := suggested(parts); ok {
			return filled{value: given}, true
		}
		if slices.Contains(allowed, nil) {
			return filled{value: nil}, true
		}
	}
	return filled{value: allowed[w.index%len(allowed)]}, true
}

// suggested returns the default, or else the first example, that the schemas give and allow.
func suggested(parts []*jsonschema.Schema) (any, bool) {
	for _, s := range parts {
		if s.Default != nil && satisfies(parts, *s.Default) {
			return *s.Default, true
		}
	}
	for _, s := range parts {
		if len(s.Examples) > 0 && satisfies(parts, s.Examples[0]) {
			return s.Examples[0], true
		}
	}
	return nil, false
}

// kinds returns the types of values that the schemas allow, those first that their other
// keywords speak of.
func kinds(parts []*jsonschema.Schema) []string {
	allowed, fraction := []string{"string", "object", "array", "integer", "number", "boolean", "null"}, false
	hinted := map[string]bool{}
	for _, s := range parts {
		hinted["object"] = hinted["object"] || s.Properties != nil || len(s.Required) > 0 || s.AdditionalProperties != nil ||
			s.MinProperties != nil || s.PatternProperties != nil || s.PropertyNames != nil
		hinted["array"] = hinted["array"] || s.Items != nil || s.Items2020 != nil || s.PrefixItems != nil || s.MinItems != nil || s.Contains != nil || s.UniqueItems
		hinted["string"] = hinted["string"] || s.Pattern != nil || s.MinLength != nil || s.MaxLength != nil || s.Format != nil
		hinted["number"] = hinted["number"] || s.Minimum != nil || s.Maximum != nil || s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil || s.MultipleOf != nil
		if s.Types == nil {
			continue
		}
		types := s.Types.ToStrings()
		fraction = fraction || slices.Contains(types, "number")
		allowed = slices.DeleteFunc(allowed, func(kind string) bool {
			return !slices.Contains(types, kind) && !(kind == "integer" && slices.Contains(types, "number"))
		})
	}
	if fraction && slices.Contains(allowed, "number") {
		allowed = slices.DeleteFunc(allowed, func(kind string) bool { return kind == "integer" })
	}
	hinted["integer"] = hinted["number"]
	first := slices.DeleteFunc(slices.Clone(allowed), func(kind string) bool { return !hinted[kind] })
	return append(first, slices.DeleteFunc(allowed, func(kind string) bool { return hinted[kind] })...)
}

// expand resolves the references, the allOf and the alternatives of schemas: it returns
// the lists of schemas whose own keywords, all of a list together, are each a way to
// satisfy the schemas. What is not resolved, such as not, is left for validation.
func expand(schemas []*jsonschema.Schema) [][]*jsonschema.Schema {
	ways := [][]*jsonschema.Schema{nil}
	for _, s := range schemas {
		ways = addSchema(ways, s)
	}
	return ways
}

// addSchema adds a schema to every way. A schema that a way has already adds nothing,
// which also ends references in a circle.
func addSchema(ways [][]*jsonschema.Schema, s *jsonschema.Schema) (all [][]*jsonschema.Schema) {
	if s == nil {
		return ways
	}
	for _, way := range ways {
		if slices.Contains(way, s) {
			all = append(all, way)
		} else {
			all = append(all, addParts(append(slices.Clip(way), s), s)...)
		}
		if len(all) >= mostAlternatives {
			return all[:mostAlternatives]
		}
	}
	return all
}

func addParts(way []*jsonschema.Schema, s *jsonschema.Schema) [][]*jsonschema.Schema {
	ways := addSchema(addSchema([][]*jsonschema.Schema{way}, s.Ref), s.RecursiveRef)
	if s.DynamicRef != nil {
		ways = addSchema(ways, s.DynamicRef.Ref)
	}
	for _, part := range s.AllOf {
		ways = addSchema(ways, part)
	}
	for _, branches := range alternatives(s) {
		var next [][]*jsonschema.Schema
		for _, branch := range branches {
			more := slices.Clone(ways)
			for _, part := range branch {
				more = addSchema(more, part)
			}
			next = append(next, more...)
		}
		ways = next[:min(len(next), mostAlternatives)]
	}
	return ways
}

// alternatives returns those that s offers, a list for each keyword; an alternative is the
// schemas that hold together.
func alternatives(s *jsonschema.Schema) (all [][][]*jsonschema.Schema) {
	for _, list := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		if list != nil {
			all = append(all, slices.Collect(slices.Chunk(list, 1)))
		}
	}
	if s.If != nil {
		all = append(all, [][]*jsonschema.Schema{{s.If, s.Then}, {s.Else}})
	}
	return all
}
