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

// writeDead stores the entries of a turn that failed, apart from those that
// lists and histories read.
func writeDead(tx storage.Tx, conversation, turn string, entries []Entry) (Range, error) {
	for i, e := range entries {
		data, err := encodeEntry(e)
		if err != nil {
			return Range{}, err
		}
		if err := tx.Set(numbered(deadItemsOf(conversation, turn), uint64(i)), data); err != nil {
			return Range{}, err
		}
	}
	return Range{End: uint64(len(entries))}, nil
}

// Turn is one stored turn of a conversation.
type Turn struct {
	ID           string // of its response
	Conversation string
	History      Lineage         // what came before it
	Items        Range           // its own items: its input, then its output; of a dead turn numbered by themselves
	From         uint64          // where the run begins that they lengthen the history by, if it is before them
	Inputs       int             // how many of its items were input
	Dead         bool            // whether it failed, was cancelled or still runs: nothing continues from it
	Running      bool            // whether it has not ended
	Body         json.RawMessage // what package responses keeps with it
}

// turnRecord is how a [Turn] is stored; its ID is in the key.
type turnRecord struct {
	Conversation string          `json:"conversation"`
	History      Lineage         `json:"history,omitempty"`
	Items        Range           `json:"items"`
	From         uint64          `json:"from,omitempty"`
	Inputs       int             `json:"inputs"`
	Dead         bool            `json:"dead,omitempty"`
	Running      bool            `json:"running,omitempty"`
	Body         json.RawMessage `json:"body"`
}

// writeTurn stores a turn.
func writeTurn(tx storage.Tx, t *Turn) error {
	return storage.SetJSON(tx, turnKey(t.ID), turnRecord{t.Conversation, t.History, t.Items, t.From, t.Inputs, t.Dead, t.Running, t.Body})
}

// Point is a place in a conversation that a turn continues from.
type Point struct {
	Conversation string // empty where the turn begins a new one
	Lineage      Lineage
	Entries      []Entry // the items of the history, in order
	Kept         Kept    // of the turn before, where it is still there

	known *known // where the history is kept
	last  Entry  // of the history; without an item where that is empty
	age   uint64 // of the store when it was read

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
func (s *Service) Continue(ctx context.Context, caller accounts.Caller, previous, conversation string) (*Point, error) {
	p := &Point{age: s.store.Age()}
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
			c, err = p.behindTurn(tx, previous)
		} else {
			p.fromHead, p.ns = true, ns
			c, err = p.behindHead(tx, conversation)
		}
		if err != nil {
			return err
		}
		known, rest, kept := s.recent.begin(ns, c, p.Lineage, s.store.Age())
		p.Kept = kept
		p.Entries, err = load(tx, c.ID, rest, known)
		return err
	})
	if err != nil {
		return nil, err
	}
	if n := len(p.Entries); n > 0 {
		p.last = p.Entries[n-1]
	}
	p.known = s.recent.keep(ns, c, p.Lineage, p.Entries, p.age)
	p.Entries = slices.Clip(p.Entries) // what is behind them belongs to who continues from them next
	return p, nil
}

func (p *Point) behindTurn(tx storage.Tx, id string) (Conversation, error) {
	t, c, err := turnWithin(tx, id)
	if err != nil {
		return c, err
	}
	if t.Running {
		return c, fault.Invalidf("previous_response_id", "The response %q is still in progress: it cannot be continued from before it has completed.", id)
	}
	if t.Dead {
		return c, fault.Invalidf("previous_response_id", "The response %q did not complete: it cannot be continued from.", id)
	}
	run := t.Items
	if t.From != 0 {
		run.First = t.From
	}
	p.Conversation, p.Lineage = t.Conversation, t.History.With(run)
	return c, nil
}

