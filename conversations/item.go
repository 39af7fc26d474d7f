package conversations

import (
	"cmp"

	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/model"
)

// Item is one thing that was said or done in a conversation: a [*Message], a
// [*FunctionCall], a [*FunctionCallOutput] or a [*WebSearch]; in the input of a
// turn also a [Reference]. Items are encoded as JSON in the form of the
// interface. An item that was stored or sent is not changed any more.
type Item interface {
	// ItemID returns the item's ID, which is empty for an item that a caller
	// sends and which has not been stored.
	ItemID() string

	item()
}

// Status is how far an item has come.
type Status string

// The statuses of items.
const (
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Incomplete Status = "incomplete" // cut by the token limit
)

// The phases of an assistant's message.
const (
	Commentary  = "commentary"   // said before calls of tools
	FinalAnswer = "final_answer" // the answer
)

// Message is text, with references to files, from one role.
type Message struct {
	ID      string
	Status  Status
	Role    model.Role // system, user or assistant
	Phase   string     // of an assistant's message, where it is known
	Content []Part
}

// PartType says what a [Part] is.
type PartType string

// The part types.
const (
	InputText  PartType = "input_text"
	OutputText PartType = "output_text" // of an assistant's message
	InputFile  PartType = "input_file"
)

// Part is a piece of a message's content.
type Part struct {
	Type   PartType
	Text   string // of a text part
	FileID string // of an input_file
}

// FunctionCall is a call that the model asked the caller to make.
type FunctionCall struct {
	ID        string
	Status    Status
	CallID    string // names the call in its output; opaque
	Name      string
	Arguments string // JSON text, as the model wrote it
}

// FunctionCallOutput is the result of a call, sent by the caller. It is
// attached to the call: neither listed nor addressable.
type FunctionCallOutput struct {
	ID     string
	CallID string
	Output string
	Call   string // ID of the item of the call; not part of the interface
}

// WebSearch is a search that the service made for the model.
type WebSearch struct {
	ID      string
	Status  Status
	CallID  string   // names the call to the model; not part of the interface
	Queries []string // 1 to 5
	Results string   // what was found, as the model reads it; not part of the interface
}

// Reference stands for an item of the organization's that is stored, by its ID.
// It is never stored itself.
type Reference struct{ ID string }

// ItemID implements [Item].
func (m *Message) ItemID() string            { return m.ID }
func (c *FunctionCall) ItemID() string       { return c.ID }
func (o *FunctionCallOutput) ItemID() string { return o.ID }
func (w *WebSearch) ItemID() string          { return w.ID }
func (r Reference) ItemID() string           { return r.ID }

func (*Message) item()            {}
func (*FunctionCall) item()       {}
func (*FunctionCallOutput) item() {}
func (*WebSearch) item()          {}
func (Reference) item()           {}

// WithID returns a copy of an item with a fresh ID, to be stored as part of
// another turn. A reference is returned as it is.
func WithID(item Item, newID func(prefix string) string) Item {
	switch item := item.(type) {
	case *Message:
		m := *item
		m.ID, m.Status = newID("msg"), cmp.Or(m.Status, Completed)
		return &m
	case *FunctionCall:
		c := *item
		c.ID, c.Status = newID("fc"), cmp.Or(c.Status, Completed)
		return &c
	case *FunctionCallOutput:
		o := *item
		o.ID = newID("fco")
		return &o
	case *WebSearch:
		w := *item
		w.ID = newID("ws")
		return &w
	}
	return item
}

// MarshalJSON writes the message as the interface shows it. It has an ID and a
// status only where it is stored or being made.
func (m *Message) MarshalJSON() ([]byte, error) {
	content := m.Content
	if content == nil {
		content = []Part{}
	}
	return jsonout.Marshal(struct {
		ID      string     `json:"id,omitempty"`
		Type    string     `json:"type"`
		Status  Status     `json:"status,omitempty"`
		Role    model.Role `json:"role"`
		Phase   string     `json:"phase,omitempty"`
		Content []Part     `json:"content"`
	}{m.ID, "message", m.Status, m.Role, m.Phase, content})
}

// MarshalJSON writes the part as the interface shows it. Annotations and
// log-probabilities are always empty.
func (p Part) MarshalJSON() ([]byte, error) {
	switch p.Type {
	case OutputText:
		return jsonout.Marshal(struct {
			Type        PartType `json:"type"`
			Text        string   `json:"text"`
			Annotations []string `json:"annotations"`
			Logprobs    []string `json:"logprobs"`
		}{p.Type, p.Text, []string{}, []string{}})
	case InputFile:
		return jsonout.Marshal(struct {
			Type   PartType `json:"type"`
			FileID string   `json:"file_id"`
		}{p.Type, p.FileID})
	}
	return jsonout.Marshal(struct {
		Type PartType `json:"type"`
		Text string   `json:"text"`
	}{p.Type, p.Text})
}

// MarshalJSON writes the call as the interface shows it.
func (c *FunctionCall) MarshalJSON() ([]byte, error) {
	return jsonout.Marshal(struct {
		ID        string `json:"id,omitempty"`
		Type      string `json:"type"`
		Status    Status `json:"status"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}{c.ID, "function_call", c.Status, c.CallID, c.Name, c.Arguments})
}

// MarshalJSON writes the output as the OpenAI API shows it among the input
// items of a response.
func (o *FunctionCallOutput) MarshalJSON() ([]byte, error) {
	return jsonout.Marshal(struct {
		ID     string `json:"id,omitempty"`
		Type   string `json:"type"`
		Status Status `json:"status"`
		CallID string `json:"call_id"`
		Output string `json:"output"`
	}{o.ID, "function_call_output", Completed, o.CallID, o.Output})
}

// MarshalJSON writes the search as the interface shows it, without what it
// found.
func (w *WebSearch) MarshalJSON() ([]byte, error) {
	type action struct {
		Type    string   `json:"type"`
		Queries []string `json:"queries"`
		Query   string   `json:"query"`
	}
	a := action{Type: "search", Queries: []string{}}
	if len(w.Queries) > 0 {
		a.Queries, a.Query = w.Queries, w.Queries[0]
	}
	return jsonout.Marshal(struct {
		ID     string `json:"id,omitempty"`
		Type   string `json:"type"`
		Status Status `json:"status"`
		Action action `json:"action"`
	}{w.ID, "web_search_call", w.Status, a})
}
