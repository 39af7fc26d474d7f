package svc_test

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/responses"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// dying is a store whose writes fail from a moment on.
type dying struct {
	storage.Store
	failed atomic.Bool // for good

	mute    atomic.Bool   // the next write of watched is made, nobody is told so, and the store is away for a while
	watched string        // what its key begins with
	away    time.Duration // that while
	backAt  atomic.Int64  // Unix milliseconds
	unknown atomic.Int64  // writes whose fate nobody was told
}

func (f *dying) Healthy(context.Context) error {
	if f.failed.Load() {
		return storage.ErrFailed
	}
	return nil
}

func (f *dying) Update(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	if f.failed.Load() {
		return storage.ErrFailed
	}
	if time.Now().UnixMilli() < f.backAt.Load() {
		f.unknown.Add(1)
		return storage.ErrInDoubt
	}
	wrote := false
	err := f.Store.Update(ctx, ns, func(tx storage.Tx) error { return fn(&watchedTx{tx, f.watched, &wrote}) })
	if err == nil && wrote && f.mute.Swap(false) {
		f.backAt.Store(time.Now().Add(f.away).UnixMilli())
		return storage.ErrInDoubt
	}
	return err
}

// The keys that a transaction writes which stores a turn that has completed, and one
// which charges.
const (
	headKeys   = "v/h/"
	chargeKeys = "a/c/"
)

// watchedTx notes that a transaction writes a key that begins so.
type watchedTx struct {
	storage.Tx
	prefix string
	wrote  *bool
}

func (tx *watchedTx) Set(key, value []byte) error {
	*tx.wrote = *tx.wrote || strings.HasPrefix(string(key), tx.prefix)
	return tx.Tx.Set(key, value)
}

// TestNothingIsGeneratedForAStoreThatHasFailed: what could neither be stored nor
// charged is not given away to the end, in turns and in chats.
func TestNothingIsGeneratedForAStoreThatHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		store := &dying{Store: memstore.New()}
		defer store.Close()
		service, err := svc.New(t.Context(), svc.Options{Store: store, Backend: thinking{}, Logger: slog.New(slog.DiscardHandler)})
		is.NoErr(err)
		defer service.Close()
		caller, err := service.LocalCaller(t.Context())
		is.NoErr(err)
		events, err := service.StreamResponse(t.Context(), caller, say("quick"))
		is.NoErr(err)
		chunks, err := service.StreamChat(t.Context(), caller, &chat.Request{Model: model.DefaultGenerator, Messages: []chat.Message{{Role: model.User, Content: []chat.Part{chat.Text("quick")}}}})
		is.NoErr(err)
		begun := time.Now()
		ended := make(chan error)
		go func() {
			var last error
			for event, err := range events {
				if event.Type == responses.EventTextDelta {
					store.failed.Store(true)
				}
				last = err
			}
			ended <- last
		}()
		go func() {
			var last error
			for _, err := range chunks {
				last = err
			}
			ended <- last
		}()
		for range 2 {
			err := <-ended
			is.Equal(fault.From(err).Code, fault.CodeStorage)
		}
		is.True(time.Since(begun) < 10*time.Second) // the model has a minute to go
	})
}

// TestATurnWhoseCommitStaysUnknownIsChargedOnce: it is there, and so is its charge.
func TestATurnWhoseCommitStaysUnknownIsChargedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		store := &dying{Store: memstore.New(), watched: headKeys, away: 25 * time.Second}
		defer store.Close()
		service, err := svc.New(t.Context(), svc.Options{Store: store, Backend: modeltest.New(modeltest.Text("Done.")), Logger: slog.New(slog.DiscardHandler)})
		is.NoErr(err)
		defer service.Close()
		caller, err := service.LocalCaller(t.Context())
		is.NoErr(err)
		events, err := service.StreamResponse(t.Context(), caller, say("Hi"))
		is.NoErr(err)
		var id string
		for event, err := range events {
			is.NoErr(err)
			if event.Type == responses.EventTextDelta {
				store.mute.Store(true)
			}
			if event.Response != nil {
				id = event.Response.ID
			}
		}
		is.True(store.unknown.Load() > 10)
		time.Sleep(store.away)
		r, err := service.Response(t.Context(), caller, id)
		is.NoErr(err)
		is.Equal(r.Status, responses.Completed)
		ledger, err := service.Ledger(t.Context(), caller.Organization, svc.Page{})
		is.NoErr(err)
		charges := 0
		for _, e := range ledger.Items {
			if e.Use.Object == id {
				charges++
			}
		}
		is.Equal(charges, 1)
	})
}

// TestAChatThatIsLeftIsChargedOnce though nobody knows for longer than it is tried
// whether the charge was written.
func TestAChatThatIsLeftIsChargedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		store := &dying{Store: memstore.New(), watched: chargeKeys, away: 25 * time.Second}
		defer store.Close()
		service, err := svc.New(t.Context(), svc.Options{Store: store, Backend: thinking{}, Logger: slog.New(slog.DiscardHandler)})
		is.NoErr(err)
		defer service.Close()
		caller, err := service.LocalCaller(t.Context())
		is.NoErr(err)
		chunks, err := service.StreamChat(t.Context(), caller, &chat.Request{Model: model.DefaultGenerator, Messages: []chat.Message{{Role: model.User, Content: []chat.Part{chat.Text("quick")}}}})
		is.NoErr(err)
		for chunk, err := range chunks {
			is.NoErr(err)
			if chunk.Text != "" {
				store.mute.Store(true)
				break
			}
		}
		time.Sleep(2 * store.away)
		is.True(store.unknown.Load() > 10)
		ledger, err := service.Usage(t.Context(), caller.Organization, svc.Page{})
		is.NoErr(err)
		is.Equal(len(ledger.Items), 1)
	})
}
