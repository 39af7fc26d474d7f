package conversations

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
)

// Range is a run of sequence numbers: First is in it, End is not.
type Range struct{ First, End uint64 }

// MarshalJSON writes a range as a pair.
func (r Range) MarshalJSON() ([]byte, error) { return json.Marshal([2]uint64{r.First, r.End}) }

// UnmarshalJSON reads a pair.
func (r *Range) UnmarshalJSON(data []byte) error {
	var pair [2]uint64
	err := json.Unmarshal(data, &pair)
	r.First, r.End = pair[0], pair[1]
	return err
}

// Lineage is the history at some point of a conversation: the ranges of its
// items, in order.
type Lineage []Range

// With returns the lineage with a range behind it, as one range where they
// touch. l is not changed.
func (l Lineage) With(r Range) Lineage {
	if r.First == r.End {
		return l
	}
	if n := len(l); n > 0 && l[n-1].End == r.First {
		joined := slices.Clone(l)
		joined[n-1].End = r.End
		return joined
	}
	return append(slices.Clip(l), r)
}

// head is where a conversation goes on: the number of its next item, and the
// history after the turn or the items that were written last.
type head struct {
	Next    uint64  `json:"next"`
	Lineage Lineage `json:"lineage"`
}

func readHead(tx storage.Tx, conversation string) (head, error) {
	var h head
	err := getJSON(tx, conversation, headKey, &h)
	if errors.Is(err, storage.ErrNotFound) {
		err = nil // a new conversation
	}
	return h, err
}

// write numbers and stores entries and returns their range.
func (h *head) write(tx storage.Tx, conversation string, entries []Entry) (Range, error) {
	written := Range{First: h.Next}
	for i := range entries {
		e := entries[i]
		e.Seq = h.Next
		h.Next++
		data, err := encodeEntry(e)
		if err != nil {
			return written, err
		}
		if err := tx.Set(itemKey(conversation, e.Seq), data); err != nil {
			return written, err
		}
		if !e.listed() {
			continue
		}
		if err := tx.Set(indexKey(e.Item.ItemID()), place(conversation, e.Seq)); err != nil {
			return written, err
		}
	}
	written.End = h.Next
	return written, nil
}

// Turn is one stored turn of a conversation.
type Turn struct {
	ID           string          `json:"-"` // of its response
	Conversation string          `json:"conversation"`
	History      Lineage         `json:"history,omitempty"` // what came before it
	Items        Range           `json:"items"`             // its own items: its input, then its output
	Inputs       int             `json:"inputs"`            // how many of its items were input
	Dead         bool            `json:"dead,omitempty"`    // whether it failed or was cancelled: nothing continues from it
	Body         json.RawMessage `json:"body"`              // what package responses keeps with it
}

// Point is a place in a conversation that a turn continues from.
type Point struct {
	Conversation string // empty where the turn begins a new one
	Lineage      Lineage
	Entries      []Entry // the items of the history, in order
}

// Continue returns the point to continue from: behind the turn of the response
// previous, or behind what was written last to a conversation. With both empty
// it is the beginning of a new conversation; both given are an Invalid error. A
// response or conversation that does not exist is NotFound, and a turn that
// failed or was cancelled an Invalid error.
func (s *Service) Continue(ctx context.Context, caller accounts.Caller, previous, conversation string) (*Point, error) {
	p := &Point{}
	if previous == "" && conversation == "" {
		return p, nil
	}
	if previous != "" && conversation != "" {
		return nil, fault.Invalidf("previous_response_id", "previous_response_id and conversation cannot be used together.")
	}
	err := s.store.View(ctx, caller.Namespace(), func(tx storage.Tx) (err error) {
		if previous != "" {
			p.Conversation, p.Lineage, err = behindTurn(tx, previous)
		} else {
			p.Conversation, p.Lineage, err = behindHead(tx, conversation)
		}
		if err != nil {
			return err
		}
		p.Entries, err = load(tx, p.Conversation, p.Lineage)
		return err
	})
	return p, err
}

func behindTurn(tx storage.Tx, id string) (conversation string, l Lineage, err error) {
	t, err := getTurn(tx, id)
	if err != nil {
		return "", nil, err
	}
	if t.Dead {
		return "", nil, fault.Invalidf("previous_response_id", "The response %q did not complete: it cannot be continued from.", id)
	}
	return t.Conversation, t.History.With(t.Items), nil
}

