package conversations

import (
	"encoding/json"
	"fmt"

	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/logprobs"
	"github.com/seed-506d8e5d/svc/model"
)

// Entry is an item with its place in the store.
type Entry struct {
	Seq  uint64 // its number in the conversation
	Turn string // ID of the response whose turn it belongs to; empty for an item added by the caller
	Item Item

	size int // of its record, where it was read as part of a history
}

// listed reports whether the item endpoints show the entry.
func (e Entry) listed() bool {
	switch item := e.Item.(type) {
	case *FunctionCallOutput:
		return item.Listed
	case *Reasoning:
		return false
	}
	return true
}

// record is how an item is stored: one flat shape for the whole union.
type record struct {
	Kind    string       `json:"k"`
	ID      string       `json:"id"`
	Turn    string       `json:"turn,omitempty"`
	Status  Status       `json:"status,omitempty"`
	Role    model.Role   `json:"role,omitempty"`
	Phase   string       `json:"phase,omitempty"`
	Parts   []recordPart `json:"parts,omitempty"`
	CallID  string       `json:"call,omitempty"`
	Call    string       `json:"of,omitempty"` // the item of the call that an output is of
	Name    string       `json:"name,omitempty"`
	Space   string       `json:"ns,omitempty"`     // namespace of a call
	Listed  bool         `json:"listed,omitempty"` // of an output
	Custom  bool         `json:"custom,omitempty"` // of a call or its output, as is Tool
	Tool    string       `json:"tool,omitempty"`
	Text    string       `json:"text,omitempty"` // arguments, output or results
	Queries []string     `json:"queries,omitempty"`
	Sources []string     `json:"sources,omitzero"`
	Sealed  string       `json:"sealed,omitempty"`
	Output  string       `json:"out,omitempty"` // of a call that the service made
	MCP     *mcpRecord   `json:"mcp,omitempty"`

	Passages []Passage `json:"passages,omitempty"`

	Thought thoughtRecord `json:"thought,omitzero"` // of a call or a search
}

type thoughtRecord struct {
	Model string `json:"model"`
	Text  string `json:"text"`
}

type recordPart struct {
	Type PartType `json:"y"`
	Text string   `json:"t,omitempty"`
	File string   `json:"f,omitempty"`

	Image    *recordImage      `json:"i,omitempty"`
	Inline   *recordInline     `json:"n,omitempty"`
	Logprobs []logprobs.Record `json:"l,omitempty"`

	Citations []Citation `json:"c,omitempty"`
	Written   string     `json:"w,omitempty"`
}

// recordInline is an [InlineFile] as it is stored.
type recordInline struct {
	Name   string `json:"n,omitempty"`
	Digest string `json:"d"`
	Text   string `json:"t,omitempty"`
	Note   string `json:"o,omitempty"`
}

func recordInlineOf(f *InlineFile) *recordInline {
	if f == nil {
		return nil
	}
	return &recordInline{f.Name, f.Digest, f.Text, f.Note}
}

func (r *recordInline) file() *InlineFile {
	if r == nil {
		return nil
	}
	return &InlineFile{Name: r.Name, Digest: r.Digest, Text: r.Text, Note: r.Note}
}

// recordImage is a picture as it is stored.
type recordImage struct {
	MediaType string `json:"t"`
	Data      []byte `json:"d"`
	Width     int    `json:"w"`
	Height    int    `json:"h"`
}

func recordImageOf(i *model.Image) *recordImage {
	if i == nil {
		return nil
	}
	return &recordImage{i.MediaType, i.Data, i.Width, i.Height}
}

func (r *recordImage) image() *model.Image {
	if r == nil {
		return nil
	}
	return &model.Image{MediaType: r.MediaType, Data: r.Data, Width: r.Width, Height: r.Height}
}

func recordParts(parts []Part) []recordPart {
	if parts == nil {
		return nil
	}
	records := make([]recordPart, len(parts))
	for i, p := range parts {
		records[i] = recordPart{p.Type, p.Text, p.FileID, recordImageOf(p.Image), recordInlineOf(p.Inline), logprobs.Records(p.Logprobs), p.Citations, p.Written}
	}
	return records
}

