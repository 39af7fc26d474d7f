package chat

import (
	"testing"

	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/model"
)

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
