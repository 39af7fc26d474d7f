package httpapi

import (
	"strconv"

	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/model"
)

// completionObject is a chat completion on the wire.
type completionObject struct {
	ID       string            `json:"id"`
	Object   string            `json:"object"`
	Created  int64             `json:"created"`
	Model    string            `json:"model"`
	Choices  [1]choiceObject   `json:"choices"`
	Usage    chatUsageObject   `json:"usage"`
	Metadata map[string]string `json:"metadata"`
}

type choiceObject struct {
	Index        int                `json:"index"`
	Message      answerObject       `json:"message"`
	Logprobs     *struct{}          `json:"logprobs"` // always null
	FinishReason model.FinishReason `json:"finish_reason"`
}

type answerObject struct {
	Role      model.Role       `json:"role"`
	Content   *string          `json:"content"`
	Refusal   *struct{}        `json:"refusal"` // always null
	ToolCalls []toolCallObject `json:"tool_calls,omitempty"`
}

type toolCallObject struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function functionObject `json:"function"`
}

type functionObject struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type chatUsageObject struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
	PromptDetails    struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		ReasoningTokens int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func newCompletionObject(c *chat.Completion) completionObject {
	return completionObject{
		ID:      c.ID,
		Object:  "chat.completion",
		Created: c.Created,
		Model:   c.Model,
		Choices: [1]choiceObject{{
			Message:      answerObject{Role: model.Assistant, Content: c.Content, ToolCalls: toolCallObjects(c.ToolCalls)},
			FinishReason: c.FinishReason,
		}},
		Usage:    newChatUsage(c.Usage),
		Metadata: c.Metadata,
	}
}

func toolCallObjects(calls []model.ToolCall) []toolCallObject {
	var objects []toolCallObject
	for _, c := range calls {
		objects = append(objects, toolCallObject{c.ID, "function", functionObject{c.Name, c.Arguments}})
	}
	return objects
}

func newChatUsage(u model.Usage) chatUsageObject {
	o := chatUsageObject{PromptTokens: u.InputTokens, CompletionTokens: u.OutputTokens, TotalTokens: u.InputTokens + u.OutputTokens}
	o.PromptDetails.CachedTokens = u.CachedTokens
	o.CompletionDetails.ReasoningTokens = u.ReasoningTokens
	return o
}

// storedMessageObject is a message of a stored completion's request. Content is
// the text of a message with one text part; other content is in ContentParts.
type storedMessageObject struct {
	ID           string           `json:"id"`
	Role         model.Role       `json:"role"`
	Content      *string          `json:"content"`
	ContentParts []partObject     `json:"content_parts"` // null where Content tells all
	Refusal      *struct{}        `json:"refusal"`       // always null
	ToolCalls    []toolCallObject `json:"tool_calls,omitempty"`
	ToolCallID   string           `json:"tool_call_id,omitempty"`
}

// partObject is a part in the form in which it may be sent again.
type partObject struct {
	Type     string  `json:"type"`
	Text     *string `json:"text,omitempty"`
	FileID   string  `json:"file_id,omitempty"`
	Filename string  `json:"filename,omitempty"`
	MIMEType string  `json:"mime_type,omitempty"`
	FileData *[]byte `json:"file_data,omitempty"` // base64
}

func newStoredMessageObject(m chat.StoredMessage) storedMessageObject {
	o := storedMessageObject{ID: m.ID, Role: m.Role, ToolCalls: toolCallObjects(m.ToolCalls), ToolCallID: m.ToolCallID}
	if len(m.Content) == 1 {
		if text, ok := m.Content[0].(chat.Text); ok {
			o.Content = (*string)(&text)
			return o
		}
	}
	for _, p := range m.Content {
		o.ContentParts = append(o.ContentParts, newPartObject(p))
	}
	return o
}

