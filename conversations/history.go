package conversations

import (
	"context"
	"errors"
	"slices"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
)

// Parent is a place in a conversation that a turn continues from.
type Parent struct {
	Conversation string // empty where the turn begins a new one
	Lineage      Lineage
	Entries      []Entry // the items of the history, in order
	Derived      Derived // of the turn before, where it is still there

	cached *cachedHistory // where the history is kept
	last   Entry          // of the history; without an item where that is empty
	epoch  uint64         // of the store when it was read

	fromHead bool              // it is where the conversation goes on, for a turn that stands in its queue
	ns       storage.Namespace // of the conversation, if fromHead
	turn     string            // the conversation's last turn then
}

// maxHistory is how many bytes the items of a history may take in the store. It
// is more than any context window holds: what is longer need not be read to
// know that it does not fit.
const maxHistory = 64 << 20

// Continue returns the point to continue from: behind the turn of the response
// previous, or behind what was written last to a conversation. With both empty
// it is the beginning of a new conversation; both given are an Invalid error. A
// response or conversation that does not exist is NotFound, a turn that failed
// or was cancelled an Invalid error, and a history that no model could read a
// Rejected one.
func (s *Service) Continue(ctx context.Context, caller accounts.Caller, previous, conversation string) (*Parent, error) {
	p := &Parent{epoch: s.store.Epoch()}
	if previous == "" && conversation == "" {
		return p, nil
	}
	if previous != "" && conversation != "" {
		return nil, fault.Invalidf("previous_response_id", "previous_response_id and conversation cannot be used together.")
	}
	ns := caller.Namespace()
	var c Conversation
	err := s.view(ctx, caller, func(tx storage.Tx) (err error) {
		if previous != "" {
			c, err = p.afterTurn(tx, previous)
		} else {
			p.fromHead, p.ns = true, ns
			c, err = p.afterHead(tx, conversation)
		}
		if err != nil {
			return err
		}
		cached, rest, derived := s.histories.lookup(ns, c, p.Lineage, s.store.Epoch())
		p.Derived = derived
		p.Entries, err = load(tx, c.ID, rest, cached)
		return err
	})
	if err != nil {
		return nil, err
	}
	if n := len(p.Entries); n > 0 {
		p.last = p.Entries[n-1]
	}
	p.cached = s.histories.add(ns, c, p.Lineage, p.Entries, p.epoch)
	p.Entries = slices.Clip(p.Entries) // the next turn that continues from them appends in place
	return p, nil
}

func (p *Parent) afterTurn(tx storage.Tx, id string) (Conversation, error) {
	t, c, err := turnWithin(tx, id)
	if err != nil {
		return c, err
	}
	if t.Running {
		return c, fault.Invalidf("previous_response_id", "The response %q is still in progress: it cannot be continued from before it has completed.", id)
	}
	if t.Incomplete {
		return c, fault.Invalidf("previous_response_id", "The response %q did not complete: it cannot be continued from.", id)
	}
	run := t.Items
	if t.From != 0 {
		run.First = t.From
	}
	p.Conversation, p.Lineage = t.Conversation, t.History.With(run)
	return c, nil
}

func (p *Parent) afterHead(tx storage.Tx, id string) (Conversation, error) {
	storage.Prefetch(tx, headKey(id), conversationKey(id))
	h, err := readHead(tx, id)
	if err != nil {
		return Conversation{}, err
	}
	p.Conversation, p.Lineage, p.turn = id, h.history(), h.Turn
	return get(tx, id)
}

