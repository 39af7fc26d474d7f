package httpapi

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
	"github.com/seed-506d8e5d/svc/storage/pgstore"
	"github.com/seed-506d8e5d/svc/storage/pgstore/pgtest"
)

// storeVariable names the environment variable that says which store the tests
// are run over: "postgres", "faults" for PostgreSQL behind a proxy at which
// everything goes wrong now and then, or nothing for one in memory. modeVariable names
// the one with the value of default_query_exec_mode, "exec" as for poolers.
const (
	storeVariable = "SVC_TEST_STORE"
	modeVariable  = "SVC_TEST_POSTGRES_MODE"
)

var faults = pgtest.Faults{Refuse: 0.03, Delay: 0.05, Cut: 0.01, CutCommit: 0.03, MaxDelay: 3 * time.Millisecond}

// testDatabase is what stores of tests are in, where they are in a database.
var testDatabase struct {
	url    string
	stores atomic.Int64
}

func TestMain(m *testing.M) {
	kind := os.Getenv(storeVariable)
	if kind == "" {
		os.Exit(m.Run())
	}
	os.Exit(pgtest.Main(func(database string) int {
		if mode := os.Getenv(modeVariable); mode != "" {
			database = pgtest.WithParameter(database, "default_query_exec_mode", mode)
		}
		testDatabase.url = database
		if kind == "faults" {
			proxy, stop, err := pgtest.StartProxy(database)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			defer stop()
			proxy.Set(faults)
			fmt.Printf("faults have the seed %d: %s=%[1]d asks for the same\n", proxy.Seed(), pgtest.SeedVariable)
			defer func() { fmt.Printf("the proxy did %+v\n", proxy.Counts()) }()
			testDatabase.url = proxy.URL
		}
		return m.Run()
	}))
}

// Until waits in a bubble of synctest until something is so. A transaction that runs
// again, as over a network that fails, pauses on the clock of the bubble before that:
// that nothing goes on is no sign that all is done.
func Until(t testing.TB, so func() bool) {
	t.Helper()
	for range 1000 {
		if synctest.Wait(); so() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("it did not come to what is waited for")
}

// Stored returns what is stored in a namespace under the keys that begin with prefix.
func Stored(t testing.TB, store storage.Store, ns storage.Namespace, prefix string) (entries []storage.Entry) {
	t.Helper()
	err := store.View(context.Background(), ns, func(tx storage.Tx) error {
		entries = nil
		for e, err := range tx.Scan(storage.Prefix([]byte(prefix))) {
			if err != nil {
				return err // the store's to try again
			}
			entries = append(entries, e)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// NewStore returns an empty store, which the test closes.
func NewStore(t testing.TB) storage.Store {
	t.Helper()
	if testDatabase.url == "" {
		return memstore.New()
	}
	url := pgtest.Schema(t, testDatabase.url, fmt.Sprintf("s%d", testDatabase.stores.Add(1)))
	var store *pgstore.Store
	var err error
	for range 20 { // a start is not tried again by itself
		if store, err = pgstore.Open(t.Context(), pgstore.Options{URL: url}); err == nil {
			return store
		}
	}
	t.Fatal(err)
	return nil
}
