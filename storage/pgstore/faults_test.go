//go:build unix

package pgstore_test

import (
	"flag"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/pgstore"
	"github.com/seed-506d8e5d/svc/storage/pgstore/pgtest"
	"github.com/seed-506d8e5d/svc/storage/storagetest"
)

// faults are what a store goes on after by itself.
var faults = pgtest.Faults{Refuse: 0.05, Delay: 0.05, Cut: 0.01, CutCommit: 0.02, MaxDelay: 3 * time.Millisecond}

var allFaults = flag.Bool("faults.all", false, "run the contract with faults in exec mode and through PgBouncer, too, which takes minutes")

// TestStoreWithFaults runs the contract over a network and a server at which
// everything goes wrong now and then.
func TestStoreWithFaults(t *testing.T) {
	for i, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			if i > 0 && !*allFaults {
				t.Skip("go test -run WithFaults -faults.all runs it; TestCommitsInDoubt does what differs in this mode")
			}
			proxy := pgtest.NewProxy(t, pgtest.Database(t))
			runWithFaults(t, proxy, func(t *testing.T, dir string) *pgstore.Store {
				return open(t, inMode(proxy.URL, mode), dir)
			})
		})
	}
}

// TestStoreBehindPgBouncer runs it over PgBouncer in transaction mode, with the same
// faults in front of that.
func TestStoreBehindPgBouncer(t *testing.T) {
	if !*allFaults {
		t.Skip("go test -run BehindPgBouncer -faults.all runs it")
	}
	bouncer := pgtest.NewBouncer(t, pgtest.Database(t))
	proxy := pgtest.NewProxy(t, inMode(bouncer.URL(pgtest.Database(t)), "exec"))
	databases := map[string]string{} // a pooler does not know of schemas
	runWithFaults(t, proxy, func(t *testing.T, dir string) *pgstore.Store {
		if databases[dir] == "" {
			databases[dir] = pgtest.Database(t)
		}
		options := pgstore.Patient(t)
		options.URL = pgtest.OtherDatabase(proxy.URL, databases[dir])
		store, err := pgstore.Open(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		return store
	})
}

func runWithFaults(t *testing.T, proxy *pgtest.Proxy, open func(*testing.T, string) *pgstore.Store) {
	storagetest.Run(t, storagetest.Suite{
		Persistent: true,
		Open: func(t *testing.T, dir string) storage.Store {
			proxy.Set(pgtest.Faults{}) // Open does not try again by itself
			defer proxy.Set(faults)
			return open(t, dir)
		},
	})
	if n := proxy.Counts(); n.Refused == 0 || n.Cut == 0 || n.CutCommits == 0 || n.Delayed == 0 {
		t.Errorf("the proxy did %+v, want some of each", n)
	}
}
