package pgstore

import (
	"context"
	"errors"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/txn"
)

// everywhere stands for the namespace of a call that concerns all of them.
const everywhere storage.Namespace = "*"

// ReadAll implements storage.Snapshotter. The database keeps what is deleted
// meanwhile until it ends.
func (s *Store) ReadAll(ctx context.Context, fn func(storage.ScanAll) error) error {
	if err := s.gate.Enter(ctx, everywhere); err != nil {
		return err
	}
	defer s.gate.Leave()
	var t *session
	// The snapshot is that of the first statement, which must not come late. Up to
	// there it can be tried again.
	err := s.retry(ctx, everywhere, func() error {
		t = s.begin(ctx, everywhere, beginView)
		err := t.query(func(pgx.Rows) error { return nil }, selectOne, []byte(ownNamespace), []byte(versionKey))
		if err != nil {
			t.abandon()
		}
		return err
	})
	if err != nil {
		return err
	}
	defer t.abandon()
	err = fn(t.scanAll)
	ended := t.err
	t.err = txn.ErrEnded
	switch {
	case errors.Is(ended, errLost):
		return storage.ErrConflict
	case ended != nil: // whatever fn made of it
		return ended
	case err != nil:
		return err
	}
	return ctx.Err()
}

// scanAll is a storage.ScanAll.
func (t *session) scanAll(keysOnly bool) iter.Seq2[storage.Record, error] {
	return func(yield func(storage.Record, error) bool) {
		var last storage.Record
		for size := firstPage; ; {
			records, err := t.pageOfAll(last, size, keysOnly)
			if err != nil {
				yield(storage.Record{}, err)
				return
			}
			bytes := 0
			for _, r := range records {
				if err := t.ctx.Err(); err != nil {
					yield(storage.Record{}, err)
					return
				}
				bytes += len(r.Key) + len(r.Value)
				if !yield(r, nil) {
					return
				}
			}
			if len(records) < size {
				return
			}
			last = records[len(records)-1]
			size = max(1, min(pageBytes*len(records)/max(bytes, 1), maxPage))
		}
	}
}

// pageOfAll reads up to limit records that come after one.
func (t *session) pageOfAll(after storage.Record, limit int, keysOnly bool) ([]storage.Record, error) {
	var records []storage.Record
	statement := selectAll
	if keysOnly {
		statement = selectKeys
	}
	err := t.query(func(rows pgx.Rows) error {
		var r storage.Record
		var ns []byte
		into := []any{&ns, &r.Key, &r.Value}
		if keysOnly {
			into = into[:2]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		r.Namespace = storage.Namespace(ns)
		if !keysOnly {
			r.Value = nonNil(r.Value)
		}
		records = append(records, r)
		return nil
	}, statement, []byte(after.Namespace), nonNil(after.Key), limit)
	return records, err
}
