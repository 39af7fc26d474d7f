package conversations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/page"
	"github.com/seed-506d8e5d/svc/model"
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

// checkItems refuses what callers may not put into a conversation: anything but
// text from the user, and too much at once.
func checkItems(items []*Message) error {
	if len(items) > MaxItems {
		return fault.Invalidf("items", "items must have at most %d elements.", MaxItems)
	}
	for i, m := range items {
		if m.Role != model.User {
			return fault.Invalidf(fmt.Sprintf("items[%d].role", i), "items[%d].role must be \"user\".", i)
		}
		if len(m.Content) == 0 {
			return fault.Invalidf(fmt.Sprintf("items[%d].content", i), "items[%d].content must have at least one part.", i)
		}
		for j, p := range m.Content {
			if p.Type != InputText {
				return fault.Invalidf(fmt.Sprintf("items[%d].content[%d]", i, j), "items[%d].content[%d] must be text.", i, j)
			}
		}
	}
	return nil
}

// entries gives messages their IDs.
func (s *Service) entries(items []*Message) []Entry {
	entries := make([]Entry, len(items))
	for i, m := range items {
		entries[i].Item = &Message{ID: s.newID("msg"), Status: Completed, Role: m.Role, Content: m.Content}
	}
	return entries
}

// AddItems adds user messages to a conversation, behind its most recently
// written turn, and returns them as they are stored. The error is NotFound,
// Invalid, or Denied for an organization with zero data retention.
func (s *Service) AddItems(ctx context.Context, caller accounts.Caller, id string, items []*Message) ([]Item, error) {
	if len(items) == 0 {
		return nil, fault.Invalidf("items", "items must have at least one element.")
	}
	if err := errors.Join(mayStore(caller), checkItems(items)); err != nil {
		return nil, err
	}
	entries := s.entries(items)
	err := s.update(ctx, caller, func(tx storage.Tx) error {
		if _, err := get(tx, id); err != nil {
			return err
		}
		return s.add(tx, id, entries)
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
	_, run, err := h.write(tx, conversation, h.history(), entries)
	if err != nil {
		return err
	}
	h.Added = h.Added.With(run)
	return storage.SetJSON(tx, headKey(conversation), h)
}

// ListItems returns a page of a conversation's items: every item but function
// call outputs and those of turns that failed. A page may come after an item
// that has been deleted meanwhile, so that a list can be deleted while it is
// read.
func (s *Service) ListItems(ctx context.Context, caller accounts.Caller, id string, p page.Params) (items page.Page[Item], err error) {
	if p, err = p.Within(MaxPage); err != nil {
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
		return remove(tx, id, e)
	})
	return c, err
}

// remove removes an entry of a conversation. Where it was stays known, for lists
// that come to it, until the conversation is deleted; so does its turn.
func remove(tx storage.Tx, conversation string, e Entry) error {
	err := tx.Delete(itemKey(conversation, e.Seq))
	if e.listed() {
		err = errors.Join(err, tx.Set(leftoverKey(conversation, indexKey(e.Item.ItemID())), nil))
	}
	if e.Turn != "" {
		err = errors.Join(err, tx.Set(leftoverKey(conversation, turnKey(e.Turn)), nil))
	}
	return err
}

// removeOutputs removes the outputs of a call, which follow it in any branch.
func removeOutputs(tx storage.Tx, conversation string, call Entry) error {
	r := storage.Range{Start: itemKey(conversation, call.Seq), End: storage.After(itemsOf(conversation))}
	for found, err := range tx.Scan(r) {
		if err != nil {
			return err
		}
		e, err := readEntry(found)
		if err != nil {
			return err
		}
		if output, ok := e.Item.(*FunctionCallOutput); ok && output.Call == call.Item.ItemID() {
			if err := remove(tx, conversation, e); err != nil {
				return err
			}
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
	return parsePlace(value)
}

// readEntry decodes an item as a scan yields it.
func readEntry(found storage.Entry) (Entry, error) {
	seq, err := seqOf(found.Key)
	if err != nil {
		return Entry{}, err
	}
	return decodeEntry(seq, found.Value)
}
