package cpu

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"
)

// TestAnOrganizationLeavesAProcessor to the others, however much it has to do.
func TestAnOrganizationLeavesAProcessor(t *testing.T) {
	for processors, share := range map[int]int{1: 1, 2: 1, 4: 3} {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			g := New(processors)
			var group sync.WaitGroup
			var working atomic.Int64
			for range 10 {
				group.Go(func() {
					turn := g.Enter("greedy")
					working.Add(1)
					time.Sleep(time.Second) // stands for work
					working.Add(-1)
					turn.Leave()
				})
			}
			synctest.Wait()
			is.Equal(working.Load(), int64(share))
			began := time.Now()
			g.Enter("modest").Leave()
			is.Equal(time.Since(began) == 0, processors > 1)
			group.Wait()
			is.Equal(len(g.by), 0)
			is.Equal(g.free, processors)
			is.Equal(len(g.waiting), 0)
		})
	}
}

// TestOrganizationsTakeTurns has three on one processor, of which one has most of
// the work.
func TestOrganizationsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		g := New(1)
		first := g.Enter("a")
		var order []string // by who has the turn
		var group sync.WaitGroup
		for _, organization := range []string{"a", "a", "a", "b", "b", "c"} {
			group.Go(func() {
				defer g.Enter(organization).Leave()
				order = append(order, organization)
			})
			synctest.Wait()
		}
		first.Leave()
		first.Leave() // of a turn that is over
		group.Wait()
		is.Equal(order, []string{"a", "b", "c", "a", "b", "a"})
	})
}

func TestYield(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		g := New(1)
		long := g.Enter("a")
		time.Sleep(Slice)
		long.Yield() // nobody waits
		entered := false
		go func() {
			defer g.Enter("b").Leave()
			entered = true
		}()
		synctest.Wait()
		long.Yield()
		is.True(entered)
		long.Leave()
		var none *Turn
		none.Yield()
		none.Leave()
	})
}
