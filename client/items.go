package client

import (
	"encoding/json"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/model"
)

// wireItem is an item of the interface, of any type.
type wireItem struct {
	Type      string               `json:"type"`
	ID        string               `json:"id,omitempty"`
	Status    conversations.Status `json:"status,omitempty"`
	Role      model.Role           `json:"role,omitempty"`
	Phase     string               `json:"phase,omitempty"`
	Content   []wirePart           `json:"content,omitempty"`
	CallID    string               `json:"call_id,omitempty"`
	Namespace string               `json:"namespace,omitempty"`
	Name      string               `json:"name,omitempty"`
	Arguments *string              `json:"arguments,omitempty"`
	Input     *string              `json:"input,omitempty"`
	Output    json.RawMessage      `json:"output,omitempty"`
	Sealed    string               `json:"encrypted_content,omitempty"`
	Action    *struct {
		Query   string   `json:"query"`
		Queries []string `json:"queries"`
		Sources []struct {
			URL string `json:"url"`
		} `json:"sources"`
	} `json:"action,omitempty"`
}

type wirePart struct {
	Type     conversations.PartType `json:"type"`
	Text     *string                `json:"text,omitempty"`
	FileID   string                 `json:"file_id,omitempty"`
	Logprobs []wireLogprob          `json:"logprobs,omitempty"`
}

type wireLogprob struct {
	Token   string        `json:"token"`
	Logprob float64       `json:"logprob"`
	Bytes   []int         `json:"bytes"`
	Top     []wireLogprob `json:"top_logprobs"`
}

func tokens(list []wireLogprob) []model.Logprob {
	var result []model.Logprob
	for _, w := range list {
		l := model.Logprob{Token: w.Token, Logprob: w.Logprob, Top: tokens(w.Top)}
		bytes := make([]byte, len(w.Bytes))
		for i, b := range w.Bytes {
			bytes[i] = byte(b)
		}
		if string(bytes) != w.Token && w.Bytes != nil {
			l.Bytes = bytes
		}
		result = append(result, l)
	}
	return result
}

func newPart(p conversations.Part) wirePart {
	w := wirePart{Type: p.Type, FileID: p.FileID}
	if p.Type != conversations.InputFile {
		w.Text = &p.Text
	}
	return w
}

func (w wirePart) part() conversations.Part {
	p := conversations.Part{Type: w.Type, FileID: w.FileID, Logprobs: tokens(w.Logprobs)}
	if w.Text != nil {
		p.Text = *w.Text
	}
	return p
}

func newParts(parts []conversations.Part) []wirePart {
	list := make([]wirePart, len(parts))
	for i, p := range parts {
		list[i] = newPart(p)
	}
	return list
}

func parts(list []wirePart) []conversations.Part {
	result := make([]conversations.Part, len(list))
	for i, w := range list {
		result[i] = w.part()
	}
	return result
}

// newItem returns an item as it is sent.
func newItem(item conversations.Item) wireItem {
	switch i := item.(type) {
	case *conversations.Message:
		return wireItem{Type: "message", Role: i.Role, Phase: i.Phase, Content: newParts(i.Content)}
	case *conversations.FunctionCall:
		w := wireItem{Type: "function_call", CallID: i.CallID, Namespace: i.Namespace, Name: i.Name, Arguments: &i.Arguments}
		if i.Custom {
			w.Type, w.Arguments, w.Input = "custom_tool_call", nil, &i.Arguments
		}
		return w
	case *conversations.Compaction:
		return wireItem{Type: "compaction", Sealed: i.Sealed}
	case *conversations.Reasoning:
		return wireItem{Type: "reasoning", Sealed: i.Sealed}
	case *conversations.FunctionCallOutput:
		w := wireItem{Type: "function_call_output", CallID: i.CallID}
		if i.Custom {
			w.Type = "custom_tool_call_output"
		}
		var output any = i.Output
		if i.Content != nil {
			output = newParts(i.Content)
		}
		w.Output, _ = json.Marshal(output) // strings and parts of them
		return w
	}
	return wireItem{Type: "item_reference", ID: item.ItemID()} // also a web search, which stands for itself
}

func newItems(items []conversations.Item) []wireItem {
	list := make([]wireItem, len(items))
	for i, item := range items {
		list[i] = newItem(item)
	}
	return list
}

// item returns an item that came, nil for one of an unknown type.
func (w wireItem) item() conversations.Item {
	switch w.Type {
	case "message":
		return &conversations.Message{ID: w.ID, Status: w.Status, Role: w.Role, Phase: w.Phase, Content: parts(w.Content)}
	case "function_call", "custom_tool_call":
		c := &conversations.FunctionCall{ID: w.ID, Status: w.Status, CallID: w.CallID, Namespace: w.Namespace, Name: w.Name, Custom: w.Input != nil}
		if w.Arguments != nil {
			c.Arguments = *w.Arguments
		} else if w.Input != nil {
			c.Arguments = *w.Input
		}
		return c
	case "function_call_output", "custom_tool_call_output":
		o := &conversations.FunctionCallOutput{ID: w.ID, CallID: w.CallID, Custom: w.Type == "custom_tool_call_output"}
		var list []wirePart
		if json.Unmarshal(w.Output, &o.Output) != nil && json.Unmarshal(w.Output, &list) == nil {
			o.Content = parts(list)
		}
		return o
	case "compaction":
		return &conversations.Compaction{ID: w.ID, Sealed: w.Sealed}
	case "reasoning":
		return &conversations.Reasoning{ID: w.ID, Sealed: w.Sealed}
	case "web_search_call":
		s := &conversations.WebSearch{ID: w.ID, Status: w.Status}
		if w.Action != nil {
			if s.Queries = w.Action.Queries; s.Queries == nil && w.Action.Query != "" {
				s.Queries = []string{w.Action.Query}
			}
			if w.Action.Sources != nil {
				s.Sources = []string{}
			}
			for _, source := range w.Action.Sources {
				s.Sources = append(s.Sources, source.URL)
			}
		}
		return s
	}
	return nil
}

func items(list []wireItem) []conversations.Item {
	result := make([]conversations.Item, 0, len(list))
	for _, w := range list {
		if item := w.item(); item != nil {
			result = append(result, item)
		}
	}
	return result
}