func (p *Point) behindHead(tx storage.Tx, id string) (Conversation, error) {
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
func (p *Point) check(tx storage.Tx) error {
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

// Draft is a turn that is about to be stored. Its items have IDs.
type Draft struct {
	ID            string // of its response
	Point         *Point // what it continues from; where that is no conversation yet, with the ID of a new one
	Begins        bool   // whether the turn begins its conversation
	Input, Output []Item
	Dead          bool            // whether it failed or was cancelled
	Body          json.RawMessage // what package responses keeps with it
	CreatedAt     int64           // Unix seconds; of the conversation too, where the turn begins it
	Begun         bool            // whether it is stored as running, by [Service.Begin]
	Detached      bool            // it goes on whether or not anybody waits: its request is done when it begins
	FirstEvent    int             // number of the first event that is kept while it runs, by [Service.Progress]; 0 where none are

	lease *lease // of one that runs from now on
}

// Write stores a turn with its items in a transaction of the caller's namespace,
// and makes it the head of its conversation unless it is dead. Items that were
// added to the conversation and are not in the turn's history come behind it. The error is
// NotFound where the conversation has been deleted meanwhile, TooLarge for items
// that the store cannot hold, and has the cause [ErrEnded] for a turn that was
// begun and has been ended.
func (s *Service) Write(tx storage.Tx, d *Draft) error { return storeError(s.write(tx, d)) }

func (s *Service) write(tx storage.Tx, d *Draft) error {
	conversation := d.Point.Conversation
	var err error
	storage.Prefetch(tx, d.reads()...)
	if d.Begun {
		err = finish(tx, d)
	} else if d.Begins {
		err = create(tx, Conversation{ID: conversation, CreatedAt: d.CreatedAt})
	} else {
		_, err = get(tx, conversation)
	}
	if err == nil && s.store.Age() != d.Point.age {
		err = d.Point.check(tx)
	}
	if err != nil {
		return err
	}
	entries := make([]Entry, 0, len(d.Input)+len(d.Output))
	for _, item := range slices.Concat(d.Input, d.Output) {
		entries = append(entries, Entry{Turn: d.ID, Item: item})
	}
	t := Turn{ID: d.ID, Conversation: conversation, History: d.Point.Lineage, Inputs: len(d.Input), Dead: d.Dead, Running: d.lease != nil, Body: d.Body}
	if d.Dead {
		t.Items, err = writeDead(tx, conversation, d.ID, entries)
	} else {
		err = s.writeLive(tx, d, entries, &t)
	}
	if err == nil && d.lease != nil {
		err = storage.SetJSON(tx, leaseKey(d.ID), d.lease)
	}
	if err != nil {
		return err
	}
	return writeTurn(tx, &t)
}

// reads returns the keys of what writing the draft reads.
func (d *Draft) reads() [][]byte {
	conversation := d.Point.Conversation
	var keys [][]byte
	if d.Begun {
		keys = append(keys, turnKey(d.ID))
	}
	if d.Begun || !d.Begins {
		keys = append(keys, conversationKey(conversation))
	}
	if !d.Dead {
		keys = append(keys, headKey(conversation))
	}
	if !d.Dead && d.Point.fromHead {
		keys = append(keys, lineKey(conversation))
	}
	return keys
}

// writeLive stores the entries of a turn that others can continue from, and notes
// where.
func (s *Service) writeLive(tx storage.Tx, d *Draft, entries []Entry, t *Turn) error {
	h, err := readHead(tx, t.Conversation)
	if err == nil {
		err = s.checkPlace(tx, d.Point, &h)
	}
	if err != nil {
		return err
	}
	own, run, err := h.write(tx, t.Conversation, t.History, entries)
	if err != nil {
		return err
	}
	if t.Items = own; run.First != own.First {
		t.From = run.First
	}
	h.Turn, h.Lineage, h.Added = d.ID, t.History.With(run), h.Added.Without(t.History)
	h.At = d.CreatedAt
	return storage.SetJSON(tx, headKey(t.Conversation), h)
}

// GetTurn returns a stored turn and its items, in order. The error is NotFound.
// An item that was deleted from the conversation is missing from the turn too.
func (s *Service) GetTurn(ctx context.Context, caller accounts.Caller, id string) (t Turn, input, output []Item, err error) {
	err = s.view(ctx, caller, func(tx storage.Tx) error {
		input, output = nil, nil
		if t, err = getTurn(tx, id); err != nil {
			return err
		}
		prefix := itemsOf(t.Conversation)
		if t.Dead {
			prefix = deadItemsOf(t.Conversation, id)
		}
		r := storage.Range{Start: numbered(slices.Clone(prefix), t.Items.First), End: numbered(prefix, t.Items.End)}
		for found, err := range tx.Scan(r) {
			if err != nil {
				return err
			}
			e, err := readEntry(found)
			if err != nil {
				return err
			}
			if e.Seq < t.Items.First+uint64(t.Inputs) {
				input = append(input, e.Item)
			} else {
				output = append(output, e.Item)
			}
		}
		return nil
	})
	return t, input, output, err
}

func getTurn(tx storage.Tx, id string) (Turn, error) {
	t, _, err := turnWithin(tx, id)
	return t, err
}

// turnWithin reads a turn and its conversation.
func turnWithin(tx storage.Tx, id string) (Turn, Conversation, error) {
	var r turnRecord
	var c conversationRecord
	err := storage.GetJSON(tx, turnKey(id), &r)
	if err == nil {
		// A deleted conversation takes its turns along at once.
		err = storage.GetJSON(tx, conversationKey(r.Conversation), &c)
	}
	if errors.Is(err, storage.ErrNotFound) {
		return Turn{}, Conversation{}, fault.Missing(CodeResponseNotFound, "response", id)
	}
	return Turn{id, r.Conversation, r.History, r.Items, r.From, r.Inputs, r.Dead, r.Running, r.Body}, c.of(r.Conversation), err
}

// DeleteTurn removes the record of a turn: its response can neither be read nor
// continued from. Its items stay in the conversation and in the histories that
// contain them; those of a turn that failed are in none and go with it. The
// error is NotFound.
func (s *Service) DeleteTurn(ctx context.Context, caller accounts.Caller, id string) error {
	return s.update(ctx, caller, func(tx storage.Tx) error {
		t, err := getTurn(tx, id)
		if err != nil {
			return err
		}
		if t.Dead {
			if err := removeAll(tx, deadItemsOf(t.Conversation, id)); err != nil {
				return err
			}
		}
		if err := removeAll(tx, eventsOf(t.Conversation, id)); err != nil {
			return err
		}
		if t.Running {
			if err := tx.Delete(leaseKey(id)); err != nil {
				return err
			}
		}
		return tx.Delete(turnKey(id))
	})
}

func removeAll(tx storage.Tx, prefix []byte) error {
	r := storage.Prefix(prefix)
	r.KeysOnly = true
	for found, err := range tx.Scan(r) {
		if err != nil {
			return err
		}
		if err := tx.Delete(found.Key); err != nil {
			return err
		}
	}
	return nil
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
