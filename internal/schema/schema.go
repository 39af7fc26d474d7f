// Package schema compiles the JSON Schemas that callers send with tools and
// structured output, and validates a model's answers against them. Schemas
// refer to nothing outside themselves: no file or network address is loaded.
package schema

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// self is the address of the schema itself.
const self = "schema:self"

// Schema is a compiled JSON Schema. It may be used concurrently; one validation
// waits for another.
type Schema struct {
	compiled *jsonschema.Schema
	tenant   string // as in [Budget]
	stepper  stepper
}

// Compile compiles a schema, which must be a JSON object, have at most [MaxParts],
// and fit into a [Budget]. The Invalid error names param, the place in the schema
// and the reason.
func Compile(raw json.RawMessage, param string) (*Schema, error) {
	return new(Budget).Compile(raw, param)
}

// Parse compiles a schema for a program that makes values for it; formats says whether
// they must be of the formats that it names.
func Parse(raw json.RawMessage, formats bool) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	return compile(doc, formats, new(patterns))
}

func compile(doc any, formats bool, p *patterns) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(p.compile)
	if formats {
		c.AssertFormat()
	}
	if err := c.AddResource(self, doc); err != nil {
		return nil, err
	}
	return c.Compile(self)
}

// Validate returns an error that says where text, which should be JSON, does
// not satisfy the schema. The error is for the model: it quotes the text and the
// schema, which no log may have. Where ctx has ended meanwhile it is the context's.
func (s *Schema) Validate(ctx context.Context, text string) error {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("it is not valid JSON: %w", err)
	}
	if _, err := work(value); err != nil {
		return err
	}
	return s.stepper.run(ctx, s.tenant, func() error {
		if err := s.compiled.Validate(value); err != nil {
			return errors.New(reason(err))
		}
		return nil
	})
}

// reason puts the innermost causes of a compile or validation error in one line.
func reason(err error) string {
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		err = invalid.Err
	}
	v, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return strings.ReplaceAll(strings.TrimSpace(err.Error()), self, "")
	}
	return strings.Join(innermost(nil, v), "; ")
}

// innermost appends the first causes of v that have no cause themselves: a few
// say enough. Their depth is that of the schema and the value, which is bounded.
func innermost(causes []string, v *jsonschema.ValidationError) []string {
	const most = 3
	if len(causes) == most {
		return causes
	}
	if len(v.Causes) == 0 {
		what := v.ErrorKind.LocalizedString(message.NewPrinter(language.English))
		return append(causes, "at "+place(v.InstanceLocation)+": "+what)
	}
	for _, cause := range v.Causes {
		causes = innermost(causes, cause)
	}
	return causes
}

func place(location []string) string {
	if len(location) == 0 {
		return "the top"
	}
	return "/" + strings.Join(location, "/")
}

// noLoader refuses every reference that leads out of the schema.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, errors.New("references to other documents are not allowed")
}
