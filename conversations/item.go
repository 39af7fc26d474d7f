package conversations

import (
	"cmp"
	"slices"

	"github.com/seed-506d8e5d/svc/model"
)

// Item is one thing that was said or done in a conversation: a [*Message], a
// [*FunctionCall], a [*FunctionCallOutput], a [*WebSearch], a [*FileSearch], a [*Compaction], a
// [*Reasoning], or one of mcp.go; in the input of a turn also a [Reference]. An item that was stored or sent is not changed
// any more.
type Item interface {
	// ItemID returns the item's ID, which is empty for an item that a caller
	// sends and which has not been stored.
	ItemID() string
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
	InputImage PartType = "input_image"

	SummaryText PartType = "summary_text" // of reasoning, in events alone
)

// Part is a piece of a message's content.
type Part struct {
	Type   PartType
	Text   string       // of a text part
	FileID string       // of an input_file that was uploaded
	Image  *model.Image // of an input_image; shared, and not changed
	Inline *InlineFile  // of an input_file that came with the message, without a FileID; not changed

	// Logprobs are the tokens of an output_text whose request asked for them.
	Logprobs []model.Logprob

	// Citations are where an output_text is from, Written what the model wrote where
	// that is another text: with the marks that stood for the citations.
	Citations []Citation
	Written   string // not part of the interface
}

// InlineFile is a file that came with a message. Its text is kept with the message, its
// bytes are not.
type InlineFile struct {
	Name     string
	MIMEType string // empty where the request does not say
	Data     []byte // nil once it has been read
	Digest   string // of Data, by which two are the same

	Text, Note string // what models read
}

// WithoutLogprobs returns items without the log-probabilities of their texts. The
// items themselves are not changed.
func WithoutLogprobs(items []Item) []Item {
	short := slices.Clone(items)
	for i, item := range short {
		m, ok := item.(*Message)
		if !ok || !slices.ContainsFunc(m.Content, func(p Part) bool { return p.Logprobs != nil }) {
			continue
		}
		bare := *m
		bare.Content = slices.Clone(m.Content)
		for j := range bare.Content {
			bare.Content[j].Logprobs = nil
		}
		short[i] = &bare
	}
	return short
}

// FunctionCall is a call that the model asked the caller to make: of a function,
// or of a custom tool.
type FunctionCall struct {
	ID        string
	Status    Status
	CallID    string // names the call in its output; opaque
	Namespace string // that the function belongs to; empty is none
	Name      string
	Arguments string // JSON text, as the model wrote it; the text that a custom tool is called with
	Custom    bool   // a custom_tool_call
	Tool      string // shell, local_shell or apply_patch: a call of that tool, which the caller runs; empty for others
	Thought   Thought
}

// Thought is what a model has thought before a call, for itself alone: it is kept
// with the call, and not part of the interface.
type Thought struct {
	Model string // the ID of the model
	Text  string // empty is none
}

// Prefix is what the ID of the call begins with.
func (c *FunctionCall) Prefix() string {
	switch {
	case c.Custom:
		return "ctc"
	case c.Tool == "shell":
		return "sh"
	case c.Tool == "local_shell":
		return "lsh"
	case c.Tool == "apply_patch":
		return "apc"
	}
	return "fc"
}

// FunctionCallOutput is the result of a call, sent by the caller. It is
// attached to the call: neither listed nor addressable, unless it was added as an
// item of its own.
type FunctionCallOutput struct {
	ID      string
	CallID  string
	Output  string
	Content []Part // text and files, in place of Output
	Custom  bool   // a custom_tool_call_output
	Tool    string // as that of the call
	Listed  bool   // it was added as an item, and is listed and addressed like one; not part of the interface
	Call    string // ID of the item of the call; not part of the interface
}

// Same reports whether another output says the same.
func (o *FunctionCallOutput) Same(other *FunctionCallOutput) bool {
	return o.Output == other.Output && SameParts(o.Content, other.Content)
}

// SameParts reports whether two contents say the same.
func SameParts(a, b []Part) bool {
	return slices.EqualFunc(a, b, func(a, b Part) bool {
		return a.Type == b.Type && a.Text == b.Text && a.FileID == b.FileID && sameFile(a.Inline, b.Inline)
	})
}

func sameFile(a, b *InlineFile) bool {
	return a == b || a != nil && b != nil && a.Name == b.Name && a.Digest == b.Digest
}

// WebSearch is a search that the service made for the model.
type WebSearch struct {
	ID      string
	Status  Status
	CallID  string   // names the call to the model; not part of the interface
	Queries []string // 1 to 5
	Results string   // what was found, as the model reads it; not part of the interface
	Sources []string // the addresses of the pages that were found; nil where nobody asked for them
	Thought Thought
}

// Compaction stands for everything that was said before it, in summary.
type Compaction struct {
	ID      string
	Sealed  string // the summary as the interface shows it, by [Service.SealSummary]
	Summary string // as the model reads it; not part of the interface
}

// Reasoning is what a model has thought, sealed: the caller can send it back and
// not read it. It is attached to what came of it: neither listed nor addressable.
type Reasoning struct {
	ID      string
	Sealed  string // a [Thought] as the interface shows it, by [Service.SealThought]
	Summary string // what the model has thought, as it is shown; empty where it is not
}

// Reference stands for an item of the organization's that is stored, by its ID.
// It is never stored itself.
type Reference struct{ ID string }

// ItemID implements [Item].
func (m *Message) ItemID() string { return m.ID }

// ItemID implements [Item].
func (c *FunctionCall) ItemID() string { return c.ID }

// ItemID implements [Item].
func (o *FunctionCallOutput) ItemID() string { return o.ID }

// ItemID implements [Item].
func (s *WebSearch) ItemID() string { return s.ID }

// ItemID implements [Item].
func (c *Compaction) ItemID() string { return c.ID }

// ItemID implements [Item].
func (r *Reasoning) ItemID() string { return r.ID }

// ItemID implements [Item].
func (r Reference) ItemID() string { return r.ID }

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
		c.ID, c.Status = newID(c.Prefix()), cmp.Or(c.Status, Completed)
		return &c
	case *FunctionCallOutput:
		o := *item
		o.ID, o.Listed = newID("fco"), false
		return &o
	case *Compaction:
		c := *item
		c.ID = newID("cmp")
		return &c
	case *Reasoning:
		r := *item
		r.ID = newID("rs")
		return &r
	case *WebSearch:
		w := *item
		w.ID = newID("ws")
		return &w
	case *FileSearch:
		s := *item
		s.ID = newID("fs")
		return &s
	}
	return withIDMCP(item, newID)
}
