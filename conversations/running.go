package conversations

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
)

// A turn that runs is stored like one that failed, with its input, and beside it
// a lease of the process that makes it. A turn whose lease is over has been left
// by its process: whoever finds it ends it.

const (
	// leaseFor is how long a turn is taken to run without having been renewed, by the
	// process that makes it. Others look whether that one is alive.
	leaseFor = 20 * time.Second
	// leaseMost is how long others take it to run at most whose process is alive and
	// could not store that it has ended.
	leaseMost = time.Minute
)

// lease is what is stored of a turn that runs.
type lease struct {
	Owner     string `json:"owner,omitempty"`     // the process; those of earlier versions have none
	Until     int64  `json:"until"`               // Unix milliseconds
	Cancelled bool   `json:"cancelled,omitempty"` // it is to end as soon as it can
	Events    int    `json:"events,omitempty"`    // number of the first event that is not kept yet, where events are
}

func (s *Service) newLease(d *NewTurn) *lease {
	l := &lease{Until: s.leaseEnd(), Events: d.FirstEvent}
	if s.cluster != nil {
		l.Owner = s.cluster.ID()
	}
	return l
}

// leaseEnd is by the store's clock, which is one for all processes.
func (s *Service) leaseEnd() int64 { return s.store.Now().Add(leaseFor).UnixMilli() }

// over reports whether the turn of a lease was left by its process.
func (s *Service) over(l lease) bool {
	late := s.store.Now().Sub(time.UnixMilli(l.Until))
	if l.Owner == "" || s.cluster == nil || l.Owner == s.cluster.ID() {
		return late >= 0
	}
	return late > leaseMost || !s.cluster.Alive(l.Owner)
}

// note says that this process may leave something unfinished in a namespace.
func (s *Service) note(ctx context.Context, ns storage.Namespace) error {
	if s.cluster == nil {
		return nil
	}
	return storeError(s.cluster.RegisterWork(ctx, ns))
}

// ErrEnded is the cause of an error about a turn that has been ended meanwhile.
var ErrEnded = errors.New("conversations: the turn has ended")

func ended(id string) error {
	return &fault.Error{Kind: fault.Conflict, Code: fault.CodeResponseEnded, Message: "The response \"" + id + "\" has been ended meanwhile.", Err: ErrEnded}
}

// Begin stores a turn that runs from now on, with its input: it can be read, and
// nothing continues from it. Errors are those of [Service.Write].
func (s *Service) Begin(ctx context.Context, caller accounts.Caller, d *NewTurn) error {
	if err := s.note(ctx, caller.Namespace()); err != nil {
		return err
	}
	running := *d
	running.Incomplete, running.lease = true, s.newLease(d)
	return s.update(ctx, caller, func(tx storage.Tx) error {
		if err := s.write(tx, &running); err != nil || !d.Detached {
			return err
		}
		return caller.Claim.Did(tx, d.ID)
	})
}

// finish makes room for the end of a turn that was begun.
func finish(tx storage.Tx, d *NewTurn) error {
	t, err := getTurn(tx, d.ID)
	if err != nil {
		return err
	}
	if !t.Running {
		return ended(d.ID)
	}
	if !d.Incomplete {
		prefix := incompleteItemsOf(t.Conversation, d.ID)
		for i := t.Items.First; i < t.Items.End; i++ {
			if err := tx.Delete(numbered(slices.Clone(prefix), i)); err != nil {
				return err
			}
		}
	}
	return tx.Delete(leaseKey(d.ID))
}

// LostEvents is the error of keeping a page of the events of a turn that does not
// come directly behind those that are kept: the store has lost what it had, or a
// page was kept of which nobody was told.
type LostEvents struct {
	Next int // number of the first event that is not kept
}

func (e *LostEvents) Error() string {
	return fmt.Sprintf("conversations: the events of the turn are kept up to %d only", e.Next)
}

// Progress renews the lease of a turn that runs and keeps a page of its events. It
// reports whether somebody wants the turn to end. The error has the cause [ErrEnded]
// or is NotFound where it has been ended or deleted, and is a [*LostEvents] where
// the page has no place.
func (s *Service) Progress(ctx context.Context, caller accounts.Caller, id string, page Page) (cancelled bool, err error) {
	err = s.update(ctx, caller, func(tx storage.Tx) error {
		storage.Prefetch(tx, turnKey(id), leaseKey(id))
		t, err := getTurn(tx, id)
		if err != nil {
			return err
		}
		var l lease
		if err := storage.GetJSON(tx, leaseKey(id), &l); errors.Is(err, storage.ErrNotFound) || !t.Running {
			return ended(id)
		} else if err != nil {
			return err
		}
		cancelled = l.Cancelled
		l.Until = s.leaseEnd()
		return keepEvents(tx, l, t.Conversation, id, page)
	})
	return cancelled, err
}

// Renew renews the leases of turns that run. It returns those that are to end:
// because somebody wants it, or because they have been ended.
func (s *Service) Renew(ctx context.Context, ns storage.Namespace, ids []string) (over map[string]bool, err error) {
	err = s.store.Update(ctx, ns, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		over = map[string]bool{}
		for _, id := range ids {
			var l lease
			err := storage.GetJSON(tx, leaseKey(id), &l)
			if errors.Is(err, storage.ErrNotFound) {
				over[id] = true
				continue
			}
			if err != nil {
				return err
			}
			over[id] = l.Cancelled
			l.Until = s.leaseEnd()
			if err := storage.SetJSON(tx, leaseKey(id), l); err != nil {
				return err
			}
		}
		return nil
	})
	return over, storeError(err)
}

