package conversations

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

// Turn is one stored turn of a conversation.
type Turn struct {
	ID           string // of its response
	Conversation string
	History      Lineage         // what came before it
	Items        Range           // its own items: its input, then its output; of a dead turn numbered by themselves
	From         uint64          // where the run begins that they lengthen the history by, if it is before them
	Inputs       int             // how many of its items were input
	Incomplete   bool            // whether it failed, was cancelled or still runs: nothing continues from it
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
	Incomplete   bool            `json:"dead,omitempty"`
	Running      bool            `json:"running,omitempty"`
	Body         json.RawMessage `json:"body"`
}

func (r *turnRecord) turn(id string) Turn {
	return Turn{id, r.Conversation, r.History, r.Items, r.From, r.Inputs, r.Incomplete, r.Running, r.Body}
}

// writeTurn stores a turn.
func writeTurn(tx storage.Tx, t *Turn) error {
	return storage.SetJSON(tx, turnKey(t.ID), turnRecord{t.Conversation, t.History, t.Items, t.From, t.Inputs, t.Incomplete, t.Running, t.Body})
}

// NewTurn is a turn that is about to be stored. Its items have IDs.
type NewTurn struct {
	ID              string  // of its response
	Parent          *Parent // what it continues from; where that is no conversation yet, with the ID of a new one
	NewConversation bool    // whether the turn begins its conversation
	Input, Output   []Item
	Incomplete      bool            // whether it failed or was cancelled
	Body            json.RawMessage // what package responses keeps with it
	CreatedAt       int64           // Unix seconds; of the conversation too, where the turn begins it
	Started         bool            // whether it is stored as running, by [Service.Begin]
	Detached        bool            // it goes on whether or not anybody waits: its request is done when it begins
	FirstEvent      int             // number of the first event that is kept while it runs, by [Service.Progress]; 0 where none are

	lease *lease // of one that runs from now on
}

// Write stores a turn with its items in a transaction of the caller's namespace,
// and makes it the head of its conversation unless it is dead. Items that were
// added to the conversation and are not in the turn's history come behind it. The error is
// NotFound where the conversation has been deleted meanwhile, TooLarge for items
// that the store cannot hold, and has the cause [ErrEnded] for a turn that was
// begun and has been ended.
func (s *Service) Write(tx storage.Tx, d *NewTurn) error { return storeError(s.write(tx, d)) }

