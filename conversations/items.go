package conversations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

// The limits of the spec for items.
const (
	MaxItems = 20  // that one request creates or adds
	MaxPage  = 100 // in one page of a list
)

// UserMessage returns a message with a text, to create a conversation with or to
// add to one.
func UserMessage(text string) *Message {
	return &Message{Role: model.User, Content: []Part{{Type: InputText, Text: text}}}
}

// checkItems refuses what callers may not put into a conversation: too much at
// once and, unless the service takes any items, anything but text from the user.
func (s *Service) checkItems(items []Item) error {
	if len(items) > MaxItems {
		return fault.Invalidf("items", "items must have at most %d elements.", MaxItems)
	}
	for i, item := range items {
		if err := s.checkItem(item, fmt.Sprintf("items[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) checkItem(item Item, at string) error {
	m, ok := item.(*Message)
	if !ok {
		_, reference := item.(Reference)
		if s.anyItems && !reference {
			return nil
		}
		return fault.Invalidf(at+".type", "%s.type must be \"message\".", at)
	}
	if m.Role != model.User && !s.anyItems {
		return fault.Invalidf(at+".role", "%s.role must be \"user\".", at)
	}
	if len(m.Content) == 0 {
		return fault.Invalidf(at+".content", "%s.content must have at least one part.", at)
	}
	for j, p := range m.Content {
		if p.Type != InputText && !s.anyItems {
			return fault.Invalidf(fmt.Sprintf("%s.content[%d]", at, j), "%s.content[%d] must be text.", at, j)
		}
	}
	return nil
}

// receive makes entries of the items that a caller adds to a conversation, and ties
// outputs to the calls among them.
func (s *Service) receive(ctx context.Context, caller accounts.Caller, items []Item) ([]Entry, error) {
	if err := checkInline(items); err != nil {
		return nil, err
	}
	items, err := s.Receive(ctx, caller, "items", items, nil)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, len(items))
	calls := map[string]string{} // IDs of items by call ID
	for i, item := range items {
		switch item := item.(type) {
		case *FunctionCall:
			calls[item.CallID] = item.ID
		case *FunctionCallOutput:
			item.Call, item.Listed = calls[item.CallID], true
		}
		entries[i].Item = item
	}
	return entries, nil
}

// tied returns the entries with the outputs that answer none of the calls among
// them tied to those of a history. The error is Invalid for one that answers none
// at all.
func tied(tx storage.Tx, conversation string, history Lineage, entries []Entry) ([]Entry, error) {
	entries = slices.Clone(entries)
	var calls map[string]string
	for i, e := range entries {
		output, ok := e.Item.(*FunctionCallOutput)
		if !ok || output.Call != "" {
			continue
		}
		if calls == nil {
			before, err := load(tx, conversation, history, nil)
			if err != nil {
				return nil, err
			}
			calls = callsOf(before)
		}
		id, ok := calls[output.CallID]
		if !ok {
			return nil, fault.Invalidf(fmt.Sprintf("items[%d].call_id", i), "items[%d].call_id is %.128q, which is no function call of the conversation.", i, output.CallID)
		}
		known := *output
		known.Call = id
		entries[i].Item = &known
	}
	return entries, nil
}

// callsOf returns the IDs of function calls by call ID.
func callsOf(entries []Entry) map[string]string {
	calls := map[string]string{}
	for _, e := range entries {
		if call, ok := e.Item.(*FunctionCall); ok {
			calls[call.CallID] = call.ID
		}
	}
	return calls
}

// AnyItems reports whether callers may add items of any kind, not only messages
// of the user.
func (s *Service) AnyItems() bool { return s.anyItems }

// AddItems adds items to a conversation, behind its most recently written turn,
// and returns them as they are stored: user messages, or any items where
// [Options] say so. The error is NotFound, Invalid, or Denied for an organization
// with zero data retention.
func (s *Service) AddItems(ctx context.Context, caller accounts.Caller, id string, items []Item) ([]Item, error) {
	if len(items) == 0 {
		return nil, fault.Invalidf("items", "items must have at least one element.")
	}
	if err := mayStore(caller); err != nil {
		return nil, err
	}
	if err := s.checkItems(items); err != nil {
		return nil, err
	}
	entries, err := s.receive(ctx, caller, items)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, fault.Invalidf("items", "items has nothing that can be added: reasoning without its call and searches that were not made here are left out.")
	}
	err = s.update(ctx, caller, func(tx storage.Tx) error {
		if _, err := get(tx, id); err != nil {
			return err
		}
		if err := s.add(tx, id, entries); err != nil {
			return err
		}
		return caller.Claim.Did(tx, "")
	})
	if err != nil {
		return nil, err
	}
	added := make([]Item, len(entries))
	for i := range entries {
		added[i] = entries[i].Item
	}
	return added, nil
}

// add appends entries of the caller's to a conversation's head.
func (s *Service) add(tx storage.Tx, conversation string, entries []Entry) error {
	h, err := readHead(tx, conversation)
	if err != nil {
		return err
	}
	if entries, err = tied(tx, conversation, h.history(), entries); err != nil {
		return err
	}
	_, run, err := h.write(tx, conversation, h.history(), entries)
	if err != nil {
		return err
	}
	h.Added = h.Added.With(run)
	h.At = s.now().Unix()
	return storage.SetJSON(tx, headKey(conversation), h)
}

// ListItems returns a page of a conversation's items: every item but function
// call outputs and those of turns that failed. A page may come after an item
// that has been deleted meanwhile, so that a list can be deleted while it is
// read.
func (s *Service) ListItems(ctx context.Context, caller accounts.Caller, id string, p page.Params) (items page.Page[Item], err error) {
	if p, err = page.Within(p, MaxPage, ""); err != nil {
		return items, err
	}
	err = s.view(ctx, caller, func(tx storage.Tx) error {
		if _, err := get(tx, id); err != nil {
			return err
		}
		l := lister{tx: tx, conversation: id, page: p}
		if p.After != "" {
			in, seq, err := locate(tx, p.After)
			if errors.Is(err, storage.ErrNotFound) || err == nil && in != id {
				return fault.Invalidf("after", "after is not the ID of an item in this conversation.")
			}
			if err != nil {
				return err
			}
			l.after = &seq
		}
		items, err = l.list()
		return err
	})
	return items, err
}

// lister reads a page of a conversation's items: from each branch as many as the
// page could take, and of them those that come first.
type lister struct {
	tx           storage.Tx
	conversation string
	page         page.Params
	after        *uint64 // number of the item that the page comes after, if any
}

func (l *lister) list() (page.Page[Item], error) {
	branches, err := branchesOf(l.tx, l.conversation)
	if err != nil {
		return page.Page[Item]{}, err
	}
	var entries []Entry
	more := false
	for _, branch := range branches {
		part, err := page.Read(l.tx, l.of(branch), l.page.Limit, func(found storage.Entry) (Entry, bool, error) {
			e, err := readEntry(found)
			return e, err == nil && e.listed(), err
		})
		if err != nil {
			return page.Page[Item]{}, err
		}
		entries, more = append(entries, part.Items...), more || part.HasMore
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		if l.page.Desc {
			a, b = b, a
		}
		return cmp.Compare(orderOf(a.Seq), orderOf(b.Seq))
	})
	n := min(len(entries), l.page.Limit)
	items := page.Page[Item]{Items: make([]Item, n), HasMore: more || n < len(entries)}
	for i, e := range entries[:n] {
		items.Items[i] = e.Item
	}
	return items, nil
}

