package memstore_test

import (
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
	"github.com/seed-506d8e5d/svc/storage/storagetest"
)

func TestStore(t *testing.T) {
	storagetest.Run(t, storagetest.Suite{
		Open: func(*testing.T, string) storage.Store { return memstore.New() },
	})
}

func BenchmarkStore(b *testing.B) {
	s := memstore.New()
	defer s.Close()
	storagetest.Benchmark(b, s, nil)
}
