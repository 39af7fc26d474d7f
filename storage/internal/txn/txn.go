// Package txn has what the adapters of a [storage.Store] share, so that limits,
// isolation, conflicts and retries are the same in all of them.
//
// A [Tx] is one attempt of a transaction: it keeps its writes to itself, reads
// through them and counts their size. [RetryLocks] queue those that have met a
// conflict, and a [Gate] ends a store's calls before it is closed.
//
// A [Store] is made of an ordered map with snapshots, the [Database], by optimistic
// concurrency control. A transaction reads from a snapshot and records what it read:
// keys, and the parts of ranges that it scanned. Commits are written one group after
// the other; what a transaction read is compared with what was committed since its
// snapshot, and a transaction that read something that has changed is run again.
// Because whole ranges are recorded, a key that appears in a scanned range is a
// conflict too, and transactions are serializable. All commits that wait while one is
// being written are written together, as one version and, on disk, with one sync.
package txn

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/seed-506d8e5d/svc/storage"
)

// The errors of a transaction that is used as it must not be: after its end, and
// for a scan within a scan.
var (
	ErrEnded = errors.New("storage: the transaction has ended")
	ErrScan  = errors.New("storage: another scan of the transaction is open")
)

// Reader reads what a transaction began at, in the transaction's namespace. It
// is used by one goroutine and never after the transaction has ended.
type Reader interface {
	// Get returns the value of key as bytes of the caller's, never nil, or
	// storage.ErrNotFound. The reader must not keep the key.
	Get(key []byte) ([]byte, error)

	// Prefetch says that keys are going to be read, as storage.Prefetcher does. The
	// reader may do nothing.
	Prefetch(keys ...[]byte)

	// Iterate returns an iterator over a range. The range's Limit is how many
	// entries will be asked for at most, 0 where that is unknown. At most one
	// iterator is open at a time.
	Iterate(r storage.Range) Iterator

	// Scanned says, when an iterator has been closed, of which part of its range
	// the transaction has come to know the entries: an empty one where it asked for
	// none.
	Scanned(read Span)
}

// Iterator walks over the entries of a range in order. It begins before the
// first.
type Iterator interface {
	// Next moves to the next entry and says whether there is one. The error
	// ends the iteration.
	Next() (bool, error)

	// Key returns the key, valid until the next call of Next.
	Key() []byte

	// Value returns the value as bytes of the caller's, never nil.
	Value() ([]byte, error)

	// Close ends the iteration.
	Close()
}

// Tx is one attempt of a transaction.
type Tx struct {
	ctx      context.Context
	reader   Reader
	readOnly bool
	ended    bool

	writes   *Tree        // nil until the first write
	size     storage.Size // of what it has written
	tooLarge error        // the first limit that was exceeded: nothing may be committed
	reserved bool         // may use the last of the disk
	sets     int          // calls of Set

	cursor *cursor // the open scan
}

var (
	_ storage.Tx         = (*Tx)(nil)
	_ storage.Reserver   = (*Tx)(nil)
	_ storage.Prefetcher = (*Tx)(nil)
)

// NewTx returns a transaction that reads through the reader until it ends or ctx
// does.
func NewTx(ctx context.Context, reader Reader, readOnly bool) *Tx {
	return &Tx{ctx: ctx, reader: reader, readOnly: readOnly}
}

// End ends the transaction: its methods fail from then on, and an open scan is
// closed. It may be called more than once.
func (t *Tx) End() {
	if t.ended {
		return
	}
	if t.cursor != nil {
		t.cursor.close()
	}
	t.ended = true
}

// Refused returns why nothing of the transaction may be written, a
// storage.ErrTooLarge, or nil.
func (t *Tx) Refused() error { return t.tooLarge }

// Len returns how many keys the transaction has written, and Size how large its
// writes are.
func (t *Tx) Len() int {
	if t.writes == nil {
		return 0
	}
	return t.writes.Len()
}

// Size returns the size of what the transaction has written.
func (t *Tx) Size() storage.Size { return t.size }

// UseReserve implements storage.Reserver.
func (t *Tx) UseReserve() { t.reserved = true }

// Prefetch implements storage.Prefetcher.
func (t *Tx) Prefetch(keys ...[]byte) { t.reader.Prefetch(keys...) }

// Reserved reports whether the transaction may use the last of a disk. One that
// only deletes may.
func (t *Tx) Reserved() bool { return t.reserved || t.sets == 0 }

// Writes yields what the transaction has written, by key: for each key the last
// write.
func (t *Tx) Writes() iter.Seq[Write] {
	if t.writes == nil {
		return func(func(Write) bool) {}
	}
	return t.writes.Writes
}

// Get implements storage.Tx.
func (t *Tx) Get(key []byte) ([]byte, error) {
	if err := t.check(key); err != nil {
		return nil, err
	}
	if t.writes != nil {
		if w, ok := t.writes.Get(key); ok {
			if w.Deleted {
				return nil, storage.ErrNotFound
			}
			return copied(w.Value), nil
		}
	}
	return t.reader.Get(key)
}

// Set implements storage.Tx.
func (t *Tx) Set(key, value []byte) error {
	if len(value) > storage.MaxValue {
		return t.refuse("value of %d bytes", len(value))
	}
	t.sets++
	return t.write(key, value, false)
}

// Delete implements storage.Tx.
func (t *Tx) Delete(key []byte) error { return t.write(key, nil, true) }

func (t *Tx) write(key, value []byte, deleted bool) error {
	if t.readOnly {
		return storage.ErrReadOnly
	}
	if err := t.check(key); err != nil {
		return err
	}
	if t.size.Add(len(key), len(value)); !t.size.Fits() {
		return t.refuse("transaction of %d bytes in %d writes", t.size.Bytes, t.size.Writes)
	}
	if t.writes == nil {
		t.writes = NewTree()
	}
	if deleted { // what is set stays the transaction's to its end, what is deleted may not
		key = copied(key)
	}
	t.writes.Set(Write{Key: key, Value: value, Deleted: deleted})
	return nil
}

// check checks that the transaction is alive and the key allowed.
func (t *Tx) check(key []byte) error {
	if t.ended {
		return ErrEnded
	}
	if len(key) == 0 || len(key) > storage.MaxKey {
		return t.refuse("key of %d bytes", len(key))
	}
	return t.ctx.Err()
}

// refuse dooms the transaction, whether or not its function passes the error on.
func (t *Tx) refuse(format string, args ...any) error {
	err := fmt.Errorf("%w: %s", storage.ErrTooLarge, fmt.Sprintf(format, args...))
	if t.tooLarge == nil {
		t.tooLarge = err
	}
	return err
}

// copied returns a copy of b that is not nil.
func copied(b []byte) []byte { return append(make([]byte, 0, len(b)), b...) }
