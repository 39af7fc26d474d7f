package pgstore_test

import (
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/pgstore/pgtest"
	"github.com/seed-506d8e5d/svc/storage/storagetest"
)

// TestStoreWithFaults runs the contract over a network and a server at which
// everything goes wrong now and then that a store goes on after by itself.
func TestStoreWithFaults(t *testing.T) {
	proxy := pgtest.NewProxy(t, pgtest.Database(t))
	faults := pgtest.Faults{Refuse: 0.05, Delay: 0.05, Cut: 0.01, CutCommit: 0.02, MaxDelay: 3 * time.Millisecond}
	storagetest.Run(t, storagetest.Suite{
		Persistent: true,
		Open: func(t *testing.T, dir string) storage.Store {
			proxy.Set(pgtest.Faults{}) // a start is not tried again by itself
			defer proxy.Set(faults)
			return open(t, proxy.URL, dir)
		},
	})
	if n := proxy.Counts(); n.Refused == 0 || n.Cut == 0 || n.CutCommits == 0 || n.Delayed == 0 {
		t.Errorf("the proxy did %+v, want some of each", n)
	}
}
