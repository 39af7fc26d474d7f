package chat

import (
	"testing"

	"github.com/seed-506d8e5d/svc/internal/jsonout"
)

// TestRecordIsWrittenAsEncoded compares what is written without reflection with
// what encoding/json makes of it.
func TestRecordIsWrittenAsEncoded(t *testing.T) {
	text, none := "<b>\"a\" \\ \n\u2028 é \xff</b>", ""
	for _, r := range []record{
		{},
		{Created: 1, Model: "m<", Content: &text, Finish: "stop", Input: 1, Cached: 2, Output: 3, Reasoning: 4, Metadata: map[string]string{"b": "<", "a": "\""}},
		{Content: &none, Calls: []callRecord{{"1", "f", `{"a":"<"}`}, {}}, Metadata: map[string]string{}},
	} {
		want, err := jsonout.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.AppendJSON(nil); string(got) != string(want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}
