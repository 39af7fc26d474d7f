package builtin

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// arrayShape is what schemas say about an array.
type arrayShape struct {
	parts       []*jsonschema.Schema
	least, most int
	unique      bool
	contains    []*jsonschema.Schema
	holding     int // how many of the first items must satisfy contains
}

func shapeOf(parts []*jsonschema.Schema) arrayShape {
	a := arrayShape{parts: parts, most: mostItems}
	for _, s := range parts {
		if s.MinItems != nil {
			a.least = max(a.least, *s.MinItems)
		}
		if s.MaxItems != nil {
			a.most = min(a.most, *s.MaxItems)
		}
		a.unique = a.unique || s.UniqueItems
		if s.Contains != nil {
			holding := 1
			if s.MinContains != nil {
				holding = *s.MinContains
			}
			a.contains = append(a.contains, s.Contains)
			a.holding = max(a.holding, holding)
		}
	}
	a.least = max(a.least, a.holding)
	return a
}

// item returns what must hold for the item at a position.
func (a arrayShape) item(i int) []*jsonschema.Schema {
	var schemas []*jsonschema.Schema
	for _, s := range a.parts {
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
	}
	if i < a.holding {
		schemas = append(schemas, a.contains...)
	}
	return schemas
}

// tuple returns how many positions have schemas of their own.
func (a arrayShape) tuple() int {
	n := 0
	for _, s := range a.parts {
		items, _ := s.Items.([]*jsonschema.Schema)
		n = max(n, len(s.PrefixItems), len(items))
	}
	return n
}

// array makes an array: the items that the text lists, or one that has something
// of the text in it, and as many more as a minimum demands.
func (f *filler) array(parts []*jsonschema.Schema, w want) (filled, bool) {
	a := shapeOf(parts)
	if a.least > mostItems || a.least > a.most {
		return filled{}, false
	}
	items := []any{}
	if f.eager && a.tuple() == 0 && w.index == 0 {
		items = f.listItems(a, w)
	}
	found := len(items) > 0
	seen := make(map[string]bool)
	for _, item := range items {
		seen[marshal(item)] = true
	}
	goal := a.least
	if f.eager {
		goal = max(goal, min(a.tuple(), a.most))
	}
	if f.eager && !found && goal == 0 && a.most > 0 {
		before := f.facts.mark()
		got, ok := f.fill(a.item(0), want{field: w.field, depth: w.depth + 1})
		if ok && got.found {
			return filled{[]any{got.value}, true}, true
		}
		f.facts.restore(before)
	}
	for index := w.index; len(items) < goal; index++ {
		if index-w.index > 2*goal+8 {
			return filled{}, false
		}
		got, ok := f.fill(a.item(len(items)), want{field: w.field, index: index, depth: w.depth + 1})
		if !ok {
			return filled{}, false
		}
		text := marshal(got.value)
		if a.unique && seen[text] {
			continue
		}
		seen[text] = true
		items = append(items, got.value)
		found = found || got.found
	}
	return filled{items, found}, true
}

// listItems returns the values of a list in the text that fit the items.
func (f *filler) listItems(a arrayShape, w want) []any {
	items := []any{}
	for _, candidate := range f.facts.list(w.field, itemValues(a.item(0))) {
		if len(items) >= a.most {
			break
		}
		if !has(items, candidate) && satisfies(a.item(len(items)), candidate) {
			items = append(items, candidate)
		}
	}
	return items
}

// itemValues returns what the enum of an array's items allows.
func itemValues(schemas []*jsonschema.Schema) []any {
	for _, parts := range expand(schemas) {
		if values, ok := listed(parts); ok {
			return values
		}
	}
	return nil
}

func has(items []any, v any) bool {
	text := marshal(v)
	return slices.ContainsFunc(items, func(item any) bool { return marshal(item) == text })
}
