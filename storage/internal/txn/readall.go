package txn

import (
	"bytes"
	"context"
	"iter"

	"github.com/seed-506d8e5d/svc/storage"
)

var _ storage.Snapshotter = (*Store)(nil)

// everywhere stands for the namespace of a call that concerns all of them.
const everywhere storage.Namespace = "*"

// everything is the range of the keys of all namespaces, which begin with the
// length of a name, its high bit set. See prefix.
var everything = Span{Start: []byte{0x80}, End: []byte{0x80 + storage.MaxNamespace + 1}}

// ReadAll implements storage.Snapshotter.
func (s *Store) ReadAll(ctx context.Context, fn func(storage.ScanAll) error) error {
	if err := s.gate.Enter(ctx, everywhere); err != nil {
		return err
	}
	defer s.gate.Leave()
	a := s.begin(ctx, everywhere, true)
	defer a.end()
	if err := fn(a.scanAll); err != nil {
		return err
	}
	return ctx.Err()
}

// scanAll is a storage.ScanAll.
func (a *attempt) scanAll(keysOnly bool) iter.Seq2[storage.Record, error] {
	return func(yield func(storage.Record, error) bool) {
		if a.ended {
			yield(storage.Record{}, ErrEnded)
			return
		}
		it := a.snapshot.Iterate(everything.Start, everything.End, false)
		defer it.Close()
		for {
			more, err := it.Next()
			if err == nil && more {
				err = a.ctx.Err()
			}
			if err != nil {
				yield(storage.Record{}, err)
				return
			}
			if !more {
				return
			}
			record, err := readRecord(it, keysOnly)
			if !yield(record, err) || err != nil {
				return
			}
		}
	}
}

// readRecord is the entry that an iterator over everything is at.
func readRecord(it Iterator, keysOnly bool) (storage.Record, error) {
	key := it.Key()
	begin := 1 + int(key[0]&^0x80)
	r := storage.Record{Namespace: storage.Namespace(key[1:begin]), Entry: storage.Entry{Key: bytes.Clone(key[begin:])}}
	if keysOnly {
		return r, nil
	}
	var err error
	r.Value, err = it.Value()
	return r, err
}
