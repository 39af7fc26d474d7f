package schema

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
		if err := s.Validate(t.Context(), c.text); err != nil {
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
	is.True(itself.Validate(t.Context(), `1`) != nil)
	tree, err := Compile(json.RawMessage(`{"type":"object","properties":{"next":{"$ref":"#"}}}`), "f")
	is.NoErr(err)
	is.NoErr(tree.Validate(t.Context(), strings.Repeat(`{"next":`, 100)+"{}"+strings.Repeat("}", 100)))
	is.True(tree.Validate(t.Context(), `{"next":{"next":1}}`) != nil)
}

// doubling returns a schema of so many levels, each of which refers twice to the
// next one.
func doubling(levels int, keyword string) string {
	var defs strings.Builder
	for i := range levels {
		fmt.Fprintf(&defs, `"l%d":{%q:[{"$ref":"#/$defs/l%d"},{"$ref":"#/$defs/l%d"}]},`, i, keyword, i+1, i+1)
	}
	return fmt.Sprintf(`{"$ref":"#/$defs/l0","$defs":{%s"l%d":{"type":"string"}}}`, &defs, levels)
}

func TestSchemasThatExpandAreRefused(t *testing.T) {
	for name, raw := range map[string]string{
		"allOf":   doubling(40, "allOf"),
		"anyOf":   doubling(40, "anyOf"),
		"draft 7": strings.Replace(doubling(40, "oneOf"), "{", `{"$schema":"http://json-schema.org/draft-07/schema#",`, 1),
	} {
		_, err := Compile(json.RawMessage(raw), "f")
		if want := fault.Invalidf("f", "f has more than 50000 parts when its references are written out."); !reflect.DeepEqual(err, error(want)) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := Compile(json.RawMessage(doubling(10, "allOf")), "f"); err != nil {
		t.Errorf("a thousand parts: %v", err)
	}
}

// TestValidationEnds has schemas whose work grows with the depth of the value:
// twice as much for each level.
func TestValidationEnds(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 60) + "1" + strings.Repeat("}", 60)
	for name, raw := range map[string]string{
		"allOf":  `{"properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`,
		"not":    `{"properties":{"a":{"not":{"anyOf":[{"not":{"$ref":"#"}},{"not":{"$ref":"#"}}]}}}}`,
		"failed": `{"type":"object","properties":{"a":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}}}`,
	} {
		s, err := Compile(json.RawMessage(raw), "f")
		if err != nil {
			t.Fatal(err)
		}
		s.stepper.most = 10 * stepsBetween
		if err := s.Validate(t.Context(), deep); !errors.Is(err, errTooLong) {
			t.Errorf("%s: got %v", name, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Validate(ctx, deep); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, for nobody: got %v", name, err)
		}
		if err := s.Validate(t.Context(), `{"a":{}}`); err != nil {
			t.Errorf("%s, afterwards: got %v", name, err)
		}
	}
}

// TestSchemasThatTakeLongToCompileAreRefused has schemas that are small, or expand
// to little, and took seconds and hundreds of megabytes to be compiled.
func TestSchemasThatTakeLongToCompileAreRefused(t *testing.T) {
	defs := func(n int, one string) string {
		var all strings.Builder
		for i := range n {
			fmt.Fprintf(&all, `"%d":%s,`, i, fmt.Sprintf(one, i+1))
		}
		return `{` + all.String() + `"end":{},"` + fmt.Sprint(n) + `":{}}`
	}
	const many, patterns = "f has too many schemas for one request.", "f has more regular expressions than one request may have, or longer ones."
	const number = "f cannot be used: it has a number of more than 1,000 digits."
	for name, c := range map[string]struct{ schema, message string }{
		"a chain":               {`{"$ref":"#/$defs/0","$defs":` + defs(10_000, `{"$ref":"#/$defs/%d"}`) + `}`, many},
		"properties":            {`{"properties":` + defs(10_000, `{"minimum":%d}`) + `}`, many},
		"booleans":              {`{"allOf":[true` + strings.Repeat(",true", 10_000) + `]}`, many},
		"far references":        {`{"properties":` + defs(2000, `{"$ref":"#/x/%d"}`) + `,"x":` + defs(2000, `{"minimum":%d}`) + `}`, many},
		"addresses":             {`{"properties":` + defs(2500, `{"$id":"http://a/%d"}`) + `}`, many},
		"an enum":               {`{"type":"array","items":{"enum":[0` + strings.Repeat(",0", maxValues+1) + `]}}`, "f has more than 150000 values."},
		"long text":             {`{"title":"` + strings.Repeat("x", maxText) + `"}`, "f is too long: the schemas of a request may have 4 MiB."},
		"a huge exponent":       {`{"minimum":1e999999}`, number},
		"a tiny exponent":       {`{"anyOf":[{"multipleOf":1E-1001}]}`, number},
		"a long number":         {`{"enum":[1` + strings.Repeat("0", 1000) + `]}`, number},
		"a pattern that grows":  {`{"pattern":"` + strings.Repeat("(.{0,1000}x)", 100) + `"}`, patterns},
		"a pattern of classes":  {`{"pattern":"` + strings.Repeat(`\\p{L}`, 1500) + `"}`, patterns},
		"many patterns":         {`{"patternProperties":` + defs(200, `{"pattern":"%d[^a]{1000}"}`) + `}`, patterns},
		"patterns of names":     {`{"patternProperties":{"a{1000}b{1000}(c{500}){2}` + strings.Repeat("d{1000}", 100) + `":{}}}`, patterns},
		"a long pattern":        {`{"pattern":"` + strings.Repeat("x", maxPattern+1) + `"}`, patterns},
		"what people write":     {`{"properties":` + defs(2000, `{"type":"string","pattern":"^[a-z]{1,64}$","minLength":%d}`) + `}`, ""},
		"a thousand and twenty": {`{"$defs":` + defs(1000, `{"$ref":"#/$defs/%d"}`) + `,"properties":` + defs(20, `{"$ref":"#/properties/end","title":"%d"}`) + `}`, ""},
	} {
		_, err := Compile(json.RawMessage(c.schema), "f")
		var want error
		if c.message != "" {
			want = error(fault.Invalidf("f", "%s", c.message))
		}
		if !reflect.DeepEqual(err, want) {
			t.Errorf("%s: got %.200v, want %v", name, err, want)
		}
	}
}

func TestTheSchemasOfARequestShareABudget(t *testing.T) {
	is := is.New(t)
	var b Budget
	raw := json.RawMessage(`{"anyOf":[{}` + strings.Repeat(",{}", 8000) + `]}`)
	_, err := b.Compile(raw, "a")
	is.NoErr(err)
	_, err = b.Compile(raw, "b")
	is.Equal(err, error(fault.Invalidf("b", "b has too many schemas for one request.")))
	b = Budget{}
	for i := range 200 { // but many small ones have room
		_, err = b.Compile(json.RawMessage(`{"anyOf":[{}`+strings.Repeat(",{}", 100)+`]}`), fmt.Sprint(i))
		is.NoErr(err)
	}
}

// TestWorkWithinAPartIsCounted has answers with which a part of a schema has much
// to do by itself.
func TestWorkWithinAPartIsCounted(t *testing.T) {
	names := `"a"`
	for i := range 10_000 {
		names += fmt.Sprintf(`,"n%d"`, i)
	}
	wide := `{"x":1`
	for i := range 10_000 {
		wide += fmt.Sprintf(`,"n%d":1`, i)
	}
	for name, c := range map[string]struct{ schema, text string }{
		"required":          {`{"items":{"required":[` + names + `]}}`, "[{}" + strings.Repeat(",{}", 1000) + "]"},
		"dependentRequired": {`{"items":{"dependentRequired":{"a":[` + names + `]}}}`, `[{"a":1}` + strings.Repeat(`,{"a":1}`, 1000) + "]"},
		"wide objects":      {`{"anyOf":[{"minProperties":1e6}` + strings.Repeat(`,{"minProperties":1e6}`, 1000) + `]}`, wide + "}"},
		"patterns":          {`{"pattern":"` + strings.Repeat("(a|b)?", 1000) + `c"}`, `"` + strings.Repeat("ab", 200_000) + `"`},
		"names":             {`{"patternProperties":{"` + strings.Repeat("(a|b)?", 1000) + `c":{}}}`, wide + "}"},
	} {
		s, err := Compile(json.RawMessage(c.schema), "f")
		if err != nil {
			t.Fatal(name, err)
		}
		s.stepper.most = 100_000
		if err := s.Validate(t.Context(), c.text); !errors.Is(err, errTooLong) {
			t.Errorf("%s: got %.100v", name, err)
		}
	}
	numbers, err := Compile(json.RawMessage(`{"items":{"multipleOf":3}}`), "f")
	if err != nil {
		t.Fatal(err)
	}
	if err := numbers.Validate(t.Context(), `[1e999999]`); !errors.Is(err, errNumber) {
		t.Errorf("a huge number in an answer: got %v", err)
	}
}
