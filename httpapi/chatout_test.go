package httpapi

import (
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
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

// TestCompletionIsWrittenAsEncoded compares what is written without reflection
// with what encoding/json makes of it.
func TestCompletionIsWrittenAsEncoded(t *testing.T) {
	text, none := "<b>\"a\" \\ \n\u2028 é \xff</b>", ""
	for name, c := range map[string]chat.Completion{
		"text": {ID: "chatcmpl_1", Created: 1, Model: "m<", Content: &text, FinishReason: model.Stop,
			Usage:    model.Usage{InputTokens: 1, CachedTokens: 2, OutputTokens: 3, ReasoningTokens: 4},
			Metadata: map[string]string{"b": "<", "a": "\""}},
		"no text":  {Content: &none, Metadata: map[string]string{}},
		"a call":   {ToolCalls: []model.ToolCall{{ID: "1", Name: "f", Arguments: `{"a":"<"}`}}, FinishReason: model.ToolCalls, Metadata: map[string]string{}},
		"calls":    {Content: &text, ToolCalls: []model.ToolCall{{ID: "1"}, {ID: "2"}}, Metadata: map[string]string{}},
		"logprobs": {Content: &text, Logprobs: []model.Logprob{{}, {}}, Metadata: map[string]string{}},
	} {
		o := newCompletionObject(&c)
		want, err := jsonout.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if got := o.AppendJSON(nil); string(got) != string(want) {
			t.Errorf("%s: got %s\nwant %s", name, got, want)
		}
	}
}
