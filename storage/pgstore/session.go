package pgstore

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/txn"
)

// session is one attempt of a transaction in the database. It begins with its first
// read, and is the txn.Reader of the attempt.
type session struct {
	store *Store
	ctx   context.Context
	ns    []byte
	begin string        // the statement that begins it
	conn  *pgxpool.Conn // nil until it has begun
	err   error         // why nothing can be read or written any more

	cache      map[string][]byte // values that were read, nil for a key that does not exist
	prefetched [][]byte          // keys that will be read, and were not yet
}

var _ txn.Reader = (*session)(nil)

// How many of the values that a transaction has read are cached for its next read.
const (
	cachedBytes = 4 << 10 // of one value
	cachedKeys  = 16
)

func (s *Store) newSession(ctx context.Context, ns storage.Namespace, begin string) *session {
	return &session{store: s, ctx: ctx, ns: []byte(ns), begin: begin}
}

// bounded returns the context of one wait for the database. The caller's context
// does not end it, because the driver would close the connection.
func (t *session) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(t.ctx), t.store.timeout)
}

// start acquires a connection and queues BEGIN, unless the session has begun.
func (t *session) start(b *pgx.Batch) error {
	if t.conn != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(t.ctx, t.store.timeout)
	defer cancel()
	conn, err := t.store.pool.Acquire(ctx)
	if err != nil {
		if t.ctx.Err() != nil {
			return t.ctx.Err()
		}
		return unavailable(err)
	}
	t.conn = conn
	b.Queue(t.begin)
	return nil
}

// send sends the batch and counts its statements.
func (t *session) send(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	t.store.trips.Add(1)
	for _, q := range b.QueuedQueries {
		if q.SQL != t.begin && q.SQL != commitWork {
			t.store.statements.Add(1)
		}
	}
	return t.conn.SendBatch(ctx, b)
}

// query runs one statement and calls row for each row of its result.
func (t *session) query(row func(pgx.Rows) error, statement string, args ...any) error {
	if t.err != nil {
		return t.err
	}
	if err := t.read(row, statement, args); err != nil {
		t.store.dropSilent(err)
		t.err = classify(err)
		return t.err
	}
	return nil
}

