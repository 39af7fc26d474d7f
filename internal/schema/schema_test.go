package schema

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/fault"
)

func TestCompileNamesTheFieldAndThePlace(t *testing.T) {
	for _, c := range []struct{ schema, message string }{
		{`{"type":`, "f is not valid JSON."},
		{`true`, "f must be a JSON Schema object."},
		{`[]`, "f must be a JSON Schema object."},
		{`{"type":"text"}`, "f is not a valid JSON Schema: at /type: value must be one of 'array', 'boolean', 'integer', 'null', 'number', 'object', 'string'; at /type: got string, want array."},
		{`{"properties":{"a":{"minimum":"1"}}}`, "f is not a valid JSON Schema: at /properties/a/minimum: got string, want number."},
		{`{"$ref":"#/$defs/gone"}`, "f is not a valid JSON Schema: json-pointer in \"#/$defs/gone\" not found."},
		{`{"$ref":"https://example.com/other.json"}`, "f is not a valid JSON Schema: failing loading \"https://example.com/other.json\": references to other documents are not allowed."},
		{`{"$ref":"file:///etc/passwd"}`, "f is not a valid JSON Schema: failing loading \"file:///etc/passwd\": references to other documents are not allowed."},
		{`{"pattern":"("}`, "f is not a valid JSON Schema: at /pattern: '(' is not valid regex: error parsing regexp: missing closing ): `(`."},
	} {
		_, err := Compile(json.RawMessage(c.schema), "f")
		if want := fault.Invalidf("f", "%s", c.message); !reflect.DeepEqual(err, error(want)) {
			t.Errorf("%s:\ngot  %v\nwant %v", c.schema, err, want)
		}
	}
}

func TestValidateSaysWhereAnAnswerIsWrong(t *testing.T) {
	s, err := Compile(json.RawMessage(`{
		"type":"object","required":["n"],"additionalProperties":false,
		"properties":{"n":{"type":"integer"},"list":{"type":"array","items":{"$ref":"#/$defs/word"}}},
		"$defs":{"word":{"type":"string"}}}`), "f")
	is.New(t).NoErr(err)
	for _, c := range []struct{ text, want string }{
		{`{"n":1}`, ""},
		{` {"n":12345678901234567890,"list":["a"]} `, ""},
		{`{"n":1} {}`, "it is not valid JSON: invalid character after top-level value"},
		{`nothing`, "it is not valid JSON: invalid character 'o' in literal null (expecting 'u')"},
		{`{}`, "at the top: missing property 'n'"},
		{`{"n":1,"list":["a",2]}`, "at /list/1: got number, want string"},
		{`{"n":1,"more":2}`, "at the top: additional properties 'more' not allowed"},
	} {
		got := ""
		if err := s.Validate(c.text); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", c.text, got, c.want)
		}
	}
}

func TestRecursiveSchemasEnd(t *testing.T) {
	is := is.New(t)
	itself, err := Compile(json.RawMessage(`{"$ref":"#"}`), "f")
	is.NoErr(err)
	is.True(itself.Validate(`1`) != nil)
	tree, err := Compile(json.RawMessage(`{"type":"object","properties":{"next":{"$ref":"#"}}}`), "f")
	is.NoErr(err)
	is.NoErr(tree.Validate(strings.Repeat(`{"next":`, 100) + "{}" + strings.Repeat("}", 100)))
	is.True(tree.Validate(`{"next":{"next":1}}`) != nil)
}
