package chat

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/seed-506d8e5d/svc/internal/generation"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/logprobs"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/storage"
)

// record is what is stored of a [Completion]; its ID is in the key.
type record struct {
	Created   int64              `json:"created"`
	Model     string             `json:"model"`
	Content   *string            `json:"content,omitempty"`
	Calls     []callRecord       `json:"calls,omitempty"`
	Logprobs  []logprobs.Record  `json:"logprobs,omitempty"`
	Finish    model.FinishReason `json:"finish"`
	Input     int                `json:"input"` // token counts
	Cached    int                `json:"cached,omitempty"`
	Output    int                `json:"output"`
	Reasoning int                `json:"reasoning,omitempty"`
	Metadata  map[string]string  `json:"metadata,omitempty"`
}

type callRecord struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func callRecords(calls []model.ToolCall) []callRecord {
	var records []callRecord
	for _, c := range calls {
		records = append(records, callRecord(c))
	}
	return records
}

func toolCalls(records []callRecord) []model.ToolCall {
	var calls []model.ToolCall
	for _, r := range records {
		calls = append(calls, model.ToolCall(r))
	}
	return calls
}

func encodeRecord(c *Completion) ([]byte, error) {
	r := record{
		Created:   c.Created,
		Model:     c.Model,
		Content:   c.Content,
		Calls:     callRecords(c.ToolCalls),
		Logprobs:  logprobs.Records(c.Logprobs),
		Finish:    c.FinishReason,
		Input:     c.Usage.InputTokens,
		Cached:    c.Usage.CachedTokens,
		Output:    c.Usage.OutputTokens,
		Reasoning: c.Usage.ReasoningTokens,
		Metadata:  c.Metadata,
	}
	if len(r.Logprobs) > 0 {
		return jsonout.Marshal(r)
	}
	size := 256
	if r.Content != nil {
		size += len(*r.Content) + len(*r.Content)/32
	}
	return r.AppendJSON(make([]byte, 0, size)), nil
}

// AppendJSON implements [jsonout.Appender] for a record without log-probabilities:
// what encoding/json makes of it.
func (r *record) AppendJSON(b []byte) []byte {
	w := jsonout.Over(b)
	w.Object()
	w.Name("created").Int(r.Created)
	w.Name("model").String(r.Model)
	if r.Content != nil {
		w.Name("content").String(*r.Content)
	}
	if len(r.Calls) > 0 {
		writeCalls(w.Name("calls"), r.Calls)
	}
	w.Name("finish").String(string(r.Finish))
	w.Name("input").Int(int64(r.Input))
	w.IntMember("cached", int64(r.Cached))
	w.Name("output").Int(int64(r.Output))
	w.IntMember("reasoning", int64(r.Reasoning))
	if len(r.Metadata) > 0 {
		jsonout.Tags(w.Name("metadata"), r.Metadata)
	}
	w.EndObject()
	return w.Buf
}

func decodeRecord(id string, data []byte) (Completion, error) {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return Completion{}, fmt.Errorf("chat: record of %s: %w", id, err)
	}
	return Completion{
		ID:           id,
		Created:      r.Created,
		Model:        r.Model,
		Content:      r.Content,
		ToolCalls:    toolCalls(r.Calls),
		Logprobs:     logprobs.Tokens(r.Logprobs),
		FinishReason: r.Finish,
		Usage: model.Usage{
			InputTokens:     r.Input,
			CachedTokens:    r.Cached,
			OutputTokens:    r.Output,
			ReasoningTokens: r.Reasoning,
		},
		Metadata: generation.MetadataOrEmpty(r.Metadata),
	}, nil
}

// messageRecord is what is stored of a [Message].
type messageRecord struct {
	Role       model.Role   `json:"role"`
	Content    []partRecord `json:"content,omitempty"`
	ToolCalls  []callRecord `json:"calls,omitempty"`
	ToolCallID string       `json:"call_id,omitempty"`
}

// partRecord is a [Text], or a [File] where File is not nil.
type partRecord struct {
	Text string      `json:"text,omitempty"`
	File *fileRecord `json:"file,omitempty"`
}

type fileRecord struct {
	ID       string `json:"id,omitempty"`
	Name     string `json:"name,omitempty"`
	MIMEType string `json:"type,omitempty"`
	Data     []byte `json:"data"` // null for an uploaded file
}

// encodeMessages returns the stored form of a request's messages, or a TooLarge
// error where a store might not take it.
func encodeMessages(messages []Message) ([]byte, error) {
	size := 2
	for i := range messages {
		size += 64
		for _, p := range messages[i].Content {
			if text, ok := p.(Text); ok {
				size += 16 + len(text) + len(text)/32
			}
		}
	}
	w := jsonout.Writer{Buf: make([]byte, 0, size)}
	w.Array()
	for i := range messages {
		messages[i].write(&w)
	}
	w.EndArray()
	data := w.Buf
	if len(data) > storage.MaxValue {
		return nil, tooLarge("messages", "The messages are too large to be stored; send them with store false.")
	}
	return data, nil
}

// write writes a message as the tags of [messageRecord] say.
func (m *Message) write(w *jsonout.Writer) {
	w.Object()
	w.Name("role").String(string(m.Role))
	if len(m.Content) > 0 {
		w.Name("content").Array()
		for _, p := range m.Content {
			writePart(w, p)
		}
		w.EndArray()
	}
	if len(m.ToolCalls) > 0 {
		writeCalls(w.Name("calls"), callRecords(m.ToolCalls))
	}
	w.StringMember("call_id", m.ToolCallID)
	w.EndObject()
}

func writePart(w *jsonout.Writer, p Part) {
	w.Object()
	switch p := p.(type) {
	case Text:
		w.StringMember("text", string(p))
	case File:
		w.Name("file").Object()
		w.StringMember("id", p.ID)
		w.StringMember("name", p.Name)
		w.StringMember("type", p.MIMEType)
		if w.Name("data"); p.Data == nil {
			w.Null()
		} else {
			w.BeginString()
			w.Buf = base64.StdEncoding.AppendEncode(w.Buf, p.Data)
			w.EndString()
		}
		w.EndObject()
	}
	w.EndObject()
}

func writeCalls(w *jsonout.Writer, calls []callRecord) {
	w.Array()
	for _, c := range calls {
		w.Object()
		w.Name("id").String(c.ID)
		w.Name("name").String(c.Name)
		w.Name("arguments").String(c.Arguments)
		w.EndObject()
	}
	w.EndArray()
}

func decodeMessages(id string, data []byte) ([]Message, error) {
	var records []messageRecord
	if err := json.Unmarshal(data, &records); err != nil {
		return nil, fmt.Errorf("chat: messages of %s: %w", id, err)
	}
	messages := make([]Message, len(records))
	for i, r := range records {
		m := Message{Role: r.Role, ToolCalls: toolCalls(r.ToolCalls), ToolCallID: r.ToolCallID}
		for _, p := range r.Content {
			if p.File == nil {
				m.Content = append(m.Content, Text(p.Text))
			} else {
				m.Content = append(m.Content, File{p.File.ID, p.File.Name, p.File.MIMEType, p.File.Data})
			}
		}
		messages[i] = m
	}
	return messages, nil
}
