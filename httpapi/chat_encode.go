package httpapi

import (
	"slices"
	"strconv"

	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/generation"
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
	calls chat.CallForm

	input *generation.CustomInput // of the open call, where that is one of a custom tool
	call  chat.Chunk              // the last chunk of it
}

func (*chunkEncoder) alive() []byte { return keepalive }

// events returns a chunk as an event; the last chunk comes with all that follows
// it.
func (e *chunkEncoder) events(c *chat.Chunk) ([]byte, error) {
	if e.calls.Custom == nil {
		return e.event(c), nil
	}
	return e.customEvents(c), nil
}

// customEvents returns the events of a chunk where some tools are custom tools: their
// arguments are sent as the input that stands in them.
func (e *chunkEncoder) customEvents(c *chat.Chunk) []byte {
	var before []byte
	started := c.ToolCall != nil && c.ToolCall.ID != ""
	if e.input != nil && (started || c.FinishReason != "") {
		if _, rest := e.input.End(); rest != "" {
			call := e.call
			call.ToolCall = &chat.CallDelta{Index: e.call.ToolCall.Index, Arguments: rest}
			before = slices.Clone(e.event(&call))
		}
		e.input = nil
	}
	switch {
	case started && slices.Contains(e.calls.Custom, c.ToolCall.Name):
		e.input, e.call = &generation.CustomInput{}, *c
		e.call.First = false
	case c.ToolCall != nil && e.input != nil:
		piece := *c
		piece.ToolCall = &chat.CallDelta{Index: c.ToolCall.Index, Arguments: e.input.Add(c.ToolCall.Arguments)}
		if piece.ToolCall.Arguments == "" {
			return nil
		}
		c = &piece
	}
	return append(before, e.event(c)...)
}

func (e *chunkEncoder) event(c *chat.Chunk) []byte {
	if e.head == 0 {
		e.begin(c)
	}
	w := jsonout.Writer{Buf: e.buf[:e.head]}
	if !e.text && isText(c) {
		w.Buf = append(w.Buf, `[{"index":`...)
		w.Buf = strconv.AppendInt(w.Buf, int64(c.Choice), 10)
		w.Buf = append(w.Buf, `,"delta":{"content":`...)
		w.String(c.Text)
		w.Buf = append(w.Buf, `},"finish_reason":null}]`...)
		return e.close(&w)
	}
	if e.text {
		w.Buf = appendJSON(w.Buf, [1]wire.TextChoice{convert.ToTextChoice(c)})
	} else {
		w.Buf = appendJSON(w.Buf, [1]wire.ChunkChoice{convert.ToChunkChoice(c, &e.calls, e.input != nil)})
	}
	e.close(&w)
	if c.FinishReason != "" && !c.Next {
		e.end(c)
	}
	return e.buf
}

// isText reports whether a chunk is a piece of text and nothing else, as nearly
// all are.
func isText(c *chat.Chunk) bool {
	return c.Text != "" && !c.First && c.Thought == "" && c.ToolCall == nil && c.Logprobs == nil && c.FinishReason == ""
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
