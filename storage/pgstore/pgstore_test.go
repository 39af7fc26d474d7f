package pgstore_test

import (
	"fmt"
	"hash/fnv"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/pgstore"
	"github.com/seed-506d8e5d/svc/storage/pgstore/pgtest"
	"github.com/seed-506d8e5d/svc/storage/storagetest"
)

// open opens the store in a schema of the database, one for each directory that
// a suite names.
func open(t testing.TB, database, dir string) *pgstore.Store {
	t.Helper()
	hash := fnv.New64a()
	hash.Write([]byte(dir))
	options := pgstore.Patient(t)
	options.URL = pgtest.Schema(t, database, fmt.Sprintf("s%x", hash.Sum64()))
	store, err := pgstore.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// modes are the ways in which the driver runs statements: prepared ones, and exec for
// poolers.
var modes = []string{"cache_statement", "exec"}

func inMode(database, mode string) string {
	return pgtest.WithParameter(database, "default_query_exec_mode", mode)
}

func TestStore(t *testing.T) {
	database := pgtest.Database(t)
	storagetest.Run(t, storagetest.Suite{
		Open:       func(t *testing.T, dir string) storage.Store { return open(t, database, dir) },
		Persistent: true,
	})
}

func BenchmarkStore(b *testing.B) {
	store := open(b, pgtest.Database(b), "benchmark")
	defer store.Close()
	storagetest.Benchmark(b, store, nil)
}