// of returns the range of one branch that the page may have items of.
func (l *lister) of(branch uint64) storage.Range {
	first, end := branch, branch+1<<branchShift
	switch {
	case l.after == nil:
	case l.page.Desc:
		end = branch | orderOf(*l.after)
	default:
		first = branch | (orderOf(*l.after) + 1)
	}
	return storage.Range{Start: itemKey(l.conversation, first), End: itemKey(l.conversation, end), Reverse: l.page.Desc}
}

// GetItem returns one item of a conversation. The error is NotFound where the
// conversation does not exist, or has no such item that is addressable.
func (s *Service) GetItem(ctx context.Context, caller accounts.Caller, id, item string) (found Item, err error) {
	err = s.view(ctx, caller, func(tx storage.Tx) error {
		if _, err := get(tx, id); err != nil {
			return err
		}
		e, err := find(tx, id, item)
		found = e.Item
		return err
	})
	return found, err
}

// DeleteItem removes an item from its conversation and from every history that
// it was part of, and returns the conversation. With a function call go its
// outputs.
func (s *Service) DeleteItem(ctx context.Context, caller accounts.Caller, id, item string) (c Conversation, err error) {
	err = s.update(ctx, caller, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		if c, err = get(tx, id); err != nil {
			return err
		}
		e, err := find(tx, id, item)
		if err != nil {
			return err
		}
		if _, ok := e.Item.(*FunctionCall); ok {
			if err := removeOutputs(tx, id, e); err != nil {
				return err
			}
		}
		if err := remove(tx, id, e); err != nil {
			return err
		}
		c.removed++
		return create(tx, c)
	})
	return c, err
}