// check returns an error where the store has lost what the point is behind. What
// was written before the last item is there where that is, or was until somebody
// deleted it.
func (p *Parent) check(tx storage.Tx) error {
	if p.last.Item == nil {
		return nil
	}
	data, err := tx.Get(itemKey(p.Conversation, p.last.Seq))
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	if err == nil {
		e, err := decodeEntry(p.last.Seq, data)
		if err != nil {
			return err
		}
		if e.Turn == p.last.Turn && e.Item.ItemID() == p.last.Item.ItemID() {
			return nil
		}
	}
	item := p.last.Item.ItemID()
	if output, ok := p.last.Item.(*FunctionCallOutput); ok && !output.Listed {
		item = output.Call // which it is deleted with
	}
	if gone, err := deleted(tx, item); gone || err != nil {
		return err
	}
	return &fault.Error{Kind: fault.Unavailable, Code: fault.CodeUnavailable, Message: "What the turn continues from is not there any more. Try again.",
		Err: errors.New("conversations: the store has lost the history of a turn")}
}

// maxBeside is how many items that are not of a history are read rather than begin
// another scan behind them.
const maxBeside = 16

// load reads the items of a lineage behind those that come before it: one scan for
// each run of ranges that have little between them.
func load(tx storage.Tx, conversation string, l Lineage, entries []Entry) ([]Entry, error) {
	size := 0
	for i := range entries {
		size += entries[i].size
	}
	for len(l) > 0 {
		run := l[:l.near()]
		beside := 0
		for found, err := range tx.Scan(storage.Range{Start: itemKey(conversation, run[0].First), End: itemKey(conversation, run[len(run)-1].End)}) {
			if err != nil {
				return nil, err
			}
			seq, err := seqOf(found.Key)
			if err != nil {
				return nil, err
			}
			for seq >= run[0].End {
				run, l = run[1:], l[1:]
			}
			if seq < run[0].First {
				if beside++; beside > maxBeside {
					break // what is there was written later
				}
				continue
			}
			beside = 0
			if size += len(found.Value); size > maxHistory {
				return nil, fault.ContextLength("The history is longer than any model's context window: it has more than %d MiB.", maxHistory>>20)
			}
			e, err := decodeEntry(seq, found.Value)
			if err != nil {
				return nil, err
			}
			e.size = len(found.Value)
			entries = append(entries, e)
		}
		if beside <= maxBeside {
			l = l[len(run):]
		}
	}
	return entries, nil
}

// Items returns addressable items of the organization by their IDs, whichever
// conversations they are in. One that does not exist is missing from the map.
// The error is Rejected where no model could read them all.
func (s *Service) Items(ctx context.Context, caller accounts.Caller, ids []string) (items map[string]Item, err error) {
	err = s.view(ctx, caller, func(tx storage.Tx) error {
		items = map[string]Item{}
		size := 0
		for _, id := range ids {
			if items[id] != nil {
				continue
			}
			e, n, err := findAnywhere(tx, id)
			if errors.Is(err, storage.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if size += n; size > maxHistory {
				return fault.ContextLength("The items that the input refers to are longer than any model's context window: they have more than %d MiB.", maxHistory>>20)
			}
			items[id] = e.Item
		}
		return nil
	})
	return items, err
}

// findAnywhere returns an addressable item of the organization and the length of
// its record, or storage.ErrNotFound.
func findAnywhere(tx storage.Tx, item string) (e Entry, size int, err error) {
	conversation, seq, err := locate(tx, item)
	if err != nil {
		return Entry{}, 0, err
	}
	// A deleted conversation takes its items along at once.
	if _, err := tx.Get(conversationKey(conversation)); err != nil {
		return Entry{}, 0, err
	}
	data, err := tx.Get(itemKey(conversation, seq))
	if err != nil {
		return Entry{}, 0, err
	}
	e, err = decodeEntry(seq, data)
	return e, len(data), err
}

// History returns the entries that a turn continued from, in order. The errors are
// NotFound and those of [Service.Continue].
func (s *Service) History(ctx context.Context, caller accounts.Caller, response string) (entries []Entry, err error) {
	err = s.view(ctx, caller, func(tx storage.Tx) error {
		t, err := getTurn(tx, response)
		if err == nil {
			entries, err = load(tx, t.Conversation, t.History, nil)
		}
		return err
	})
	return entries, err
}
