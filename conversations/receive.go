package conversations

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/images"
	"github.com/seed-506d8e5d/svc/model"
)

// Receive is the one door for items that callers send: the input of a turn and the
// items of a conversation. It returns what can be stored of them, each with a fresh
// ID. field names the items in errors, which are Invalid or NotFound.
//
// A reference, a search and a list of a server's tools stand for the stored item
// with their ID: what a search found is not part of what callers have, and what a
// server lists is not for callers to say. One that is in the history or in
// the items already is left out, and so is a search or a list that is stored nowhere.
// An item of mcp.go that the history has is left out.
// Compactions and reasoning must be sealed by [Service.SealSummary] and
// [Service.SealThought] for the caller's organization. Reasoning becomes the Thought
// of the call that follows it, and is left out where none does.
func (s *Service) Receive(ctx context.Context, caller accounts.Caller, field string, items []Item, history []Entry) ([]Item, error) {
	items, err := s.resolve(ctx, caller, field, items, history)
	if err != nil {
		return nil, err
	}
	if err := readImages(field, items); err != nil {
		return nil, err
	}
	received := make([]Item, 0, len(items))
	var thought Thought
	for _, item := range items {
		switch given := item.(type) {
		case *Compaction:
			if given.Summary, err = s.openSummary(ctx, caller, field, given.Sealed); err != nil {
				return nil, err
			}
			thought = Thought{}
		case *Reasoning:
			next, err := s.OpenThought(ctx, caller, field, given.Sealed)
			if err != nil {
				return nil, err
			}
			if next.Model == thought.Model {
				next.Text = thought.Text + next.Text
			}
			thought = next
			continue
		case *FunctionCall, *WebSearch, *FileSearch, *MCPCall, *MCPApprovalRequest:
			if thought.Text != "" {
				item, thought = WithThought(item, thought), Thought{}
			}
		case *Message:
			if given.Role != model.Assistant {
				thought = Thought{}
			}
		default:
			thought = Thought{}
		}
		received = append(received, item)
	}
	return received, nil
}

// readImages reads how large the images of items are.
func readImages(field string, items []Item) error {
	var pictures images.Prompt
	for i, item := range items {
		var content []Part
		switch item := item.(type) {
		case *Message:
			content = item.Content
		case *FunctionCallOutput:
			content = item.Content
		}
		for k := range content {
			p := &content[k]
			if p.Type != InputImage || p.Image.Width > 0 {
				continue
			}
			image, err := pictures.Read(p.Image.MediaType, p.Image.Data)
			if err != nil {
				e := fault.From(err)
				e.Param = fmt.Sprintf("%s[%d].content[%d]", field, i, k)
				return e
			}
			p.Image = &image
		}
	}
	return nil
}

// checkInline refuses inline files in items that no turn reads.
func checkInline(items []Item) error {
	for i, item := range items {
		m, ok := item.(*Message)
		if !ok {
			continue
		}
		if k := slices.IndexFunc(m.Content, func(p Part) bool { return p.Inline != nil && p.Inline.Data != nil }); k >= 0 {
			path := fmt.Sprintf("items[%d].content[%d].file_data", i, k)
			return fault.Invalidf(path, "%s is read in the input of a response alone: upload the file and send its file_id.", path)
		}
	}
	return nil
}

// resolve gives items their IDs and replaces those that stand for stored items.
func (s *Service) resolve(ctx context.Context, caller accounts.Caller, field string, items []Item, history []Entry) ([]Item, error) {
	known, wanted := map[string]bool{}, []string(nil)
	if slices.ContainsFunc(items, func(item Item) bool { return refers(item) || resentAs(item) != "" }) {
		for _, e := range history {
			known[e.Item.ItemID()] = true
			if r, ok := e.Item.(*MCPApprovalRequest); ok {
				known[r.Asked] = true
			}
		}
	}
	for _, item := range items {
		if refers(item) && !known[item.ItemID()] {
			wanted = append(wanted, item.ItemID())
		}
	}
	var stored map[string]Item
	if wanted != nil {
		var err error
		if stored, err = s.Items(ctx, caller, wanted); err != nil {
			return nil, err
		}
	}
	resolved := make([]Item, 0, len(items))
	for _, item := range items {
		if id := resentAs(item); id != "" {
			if known[id] {
				continue
			}
			known[id] = true
		}
		if refers(item) {
			id := item.ItemID()
			search := isStoredOnly(item)
			reasoning := strings.HasPrefix(id, "rs_") // it is stored with the call that it led to
			found, exists := stored[id]
			if search && !isStoredOnly(found) {
				exists = false
			}
			switch {
			case known[id] || (search || reasoning) && !exists:
				continue
			case !exists:
				return nil, fault.Missing(CodeItemNotFound, "item", id)
			}
			known[id] = true
			item = found
		}
		resolved = append(resolved, WithID(item, s.newID))
	}
	return resolved, nil
}

// refers reports whether an item stands for the stored item with its ID.
func refers(item Item) bool {
	switch item.(type) {
	case Reference, *WebSearch, *FileSearch, *MCPListTools:
		return true
	}
	return false
}

// isStoredOnly reports whether callers can send back an item by its ID alone.
func isStoredOnly(item Item) bool {
	switch item.(type) {
	case *WebSearch, *FileSearch, *MCPListTools:
		return true
	}
	return false
}

// WithThought returns a copy of a call or a search with another thought, and any
// other item as it is.
func WithThought(item Item, thought Thought) Item {
	switch item := item.(type) {
	case *FunctionCall:
		call := *item
		call.Thought = thought
		return &call
	case *WebSearch:
		search := *item
		search.Thought = thought
		return &search
	case *MCPCall:
		call := *item
		call.Thought = thought
		return &call
	case *MCPApprovalRequest:
		request := *item
		request.Thought = thought
		return &request
	case *FileSearch:
		search := *item
		search.Thought = thought
		return &search
	}
	return item
}
