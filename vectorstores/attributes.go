package vectorstores

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-506d8e5d/svc/fault"
)

// Attributes are what a caller notes about a file, for filters: strings, float64s and
// bools by name.
type Attributes map[string]any

// The bounds of [Attributes].
const (
	maxAttributes      = 16
	maxAttributeName   = 64  // characters
	maxAttributeString = 512 // characters
)

// check returns what is wrong with attributes, as an Invalid error about param.
func (a Attributes) check(param string) error {
	if len(a) > maxAttributes {
		return fault.Invalidf(param, "%s must have at most %d members.", param, maxAttributes)
	}
	for name, value := range a {
		if n := utf8.RuneCountInString(name); n == 0 || n > maxAttributeName {
			return fault.Invalidf(param, "The names in %s must have 1 to %d characters.", param, maxAttributeName)
		}
		if !isScalar(value) {
			return fault.Invalidf(param, "%s.%s must be a string of up to %d characters, a number or a boolean.", param, name, maxAttributeString)
		}
	}
	return nil
}

func isScalar(value any) bool {
	switch v := value.(type) {
	case string:
		return utf8.RuneCountInString(v) <= maxAttributeString
	case float64:
		return !math.IsNaN(v) && !math.IsInf(v, 0)
	case bool:
		return true
	}
	return false
}

// ParseAttributes decodes attributes. The error is Invalid, about param. null is no
// attributes.
func ParseAttributes(data json.RawMessage, param string) (Attributes, error) {
	var a Attributes
	if len(data) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, fault.Invalidf(param, "%s must be an object of strings, numbers and booleans.", param)
	}
	return a, a.check(param)
}

// Filter says which files a search is about, by their attributes. A comparison has a
// Key and a Value, or Values with in and nin; and, or have Filters.
type Filter struct {
	Type    string // eq, ne, gt, gte, lt, lte, in, nin, and, or
	Key     string
	Value   any
	Values  []any
	Filters []Filter
}

// The bounds of a [Filter].
const (
	maxFilterDepth = 32
	maxFilters     = 500 // comparisons, and values of in and nin together
)

// ParseFilter decodes a filter; null is none. The error is Invalid, about param.
func ParseFilter(data json.RawMessage, param string) (*Filter, error) {
	if len(data) == 0 || string(data) == "null" {
		return nil, nil
	}
	left := maxFilters
	return parseFilter(data, param, 1, &left)
}

func parseFilter(data json.RawMessage, param string, depth int, left *int) (*Filter, error) {
	if depth > maxFilterDepth {
		return nil, fault.Invalidf(param, "filters must not be nested more than %d deep.", maxFilterDepth)
	}
	if *left--; *left < 0 {
		return nil, fault.Invalidf(param, "filters must not have more than %d comparisons and values.", maxFilters)
	}
	var w struct {
		Type    string            `json:"type"`
		Key     *string           `json:"key"`
		Value   json.RawMessage   `json:"value"`
		Filters []json.RawMessage `json:"filters"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return nil, fault.Invalidf(param, "%s must be a comparison or an object with type and or or.", param)
	}
	f := &Filter{Type: w.Type}
	switch w.Type {
	case "and", "or":
		if len(w.Filters) == 0 {
			return nil, fault.Invalidf(param, "%s.filters must have a filter.", param)
		}
		for _, inner := range w.Filters {
			parsed, err := parseFilter(inner, param+".filters", depth+1, left)
			if err != nil {
				return nil, err
			}
			f.Filters = append(f.Filters, *parsed)
		}
		return f, nil
	case "eq", "ne", "gt", "gte", "lt", "lte", "in", "nin":
		if w.Key == nil {
			return nil, fault.Invalidf(param, "%s.key is required.", param)
		}
		f.Key = *w.Key
		return f, f.parseValue(w.Value, param, left)
	}
	return nil, fault.Invalidf(param, "%s.type must be one of eq, ne, gt, gte, lt, lte, in, nin, and, or.", param)
}

func (f *Filter) parseValue(data json.RawMessage, param string, left *int) error {
	if f.Type == "in" || f.Type == "nin" {
		if json.Unmarshal(data, &f.Values) != nil || f.Values == nil || !all(f.Values, isScalar) {
			return fault.Invalidf(param, "%s.value must be an array of strings, numbers or booleans.", param)
		}
		if *left -= len(f.Values); *left < 0 {
			return fault.Invalidf(param, "filters must not have more than %d comparisons and values.", maxFilters)
		}
		return nil
	}
	if json.Unmarshal(data, &f.Value) != nil || !isScalar(f.Value) {
		return fault.Invalidf(param, "%s.value must be a string, a number or a boolean.", param)
	}
	return nil
}

func all(values []any, ok func(any) bool) bool {
	return !slices.ContainsFunc(values, func(v any) bool { return !ok(v) })
}

// Accepts reports whether a file with the attributes is meant. An attribute that a
// file does not have is different from every value. What is of another type is neither
// smaller nor larger.
func (f *Filter) Accepts(a Attributes) bool {
	switch f.Type {
	case "and":
		return !slices.ContainsFunc(f.Filters, func(inner Filter) bool { return !inner.Accepts(a) })
	case "or":
		return slices.ContainsFunc(f.Filters, func(inner Filter) bool { return inner.Accepts(a) })
	}
	value, has := a[f.Key]
	switch f.Type {
	case "eq":
		return has && value == f.Value
	case "ne":
		return !has || value != f.Value
	case "in":
		return has && slices.Contains(f.Values, value)
	case "nin":
		return !has || !slices.Contains(f.Values, value)
	}
	order, comparable := compare(value, f.Value)
	if !comparable {
		return false
	}
	switch f.Type {
	case "gt":
		return order > 0
	case "gte":
		return order >= 0
	case "lt":
		return order < 0
	}
	return order <= 0
}

// compare orders two numbers, or two strings.
func compare(x, y any) (order int, comparable bool) {
	switch x := x.(type) {
	case float64:
		if y, ok := y.(float64); ok {
			switch {
			case x < y:
				return -1, true
			case x > y:
				return 1, true
			}
			return 0, true
		}
	case string:
		if y, ok := y.(string); ok {
			return strings.Compare(x, y), true
		}
	}
	return 0, false
}
