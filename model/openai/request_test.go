package openai

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

// TestRequestsAreWrittenAsTheirTagsSay sets each field by itself, and all together,
// and compares what is written with what encoding/json makes of it.
func TestRequestsAreWrittenAsTheirTagsSay(t *testing.T) {
	samples := []any{
		"a <\"\n", 7, true, new(0), new(false), new(1e-7), new("<p>"), []string{"<", ""}, new([]string{}), []int{1, 2},
		json.RawMessage(`{"1":-2}`), &streamOptions{IncludeUsage: true}, []wireTool{{Type: "function", Function: wireSpec{Name: "f", Parameters: noParameters}}},
		&wireFormat{Type: "json_schema", JSONSchema: &wireSchema{Name: "<", Schema: noParameters}},
	}
	compare := func(name string, w *wireRequest) {
		t.Helper()
		want, err := encode(w)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := w.encode(); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %s, %v\nwant %s", name, got, err, want)
		}
	}
	var all wireRequest
	compare("nothing", &all)
	kind := reflect.TypeFor[wireRequest]()
	for i := range kind.NumField() {
		if !kind.Field(i).IsExported() {
			continue
		}
		found := false
		for _, sample := range samples {
			if v := reflect.ValueOf(sample); v.Type().AssignableTo(kind.Field(i).Type) {
				var one wireRequest
				reflect.ValueOf(&one).Elem().Field(i).Set(v)
				compare(kind.Field(i).Name, &one)
				reflect.ValueOf(&all).Elem().Field(i).Set(v)
				found = true
			}
		}
		if !found {
			t.Errorf("there is no sample for %s", kind.Field(i).Name)
		}
	}
	compare("everything", &all)
	if _, err := (&wireRequest{LogitBias: json.RawMessage(`{`)}).encode(); err == nil {
		t.Error("what is no JSON is written")
	}
}
