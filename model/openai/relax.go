package openai

import (
	"bytes"
	"encoding/json"

	"github.com/tidwall/gjson"
)

// maxMinItems is the largest minItems that servers survive: they turn a schema
// into a grammar with as many repetitions, and one over 2,000 brings the whole
// server down.
const maxMinItems = 2000

// relax returns a schema without what crashes model servers. The answer is
// validated against the schema as it was.
func relax(schema json.RawMessage) json.RawMessage {
	if !bytes.Contains(schema, []byte(`"minItems"`)) && !bytes.Contains(schema, []byte(`\u`)) {
		return schema
	}
	var b bytes.Buffer
	relaxInto(&b, gjson.ParseBytes(schema), keywords)
	return b.Bytes()
}

// place is what the members of an object in a schema are.
type place uint8

const (
	keywords place = iota // of JSON Schema
	schemas               // schemas under names of the caller's
	data                  // values that mean themselves
)

// inside returns what the members of a keyword's value are.
func (p place) inside(keyword string) place {
	if p == schemas {
		return keywords
	}
	if p == data {
		return data
	}
	switch keyword {
	case "const", "enum", "default", "examples", "required":
		return data
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return schemas
	}
	return keywords
}

func relaxInto(b *bytes.Buffer, value gjson.Result, p place) {
	separator := byte('{')
	switch {
	case value.IsObject():
		value.ForEach(func(key, v gjson.Result) bool {
			b.WriteByte(separator)
			separator = ','
			b.WriteString(key.Raw)
			b.WriteByte(':')
			if p == keywords && key.Str == "minItems" && v.Float() > maxMinItems {
				v = gjson.Result{Raw: "2000"}
			}
			relaxInto(b, v, p.inside(key.Str))
			return true
		})
		writeEnd(b, separator, '{', '}')
	case value.IsArray():
		separator = '['
		value.ForEach(func(_, v gjson.Result) bool {
			b.WriteByte(separator)
			separator = ','
			relaxInto(b, v, p)
			return true
		})
		writeEnd(b, separator, '[', ']')
	default:
		b.WriteString(value.Raw)
	}
}

// writeEnd ends an object or an array, which has not begun where it is empty.
func writeEnd(b *bytes.Buffer, separator, begin, end byte) {
	if separator == begin {
		b.WriteByte(begin)
	}
	b.WriteByte(end)
}