func newPartObject(p chat.Part) partObject {
	f, ok := p.(chat.File)
	if !ok {
		text := string(p.(chat.Text))
		return partObject{Type: "text", Text: &text}
	}
	o := partObject{Type: "file", FileID: f.ID, Filename: f.Name, MIMEType: f.MIMEType}
	if f.Data != nil {
		o.FileData = &f.Data
	}
	return o
}

// chunkEncoder writes the events of one chat stream. What it returns is valid
// until its next call.
type chunkEncoder struct {
	buf   []byte
	head  int  // length of what all chunks begin with, which stays in buf
	usage bool // a chunk with the usage is wanted
}

// event returns a chunk as an event; the last chunk comes with all that follows
// it.
func (e *chunkEncoder) event(c *chat.Chunk) []byte {
	if e.head == 0 {
		e.begin(c)
	}
	b := append(e.buf[:e.head], `[{"index":0,"delta":`...)
	b = appendDelta(b, c)
	b = append(b, `,"finish_reason":`...)
	if c.FinishReason == "" {
		b = append(b, `null}]`...)
	} else {
		b = appendString(b, string(c.FinishReason))
		b = append(b, `}]`...)
	}
	if e.usage {
		b = append(b, `,"usage":null`...)
	}
	b = append(b, "}\n\n"...)
	if c.FinishReason != "" {
		b = e.end(b, c)
	}
	e.buf = b
	return b
}

// begin writes what all chunks begin with.
func (e *chunkEncoder) begin(c *chat.Chunk) {
	b := append(e.buf[:0], `data: {"id":`...)
	b = appendString(b, c.ID)
	b = append(b, `,"object":"chat.completion.chunk","created":`...)
	b = strconv.AppendInt(b, c.Created, 10)
	b = append(b, `,"model":`...)
	b = appendString(b, c.Model)
	e.buf = append(b, `,"choices":`...)
	e.head = len(e.buf)
}

// end appends what follows the last chunk.
func (e *chunkEncoder) end(b []byte, c *chat.Chunk) []byte {
	if e.usage {
		b = append(b, e.buf[:e.head]...)
		b = append(b, `[],"usage":{"prompt_tokens":`...)
		b = strconv.AppendInt(b, int64(c.Usage.InputTokens), 10)
		b = append(b, `,"completion_tokens":`...)
		b = strconv.AppendInt(b, int64(c.Usage.OutputTokens), 10)
		b = append(b, `,"total_tokens":`...)
		b = strconv.AppendInt(b, int64(c.Usage.InputTokens+c.Usage.OutputTokens), 10)
		b = append(b, `,"prompt_tokens_details":{"cached_tokens":`...)
		b = strconv.AppendInt(b, int64(c.Usage.CachedTokens), 10)
		b = append(b, `},"completion_tokens_details":{"reasoning_tokens":`...)
		b = strconv.AppendInt(b, int64(c.Usage.ReasoningTokens), 10)
		b = append(b, "}}}\n\n"...)
	}
	return append(b, "data: [DONE]\n\n"...)
}

func appendDelta(b []byte, c *chat.Chunk) []byte {
	b = append(b, '{')
	if c.First {
		b = append(b, `"role":"assistant",`...)
	}
	switch {
	case c.ToolCall != nil:
		if c.First {
			b = append(b, `"content":null,`...)
		}
		b = appendCallDelta(b, c.ToolCall)
	case c.First || c.Text != "":
		b = append(b, `"content":`...)
		b = appendString(b, c.Text)
	}
	return append(b, '}')
}

func appendCallDelta(b []byte, d *chat.CallDelta) []byte {
	b = append(b, `"tool_calls":[{"index":`...)
	b = strconv.AppendInt(b, int64(d.Index), 10)
	if d.ID != "" {
		b = append(b, `,"id":`...)
		b = appendString(b, d.ID)
		b = append(b, `,"type":"function","function":{"name":`...)
		b = appendString(b, d.Name)
		b = append(b, `,"arguments":""}}]`...)
		return b
	}
	b = append(b, `,"function":{"arguments":`...)
	b = appendString(b, d.Arguments)
	return append(b, `}}]`...)
}
