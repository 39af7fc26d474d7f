package occ

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/seed-506d8e5d/svc/storage"
)

var (
	errEnded = errors.New("storage: the transaction has ended")
	errScan  = errors.New("storage: another scan of the transaction is open")
)

// prefix returns what the keys of a namespace begin with: its length, so that
// no namespace's keys are among another's, and its name. The high bit of the
// length keeps the keys apart from those that databases use themselves.
func prefix(ns storage.Namespace) []byte {
	p := make([]byte, 0, 1+len(ns))
	p = append(p, 0x80|byte(len(ns)))
	return append(p, ns...)
}

// span is a half-open interval of encoded keys.
type span struct{ start, end []byte }

func (s span) contains(key []byte) bool {
	return bytes.Compare(s.start, key) <= 0 && bytes.Compare(key, s.end) < 0
}

// tx is one attempt of a transaction.
type tx struct {
	store    *Store
	ctx      context.Context
	prefix   []byte
	version  uint64
	snapshot Snapshot
	readOnly bool
	ended    bool

	writes   *Tree        // nil until the first write
	size     storage.Size // of what it has written
	tooLarge error        // the first limit that was exceeded: nothing may be committed

	reads  [][]byte // keys read from the snapshot
	spans  []span   // and ranges
	cursor *cursor  // the open scan
}

var _ storage.Tx = (*tx)(nil)

// end releases what the attempt holds. It may be called more than once.
func (t *tx) end() {
	if t.ended {
		return
	}
	if t.cursor != nil {
		t.cursor.close()
	}
	t.ended = true
	t.snapshot.Close()
	t.store.release(t.version)
}

// Get implements storage.Tx.
func (t *tx) Get(key []byte) ([]byte, error) {
	full, err := t.begin(key)
	if err != nil {
		return nil, err
	}
	if t.writes != nil {
		if w, ok := t.writes.Get(full); ok {
			if w.Deleted {
				return nil, storage.ErrNotFound
			}
			return copied(w.Value), nil
		}
	}
	if !t.readOnly {
		t.reads = append(t.reads, full)
	}
	return t.snapshot.Get(full)
}

// Set implements storage.Tx.
func (t *tx) Set(key, value []byte) error {
	if len(value) > storage.MaxValue {
		return t.refuse("value of %d bytes", len(value))
	}
	return t.write(key, value, false)
}

// Delete implements storage.Tx.
func (t *tx) Delete(key []byte) error { return t.write(key, nil, true) }

func (t *tx) write(key, value []byte, deleted bool) error {
	if t.readOnly {
		return storage.ErrReadOnly
	}
	full, err := t.begin(key)
	if err != nil {
		return err
	}
	if t.size.Add(len(key), len(value)); !t.size.Fits() {
		return t.refuse("transaction of %d bytes in %d writes", t.size.Bytes, t.size.Writes)
	}
	if t.writes == nil {
		t.writes = NewTree()
	}
	t.writes.Set(Write{Key: full, Value: value, Deleted: deleted})
	return nil
}

// begin checks that the transaction is alive and the key allowed, and returns
// the key with its namespace.
func (t *tx) begin(key []byte) ([]byte, error) {
	if t.ended {
		return nil, errEnded
	}
	if len(key) == 0 || len(key) > storage.MaxKey {
		return nil, t.refuse("key of %d bytes", len(key))
	}
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	return t.encode(key), nil
}

// refuse dooms the transaction, whether or not its function passes the error on.
func (t *tx) refuse(format string, args ...any) error {
	err := fmt.Errorf("%w: %s", storage.ErrTooLarge, fmt.Sprintf(format, args...))
	if t.tooLarge == nil {
		t.tooLarge = err
	}
	return err
}

func (t *tx) encode(key []byte) []byte {
	full := make([]byte, 0, len(t.prefix)+len(key))
	return append(append(full, t.prefix...), key...)
}

// copied returns a copy of b that is not nil.
func copied(b []byte) []byte { return append(make([]byte, 0, len(b)), b...) }