// content returns the parts of a record, which are never nil.
func (r *record) content() []Part {
	parts := make([]Part, len(r.Parts))
	for i, p := range r.Parts {
		parts[i] = Part{p.Type, p.Text, p.File, p.Image.image(), p.Inline.file(), logprobs.Tokens(p.Logprobs), p.Citations, p.Written}
	}
	return parts
}

// The kinds of records.
const (
	kindMessage = "m"
	kindCall    = "c"
	kindOutput  = "o"
	kindSearch  = "w"
	kindFiles   = "s"
	kindCompact = "z"
	kindReason  = "r"
)

func encodeEntry(e Entry) ([]byte, error) { return jsonout.Marshal(newRecord(e)) }

// newRecord returns an entry as it is stored.
func newRecord(e Entry) record {
	r := record{ID: e.Item.ItemID(), Turn: e.Turn}
	switch item := e.Item.(type) {
	case *Message:
		r.Kind, r.Status, r.Role, r.Phase = kindMessage, item.Status, item.Role, item.Phase
		r.Parts = recordParts(item.Content)
	case *FunctionCall:
		r.Kind, r.Status, r.CallID, r.Name, r.Text = kindCall, item.Status, item.CallID, item.Name, item.Arguments
		r.Space, r.Custom, r.Tool, r.Thought = item.Namespace, item.Custom, item.Tool, thoughtRecord(item.Thought)
	case *FunctionCallOutput:
		r.Kind, r.CallID, r.Call, r.Text = kindOutput, item.CallID, item.Call, item.Output
		r.Custom, r.Tool, r.Listed, r.Parts = item.Custom, item.Tool, item.Listed, recordParts(item.Content)
	case *WebSearch:
		r.Kind, r.Status, r.CallID, r.Queries, r.Text = kindSearch, item.Status, item.CallID, item.Queries, item.Results
		r.Sources, r.Thought = item.Sources, thoughtRecord(item.Thought)
	case *Reasoning:
		r.Kind, r.Sealed, r.Text = kindReason, item.Sealed, item.Summary
	case *FileSearch:
		item.record(&r)
	case *Compaction:
		r.Kind, r.Sealed, r.Text = kindCompact, item.Sealed, item.Summary
	default:
		r.putMCP(item)
	}
	return r
}

func decodeEntry(seq uint64, data []byte) (Entry, error) {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return Entry{}, fmt.Errorf("conversations: stored item %d: %w", seq, err)
	}
	e := Entry{Seq: seq, Turn: r.Turn}
	switch r.Kind {
	case kindMessage:
		e.Item = &Message{ID: r.ID, Status: r.Status, Role: r.Role, Phase: r.Phase, Content: r.content()}
	case kindCall:
		e.Item = &FunctionCall{ID: r.ID, Status: r.Status, CallID: r.CallID, Namespace: r.Space, Name: r.Name, Arguments: r.Text, Custom: r.Custom, Tool: r.Tool, Thought: Thought(r.Thought)}
	case kindOutput:
		output := &FunctionCallOutput{ID: r.ID, CallID: r.CallID, Output: r.Text, Custom: r.Custom, Tool: r.Tool, Listed: r.Listed, Call: r.Call}
		if r.Parts != nil {
			output.Content = r.content()
		}
		e.Item = output
	case kindSearch:
		e.Item = &WebSearch{ID: r.ID, Status: r.Status, CallID: r.CallID, Queries: r.Queries, Results: r.Text, Sources: r.Sources, Thought: Thought(r.Thought)}
	case kindReason:
		e.Item = &Reasoning{ID: r.ID, Sealed: r.Sealed, Summary: r.Text}
	case kindFiles:
		e.Item = r.fileSearch()
	case kindCompact:
		e.Item = &Compaction{ID: r.ID, Sealed: r.Sealed, Summary: r.Text}
	default:
		if e.Item = r.mcpItem(); e.Item != nil {
			break
		}
		return Entry{}, fmt.Errorf("conversations: stored item %d has the unknown kind %q", seq, r.Kind)
	}
	return e, nil
}

// EncodeItem returns an item as it is stored, for what else keeps items.
func EncodeItem(item Item) ([]byte, error) { return encodeEntry(Entry{Item: item}) }

// DecodeItem is the inverse of [EncodeItem].
func DecodeItem(data []byte) (Item, error) {
	e, err := decodeEntry(0, data)
	return e.Item, err
}