// remove removes an entry of a conversation, and the events of its turn, which say
// it too. Where it was stays known, for lists that come to it, until the
// conversation is deleted; so does its turn.
func remove(tx storage.Tx, conversation string, e Entry) error {
	if err := tx.Delete(itemKey(conversation, e.Seq)); err != nil {
		return err
	}
	if e.listed() {
		if err := tx.Set(leftoverKey(conversation, indexKey(e.Item.ItemID())), nil); err != nil {
			return err
		}
	}
	if e.Turn == "" {
		return nil
	}
	if err := tx.Set(leftoverKey(conversation, turnKey(e.Turn)), nil); err != nil {
		return err
	}
	return removeAll(tx, eventsOf(conversation, e.Turn))
}

// removeOutputs removes the outputs of a call, which follow it in any branch.
func removeOutputs(tx storage.Tx, conversation string, call Entry) error {
	r := storage.Range{Start: itemKey(conversation, call.Seq), End: storage.After(itemsOf(conversation))}
	var outputs []Entry // removed behind the scan, since their removal scans, too
	for found, err := range tx.Scan(r) {
		if err != nil {
			return err
		}
		e, err := readEntry(found)
		if err != nil {
			return err
		}
		if output, ok := e.Item.(*FunctionCallOutput); ok && output.Call == call.Item.ItemID() {
			outputs = append(outputs, e)
		}
	}
	for _, e := range outputs {
		if err := remove(tx, conversation, e); err != nil {
			return err
		}
	}
	return nil
}

// find returns an addressable item of a conversation by its ID.
func find(tx storage.Tx, conversation, item string) (Entry, error) {
	in, seq, err := locate(tx, item)
	if err == nil && in != conversation {
		err = storage.ErrNotFound
	}
	var data []byte
	if err == nil {
		data, err = tx.Get(itemKey(in, seq))
	}
	if errors.Is(err, storage.ErrNotFound) {
		return Entry{}, fault.Missing(CodeItemNotFound, "item", item)
	}
	if err != nil {
		return Entry{}, err
	}
	return decodeEntry(seq, data)
}

// locate returns where an addressable item of the organization is, or was before
// it was deleted, or storage.ErrNotFound.
func locate(tx storage.Tx, item string) (conversation string, seq uint64, err error) {
	if len(item) > maxID {
		return "", 0, storage.ErrNotFound
	}
	value, err := tx.Get(indexKey(item))
	if err != nil {
		return "", 0, err
	}
	return parseIndexValue(value)
}

// deleted reports whether an addressable item was there and has been deleted from
// its conversation.
func deleted(tx storage.Tx, item string) (bool, error) {
	conversation, seq, err := locate(tx, item)
	if err == nil {
		_, err = tx.Get(itemKey(conversation, seq))
	} else if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	if errors.Is(err, storage.ErrNotFound) {
		return true, nil
	}
	return false, err
}

// readEntry decodes an item as a scan yields it.
func readEntry(found storage.Entry) (Entry, error) {
	seq, err := seqOf(found.Key)
	if err != nil {
		return Entry{}, err
	}
	return decodeEntry(seq, found.Value)
}
