package builtin

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// expand resolves the references, the allOf and the alternatives of schemas: it
// returns the lists of schemas whose own keywords, all of a list together, are
// each a way to satisfy the schemas. What is not resolved, such as not, is left
// for validation.
func expand(schemas []*jsonschema.Schema) [][]*jsonschema.Schema {
	ways := [][]*jsonschema.Schema{nil}
	for _, s := range schemas {
		ways = addSchema(ways, s)
	}
	return ways
}

// addSchema adds a schema to every way. A schema that a way has already adds
// nothing, which also ends references in a circle.
func addSchema(ways [][]*jsonschema.Schema, s *jsonschema.Schema) [][]*jsonschema.Schema {
	var all [][]*jsonschema.Schema
	for _, way := range ways {
		if slices.Contains(way, s) {
			all = append(all, way)
			continue
		}
		all = append(all, addParts(append(slices.Clip(way), s), s)...)
		if len(all) >= mostAlternatives {
			return all[:mostAlternatives]
		}
	}
	return all
}

func addParts(way []*jsonschema.Schema, s *jsonschema.Schema) [][]*jsonschema.Schema {
	ways := [][]*jsonschema.Schema{way}
	for _, part := range conjuncts(s) {
		ways = addSchema(ways, part)
	}
	for _, branches := range disjuncts(s) {
		var next [][]*jsonschema.Schema
		for _, branch := range branches {
			if len(next) >= mostAlternatives {
				break
			}
			branchWays := slices.Clone(ways)
			for _, part := range branch {
				branchWays = addSchema(branchWays, part)
			}
			next = append(next, branchWays...)
		}
		ways = next[:min(len(next), mostAlternatives)]
	}
	return ways
}

// conjuncts returns the schemas that must hold with s.
func conjuncts(s *jsonschema.Schema) []*jsonschema.Schema {
	var parts []*jsonschema.Schema
	for _, ref := range []*jsonschema.Schema{s.Ref, s.RecursiveRef} {
		if ref != nil {
			parts = append(parts, ref)
		}
	}
	if s.DynamicRef != nil && s.DynamicRef.Ref != nil {
		parts = append(parts, s.DynamicRef.Ref)
	}
	return append(parts, s.AllOf...)
}

// disjuncts returns the alternatives that s offers, one list for each keyword;
// an alternative is the schemas that hold together.
func disjuncts(s *jsonschema.Schema) [][][]*jsonschema.Schema {
	var all [][][]*jsonschema.Schema
	for _, list := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		var branches [][]*jsonschema.Schema
		for _, branch := range list {
			branches = append(branches, []*jsonschema.Schema{branch})
		}
		if branches != nil {
			all = append(all, branches)
		}
	}
	if s.If != nil {
		var otherwise []*jsonschema.Schema
		then := []*jsonschema.Schema{s.If}
		if s.Then != nil {
			then = append(then, s.Then)
		}
		if s.Else != nil {
			otherwise = append(otherwise, s.Else)
		}
		all = append(all, [][]*jsonschema.Schema{then, otherwise})
	}
	return all
}
