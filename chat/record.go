package chat

import (
	"encoding/json"
	"fmt"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/internal/generation"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/logprobs"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/storage"
)

// record is what is stored of a [Completion]; its ID is in the key.
type record struct {
	Created int64  `json:"created"`
	Model   string `json:"model"`
	choiceRecord
	More      []choiceRecord    `json:"more,omitempty"`
	Legacy    bool              `json:"legacy,omitempty"` // as in [CallForm]
	Custom    []string          `json:"custom,omitempty"`
	Input     int               `json:"input"` // token counts
	Cached    int               `json:"cached,omitempty"`
	Output    int               `json:"output"`
	Reasoning int               `json:"reasoning,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
	Trace     accounts.Trace    `json:"trace,omitzero"`
}

// choiceRecord is what is stored of a [Choice].
type choiceRecord struct {
	Content  *string            `json:"content,omitempty"`
	Refusal  string             `json:"refusal,omitempty"`
	Calls    []callRecord       `json:"calls,omitempty"`
	Logprobs []logprobs.Record  `json:"logprobs,omitempty"`
	Thought  string             `json:"thought,omitempty"`
	Finish   model.FinishReason `json:"finish"`
}

func newChoiceRecord(c *Choice) choiceRecord {
	return choiceRecord{Content: c.Content, Refusal: c.Refusal, Calls: callRecords(c.ToolCalls), Logprobs: logprobs.Records(c.Logprobs), Thought: c.Thought, Finish: c.FinishReason}
}

func (r *choiceRecord) choice() Choice {
	return Choice{Content: r.Content, Refusal: r.Refusal, ToolCalls: toolCalls(r.Calls), Logprobs: logprobs.Tokens(r.Logprobs), Thought: r.Thought, FinishReason: r.Finish}
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
		Created:      c.Created,
		Model:        c.Model,
		choiceRecord: newChoiceRecord(&c.Choice),
		Legacy:       c.Calls.Legacy,
		Custom:       c.Calls.Custom,
		Input:        c.Usage.InputTokens,
		Cached:       c.Usage.CachedTokens,
		Output:       c.Usage.OutputTokens,
		Reasoning:    c.Usage.ReasoningTokens,
		Metadata:     c.Metadata,
		Trace:        c.Trace,
	}
	for i := range c.More {
		r.More = append(r.More, newChoiceRecord(&c.More[i]))
	}
	return jsonout.Marshal(r)
}

func decodeRecord(id string, data []byte) (Completion, error) {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return Completion{}, fmt.Errorf("chat: record of %s: %w", id, err)
	}
	c := Completion{
		ID:      id,
		Created: r.Created,
		Model:   r.Model,
		Choice:  r.choice(),
		Calls:   CallForm{r.Legacy, r.Custom},
		Usage: model.Usage{
			InputTokens:     r.Input,
			CachedTokens:    r.Cached,
			OutputTokens:    r.Output,
			ReasoningTokens: r.Reasoning,
		},
		Metadata: generation.MetadataOrEmpty(r.Metadata),
		Trace:    r.Trace,
	}
	for i := range r.More {
		c.More = append(c.More, r.More[i].choice())
	}
	return c, nil
}

// messageRecord is what is stored of a [Message].
type messageRecord struct {
	Role       model.Role   `json:"role"`
	Content    []partRecord `json:"content,omitempty"`
	ToolCalls  []callRecord `json:"calls,omitempty"`
	ToolCallID string       `json:"call_id,omitempty"`
}

// partRecord is a [File] or an [Image] where that is not nil, and otherwise a [Text].
type partRecord struct {
	Text string      `json:"text,omitempty"`
	File *fileRecord `json:"file,omitempty"`

	Image *imageRecord `json:"image,omitempty"`
}

type fileRecord struct {
	ID       string `json:"id,omitempty"`
	Name     string `json:"name,omitempty"`
	MIMEType string `json:"type,omitempty"`
	Data     []byte `json:"data"` // null for an uploaded file
}

type imageRecord struct {
	MediaType string `json:"type"`
	Data      []byte `json:"data"`
}

// encodeMessages returns the stored form of a request's messages, or a TooLarge
// error where a store might not take it.
func encodeMessages(messages []Message) ([]byte, error) {
	records := make([]messageRecord, len(messages))
	for i, m := range messages {
		records[i] = messageRecord{Role: m.Role, ToolCalls: callRecords(m.ToolCalls), ToolCallID: m.ToolCallID}
		for _, p := range m.Content {
			records[i].Content = append(records[i].Content, newPartRecord(p))
		}
	}
	data, err := jsonout.Marshal(records)
	if err != nil {
		return nil, err
	}
	if len(data) > storage.MaxValue {
		return nil, tooLarge("messages", "The messages are too large to be stored; send them with store false.")
	}
	return data, nil
}

func newPartRecord(p Part) (r partRecord) {
	switch p := p.(type) {
	case Text:
		r.Text = string(p)
	case File:
		r.File = &fileRecord{p.ID, p.Name, p.MIMEType, p.Data}
	case Image:
		r.Image = &imageRecord{p.MediaType, p.Data}
	}
	return r
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
			switch {
			case p.File != nil:
				m.Content = append(m.Content, File{p.File.ID, p.File.Name, p.File.MIMEType, p.File.Data})
			case p.Image != nil:
				m.Content = append(m.Content, Image{p.Image.MediaType, p.Image.Data})
			default:
				m.Content = append(m.Content, Text(p.Text))
			}
		}
		messages[i] = m
	}
	return messages, nil
}
