package httpapi

import (
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

// chunkEncoder writes the events of one chat stream. What it returns is valid
// until its next call.
type chunkEncoder struct {
	buf   []byte
	head  int  // length of what all chunks begin with, which stays in buf
	usage bool // a chunk with the usage is wanted
	text  bool // of a text that is continued
}

func (*chunkEncoder) alive() []byte { return keepalive }

// events returns a chunk as an event; the last chunk comes with all that follows
// it.
func (e *chunkEncoder) events(c *chat.Chunk) ([]byte, error) { return e.event(c), nil }

func (e *chunkEncoder) event(c *chat.Chunk) []byte {
	if e.head == 0 {
		e.begin(c)
	}
	w := jsonout.Writer{Buf: e.buf[:e.head]}
	if !e.text && isText(c) {
		w.Buf = append(w.Buf, `[{"index":0,"delta":{"content":`...)
		w.String(c.Text)
		w.Buf = append(w.Buf, `},"finish_reason":null}]`...)
		return e.close(&w)
	}
	if e.text {
		w.Buf = appendJSON(w.Buf, [1]wire.TextChoice{convert.ToTextChoice(c)})
	} else {
		w.Buf = appendJSON(w.Buf, [1]wire.ChunkChoice{convert.ToChunkChoice(c)})
	}
	e.close(&w)
	if c.FinishReason != "" {
		e.end(c)
	}
	return e.buf
}

// isText reports whether a chunk is a piece of text and nothing else, as nearly
// all are.
func isText(c *chat.Chunk) bool {
	return c.Text != "" && !c.First && c.ToolCall == nil && c.Logprobs == nil && c.FinishReason == ""
}

// close ends the event behind its choices.
func (e *chunkEncoder) close(w *jsonout.Writer) []byte {
	if e.usage {
		w.Name("usage").Null()
	}
	w.EndObject()
	e.buf = append(w.Buf, "\n\n"...)
	return e.buf
}

// begin writes what all chunks begin with.
func (e *chunkEncoder) begin(c *chat.Chunk) {
	w := jsonout.Over(append(e.buf[:0], "data: "...))
	w.Object()
	w.Name("id").String(c.ID)
	object := "chat.completion.chunk"
	if e.text {
		object = wire.TextCompletionObject
	}
	w.Name("object").String(object)
	w.Name("created").Int(c.Created)
	w.Name("model").String(c.Model)
	w.Name("choices")
	e.buf, e.head = w.Buf, len(w.Buf)
}

// end appends what follows the last chunk.
func (e *chunkEncoder) end(c *chat.Chunk) {
	if e.usage {
		w := jsonout.Writer{Buf: append(e.buf, e.buf[:e.head]...)}
		w.Array()
		w.EndArray()
		w.Name("usage")
		w.Buf = appendJSON(w.Buf, convert.ToChatUsage(&c.Usage))
		w.EndObject()
		e.buf = append(w.Buf, "\n\n"...)
	}
	e.buf = append(e.buf, "data: [DONE]\n\n"...)
}

// appendJSON appends the JSON of a part of an answer.
func appendJSON(b []byte, v any) []byte {
	data, err := encode(v)
	if err != nil {
		panic(err) // a type of ours that cannot be encoded is a defect
	}
	return append(b, data...)
}
