package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/seed-506d8e5d/svc/fault"
	jsonschemas "github.com/seed-506d8e5d/svc/internal/schema"
	"github.com/seed-506d8e5d/svc/model"
)

// codeSchema is the code of the error for a schema that no value satisfies, as
// far as the model can tell.
const codeSchema = "unsatisfiable_schema"

// fillFormat returns JSON text that satisfies the schema of a format.
func (b *Backend) fillFormat(ctx context.Context, format model.Format, c *conversation) (string, error) {
	f := newFacts(c, b.lexicon)
	f.whole = true
	if len(c.outputs) > 0 {
		f.free = c.answer()
	} else if picked := c.pick(); picked != "" {
		f.free = picked
	}
	return fillSchema(ctx, format.Schema, f)
}

// objectText returns a JSON object with the answer in it.
func objectText(c *conversation) string {
	return marshal(map[string]any{"answer": c.answer()})
}

// attempts are how a schema is filled, in turn: first with every field that the
// text has a value for, then with as little as possible, and deeper each time,
// for a recursive schema ends only where it may.
var attempts = []struct {
	eager bool
	depth int
}{{true, 6}, {false, 3}, {false, 8}, {false, 24}, {false, 64}}

// fillSchema returns JSON text that satisfies a schema, filled with the facts
// where they fit, or a Rejected error, or the context's.
func fillSchema(ctx context.Context, schema json.RawMessage, facts *facts) (string, error) {
	if len(schema) == 0 {
		return "{}", nil
	}
	for _, formats := range []bool{true, false} {
		compiled, err := compile(schema, formats)
		if err != nil {
			return "", rejected("The JSON Schema cannot be used.", err)
		}
		if jsonschemas.Parts(compiled) > jsonschemas.MaxParts {
			return "", rejected("The JSON Schema is too complex.", nil)
		}
		for _, attempt := range attempts {
			facts.reset()
			f := filler{ctx: ctx, facts: facts, eager: attempt.eager, depth: attempt.depth, steps: mostSteps}
			got, ok := f.fill([]*jsonschema.Schema{compiled}, want{})
			if ok && compiled.Validate(got.value) == nil {
				return marshal(got.value), nil
			}
			if err := ctx.Err(); err != nil {
				return "", err
			}
		}
	}
	return "", rejected("The model found no value that satisfies the JSON Schema.", nil)
}

func rejected(message string, cause error) error {
	return &fault.Error{Kind: fault.Rejected, Code: codeSchema, Message: message, Err: cause}
}

// compile compiles a schema, which may refer to nothing outside itself.
func compile(schema json.RawMessage, formats bool) (*jsonschema.Schema, error) {
	const url = "mem:///schema.json"
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if formats {
		c.AssertFormat()
	}
	if err := c.AddResource(url, doc); err != nil {
		return nil, err
	}
	return c.Compile(url)
}

// noLoader keeps schemas from reading files.
type noLoader struct{}

var errOutside = errors.New("builtin: the schema refers to another document")

// Load implements [jsonschema.URLLoader].
func (noLoader) Load(string) (any, error) { return nil, errOutside }

// marshal writes a value made of maps, slices, strings, json.Number, booleans
// and nil, as it stands, without the escapes that are meant for HTML.
func marshal(v any) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		// A filled value has none of the types that cannot be written.
		panic(err)
	}
	return string(bytes.TrimSuffix(out.Bytes(), []byte("\n")))
}
