package txn

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var locks RetryLocks
		var wg sync.WaitGroup
		var order []int
		if err := locks.Lock(t.Context(), "n"); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			wg.Go(func() {
				if err := locks.Lock(t.Context(), "n"); err != nil {
					t.Error(err)
				}
				order = append(order, i)
				locks.Unlock("n")
			})
			synctest.Wait()
		}
		if err := locks.Lock(t.Context(), "other"); err != nil {
			t.Errorf("another namespace: %v", err)
		}
		locks.Unlock("other")
		ctx, cancel := context.WithCancel(t.Context())
		wg.Go(func() {
			if err := locks.Lock(ctx, "n"); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		locks.Unlock("n")
		wg.Wait()
		if want := []int{0, 1, 2}; !slices.Equal(order, want) {
			t.Errorf("the lock went to %d, want %d", order, want)
		}
		if len(locks.locks) != 0 {
			t.Errorf("%d locks are left", len(locks.locks))
		}
	})
}
