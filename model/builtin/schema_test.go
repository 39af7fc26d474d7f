package builtin

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/matryer/is"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/seed-506d8e5d/svc/fault"
	jsonschemas "github.com/seed-506d8e5d/svc/internal/schema"
	"github.com/seed-506d8e5d/svc/model"
)

// structured returns the answer to a message under a schema.
func structured(t testing.TB, schema, message string) (string, error) {
	t.Helper()
	req := ask(user(message))
	req.Format = model.Format{Type: model.FormatSchema, Name: "answer", Strict: true, Schema: json.RawMessage(schema)}
	r, err := tryGenerate(t.Context(), req)
	return r.Text, err
}

func checkValid(t testing.TB, schema, text string) {
	t.Helper()
	compiled, err := jsonschemas.Parse(json.RawMessage(schema), true)
	if err != nil {
		t.Fatalf("the schema does not compile: %v", err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%q is not JSON: %v", text, err)
	}
	if err := compiled.Validate(value); err != nil {
		t.Errorf("%s\ndoes not satisfy\n%s\n%v", text, schema, err)
	}
}

// satisfiable are schemas of every kind.
var satisfiable = map[string]string{
	"true":                  `true`,
	"empty":                 `{}`,
	"string":                `{"type":"string"}`,
	"integer":               `{"type":"integer"}`,
	"null":                  `{"type":"null"}`,
	"several types":         `{"type":["array","null"],"minItems":2}`,
	"nested objects":        `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"object","properties":{"c":{"type":"boolean"}},"required":["c"]}},"required":["b"]}},"required":["a"],"additionalProperties":false}`,
	"required unnamed":      `{"type":"object","required":["a","b"]}`,
	"additional schema":     `{"type":"object","required":["a"],"additionalProperties":{"type":"integer","minimum":3}}`,
	"min properties":        `{"type":"object","minProperties":3}`,
	"min properties named":  `{"type":"object","minProperties":2,"properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"}},"additionalProperties":false}`,
	"pattern properties":    `{"type":"object","minProperties":2,"patternProperties":{"^x-[a-z]+$":{"type":"integer"}},"additionalProperties":false}`,
	"property names":        `{"type":"object","minProperties":3,"propertyNames":{"pattern":"^[A-Z]{3}$"}}`,
	"max properties":        `{"type":"object","maxProperties":1,"properties":{"age":{"type":"integer"},"name":{"type":"string"}}}`,
	"dependent required":    `{"type":"object","required":["a"],"dependentRequired":{"a":["b"]}}`,
	"dependent schemas":     `{"type":"object","required":["a"],"dependentSchemas":{"a":{"properties":{"c":{"type":"integer"}},"required":["c"]}}}`,
	"array":                 `{"type":"array","items":{"type":"integer"},"minItems":5}`,
	"unique strings":        `{"type":"array","items":{"type":"string","maxLength":4},"minItems":5,"uniqueItems":true}`,
	"unique integers":       `{"type":"array","items":{"type":"integer","minimum":-2,"maximum":2},"minItems":5,"uniqueItems":true}`,
	"unique enum":           `{"type":"array","items":{"enum":["a","b","c"]},"minItems":3,"uniqueItems":true}`,
	"unique booleans":       `{"type":"array","items":{"type":"boolean"},"minItems":2,"uniqueItems":true}`,
	"unique objects":        `{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]},"minItems":4,"uniqueItems":true}`,
	"many unique":           `{"type":"array","items":{"type":"integer"},"minItems":100,"uniqueItems":true}`,
	"tuple":                 `{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":false,"minItems":2}`,
	"contains":              `{"type":"array","items":{"type":"integer"},"contains":{"minimum":10},"minContains":2,"minItems":4}`,
	"max items":             `{"type":"array","items":{"type":"string"},"maxItems":0}`,
	"enum":                  `{"enum":[1,"two",null]}`,
	"enum within type":      `{"type":"string","enum":["alpha","beta"]}`,
	"const":                 `{"const":{"a":[1,2]}}`,
	"default":               `{"type":"string","default":"abc"}`,
	"minimum":               `{"type":"integer","minimum":1000000}`,
	"exclusive":             `{"type":"integer","exclusiveMinimum":3,"exclusiveMaximum":5}`,
	"between integers":      `{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}`,
	"narrow multiples":      `{"type":"number","minimum":0.31,"maximum":0.31}`,
	"negative":              `{"type":"number","maximum":-7.5}`,
	"multiple":              `{"type":"integer","multipleOf":7,"minimum":100}`,
	"multiple of fraction":  `{"type":"number","multipleOf":0.25,"exclusiveMinimum":0.5}`,
	"multiples together":    `{"type":"integer","multipleOf":2.5,"minimum":1,"allOf":[{"multipleOf":3}]}`,
	"lengths":               `{"type":"string","minLength":50,"maxLength":52}`,
	"short":                 `{"type":"string","maxLength":2}`,
	"none":                  `{"type":"string","maxLength":0}`,
	"pattern":               `{"type":"string","pattern":"^[A-Z]{2}-\\d{4}$"}`,
	"pattern with length":   `{"type":"string","pattern":"^[a-z]+$","minLength":12,"maxLength":12}`,
	"format with length":    `{"type":"string","format":"email","minLength":40}`,
	"pattern alternatives":  `{"type":"string","pattern":"^(foo|bar)(baz)?$"}`,
	"pattern unanchored":    `{"type":"string","pattern":"\\d{3}","minLength":20}`,
	"pattern unicode":       `{"type":"string","pattern":"^\\p{Lu}\\w*@[^@]+$"}`,
	"two patterns":          `{"allOf":[{"type":"string","pattern":"^a"},{"pattern":"z$"}],"anyOf":[{"const":"az"},{"type":"string"}]}`,
	"any of":                `{"anyOf":[{"type":"integer","minimum":5,"maximum":4},{"type":"object","required":["x"]}]}`,
	"one of":                `{"oneOf":[{"type":"integer"},{"type":"integer","minimum":0},{"type":"string","maxLength":3}]}`,
	"one of objects":        `{"oneOf":[{"type":"object","properties":{"kind":{"const":"a"},"x":{"type":"integer"}},"required":["kind","x"],"additionalProperties":false},{"type":"object","properties":{"kind":{"const":"b"}},"required":["kind"],"additionalProperties":false}]}`,
	"all of":                `{"allOf":[{"type":"object","properties":{"a":{"type":"integer","minimum":3}},"required":["a"]},{"properties":{"a":{"maximum":3},"b":{"type":"null"}},"required":["b"]}]}`,
	"not":                   `{"type":"integer","not":{"const":0},"anyOf":[{"const":0},{"minimum":1}]}`,
	"if then":               `{"type":"object","properties":{"a":{"enum":["x","y"]}},"required":["a"],"if":{"properties":{"a":{"const":"x"}}},"then":{"required":["b"]},"else":{"required":["c"]}}`,
	"ref":                   `{"$defs":{"p":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}},"type":"object","properties":{"p":{"$ref":"#/$defs/p"}},"required":["p"]}`,
	"definitions":           `{"definitions":{"p":{"type":"string","minLength":1}},"type":"array","items":{"$ref":"#/definitions/p"},"minItems":2}`,
	"recursive":             `{"$defs":{"node":{"type":"object","properties":{"value":{"type":"string"},"next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["value","next"],"additionalProperties":false}},"$ref":"#/$defs/node"}`,
	"recursive children":    `{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#"}}},"required":["name","children"],"additionalProperties":false}`,
	"deep":                  strings.Repeat(`{"type":"object","required":["a"],"properties":{"a":`, 30) + `{"type":"integer"}` + strings.Repeat(`}}`, 30),
	"unevaluated":           `{"type":"object","allOf":[{"properties":{"a":{"type":"integer"}},"required":["a"]}],"unevaluatedProperties":false}`,
	"draft 7":               `{"$schema":"http://json-schema.org/draft-07/schema#","type":"array","items":[{"type":"integer"},{"type":"string"}],"additionalItems":false,"minItems":2}`,
	"untyped properties":    `{"properties":{"a":{"minimum":3},"b":{"minLength":2}},"required":["a","b"]}`,
	"property names listed": `{"type":"object","propertyNames":{"enum":["a","b","c"]},"minProperties":2}`,
	"names with patterns":   `{"type":"object","propertyNames":{"pattern":"^[a-z]{2}$"},"patternProperties":{"^a":{"type":"integer"}},"minProperties":3}`,
	"patterns of a start":   `{"type":"object","patternProperties":{"^S_":{"type":"string"},"^I_":{"type":"integer"}},"minProperties":4,"additionalProperties":false}`,
	"names to be quoted":    `{"type":"object","required":["a(b[*","x\\","","\u0438\u043c\u044f","` + strings.Repeat("long", 2000) + `"]}`,
	"draft 7 dependencies":  `{"type":"object","required":["a"],"dependencies":{"a":["b"],"b":{"required":["c"]}}}`,
	"dependent on added":    `{"type":"object","minProperties":1,"dependentRequired":{"property1":["z"]}}`,
	"contains within":       `{"type":"array","contains":{"type":"number","minimum":5},"minContains":2,"maxContains":3,"minItems":5,"items":{"type":"number"}}`,
	"contains two texts":    `{"type":"array","contains":{"type":"string"},"minContains":2,"maxContains":2,"minItems":4}`,
	"not a type":            `{"not":{"type":["string","object"]}}`,
	"not listed":            `{"type":"integer","minimum":1,"maximum":3,"not":{"enum":[1,2]}}`,
	"not a pattern":         `{"type":"string","minLength":3,"not":{"pattern":"^A"}}`,
	"not required":          `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"not":{"required":["a"]},"minProperties":1}`,
	"one of multiples":      `{"oneOf":[{"type":"integer","multipleOf":3},{"type":"integer","multipleOf":5}]}`,
	"one of required":       `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`,
	"else":                  `{"type":"integer","if":{"type":"string"},"then":{"minLength":200},"else":{"minimum":7}}`,
	"unevaluated schema":    `{"type":"object","properties":{"a":{"type":"string"}},"unevaluatedProperties":{"type":"integer"},"minProperties":3}`,
	"two multiples":         `{"allOf":[{"type":"integer","multipleOf":6},{"multipleOf":4}],"minimum":13}`,
	"narrow steps":          `{"type":"number","multipleOf":0.01,"minimum":10.005,"maximum":10.02}`,
	"many of a pattern":     `{"type":"array","items":{"type":"string","pattern":"^[A-Z]{3}$"},"minItems":200,"uniqueItems":true}`,
	"mixed values":          `{"type":"array","items":{"enum":[null,1,"1",true,[1],{"a":1}]},"minItems":6,"uniqueItems":true}`,
}

// manyPaths returns a schema whose validation would take millions of steps.
func manyPaths() string {
	var defs strings.Builder
	for i := range 24 {
		fmt.Fprintf(&defs, `"a%d":{"anyOf":[{"$ref":"#/$defs/a%d"},{"title":"x","$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	return `{"$defs":{` + defs.String() + `"a24":{"type":"integer","minimum":5}},"$ref":"#/$defs/a0"}`
}

func TestSchemasAreSatisfied(t *testing.T) {
	for name, schema := range satisfiable {
		t.Run(name, func(t *testing.T) {
			for _, message := range []string{"Ada is 36 years old and lives in Oslo.", "", "x: 1\n\"a\": 0\nb=z"} {
				text, err := structured(t, schema, message)
				if err != nil {
					t.Fatalf("%q: %v", message, err)
				}
				checkValid(t, schema, text)
			}
		})
	}
}

func TestFormatsAreSatisfied(t *testing.T) {
	for _, format := range []string{"date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "iri",
		"uri-reference", "uuid", "json-pointer", "relative-json-pointer", "regex", "semver", "uri-template", "unheard-of"} {
		t.Run(format, func(t *testing.T) {
			schema := `{"type":"array","items":{"type":"string","format":"` + format + `"},"minItems":3,"uniqueItems":true}`
			text, err := structured(t, schema, "Meet me on May 4.")
			is.New(t).NoErr(err)
			checkValid(t, schema, text)
		})
	}
}

func TestSchemasThatNothingSatisfies(t *testing.T) {
	for name, schema := range map[string]string{
		"false":            `false`,
		"bounds":           `{"type":"integer","minimum":3,"maximum":2}`,
		"no integer":       `{"type":"integer","exclusiveMinimum":3,"exclusiveMaximum":4}`,
		"endless":          `{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`,
		"deep bounds":      strings.Repeat(`{"type":"object","required":["a"],"properties":{"a":`, 12) + `{"type":"integer","minimum":3,"maximum":2}` + strings.Repeat(`}}`, 12),
		"endless branches": `{"anyOf":[{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]},{"type":"object","properties":{"b":{"$ref":"#"}},"required":["b"]}]}`,
		"forbidden":        `{"type":"object","required":["a"],"additionalProperties":false}`,
		"too few":          `{"type":"array","items":{"enum":[1,2]},"minItems":3,"uniqueItems":true}`,
		"too many":         `{"type":"array","minItems":1000000000}`,
		"circular":         `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a","type":"integer"}},"$ref":"#/$defs/a"}`,
		"many paths":       manyPaths(),
		"not at all":       `{"not":{}}`,
		"does not compile": `{"type":"strin"}`,
		"no JSON":          `{`,
	} {
		t.Run(name, func(t *testing.T) {
			text, err := structured(t, schema, "Ada is 36.")
			if !fault.Is(err, fault.Rejected) {
				t.Errorf("got %q, %v", text, err)
			}
		})
	}
}

// TestManyRequiredPropertiesAreFilledInTime fills four times as many properties, which
// takes about four times as much: a small request would otherwise take all of a core.
func TestManyRequiredPropertiesAreFilledInTime(t *testing.T) {
	bytes := func(n int) uint64 {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("%q", fmt.Sprint("k", i)))
		}
		schema := `{"type":"object","required":[` + strings.Join(names, ",") + `]}`
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		text, err := structured(t, schema, "Ada is 36.")
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		checkValid(t, schema, text)
		return after.TotalAlloc - before.TotalAlloc
	}
	if few, many := bytes(100), bytes(400); many > 16*few {
		t.Errorf("%d bytes for 100 properties, %d for 400", few, many)
	}
}

