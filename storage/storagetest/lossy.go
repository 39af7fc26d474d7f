package storagetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed-506d8e5d/svc/storage"
)

// Lossy is a store that several processes share, in front of another one, whose
// server can be replaced by one that has not got the last of what was committed. Its
// transactions that write run one after the other.
type Lossy struct {
	storage.Store

	mu    sync.Mutex
	undo  []func(context.Context) error // what takes back each commit
	epoch atomic.Uint64
}

var (
	_ storage.MultiProcess = (*Lossy)(nil)
	_ storage.Epocher      = (*Lossy)(nil)
)

// Shared implements storage.MultiProcess.
func (l *Lossy) Shared() bool { return true }

// Age implements storage.Epocher.
func (l *Lossy) Epoch() uint64 { return l.epoch.Load() }

// Commits returns how many transactions have written something and were not lost.
func (l *Lossy) Commits() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.undo)
}

// Lose takes back all commits but the first n.
func (l *Lossy) Lose(ctx context.Context, n int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.epoch.Add(1)
	for _, undo := range slices.Backward(l.undo[n:]) {
		if err := undo(ctx); err != nil {
			return err
		}
	}
	l.undo = l.undo[:n]
	return nil
}

// Update implements storage.Store.
func (l *Lossy) Update(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var before map[string][]byte
	err := l.Store.Update(ctx, ns, func(tx storage.Tx) error {
		before = map[string][]byte{}
		return fn(&lossyTx{tx, before})
	})
	if err == nil && len(before) > 0 {
		l.undo = append(l.undo, func(ctx context.Context) error { return l.restore(ctx, ns, before) })
	}
	return err
}

// restore writes values as they were; nil is none.
func (l *Lossy) restore(ctx context.Context, ns storage.Namespace, values map[string][]byte) error {
	return l.Store.Update(ctx, ns, func(tx storage.Tx) error {
		for key, value := range values {
			err := tx.Delete([]byte(key))
			if value != nil {
				err = tx.Set([]byte(key), value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// lossyTx notes what was there before it wrote.
type lossyTx struct {
	storage.Tx
	before map[string][]byte
}

func (t *lossyTx) note(key []byte) error {
	if _, ok := t.before[string(key)]; ok {
		return nil
	}
	value, err := t.Get(key)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		t.before[string(key)] = nil
	case err != nil:
		return err
	default:
		t.before[string(key)] = append([]byte{}, value...)
	}
	return nil
}

func (t *lossyTx) Set(key, value []byte) error {
	return errors.Join(t.note(key), t.Tx.Set(key, value))
}

func (t *lossyTx) Delete(key []byte) error {
	return errors.Join(t.note(key), t.Tx.Delete(key))
}
