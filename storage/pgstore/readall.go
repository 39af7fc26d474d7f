package pgstore

import (
	"context"
	"errors"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/txn"
)

// everywhere is the namespace given to the gate by calls that concern all of them.
const everywhere storage.Namespace = "*"

// ReadAll implements storage.Snapshotter. The database keeps rows that are deleted
// meanwhile until it ends.
func (s *Store) ReadAll(ctx context.Context, fn func(storage.ScanAll) error) error {
	if err := s.gate.Enter(ctx, everywhere); err != nil {
		return err
	}
	defer s.gate.Leave()
	var t *session
	// The first statement takes the snapshot. Only that can be tried again.
	err := s.retry(ctx, everywhere, func() error {
		t = s.newSession(ctx, everywhere, beginView)
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
	readErr := t.err
	t.err = txn.ErrEnded
	switch {
	case errors.Is(readErr, errConflict):
		return storage.ErrConflict
	case readErr != nil: // whatever fn returned for it
		return readErr
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
			for _, last = range records {
				if err := t.ctx.Err(); err != nil {
					yield(storage.Record{}, err)
					return
				}
				bytes += len(last.Key) + len(last.Value)
				if !yield(last, nil) {
					return
				}
			}
			if len(records) < size {
				return
			}
			size = nextPage(len(records), bytes)
		}
	}
}

// pageOfAll reads up to limit records behind one.
func (t *session) pageOfAll(after storage.Record, limit int, keysOnly bool) (records []storage.Record, err error) {
	statement := selectAll
	if keysOnly {
		statement = selectKeys
	}
	err = t.query(func(rows pgx.Rows) error {
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