func (t *session) read(row func(pgx.Rows) error, statement string, args []any) (err error) {
	var b pgx.Batch
	if err := t.start(&b); err != nil {
		return err
	}
	begins := b.Len() > 0
	b.Queue(statement, args...)
	ctx, cancel := t.bounded()
	defer cancel()
	results := t.send(ctx, &b)
	defer func() { err = errors.Join(err, results.Close()) }()
	if begins {
		if _, err := results.Exec(); err != nil {
			return err
		}
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Prefetch implements txn.Reader.
func (t *session) Prefetch(keys ...[]byte) { t.prefetched = append(t.prefetched, keys...) }

// Get implements txn.Reader.
func (t *session) Get(key []byte) ([]byte, error) {
	if t.err != nil {
		return nil, t.err
	}
	if value, ok := t.cache[string(key)]; ok {
		return t.fromCache(key, value)
	}
	if len(t.prefetched) > 1 && slices.ContainsFunc(t.prefetched, func(k []byte) bool { return bytes.Equal(k, key) }) {
		return t.getMany(key)
	}
	var value []byte
	err := t.query(func(rows pgx.Rows) error {
		err := rows.Scan(&value)
		value = nonNil(value)
		return err
	}, selectOne, t.ns, key)
	if err != nil {
		return nil, err
	}
	if len(t.cache) < cachedKeys {
		t.keep(key, value)
	}
	return t.fromCache(key, value)
}

// getMany reads all prefetched keys and returns the value of one of them.
func (t *session) getMany(key []byte) ([]byte, error) {
	found := make(map[string][]byte, len(t.prefetched))
	err := t.query(func(rows pgx.Rows) error {
		var k, value []byte
		err := rows.Scan(&k, &value)
		found[string(k)] = nonNil(value)
		return err
	}, selectMany, t.ns, t.prefetched)
	if err != nil {
		return nil, err
	}
	for _, k := range t.prefetched {
		t.keep(k, found[string(k)])
	}
	t.prefetched = nil
	return t.fromCache(key, found[string(key)])
}

func (t *session) keep(key, value []byte) {
	if t.cache == nil {
		t.cache = map[string][]byte{}
	}
	t.cache[string(key)] = value
}

// fromCache returns a value that was read, or storage.ErrNotFound for nil. A large
// value is handed over to the caller, a small one is copied and stays cached.
func (t *session) fromCache(key, value []byte) ([]byte, error) {
	if value == nil {
		return nil, storage.ErrNotFound
	}
	if len(value) > cachedBytes {
		delete(t.cache, string(key))
		return value, nil
	}
	return slices.Clone(value), nil
}

// Scanned implements txn.Reader. The database tracks what was read.
func (t *session) Scanned(txn.Span) {}

// Iterate implements txn.Reader.
func (t *session) Iterate(r storage.Range) txn.Iterator {
	return &pages{read: t.page, r: r}
}

// page reads up to limit entries of a range.
func (t *session) page(r storage.Range, limit int) (entries []storage.Entry, err error) {
	entries = make([]storage.Entry, 0, min(limit, firstPage))
	args := []any{t.ns, nonNil(r.Start), limit}
	if r.End != nil {
		args = append(args, r.End)
	}
	err = t.query(func(rows pgx.Rows) error {
		var e storage.Entry
		into := []any{&e.Key, &e.Value}
		if r.KeysOnly {
			into = into[:1]
		}
		err := rows.Scan(into...)
		if !r.KeysOnly {
			e.Value = nonNil(e.Value)
		}
		entries = append(entries, e)
		return err
	}, selectPage(r), args...)
	return entries, err
}

func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// commit sends the writes and COMMIT, and waits for the outcome even if the caller's
// context ends.
func (t *session) commit(tx *txn.Tx) error {
	var b pgx.Batch
	if err := t.start(&b); err != nil {
		return err
	}
	var record []byte
	if tx.Len() > 0 {
		var number uint64
		number, record = t.store.records.add(t.store.Now())
		defer t.store.records.done(number)
		queueWrites(&b, t.ns, tx, record)
	}
	b.Queue(commitWork)
	if t.err = t.outcome(&b, record); t.err != nil {
		t.store.health.note(t.err)
		return t.err
	}
	t.err = txn.ErrEnded
	if t.conn != nil {
		t.conn.Release()
		t.conn = nil
	}
	if tx.Len() > 0 {
		t.store.commits.Add(1)
		t.store.health.note(nil)
	}
	return nil
}

// outcome sends a batch that ends with COMMIT and returns nil if it was committed.
func (t *session) outcome(b *pgx.Batch, record []byte) error {
	ctx, cancel := t.bounded()
	defer cancel()
	committed, err := readAnswers(t.send(ctx, b), b.Len())
	t.store.dropSilent(err)
	if err != nil {
		err = classifyCommit(err)
		switch {
		case !errors.Is(err, storage.ErrInDoubt):
			return err
		case record == nil: // it has only read
			return unavailable(err)
		}
		t.abandon() // resolve needs a connection, and this may be the last one
		if committed, err = t.store.resolve(record, err); err != nil {
			return err
		}
	}
	if !committed {
		return errConflict
	}
	return nil
}

// queueWrites adds what the transaction has written, one statement for what is set
// and one for what is deleted. The first of them inserts the commit record.
func queueWrites(b *pgx.Batch, ns []byte, tx *txn.Tx, record []byte) {
	var set, values, deleted [][]byte
	for w := range tx.Writes() {
		if w.Deleted {
			deleted = append(deleted, w.Key)
			continue
		}
		set, values = append(set, w.Key), append(values, nonNil(w.Value))
	}
	if len(set) == 0 {
		b.Queue(firstDeleteMany, ns, deleted, record, outcomeCommitted)
		return
	}
	b.Queue(firstUpsert, ns, set, values, record, outcomeCommitted)
	if len(deleted) > 0 {
		b.Queue(deleteMany, ns, deleted)
	}
}

// readAnswers reads the answers to n statements and reports whether the last one,
// COMMIT, has committed: the server answers ROLLBACK if the transaction had failed.
func readAnswers(results pgx.BatchResults, n int) (committed bool, err error) {
	for range n {
		tag, execErr := results.Exec()
		if execErr != nil {
			err = execErr
			break
		}
		committed = tag.String() == "COMMIT"
	}
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	return committed, err
}

// abandon rolls the transaction back in the background and releases the connection.
func (t *session) abandon() {
	conn := t.conn
	if conn == nil {
		return
	}
	t.conn = nil
	if conn.Conn().IsClosed() {
		conn.Release()
		return
	}
	t.store.background.Go(func() {
		defer conn.Release() // which closes a connection that is still in a transaction
		ctx, cancel := context.WithTimeout(context.Background(), t.store.timeout)
		defer cancel()
		if _, err := conn.Exec(ctx, rollbackWork); err != nil {
			t.store.log.Debug("pgstore: a transaction could not be rolled back, its connection is closed", "err", err)
		}
	})
}
