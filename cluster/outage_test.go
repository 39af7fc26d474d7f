package cluster

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// unreliable is a store that can fail, or be silent.
type unreliable struct {
	storage.Store
	noReads, noWrites atomic.Bool
	silentUntil       atomic.Pointer[time.Time]
}

func (u *unreliable) wait() {
	if until := u.silentUntil.Load(); until != nil {
		time.Sleep(time.Until(*until)) // in the bubble
	}
}

func (u *unreliable) View(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	if u.wait(); u.noReads.Load() {
		return storage.ErrUnavailable
	}
	return u.Store.View(ctx, ns, fn)
}

func (u *unreliable) Update(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	if u.wait(); u.noWrites.Load() {
		return storage.ErrUnavailable
	}
	return u.Store.Update(ctx, ns, fn)
}

// TestOutages has the store fail for all members, in one way or another: none takes
// another one for dead, during the outage or after it. One that dies meanwhile is
// found out in the end.
func TestOutages(t *testing.T) {
	const outage = 45 * time.Second
	for name, set := range map[string]func(u *unreliable, on bool){
		"no reads":        func(u *unreliable, on bool) { u.noReads.Store(on) },
		"no writes":       func(u *unreliable, on bool) { u.noWrites.Store(on) },
		"no transactions": func(u *unreliable, on bool) { u.noReads.Store(on); u.noWrites.Store(on) },
		"silent, and back": func(u *unreliable, on bool) {
			if end := time.Now().Add(outage); on {
				u.silentUntil.Store(&end)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// Each member has a connection of its own, which recovers at its own time.
				below := memstore.New()
				defer below.Close()
				var stores []*unreliable
				var members []*Member
				for range 3 {
					u := &unreliable{Store: below}
					stores = append(stores, u)
					members = append(members, join(t, storage.Use(u)))
				}
				time.Sleep(5 * time.Second)
				nobodyIsGone := func(when string) {
					t.Helper()
					wantAlive(t, when, 3, members...)
					for i, m := range members {
						select {
						case <-m.PeerGone():
							t.Errorf("%s: member %d has seen a peer die", when, i)
						default:
						}
					}
				}
				for i, u := range stores {
					time.Sleep(time.Duration(i) * 300 * time.Millisecond)
					set(u, true)
				}
				for range 90 {
					nobodyIsGone("during the outage")
					time.Sleep(outage / 90)
				}
				for _, u := range stores {
					nobodyIsGone("as it ends")
					set(u, false)
					time.Sleep(deadAfter / 3)
				}
				for range 60 {
					nobodyIsGone("after the outage")
					time.Sleep(time.Second)
				}
				members[0].kill()
				time.Sleep(2 * deadAfter)
				wantAlive(t, "after a kill", 2, members[1:]...)
				for _, m := range members[1:] {
					if err := m.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// TestHeartbeatFollowsTheFirstPoll has a member that could not reach the store write
// its heartbeat with the first poll that succeeds.
func TestHeartbeatFollowsTheFirstPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &unreliable{Store: memstore.New()}
		defer u.Close()
		m := join(t, storage.Use(u))
		defer m.Close()
		time.Sleep(heartbeatEvery + pollEvery*3/2) // between two polls
		u.noReads.Store(true)
		time.Sleep(pollEvery)
		before := m.sinceHeartbeat(time.Now())
		if before > heartbeatEvery/2 {
			t.Fatalf("the last heartbeat was %v ago: the next is due", before)
		}
		u.noReads.Store(false)
		time.Sleep(pollEvery)
		synctest.Wait()
		if since := m.sinceHeartbeat(time.Now()); since > pollEvery {
			t.Errorf("the last heartbeat was %v ago", since)
		}
	})
}

// TestMalformedRecords has records in the store that no member writes: the members
// see each other, leases are acquired, and orphans found.
func TestMalformedRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.Use(memstore.New())
		defer store.Close()
		a, b := join(t, store), join(t, store)
		defer b.Close()
		note(t, a, "org_1")
		err := store.Update(t.Context(), system, func(tx storage.Tx) error {
			return errors.Join(
				tx.Set([]byte(peerPrefix+"x"), []byte("no heartbeat")), tx.Set([]byte(peerPrefix), nil),
				tx.Set([]byte(generationKey), []byte("1")), tx.Set([]byte(leasePrefix+"sweep"), []byte("{")),
				tx.Set([]byte(workPrefix+"/org_2"), nil), tx.Set([]byte(workPrefix+"0"), nil), tx.Set([]byte(peerPrefix+a.ID()), []byte("?")),
			)
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * deadAfter)
		wantAlive(t, "beside malformed records", 2, a, b)
		wantLease(t, "a malformed one", a, true)
		wantLease(t, "taken", b, false)
		a.kill()
		time.Sleep(2 * deadAfter)
		wantLease(t, "after a kill", b, true)
		orphans, _ := b.left(t)
		found := false
		for _, o := range orphans {
			found = found || o.Namespace == "org_1"
		}
		if !found {
			t.Errorf("orphans are %v", orphans)
		}
	})
}