func TestSchemasCannotReadFiles(t *testing.T) {
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "schema.json")
	is.NoErr(os.WriteFile(path, []byte(`{"type":"integer"}`), 0o600))
	_, err := structured(t, `{"$ref":"file://`+path+`"}`, "Ada is 36.")
	is.True(fault.Is(err, fault.Rejected))
}

func TestStructuredOutputIsFilledFromTheText(t *testing.T) {
	object := func(properties string) string {
		return `{"type":"object","properties":{` + properties + `},"additionalProperties":false}`
	}
	tests := []struct{ name, schema, message, want string }{
		{"a person", object(`"name":{"type":"string"},"age":{"type":"integer"}`), "Ada is 36 years old.", `{"age":36,"name":"Ada"}`},
		{"labels", object(`"first_name":{"type":"string"},"order id":{"type":"string"}`), "First name: Ada\nOrder ID: X-17", `{"first_name":"Ada","order id":"X-17"}`},
		{"is", object(`"city":{"type":"string"}`), "My name is Ada and my city is Oslo.", `{"city":"Oslo"}`},
		{"JSON in the text", object(`"total":{"type":"number"},"sku":{"type":"string"}`), `The order was {"sku": "A7", "total": 12.50}`, `{"sku":"A7","total":12.50}`},
		{"numbers by their words", object(`"price":{"type":"number"},"guests":{"type":"integer"}`), "We are 4 guests and paid $31.20.", `{"guests":4,"price":31.20}`},
		{"an email and a date", object(`"email":{"type":"string","format":"email"},"due":{"type":"string","format":"date"}`),
			"Write to ada@example.com before May 4, 2026.", `{"due":"2026-05-04","email":"ada@example.com"}`},
		{"a pattern", object(`"ticket":{"type":"string","pattern":"^[A-Z]+-[0-9]+$"}`), "It is about OPS-12, I think.", `{"ticket":"OPS-12"}`},
		{"an enum that is mentioned", object(`"color":{"enum":["red","green","blue"]}`), "I would like the green one.", `{"color":"green"}`},
		{"a sentiment", object(`"sentiment":{"type":"string","enum":["positive","negative","neutral"]}`), "This is terrible, I hate it.", `{"sentiment":"negative"}`},
		{"another sentiment", object(`"sentiment":{"type":"string","enum":["positive","negative","neutral"]}`), "What a wonderful day, I love it!", `{"sentiment":"positive"}`},
		{"a truth", object(`"urgent":{"type":"boolean"}`), "This is urgent!", `{"urgent":true}`},
		{"a list", object(`"items":{"type":"array","items":{"type":"string"}}`), "Please buy milk, eggs and bread.", `{"items":["milk","eggs","bread"]}`},
		{"a list of an enum", object(`"days":{"type":"array","items":{"enum":["mon","tue","wed"]}}`), "I can come wed or mon.", `{"days":["mon","wed"]}`},
		{"emails", object(`"emails":{"type":"array","items":{"type":"string","format":"email"}}`), "a@x.com and b@y.org", `{"emails":["a@x.com","b@y.org"]}`},
		{"nothing, where null is allowed", `{"type":"object","properties":{"phone":{"type":["string","null"]}},"required":["phone"]}`, "Hello there.", `{"phone":null}`},
		{"people", object(`"participants":{"type":"array","items":{"type":"string"}}`), "Alice and Bob Dahl are going to a fair on Friday.", `{"participants":["Alice","Bob Dahl"]}`},
		{"an invoice", object(`"invoice_number":{"type":"string"},"vendor":{"type":"string"},"total":{"type":"number"},"due_date":{"type":"string","format":"date"}`),
			"Invoice 4711 from Acme Corp dated 2026-02-03: total $1,250.00, due 2026-03-01.",
			`{"due_date":"2026-03-01","invoice_number":"4711","total":1250.00,"vendor":"Acme"}`},
		{"dates by their words", object(`"check_in":{"type":"string","format":"date"},"check_out":{"type":"string","format":"date"}`),
			"Check-in is on May 3, 2026 and check-out is on May 7, 2026.", `{"check_in":"2026-05-03","check_out":"2026-05-07"}`},
		{"times by their words", object(`"start_time":{"type":"string"},"end_time":{"type":"string"}`),
			"The meeting starts at 10:00 and ends at 11:30.", `{"end_time":"11:30","start_time":"10:00"}`},
		{"the nearer word", object(`"items":{"type":"integer"},"price":{"type":"number"}`),
			"Total items: 12. Total price: $48.00.", `{"items":12,"price":48.00}`},
		{"objects in a list", object(`"people":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},"required":["name","age"]}}`),
			"Ada is 36 years old.", `{"people":[{"age":36,"name":"Ada"}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			text, err := structured(t, tt.schema, tt.message)
			is.NoErr(err)
			is.Equal(text, tt.want)
		})
	}
}

func TestObjectFormatSaysSomething(t *testing.T) {
	is := is.New(t)
	req := ask(user("The shop is \"open\" & busy. Is the shop open?"))
	req.Format.Type = model.FormatObject
	is.Equal(generate(t, req).Text, `{"answer":"The shop is \"open\" & busy."}`)
}

func FuzzFillSchema(f *testing.F) {
	for _, schema := range satisfiable {
		f.Add(schema, "Ada is 36 years old, lives in Oslo: a@x.com, 2026-01-02.")
	}
	f.Fuzz(func(t *testing.T, schema, message string) {
		if len(schema) > 2000 || len(message) > 2000 {
			return
		}
		text, err := structured(t, schema, message)
		if err == nil {
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			if err != nil {
				t.Fatalf("%q is not JSON: %v", text, err)
			}
			if compiled, err := jsonschemas.Parse(json.RawMessage(schema), false); err == nil && compiled.Validate(value) != nil {
				t.Fatalf("%s does not satisfy %s", text, schema)
			}
		} else if !fault.Is(err, fault.Rejected) {
			t.Fatal(err)
		}
	})
}

func TestSchemasAreFilledTheSameWayEveryTime(t *testing.T) {
	for name, schema := range satisfiable {
		t.Run(name, func(t *testing.T) {
			want, _ := structured(t, schema, "Ada is 36 years old.")
			for range 3 {
				got, _ := structured(t, schema, "Ada is 36 years old.")
				is.New(t).Equal(got, want)
			}
		})
	}
}
