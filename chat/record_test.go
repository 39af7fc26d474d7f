package chat

import (
	"testing"

	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/model"
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

// TestMessagesAreWrittenAsTheirRecordsAre compares what is written of messages with
// what encoding/json makes of the records that are read back.
func TestMessagesAreWrittenAsTheirRecordsAre(t *testing.T) {
	messages := []Message{
		{Role: "user", Content: []Part{Text("<b> \"é\" \n"), Text("")}},
		{Role: "assistant", ToolCalls: []model.ToolCall{{ID: "1", Name: "f", Arguments: `{"a":"<"}`}, {}}},
		{Role: "tool", ToolCallID: "1\"", Content: []Part{}},
		{Content: []Part{File{ID: "file_1"}, File{Name: "a.txt", MIMEType: "text/plain", Data: []byte("<a>\xff")}, File{Data: []byte{}}}},
	}
	want, err := jsonout.Marshal([]messageRecord{
		{Role: "user", Content: []partRecord{{Text: "<b> \"é\" \n"}, {}}},
		{Role: "assistant", ToolCalls: []callRecord{{"1", "f", `{"a":"<"}`}, {}}},
		{Role: "tool", ToolCallID: "1\""},
		{Content: []partRecord{{File: &fileRecord{ID: "file_1"}}, {File: &fileRecord{Name: "a.txt", MIMEType: "text/plain", Data: []byte("<a>\xff")}}, {File: &fileRecord{Data: []byte{}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		messages []Message
		want     string
	}{{messages, string(want)}, {nil, "[]"}} {
		got, err := encodeMessages(c.messages)
		if err != nil || string(got) != c.want {
			t.Errorf("got %s, %v\nwant %s", got, err, c.want)
		}
	}
}
