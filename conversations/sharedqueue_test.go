package conversations_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/cluster"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// TestTurnsOfAConversationStandInLine has turns of one conversation in three
// processes: one at a time, none is left out, and one that waits for too long is
// told so. A process that is gone is not waited for.
func TestTurnsOfAConversationStandInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		store := storage.Use(memstore.New())
		defer store.Close()
		caller := accounts.Caller{Organization: "org_1"}
		var processes []*cluster.Member
		var all []*conversations.Service
		for range 3 {
			p, err := cluster.Join(t.Context(), cluster.Options{Store: store, Shared: true})
			is.NoErr(err)
			processes = append(processes, p)
			all = append(all, conversations.New(conversations.Options{Store: store, Cluster: p}))
		}
		time.Sleep(time.Second)
		var mu sync.Mutex
		running, turns := 0, 0
		var group sync.WaitGroup
		for i := range 12 {
			group.Go(func() {
				release, err := all[i%3].Queue(t.Context(), caller, "conv_1")
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				running, turns = running+1, turns+1
				if running > 1 {
					t.Error("two turns run at the same time")
				}
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				running--
				mu.Unlock()
				release()
				release()
			})
		}
		group.Wait()
		is.Equal(turns, 12)

		// In the order in which they came.
		var order []int
		first, err := all[0].Queue(t.Context(), caller, "conv_1")
		is.NoErr(err)
		for i, s := range []int{1, 2, 1} {
			group.Go(func() {
				release, err := all[s].Queue(t.Context(), caller, "conv_1")
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, i)
				release()
			})
			time.Sleep(time.Second)
		}
		other, err := all[1].Queue(t.Context(), caller, "conv_2") // of nobody's concern
		is.NoErr(err)
		other()
		first()
		group.Wait()
		is.True(slices.IsSorted(order[:2])) // a process stands in line with one turn at a time
		is.Equal(len(order), 3)

		held, err := all[0].Queue(t.Context(), caller, "conv_1")
		is.NoErr(err)
		began := time.Now()
		_, err = all[1].Queue(t.Context(), caller, "conv_1")
		is.True(fault.Is(err, fault.Conflict))
		is.Equal(time.Since(began).Round(time.Second), 30*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err = all[2].Queue(ctx, caller, "conv_1")
		is.Equal(fmt.Sprint(err), context.DeadlineExceeded.Error())
		cancel()

		is.NoErr(processes[0].Close()) // with its turn
		began = time.Now()
		release, err := all[2].Queue(t.Context(), caller, "conv_1")
		is.NoErr(err)
		is.True(time.Since(began) < 2*time.Second)
		release()
		held()
		is.NoErr(store.View(t.Context(), caller.Namespace(), func(tx storage.Tx) error {
			for e := range tx.Scan(storage.Range{}) {
				t.Errorf("%q is left", e.Key)
			}
			return nil
		}))
		for _, p := range processes[1:] {
			is.NoErr(p.Close())
		}
	})
}
