package httpapi

import (
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/logprobs"
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
	Logprobs     *logprobsObject    `json:"logprobs"` // null unless they were asked for
	FinishReason model.FinishReason `json:"finish_reason"`
}

// logprobsObject are the log-probabilities of a choice.
type logprobsObject struct{ tokens []model.Logprob }

func newLogprobs(tokens []model.Logprob) *logprobsObject {
	if tokens == nil {
		return nil
	}
	return &logprobsObject{tokens}
}

// AppendJSON appends the object to a buffer.
func (o *logprobsObject) AppendJSON(b []byte) []byte {
	w := jsonout.Over(b)
	w.Object()
	logprobs.Write(w.Name("content"), o.tokens, true)
	w.Name("refusal").Null()
	w.EndObject()
	return w.Buf
}

// MarshalJSON returns what AppendJSON appends.
func (o *logprobsObject) MarshalJSON() ([]byte, error) { return o.AppendJSON(nil), nil }

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
			Logprobs:     newLogprobs(c.Logprobs),
			FinishReason: c.FinishReason,
		}},
		Usage:    newChatUsage(c.Usage),
		Metadata: c.Metadata,
	}
}

// AppendJSON implements jsonout.Appender: what encoding/json makes of the object.
func (o *completionObject) AppendJSON(b []byte) []byte {
	w := jsonout.Over(b)
	w.Object()
	w.Name("id").String(o.ID)
	w.Name("object").String(o.Object)
	w.Name("created").Int(o.Created)
	w.Name("model").String(o.Model)
	w.Name("choices").Array()
	for i := range o.Choices {
		o.Choices[i].write(&w)
	}
	w.EndArray()
	o.Usage.write(w.Name("usage"))
	jsonout.Tags(w.Name("metadata"), o.Metadata)
	w.EndObject()
	return w.Buf
}

func (o *choiceObject) write(w *jsonout.Writer) {
	w.Object()
	w.Name("index").Int(int64(o.Index))
	w.Name("message").Object()
	w.Name("role").String(string(o.Message.Role))
	if w.Name("content"); o.Message.Content == nil {
		w.Null()
	} else {
		w.String(*o.Message.Content)
	}
	w.Name("refusal").Null()
	if len(o.Message.ToolCalls) > 0 {
		w.Name("tool_calls").Array()
		for _, c := range o.Message.ToolCalls {
			w.Object()
			w.Name("id").String(c.ID)
			w.Name("type").String(c.Type)
			w.Name("function").Object()
			w.Name("name").String(c.Function.Name)
			w.Name("arguments").String(c.Function.Arguments)
			w.EndObject()
			w.EndObject()
		}
		w.EndArray()
	}
	w.EndObject()
	if w.Name("logprobs"); o.Logprobs == nil {
		w.Null()
	} else {
		w.Value(o.Logprobs)
	}
	w.Name("finish_reason").String(string(o.FinishReason))
	w.EndObject()
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

func (o *chatUsageObject) write(w *jsonout.Writer) {
	w.Object()
	w.Name("prompt_tokens").Int(int64(o.PromptTokens))
	w.Name("completion_tokens").Int(int64(o.CompletionTokens))
	w.Name("total_tokens").Int(int64(o.TotalTokens))
	w.Name("prompt_tokens_details").Object()
	w.Name("cached_tokens").Int(int64(o.PromptDetails.CachedTokens))
	w.EndObject()
	w.Name("completion_tokens_details").Object()
	w.Name("reasoning_tokens").Int(int64(o.CompletionDetails.ReasoningTokens))
	w.EndObject()
	w.EndObject()
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
	text  bool // of a text that is continued
}

// event returns a chunk as an event; the last chunk comes with all that follows
// it.
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
	w.Array()
	if e.text {
		writeTextChoice(&w, c)
	} else {
		writeChoice(&w, c)
	}
	w.EndArray()
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
		object = textCompletionName
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
		usage := newChatUsage(c.Usage)
		usage.write(w.Name("usage"))
		w.EndObject()
		e.buf = append(w.Buf, "\n\n"...)
	}
	e.buf = append(e.buf, "data: [DONE]\n\n"...)
}

func writeChoice(w *jsonout.Writer, c *chat.Chunk) {
	w.Object()
	w.Name("index").Int(0)
	writeDelta(w.Name("delta"), c)
	if c.Logprobs != nil {
		w.Name("logprobs").Value(newLogprobs(c.Logprobs))
	}
	w.Name("finish_reason").OptionalString(string(c.FinishReason))
	w.EndObject()
}

func writeDelta(w *jsonout.Writer, c *chat.Chunk) {
	w.Object()
	if c.First {
		w.Name("role").String("assistant")
	}
	switch {
	case c.ToolCall != nil:
		if c.First {
			w.Name("content").Null()
		}
		writeCallDelta(w.Name("tool_calls"), c.ToolCall)
	case c.First || c.Text != "":
		w.Name("content").String(c.Text)
	}
	w.EndObject()
}

func writeCallDelta(w *jsonout.Writer, d *chat.CallDelta) {
	w.Array()
	w.Object()
	w.Name("index").Int(int64(d.Index))
	if d.ID != "" {
		w.Name("id").String(d.ID)
		w.Name("type").String("function")
	}
	w.Name("function").Object()
	if d.ID != "" {
		w.Name("name").String(d.Name)
	}
	w.Name("arguments").String(d.Arguments)
	w.EndObject()
	w.EndObject()
	w.EndArray()
}
