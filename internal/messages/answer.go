package messages

import (
	"encoding/json"

	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/model"
)

// Sealer seals a thought of a model as a signature.
type Sealer func(thought string) (signature string, err error)

// Message returns a completion as a message.
func Message(c *chat.Completion, seal Sealer) (*wire.MessagesMessage, error) {
	m := message(c.ID, c.Model)
	if c.Thought != "" {
		signature, err := seal(c.Thought)
		if err != nil {
			return nil, err
		}
		m.Content = append(m.Content, wire.AnswerBlock{Type: "thinking", Thinking: new(string), Signature: &signature})
	}
	if c.Content != nil && *c.Content != "" {
		m.Content = append(m.Content, wire.AnswerBlock{Type: "text", Text: c.Content})
	}
	for i := range c.ToolCalls {
		t := &c.ToolCalls[i]
		m.Content = append(m.Content, toolUse(t.ID, t.Name, input(t.Arguments)))
	}
	stopped, sequence := stopReason(c.FinishReason, c.StopSequence)
	m.StopReason, m.StopSequence = &stopped, sequence
	m.Usage = usage(c.Usage)
	return m, nil
}

// message returns a message without content.
func message(id, modelID string) *wire.MessagesMessage {
	return &wire.MessagesMessage{ID: id, Type: "message", Role: "assistant", Model: modelID, Content: []wire.AnswerBlock{}}
}

func toolUse(id, name string, input json.RawMessage) wire.AnswerBlock {
	return wire.AnswerBlock{Type: "tool_use", ID: id, Name: name, Input: input, Caller: &wire.BlockCaller{Type: "direct"}}
}

// input returns the arguments of a call as an object, which those of an answer that
// was cut short are not.
func input(arguments string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &object) != nil || object == nil {
		return json.RawMessage("{}")
	}
	return json.RawMessage(arguments)
}

func stopReason(reason model.FinishReason, sequence string) (string, *string) {
	switch {
	case reason == model.Length:
		return "max_tokens", nil
	case reason == model.ToolCalls:
		return "tool_use", nil
	case reason == model.ContentFilter:
		return "refusal", nil
	case sequence != "":
		return "stop_sequence", &sequence
	}
	return "end_turn", nil
}

func usage(u model.Usage) wire.MessagesUsage {
	return wire.MessagesUsage{
		InputTokens: u.InputTokens - u.CachedTokens, CacheReadTokens: u.CachedTokens, OutputTokens: u.OutputTokens, ServiceTier: "standard",
	}
}

// Encoder writes the events of one stream. What it returns is valid until its next
// call. The zero value with a Seal is ready to use.
type Encoder struct {
	Seal Sealer

	buf   []byte
	index int    // of the open block, or of the next one
	open  string // the type of the open block, empty where none is
}

// Events returns what a chunk is in events: none for one that has nothing new.
func (e *Encoder) Events(c *chat.Chunk) ([]byte, error) {
	e.buf = e.buf[:0]
	if c.First {
		start := message(c.ID, c.Model)
		start.Usage = usage(c.Usage)
		start.Usage.OutputTokens = 1
		e.event("message_start", struct {
			Type    string                `json:"type"`
			Message *wire.MessagesMessage `json:"message"`
		}{"message_start", start})
	}
	if c.Thought != "" {
		if err := e.thought(c.Thought); err != nil {
			return nil, err
		}
	}
	if c.Text != "" {
		e.begin("text", wire.AnswerBlock{Type: "text", Text: new(string)})
		e.delta("text_delta", "text", c.Text)
	}
	if t := c.ToolCall; t != nil {
		if t.ID != "" {
			e.end()
			e.begin("tool_use", toolUse(t.ID, t.Name, json.RawMessage("{}")))
		}
		if t.Arguments != "" {
			e.delta("input_json_delta", "partial_json", t.Arguments)
		}
	}
	if c.FinishReason != "" {
		e.finish(c)
	}
	return e.buf, nil
}

// thought writes a whole block.
func (e *Encoder) thought(text string) error {
	signature, err := e.Seal(text)
	if err != nil {
		return err
	}
	e.end()
	e.begin("thinking", wire.AnswerBlock{Type: "thinking", Thinking: new(string), Signature: new(string)})
	e.delta("signature_delta", "signature", signature)
	e.end()
	return nil
}

// begin opens a block, unless one of its type is open.
func (e *Encoder) begin(kind string, block wire.AnswerBlock) {
	if e.open == kind {
		return
	}
	e.end()
	e.open = kind
	e.event("content_block_start", struct {
		Type  string           `json:"type"`
		Index int              `json:"index"`
		Block wire.AnswerBlock `json:"content_block"`
	}{"content_block_start", e.index, block})
}

// delta writes a piece of the open block.
func (e *Encoder) delta(kind, member, text string) {
	w := jsonout.Over(append(e.buf, "event: content_block_delta\ndata: "...))
	w.Object()
	w.Name("type").String("content_block_delta")
	w.Name("index").Int(int64(e.index))
	w.Name("delta").Object()
	w.Name("type").String(kind)
	w.Name(member).String(text)
	w.EndObject()
	w.EndObject()
	e.buf = append(w.Buf, "\n\n"...)
}

// end closes the open block.
func (e *Encoder) end() {
	if e.open == "" {
		return
	}
	e.event("content_block_stop", struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
	}{"content_block_stop", e.index})
	e.open = ""
	e.index++
}

// finish writes what comes last.
func (e *Encoder) finish(c *chat.Chunk) {
	e.end()
	type delta struct {
		StopReason   string    `json:"stop_reason"`
		StopSequence *string   `json:"stop_sequence"`
		StopDetails  *struct{} `json:"stop_details"`
		Container    *struct{} `json:"container"`
	}
	reason, sequence := stopReason(c.FinishReason, c.StopSequence)
	e.event("message_delta", struct {
		Type  string             `json:"type"`
		Delta delta              `json:"delta"`
		Usage wire.MessagesUsage `json:"usage"`
	}{"message_delta", delta{StopReason: reason, StopSequence: sequence}, usage(c.Usage)})
	e.event("message_stop", struct {
		Type string `json:"type"`
	}{"message_stop"})
}

func (e *Encoder) event(name string, data any) { e.buf = AppendEvent(e.buf, name, data) }

// AppendEvent appends an event. It panics where data cannot be encoded, which is a
// defect.
func AppendEvent(b []byte, name string, data any) []byte {
	encoded, err := jsonout.Marshal(data)
	if err != nil {
		panic(err)
	}
	b = append(append(b, "event: "...), name...)
	return append(append(append(b, "\ndata: "...), encoded...), "\n\n"...)
}

// Ping is the event that says that a silent stream lives.
var Ping = []byte("event: ping\ndata: {\"type\":\"ping\"}\n\n")