func behindHead(tx storage.Tx, id string) (conversation string, l Lineage, err error) {
	if _, err := get(tx, id); err != nil {
		return "", nil, err
	}
	h, err := readHead(tx, id)
	return id, h.Lineage, err
}

// load reads the items of a lineage: one scan per range.
func load(tx storage.Tx, conversation string, l Lineage) ([]Entry, error) {
	var entries []Entry
	for _, r := range l {
		for found, err := range tx.Scan(storage.Range{Start: itemKey(conversation, r.First), End: itemKey(conversation, r.End)}) {
			if err != nil {
				return nil, err
			}
			e, err := readEntry(found)
			if err != nil {
				return nil, err
			}
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// Draft is a turn that is about to be stored.
type Draft struct {
	Turn                 // Items and Inputs are filled in by Write
	Input, Output []Item // with IDs
	CreatedAt     int64  // Unix seconds; of the conversation too, where the turn begins it
	Begins        bool   // whether the turn begins its conversation
}

// Write stores a turn with its items in a transaction of the caller's namespace,
// and makes it the head of its conversation unless it is dead. The error is
// NotFound where the conversation has been deleted meanwhile. Write may run
// again with the transaction; it changes d.Items and d.Inputs alone.
func (s *Service) Write(tx storage.Tx, d *Draft) error {
	var err error
	if d.Begins {
		err = create(tx, Conversation{ID: d.Conversation, CreatedAt: d.CreatedAt})
	} else {
		_, err = get(tx, d.Conversation)
	}
	if err != nil {
		return err
	}
	h, err := readHead(tx, d.Conversation)
	if err != nil {
		return err
	}
	entries := make([]Entry, 0, len(d.Input)+len(d.Output))
	for _, item := range slices.Concat(d.Input, d.Output) {
		entries = append(entries, Entry{Turn: d.ID, Hidden: d.Dead, Item: item})
	}
	d.Inputs = len(d.Input)
	if d.Items, err = h.write(tx, d.Conversation, entries); err != nil {
		return err
	}
	if !d.Dead {
		h.Lineage = d.History.With(d.Items)
	}
	return errors.Join(setJSON(tx, headKey(d.Conversation), h), setJSON(tx, turnKey(d.ID), d.Turn))
}

// GetTurn returns a stored turn and its items, in order. The error is NotFound.
// An item that was deleted from the conversation is missing from the turn too.
func (s *Service) GetTurn(ctx context.Context, caller accounts.Caller, id string) (t Turn, input, output []Item, err error) {
	err = s.store.View(ctx, caller.Namespace(), func(tx storage.Tx) error {
		input, output = nil, nil
		if t, err = getTurn(tx, id); err != nil {
			return err
		}
		entries, err := load(tx, t.Conversation, Lineage{t.Items})
		for _, e := range entries {
			if e.Seq < t.Items.First+uint64(t.Inputs) {
				input = append(input, e.Item)
			} else {
				output = append(output, e.Item)
			}
		}
		return err
	})
	return t, input, output, err
}

func getTurn(tx storage.Tx, id string) (Turn, error) {
	var t Turn
	err := getJSON(tx, id, turnKey, &t)
	if err == nil {
		// A deleted conversation takes its turns along at once.
		_, err = tx.Get(conversationKey(t.Conversation))
	}
	if errors.Is(err, storage.ErrNotFound) {
		return Turn{}, fault.Missing(CodeResponseNotFound, "response", id)
	}
	t.ID = id
	return t, err
}

// DeleteTurn removes the record of a turn: its response can neither be read nor
// continued from. Its items stay in the conversation and in the histories that
// contain them. The error is NotFound.
func (s *Service) DeleteTurn(ctx context.Context, caller accounts.Caller, id string) error {
	return s.store.Update(ctx, caller.Namespace(), func(tx storage.Tx) error {
		if _, err := getTurn(tx, id); err != nil {
			return err
		}
		return tx.Delete(turnKey(id))
	})
}

// Item returns an addressable item of the organization, whichever conversation
// it is in. The error is NotFound.
func (s *Service) Item(ctx context.Context, caller accounts.Caller, id string) (Item, error) {
	var e Entry
	err := s.store.View(ctx, caller.Namespace(), func(tx storage.Tx) error {
		var in string
		var err error
		if e, in, err = findAnywhere(tx, id); err == nil {
			_, err = tx.Get(conversationKey(in))
		}
		if errors.Is(err, storage.ErrNotFound) {
			return fault.Missing(CodeItemNotFound, "item", id)
		}
		return err
	})
	return e.Item, err
}
