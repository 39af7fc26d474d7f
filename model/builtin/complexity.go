package builtin

import (
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// mostParts is how many schemas a schema may have with its references written
// out, each as often as it is referred to: validation takes as long as that.
const mostParts = 50_000

// measurer counts the parts of schemas.
type measurer map[*jsonschema.Schema]int

// parts returns how many schemas there are in s with its references written out
// once in every circle, or more than mostParts where there are too many.
func (m measurer) parts(s *jsonschema.Schema) int {
	if s == nil {
		return 0
	}
	if n, ok := m[s]; ok {
		return n
	}
	m[s] = 1 // what a circle comes back to
	n := 1
	for _, sub := range subschemas(s) {
		n = min(n+m.parts(sub), mostParts+1)
	}
	m[s] = n
	return n
}

// subschemas returns the schemas directly within s.
func subschemas(s *jsonschema.Schema) []*jsonschema.Schema {
	subs := append(conjuncts(s), s.AnyOf...)
	subs = append(subs, s.OneOf...)
	subs = append(subs, s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems)
	subs = append(subs, s.PrefixItems...)
	subs = slices.AppendSeq(subs, maps.Values(s.Properties))
	subs = slices.AppendSeq(subs, maps.Values(s.PatternProperties))
	subs = slices.AppendSeq(subs, maps.Values(s.DependentSchemas))
	for _, either := range []any{s.Items, s.AdditionalItems, s.AdditionalProperties} {
		switch sub := either.(type) {
		case *jsonschema.Schema:
			subs = append(subs, sub)
		case []*jsonschema.Schema:
			subs = append(subs, sub...)
		}
	}
	return subs
}
