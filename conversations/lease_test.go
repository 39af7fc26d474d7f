package conversations

import (
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// clocked is a store whose clock is an hour behind that of this machine.
type clocked struct{ storage.Store }

func (clocked) Now() time.Time { return time.Now().Add(-time.Hour) }

// TestLeasesAreByTheStoresClock has a machine whose clock is an hour ahead of the
// store's and so of what other processes write: it ends no turn of theirs.
func TestLeasesAreByTheStoresClock(t *testing.T) {
	store := clocked{memstore.New()}
	defer store.Close()
	s := New(Options{Store: store})
	if l := (lease{Until: store.Now().Add(leaseFor).UnixMilli()}); s.over(l) {
		t.Error("a lease that another process has just renewed is over")
	}
	if l := (lease{Until: store.Now().Add(-time.Second).UnixMilli()}); !s.over(l) {
		t.Error("a lease that nobody has renewed is not over")
	}
	if until := time.UnixMilli(s.newLease(&NewTurn{}).Until); until.After(store.Now().Add(leaseFor)) {
		t.Errorf("a new lease is over at %v, by a clock that says %v", until, store.Now())
	}
}
