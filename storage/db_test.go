package storage_test

import (
	"context"
	"errors"
	"testing"

	"github.com/seed-506d8e5d/svc/driver"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
	"github.com/seed-506d8e5d/svc/storage/storagetest"
)

// wrapped is a store around another, as embedders write them.
type wrapped struct{ storage.Store }

func (w wrapped) Unwrap() any { return w.Store }

// full is a store that cannot be written.
type full struct{ storage.Store }

var errFull = errors.New("the disk is full")

func (full) Healthy(context.Context) error { return errFull }

// TestDB runs the contract on a DB: around a driver it is one itself.
func TestDB(t *testing.T) {
	storagetest.Run(t, storagetest.Suite{Open: func(*testing.T, string) storage.Store {
		return storage.Use(wrapped{memstore.New()})
	}})
}

func TestAbilitiesSurviveWrapping(t *testing.T) {
	store := memstore.New()
	if err := storage.Use(wrapped{full{store}}).Healthy(t.Context()); err != errFull {
		t.Errorf("a full store is healthy: %v", err)
	}
	if err := storage.Use(store).Healthy(t.Context()); err != nil {
		t.Errorf("a store that knows nothing of its health has none: %v", err)
	}
	db := storage.Use(wrapped{store})
	if storage.Use(db) != db {
		t.Error("a DB of a DB is another one")
	}
	if err := storage.ReadAll(t.Context(), wrapped{db}, func(storage.ScanAll) error { return nil }); err != nil {
		t.Error(err)
	}
	if err := storage.ReadAll(t.Context(), storage.Use(struct{ storage.Store }{store}), nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("reading all of a store that cannot: %v", err)
	}
	if _, ok := driver.As[storage.Sizer](storage.Store(db)); ok {
		t.Error("a store in memory has a size on disk")
	}
}