// Cancelled reports whether somebody wants a turn that runs to end.
func (s *Service) Cancelled(ctx context.Context, caller accounts.Caller, id string) (bool, error) {
	var l lease
	err := s.view(ctx, caller, func(tx storage.Tx) error { return storage.GetJSON(tx, leaseKey(id), &l) })
	if errors.Is(err, storage.ErrNotFound) {
		return true, nil
	}
	return l.Cancelled, err
}

// Cancel asks the process that makes a turn to end it. Nothing happens where it
// has ended.
func (s *Service) Cancel(ctx context.Context, caller accounts.Caller, id string) error {
	return s.update(ctx, caller, func(tx storage.Tx) error {
		var l lease
		err := storage.GetJSON(tx, leaseKey(id), &l)
		if errors.Is(err, storage.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		l.Cancelled = true
		return storage.SetJSON(tx, leaseKey(id), l)
	})
}

// Running returns the turns of a namespace that are stored as running.
func (s *Service) Running(ctx context.Context, ns storage.Namespace) (ids []string, err error) {
	err = s.store.View(ctx, ns, func(tx storage.Tx) error {
		ids = nil
		r := storage.Prefix([]byte(leasePrefix))
		r.KeysOnly = true
		for found, err := range tx.Scan(r) {
			if err != nil {
				return err
			}
			ids = append(ids, string(found.Key[len(leasePrefix):]))
		}
		return nil
	})
	return ids, storeError(err)
}

// Abandon ends a turn that its process has left, and reports whether it does not
// run any more. It stays as it was stored, with the body that end makes of its own;
// end may write, too.
func (s *Service) Abandon(ctx context.Context, ns storage.Namespace, id string, end func(tx storage.Tx, id string, body json.RawMessage) (json.RawMessage, error)) (ended bool, err error) {
	err = s.store.Update(ctx, ns, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		ended = true
		var l lease
		err := storage.GetJSON(tx, leaseKey(id), &l)
		if errors.Is(err, storage.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if ended = s.over(l); !ended {
			return nil
		}
		t, err := getTurn(tx, id)
		switch {
		case fault.Is(err, fault.NotFound): // the conversation was deleted
		case err != nil:
			return err
		default:
			t.Running = false
			if t.Body, err = end(tx, id, t.Body); err != nil {
				return err
			}
			if err := writeTurn(tx, &t); err != nil {
				return err
			}
		}
		return tx.Delete(leaseKey(id))
	})
	return ended, storeError(err)
}

// Page is a page of the events of a turn.
type Page struct {
	First int    // number of the first event
	Count int    // how many there are, of a page that is to be kept
	Data  []byte // nil where there are none
}

// LastEvents keeps the last page of the events of a turn that runs, in the
// transaction of the caller's namespace that ends it with [Service.Write]. The error
// is a [*LostEvents] where the page has no place.
func LastEvents(tx storage.Tx, conversation, id string, page Page) error {
	storage.Prefetch(tx, turnKey(id), leaseKey(id))
	var l lease
	err := storage.GetJSON(tx, leaseKey(id), &l)
	if errors.Is(err, storage.ErrNotFound) {
		return nil // Write says what has become of the turn
	}
	if err != nil {
		return err
	}
	return keepEvents(tx, l, conversation, id, page)
}

// keepEvents keeps a page, if it is behind those before it, and the lease.
func keepEvents(tx storage.Tx, l lease, conversation, id string, page Page) error {
	if page.First != l.Events {
		return &LostEvents{Next: l.Events}
	}
	l.Events += page.Count
	if err := storage.SetJSON(tx, leaseKey(id), l); err != nil || page.Data == nil {
		return err
	}
	return tx.Set(numbered(eventsOf(conversation, id), uint64(page.First)), page.Data)
}

// Events returns pages of the events of a turn: the one that has the event from,
// and those behind it, up to a megabyte.
func (s *Service) Events(ctx context.Context, caller accounts.Caller, t Turn, from int) (pages []Page, err error) {
	err = s.view(ctx, caller, func(tx storage.Tx) error {
		pages = nil
		size := 0
		prefix := eventsOf(t.Conversation, t.ID)
		start := numbered(slices.Clone(prefix), uint64(from))
		for found, err := range tx.Scan(storage.Range{Start: prefix, End: append(start, 0), Reverse: true}) {
			if err != nil {
				return err
			}
			start = found.Key
			break
		}
		for found, err := range tx.Scan(storage.Range{Start: start, End: storage.After(prefix)}) {
			if err != nil {
				return err
			}
			first := binary.BigEndian.Uint64(found.Key[len(prefix):])
			pages = append(pages, Page{First: int(first), Data: found.Value})
			if size += len(found.Value); size > maxPages {
				break
			}
		}
		return nil
	})
	return pages, err
}

// maxPages is how many bytes of events are read at once.
const maxPages = 1 << 20