func (s *Service) write(tx storage.Tx, d *NewTurn) error {
	conversation := d.Parent.Conversation
	var err error
	storage.Prefetch(tx, d.reads()...)
	if d.Started {
		err = finish(tx, d)
	} else if d.NewConversation {
		err = create(tx, Conversation{ID: conversation, CreatedAt: d.CreatedAt})
	} else {
		_, err = get(tx, conversation)
	}
	if err == nil && s.store.Epoch() != d.Parent.epoch {
		err = d.Parent.check(tx)
	}
	if err != nil {
		return err
	}
	entries := make([]Entry, 0, len(d.Input)+len(d.Output))
	for _, item := range slices.Concat(d.Input, d.Output) {
		entries = append(entries, Entry{Turn: d.ID, Item: item})
	}
	t := Turn{ID: d.ID, Conversation: conversation, History: d.Parent.Lineage, Inputs: len(d.Input), Incomplete: d.Incomplete, Running: d.lease != nil, Body: d.Body}
	if d.Incomplete {
		t.Items, err = writeIncomplete(tx, conversation, d.ID, entries)
	} else {
		err = s.writeCompleted(tx, d, entries, &t)
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
func (d *NewTurn) reads() [][]byte {
	conversation := d.Parent.Conversation
	var keys [][]byte
	if d.Started {
		keys = append(keys, turnKey(d.ID))
	}
	if d.Started || !d.NewConversation {
		keys = append(keys, conversationKey(conversation))
	}
	if !d.Incomplete {
		keys = append(keys, headKey(conversation))
	}
	if !d.Incomplete && d.Parent.fromHead {
		keys = append(keys, queueKey(conversation))
	}
	return keys
}

// writeIncomplete stores the entries of a turn that failed, apart from those that
// lists and histories read.
func writeIncomplete(tx storage.Tx, conversation, turn string, entries []Entry) (Range, error) {
	for i, e := range entries {
		data, err := encodeEntry(e)
		if err != nil {
			return Range{}, err
		}
		if err := tx.Set(numbered(incompleteItemsOf(conversation, turn), uint64(i)), data); err != nil {
			return Range{}, err
		}
	}
	return Range{End: uint64(len(entries))}, nil
}

// writeCompleted stores the entries of a turn that others can continue from, and notes
// where.
func (s *Service) writeCompleted(tx storage.Tx, d *NewTurn, entries []Entry, t *Turn) error {
	h, err := readHead(tx, t.Conversation)
	if err == nil {
		err = s.checkPlace(tx, d.Parent, &h)
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
		if t, err = getTurn(tx, id); err != nil {
			return err
		}
		input, output, err = readItems(tx, &t)
		return err
	})
	return t, input, output, err
}

// StoredTurn is a turn of a list, with its items where they are asked for.
type StoredTurn struct {
	Turn
	Input, Output []Item
}

// ListTurns returns a page of the stored turns, 1 to [MaxPage], by the time of their
// creation. It reads them in one transaction.
func (s *Service) ListTurns(ctx context.Context, caller accounts.Caller, p page.Params, withItems bool) (turns page.Page[StoredTurn], err error) {
	if p, err = page.Within(p, MaxPage, "resp"); err != nil {
		return turns, err
	}
	var after []byte
	if p.After != "" {
		after = turnKey(p.After)
	}
	err = s.view(ctx, caller, func(tx storage.Tx) error {
		turns, err = page.Read(tx, page.Range(p, []byte(turnPrefix), after), p.Limit, func(e storage.Entry) (StoredTurn, bool, error) {
			var r turnRecord
			if err := json.Unmarshal(e.Value, &r); err != nil {
				return StoredTurn{}, false, err
			}
			if _, err := tx.Get(conversationKey(r.Conversation)); err != nil {
				return StoredTurn{}, false, ignoreNotFound(err) // it was deleted, and its turns with it
			}
			return StoredTurn{Turn: r.turn(strings.TrimPrefix(string(e.Key), turnPrefix))}, true, nil
		})
		for i := range turns.Items {
			if err == nil && withItems {
				turns.Items[i].Input, turns.Items[i].Output, err = readItems(tx, &turns.Items[i].Turn)
			}
		}
		return err
	})
	return turns, err
}

func ignoreNotFound(err error) error {
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	return err
}

// readItems reads the items of a turn.
func readItems(tx storage.Tx, t *Turn) (input, output []Item, err error) {
	prefix := itemsOf(t.Conversation)
	if t.Incomplete {
		prefix = incompleteItemsOf(t.Conversation, t.ID)
	}
	r := storage.Range{Start: numbered(slices.Clone(prefix), t.Items.First), End: numbered(prefix, t.Items.End)}
	for found, err := range tx.Scan(r) {
		if err != nil {
			return nil, nil, err
		}
		e, err := readEntry(found)
		if err != nil {
			return nil, nil, err
		}
		if e.Seq < t.Items.First+uint64(t.Inputs) {
			input = append(input, e.Item)
		} else {
			output = append(output, e.Item)
		}
	}
	return input, output, nil
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
	return r.turn(id), c.of(r.Conversation), err
}

// DeleteTurn removes the record of a turn: its response can neither be read nor
// continued from. Its items stay in the conversation and in the histories that
// contain them; those of a turn that failed are in none and go with it. The
// error is NotFound.
func (s *Service) DeleteTurn(ctx context.Context, caller accounts.Caller, id string) error {
	return s.update(ctx, caller, func(tx storage.Tx) error { return deleteTurn(tx, id) })
}

// DeleteTurns deletes turns in one transaction. Those that are not there are no error.
func (s *Service) DeleteTurns(ctx context.Context, caller accounts.Caller, ids []string) error {
	return s.update(ctx, caller, func(tx storage.Tx) error {
		for _, id := range ids {
			if err := deleteTurn(tx, id); err != nil && !fault.Is(err, fault.NotFound) {
				return err
			}
		}
		return nil
	})
}

func deleteTurn(tx storage.Tx, id string) error {
	t, err := getTurn(tx, id)
	if err != nil {
		return err
	}
	if t.Incomplete {
		if err := removeAll(tx, incompleteItemsOf(t.Conversation, id)); err != nil {
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

// maxBranchItems is how many items of a conversation are looked at to find its turns.
const maxBranchItems = 5000

// TurnsOf returns the newest turns of a conversation, at most so many, in no order,
// those that failed or still run among them. A conversation that does not exist has
// none. Turns are found by their items: of a conversation with more than a few thousand
// the oldest turns may be missing.
func (s *Service) TurnsOf(ctx context.Context, caller accounts.Caller, conversation string, most int) (turns []Turn, err error) {
	err = s.view(ctx, caller, func(tx storage.Tx) error {
		turns = nil
		ids, err := turnIDs(tx, conversation, most)
		if err != nil {
			return err
		}
		for _, id := range ids {
			t, err := getTurn(tx, id)
			if fault.Is(err, fault.NotFound) {
				continue // it was deleted, and its items stay
			}
			if err != nil {
				return err
			}
			turns = append(turns, t)
		}
		return nil
	})
	return turns, err
}

// turnIDs returns the IDs of the responses of a conversation's newest turns.
func turnIDs(tx storage.Tx, conversation string, most int) (ids []string, err error) {
	seen := map[string]bool{"": true}
	add := func(id string) {
		if !seen[id] && len(ids) < most {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	r := storage.Prefix(itemsOf(conversation))
	r.Reverse, r.Limit = true, maxBranchItems
	for found, err := range tx.Scan(r) {
		if err != nil {
			return nil, err
		}
		var of struct {
			Turn string `json:"turn"`
		}
		if err := json.Unmarshal(found.Value, &of); err != nil {
			return nil, err
		}
		if add(of.Turn); len(ids) == most {
			break
		}
	}
	prefix := incompleteItemsOf(conversation, "")
	r = storage.Prefix(prefix)
	r.Reverse, r.Limit, r.KeysOnly = true, maxBranchItems, true
	for found, err := range tx.Scan(r) {
		if err != nil {
			return nil, err
		}
		if end := len(found.Key) - 9; end > len(prefix) {
			add(string(found.Key[len(prefix):end]))
		}
	}
	return ids, nil
}
