package builtin

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// object makes an object: the required properties, those optional ones that the
// text has values for, and as many more as a minimum demands.
func (f *filler) object(parts []*jsonschema.Schema, w want) (filled, bool) {
	names, parts := required(parts)
	value := make(map[string]any, len(names))
	found := false
	for _, name := range names {
		got, ok := f.property(parts, name, w)
		if !ok {
			return filled{}, false
		}
		value[name] = got.value
		found = found || got.found
	}
	least, most := propertyBounds(parts)
	for _, name := range optional(parts) {
		if _, ok := value[name]; ok || len(value) >= most {
			continue
		}
		before := f.facts.mark()
		needed := len(value) < least
		if !f.eager && !needed {
			break
		}
		got, ok := f.property(parts, name, w)
		if ok && (got.found || needed) {
			value[name] = got.value
			found = found || got.found
		} else {
			f.facts.restore(before)
		}
	}
	if least > mostItems || !f.addProperties(parts, value, least, w) {
		return filled{}, false
	}
	return filled{value, found}, true
}

// required returns the properties that must be there and adds to parts the
// schemas that depend on them.
func required(parts []*jsonschema.Schema) ([]string, []*jsonschema.Schema) {
	var names []string
	add := func(more []string) {
		for _, name := range more {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	parts = slices.Clone(parts)
	for i := 0; i < len(parts); i++ {
		add(parts[i].Required)
	}
	for n := 0; n < len(names); n++ {
		for i := 0; i < len(parts); i++ {
			more, schema := dependents(parts[i], names[n])
			add(more)
			if schema != nil && !slices.Contains(parts, schema) {
				parts = append(parts, expand([]*jsonschema.Schema{schema})[0]...)
				for _, s := range parts {
					add(s.Required)
				}
			}
		}
	}
	return names, parts
}

// dependents returns what s demands when a property is there.
func dependents(s *jsonschema.Schema, name string) ([]string, *jsonschema.Schema) {
	names := s.DependentRequired[name]
	schema := s.DependentSchemas[name]
	switch d := s.Dependencies[name].(type) {
	case []string:
		names = append(slices.Clip(names), d...)
	case *jsonschema.Schema:
		schema = d
	}
	return names, schema
}

// optional returns the names of all declared properties, in order.
func optional(parts []*jsonschema.Schema) []string {
	names := make(map[string]bool)
	for _, s := range parts {
		for name := range s.Properties {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func propertyBounds(parts []*jsonschema.Schema) (least, most int) {
	most = mostItems
	for _, s := range parts {
		if s.MinProperties != nil {
			least = max(least, *s.MinProperties)
		}
		if s.MaxProperties != nil {
			most = min(most, *s.MaxProperties)
		}
	}
	return least, most
}

// property makes the value of one property.
func (f *filler) property(parts []*jsonschema.Schema, name string, w want) (filled, bool) {
	var schemas []*jsonschema.Schema
	for _, s := range parts {
		own, ok := propertySchemas(s, name)
		if !ok {
			return filled{}, false
		}
		schemas = append(schemas, own...)
	}
	return f.fill(schemas, want{field: field{name: name}, index: w.index, depth: w.depth + 1})
}

// propertySchemas returns what s says about a property, and whether it allows
// it at all.
func propertySchemas(s *jsonschema.Schema, name string) ([]*jsonschema.Schema, bool) {
	var schemas []*jsonschema.Schema
	if own := s.Properties[name]; own != nil {
		schemas = append(schemas, own)
	}
	for _, pattern := range sortedPatterns(s) {
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

// addProperties adds properties of its own naming until there are enough.
func (f *filler) addProperties(parts []*jsonschema.Schema, value map[string]any, least int, w want) bool {
	for i := 0; len(value) < least; i++ {
		if i > 2*least {
			return false
		}
		name, ok := f.newName(parts, i)
		if _, taken := value[name]; !ok || taken {
			continue
		}
		got, ok := f.property(parts, name, w)
		if !ok {
			return false
		}
		value[name] = got.value
	}
	return true
}

// newName makes a property name that the schemas allow.
func (f *filler) newName(parts []*jsonschema.Schema, i int) (string, bool) {
	for _, s := range parts {
		if s.PropertyNames != nil {
			got, ok := f.fill([]*jsonschema.Schema{s.PropertyNames}, want{index: i + 1})
			name, isText := got.value.(string)
			return name, ok && isText
		}
	}
	name := fmt.Sprintf("property%d", i+1)
	for _, s := range parts {
		if _, ok := propertySchemas(s, name); !ok {
			return f.patternName(s, i)
		}
	}
	return name, true
}

// patternName makes a name for which s has a pattern.
func (f *filler) patternName(s *jsonschema.Schema, i int) (string, bool) {
	patterns := sortedPatterns(s)
	if len(patterns) == 0 {
		return "", false
	}
	return sample(patterns[i%len(patterns)].String(), i/len(patterns), 0)
}

// sortedPatterns returns the patterns of patternProperties in one order.
func sortedPatterns(s *jsonschema.Schema) []jsonschema.Regexp {
	return slices.SortedFunc(maps.Keys(s.PatternProperties), func(a, b jsonschema.Regexp) int {
		return strings.Compare(a.String(), b.String())
	})
}
