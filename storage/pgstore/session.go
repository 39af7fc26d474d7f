package pgstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/txn"
)

// session is one attempt of a transaction in the database, which begins with its
// first read. It is the txn.Reader of the attempt.
type session struct {
	store *Store
	ctx   context.Context
	ns    []byte
	begun string        // the statement that begins it
	conn  *pgxpool.Conn // nil until it has begun
	err   error         // why nothing can be read or written any more

	got      map[string][]byte // values that were read, nil where there is none: they stay what they are until the end
	expected [][]byte          // keys that will be read, and were not
}

var _ txn.Reader = (*session)(nil)

// How much of what a transaction has read it keeps, for who reads it again.
const (
	keepBytes = 4 << 10 // of one value
	keepKeys  = 16
)

func (s *Store) begin(ctx context.Context, ns storage.Namespace, statement string) *session {
	return &session{store: s, ctx: ctx, ns: []byte(ns), begun: statement}
}

// waiting returns the context of one wait for the database. It does not end with
// the caller's: the driver would close the connection, and no wait is long.
func (t *session) waiting() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(t.ctx), t.store.timeout)
}

// start puts BEGIN before what the batch has, on a connection of the
// transaction's own, where it has not begun yet.
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
	b.Queue(t.begun)
	return nil
}

// send sends the batch and counts it.
func (t *session) send(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	t.store.trips.Add(1)
	t.store.statements.Add(uint64(b.Len()))
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
	first := b.Len() > 0
	b.Queue(statement, args...)
	ctx, cancel := t.waiting()
	defer cancel()
	results := t.send(ctx, &b)
	defer func() { err = errors.Join(err, results.Close()) }()
	if first {
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
func (t *session) Prefetch(keys ...[]byte) { t.expected = append(t.expected, keys...) }

// Get implements txn.Reader.
func (t *session) Get(key []byte) ([]byte, error) {
	if t.err != nil {
		return nil, t.err
	}
	if value, ok := t.got[string(key)]; ok {
		return t.kept(key, value)
	}
	if len(t.expected) > 1 && slices.ContainsFunc(t.expected, func(k []byte) bool { return bytes.Equal(k, key) }) {
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
	if len(t.got) < keepKeys {
		t.keep(key, value)
	}
	return t.kept(key, value)
}

// getMany reads the keys that are expected and returns the value of one of them.
func (t *session) getMany(key []byte) ([]byte, error) {
	found := make(map[string][]byte, len(t.expected))
	err := t.query(func(rows pgx.Rows) error {
		var k, value []byte
		err := rows.Scan(&k, &value)
		found[string(k)] = nonNil(value)
		return err
	}, selectMany, t.ns, t.expected)
	if err != nil {
		return nil, err
	}
	for _, k := range t.expected {
		t.keep(k, found[string(k)])
	}
	t.expected = nil
	return t.kept(key, found[string(key)])
}

// keep remembers what a key was found to have.
func (t *session) keep(key, value []byte) {
	if t.got == nil {
		t.got = map[string][]byte{}
	}
	t.got[string(key)] = value
}

// kept returns a value that was read, nil where there is none. A large one is the
// caller's from then on.
func (t *session) kept(key, value []byte) ([]byte, error) {
	if value == nil {
		return nil, storage.ErrNotFound
	}
	if len(value) > keepBytes {
		delete(t.got, string(key))
		return value, nil
	}
	return slices.Clone(value), nil
}

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
		entries = append(entries, e)
		last := &entries[len(entries)-1]
		if r.KeysOnly {
			return rows.Scan(&last.Key)
		}
		err := rows.Scan(&last.Key, &last.Value)
		last.Value = nonNil(last.Value)
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

// commit sends the writes and COMMIT, and waits for the outcome whether or not
// the caller still does.
func (t *session) commit(tx *txn.Tx) error {
	var b pgx.Batch
	if err := t.start(&b); err != nil {
		return err
	}
	var mark []byte
	if tx.Len() > 0 {
		var number uint64
		number, mark = t.store.marks.take()
		defer t.store.marks.leave(number)
		b.Queue(insertMark, mark, markCommitted)
	}
	queueWrites(&b, t.ns, tx)
	b.Queue(commitWork)
	t.err = t.outcome(&b, mark)
	if t.err != nil {
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

// outcome sends what ends with COMMIT and returns nil where it was committed.
func (t *session) outcome(b *pgx.Batch, mark []byte) error {
	ctx, cancel := t.waiting()
	defer cancel()
	committed, err := answers(t.send(ctx, b), b.Len())
	t.store.dropSilent(err)
	switch {
	case err == nil && committed:
		return nil
	case err == nil: // the transaction had failed before
		return errLost
	}
	if err = classifyCommit(err); !errors.Is(err, storage.ErrUnknown) {
		return err
	}
	if mark == nil { // there was nothing to write
		return unavailable(err)
	}
	t.abandon() // all connections may wait for one that is free
	committed, settleErr := t.store.settle(mark, err)
	if settleErr == nil && !committed {
		settleErr = errLost
	}
	return settleErr
}

// queueWrites adds what the transaction has written, each kind as one statement.
func queueWrites(b *pgx.Batch, ns []byte, tx *txn.Tx) {
	var set, values, deleted [][]byte
	for w := range tx.Writes() {
		if w.Deleted {
			deleted = append(deleted, w.Key)
			continue
		}
		set, values = append(set, w.Key), append(values, nonNil(w.Value))
	}
	switch len(set) {
	case 0:
	case 1:
		b.Queue(upsertOne, ns, set[0], values[0])
	default:
		b.Queue(upsertMany, ns, set, values)
	}
	if len(deleted) > 0 {
		b.Queue(deleteMany, ns, deleted)
	}
}

// answers reads the answers to n statements of which the last is COMMIT, and
// returns what that said.
func answers(results pgx.BatchResults, n int) (committed bool, err error) {
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

// abandon gives the connection back. Nobody waits for the transaction's end.
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
	t.store.statements.Add(1)
	t.store.endings.Go(func() {
		defer conn.Release() // closes a connection that is not as it should be
		ctx, cancel := context.WithTimeout(context.Background(), t.store.timeout)
		defer cancel()
		if _, err := conn.Exec(ctx, rollbackWork); err != nil {
			t.store.log.Debug("pgstore: a transaction could not be ended, its connection is closed", "err", err)
		}
	})
}

// unavailable returns the error of a database that did not answer.
func unavailable(err error) error { return fmt.Errorf("%w: %v", storage.ErrUnavailable, err) }
