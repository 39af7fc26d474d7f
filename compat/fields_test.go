package compat

import (
	"reflect"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"github.com/seed-506d8e5d/svc/internal/wire"
)

// TestEveryFieldHasAUse holds the tables of fields to the parameters that OpenAI's
// client knows: a field that it learns about has to be decided on here.
func TestEveryFieldHasAUse(t *testing.T) {
	for _, c := range []struct {
		params any
		table  map[string]wire.Field
	}{
		{responses.ResponseNewParams{}, wire.Fields(wire.ResponseRequest{})},
		{openai.ChatCompletionNewParams{}, wire.Fields(wire.ChatRequest{})},
		{openai.CompletionNewParams{}, wire.Fields(wire.CompletionRequest{})},
		{openai.EmbeddingNewParams{}, wire.Fields(wire.EmbeddingRequest{})},
	} {
		kind := reflect.TypeOf(c.params)
		names := fieldNames(kind)
		if len(names) < 4 {
			t.Fatalf("%v has only the fields %q", kind, names)
		}
		for _, name := range names {
			if c.table[name].Use == "" {
				t.Errorf("%v has the field %q, which is in no table", kind, name)
			}
		}
		for name, field := range c.table {
			if field.Use != wire.Honoured && field.Why == "" {
				t.Errorf("%v: %q is %s for no reason", kind, name, field.Use)
			}
		}
	}
}

// fieldNames are the names of a type's fields in JSON.
func fieldNames(kind reflect.Type) (names []string) {
	for i := range kind.NumField() {
		name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}
