package httpapi

import (
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/model"
)

// chunkJSON is a chunk for encoding/json; what the encoder writes by hand must
// be the same.
type chunkJSON struct {
	ID      string        `json:"id"`
	Object  string        `json:"object"`
	Created int64         `json:"created"`
	Model   string        `json:"model"`
	Choices []chunkChoice `json:"choices"`
}

type chunkChoice struct {
	Index  int `json:"index"`
	Delta  any `json:"delta"`
	Finish any `json:"finish_reason"`
}

func event(t *testing.T, c chunkJSON) string {
	data, err := encode(c)
	if err != nil {
		t.Fatal(err)
	}
	return "data: " + string(data) + "\n\n"
}

func FuzzChunksAreAsEncodingJSONWritesThem(f *testing.F) {
	f.Add("chatcmpl_1", "svc-preview", "plain", int64(1))
	f.Add("\"\\", "<&>", "é\u2028\x00\xff", int64(-1))
	f.Add("", "", "", int64(0))
	f.Fuzz(func(t *testing.T, id, name, text string, created int64) {
		chunk := chat.Chunk{ID: id, Created: created, Model: name}
		base := chunkJSON{ID: id, Object: "chat.completion.chunk", Created: created, Model: name}
		with := func(delta, finish any) chunkJSON {
			c := base
			c.Choices = []chunkChoice{{0, delta, finish}}
			return c
		}
		type function struct {
			Arguments string `json:"arguments"`
		}
		type piece struct {
			Index    int      `json:"index"`
			Function function `json:"function"`
		}

		var got, want strings.Builder
		var e chunkEncoder
		chunk.First, chunk.Text = true, text
		got.Write(e.event(&chunk))
		want.WriteString(event(t, with(struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		}{"assistant", text}, nil)))

		chunk.First, chunk.Text, chunk.ToolCall = false, "", &chat.CallDelta{Index: 3, Arguments: text}
		got.Write(e.event(&chunk))
		want.WriteString(event(t, with(map[string]any{"tool_calls": []piece{{3, function{text}}}}, nil)))

		chunk.ToolCall, chunk.FinishReason = nil, model.Length
		got.Write(e.event(&chunk))
		want.WriteString(event(t, with(struct{}{}, "length")) + "data: [DONE]\n\n")

		if got.String() != want.String() {
			t.Errorf("\ngot  %s\nwant %s", got.String(), want.String())
		}
	})
}
