package builtin

import (
	"context"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The bounds of the search for a value.
const (
	mostSteps        = 10000 // values made in one attempt, those thrown away included
	mostAlternatives = 32    // ways through the anyOf, oneOf and if of one schema
	mostItems        = 500   // items of an array, or properties of an object, made to reach a minimum
)

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
	field field
	index int // which of several values that must differ
	depth int
}

// filled is a value; found says that it comes from the text.
type filled struct {
	value any
	found bool
}

// fill makes a value that satisfies all the schemas. It fails where it finds
// none within its bounds.
func (f *filler) fill(schemas []*jsonschema.Schema, w want) (filled, bool) {
	if w.depth > f.depth {
		return filled{}, false
	}
	var best filled
	have := false
	for _, parts := range expand(schemas) {
		f.steps--
		if f.steps < 0 || f.ctx.Err() != nil {
			return best, have
		}
		before := f.facts.mark()
		got, ok := f.fillParts(parts, w.describedBy(parts))
		if !ok || !satisfies(schemas, got.value) {
			f.facts.restore(before)
			continue
		}
		if got.found || !f.eager {
			return got, true
		}
		if !have || got.value == nil {
			best, have = got, true
		}
	}
	return best, have
}

func satisfies(schemas []*jsonschema.Schema, v any) bool {
	for _, s := range schemas {
		if s.Validate(v) != nil {
			return false
		}
	}
	return true
}

// describedBy adds what schemas say about a field to its name.
func (w want) describedBy(parts []*jsonschema.Schema) want {
	for _, s := range parts {
		if s.Title != "" || s.Description != "" {
			w.field.text += " " + s.Title + " " + s.Description
		}
	}
	return w
}

// fillParts makes a value for schemas whose references and alternatives have
// been resolved: what it makes depends on their own keywords alone.
func (f *filler) fillParts(parts []*jsonschema.Schema, w want) (filled, bool) {
	if values, ok := listed(parts); ok {
		return f.chooseValue(parts, values, w)
	}
	var best filled
	have := false
	untyped := !slices.ContainsFunc(parts, func(s *jsonschema.Schema) bool { return s.Types != nil })
	for _, kind := range kinds(parts) {
		got, ok := f.fillKind(kind, parts, w)
		if !ok || !satisfies(parts, got.value) {
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
	if given, ok := suggested(parts); ok && (!have || !best.found) {
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
		return filled{value, found}, true
	}
	return filled{value: nil}, true
}

// listed returns the values that const and enum allow.
func listed(parts []*jsonschema.Schema) ([]any, bool) {
	for _, s := range parts {
		if s.Const != nil {
			return []any{*s.Const}, true
		}
	}
	for _, s := range parts {
		if s.Enum != nil {
			return s.Enum.Values, true
		}
	}
	return nil, false
}

// chooseValue picks one of the listed values: the one the text speaks of, or
// the default, or the first.
func (f *filler) chooseValue(parts []*jsonschema.Schema, values []any, w want) (filled, bool) {
	var allowed []any
	for _, v := range values {
		if satisfies(parts, v) {
			allowed = append(allowed, v)
		}
	}
	if len(allowed) == 0 {
		return filled{}, false
	}
	if w.index == 0 {
		if i, ok := f.facts.choose(w.field, allowed); ok {
			return filled{allowed[i], true}, true
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

// suggested returns the default, or else the first example, that the schemas
// give and allow.
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

// allKinds are the types of JSON values in the order in which they are tried.
var allKinds = []string{"string", "object", "array", "integer", "number", "boolean", "null"}

// kinds returns the types that the schemas allow, those first that their other
// keywords speak of.
func kinds(parts []*jsonschema.Schema) []string {
	allowed := slices.Clone(allKinds)
	for _, s := range parts {
		if s.Types == nil {
			continue
		}
		types := s.Types.ToStrings()
		allowed = slices.DeleteFunc(allowed, func(kind string) bool {
			return !slices.Contains(types, kind) && !(kind == "integer" && slices.Contains(types, "number"))
		})
	}
	if i := slices.Index(allowed, "number"); i > 0 && allowed[i-1] == "integer" && allowsFraction(parts) {
		allowed = slices.Delete(allowed, i-1, i)
	}
	hinted := func(kind string) bool {
		return slices.ContainsFunc(parts, func(s *jsonschema.Schema) bool { return speaksOf(s, kind) })
	}
	slices.SortStableFunc(allowed, func(a, b string) int { return rankOf(hinted(a)) - rankOf(hinted(b)) })
	return allowed
}

// allowsFraction reports whether the schemas say number and never integer.
func allowsFraction(parts []*jsonschema.Schema) bool {
	named := false
	for _, s := range parts {
		if s.Types != nil {
			named = named || slices.Contains(s.Types.ToStrings(), "number")
		}
	}
	return named
}

func rankOf(first bool) int {
	if first {
		return 0
	}
	return 1
}

// speaksOf reports whether a schema has keywords for a type of values.
func speaksOf(s *jsonschema.Schema, kind string) bool {
	switch kind {
	case "object":
		return s.Properties != nil || len(s.Required) > 0 || s.AdditionalProperties != nil || s.MinProperties != nil || s.PatternProperties != nil || s.PropertyNames != nil
	case "array":
		return s.Items != nil || s.Items2020 != nil || s.PrefixItems != nil || s.MinItems != nil || s.Contains != nil || s.UniqueItems
	case "string":
		return s.Pattern != nil || s.MinLength != nil || s.MaxLength != nil || s.Format != nil
	case "integer", "number":
		return s.Minimum != nil || s.Maximum != nil || s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil || s.MultipleOf != nil
	}
	return false
}
