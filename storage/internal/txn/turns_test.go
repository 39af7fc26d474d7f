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
		var turns Turns
		var wg sync.WaitGroup
		var order []int
		if err := turns.Wait(t.Context(), "n"); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			wg.Go(func() {
				if err := turns.Wait(t.Context(), "n"); err != nil {
					t.Error(err)
				}
				order = append(order, i)
				turns.Pass("n")
			})
			synctest.Wait()
		}
		if err := turns.Wait(t.Context(), "other"); err != nil {
			t.Errorf("another namespace: %v", err)
		}
		turns.Pass("other")
		ctx, cancel := context.WithCancel(t.Context())
		wg.Go(func() {
			if err := turns.Wait(ctx, "n"); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		turns.Pass("n")
		wg.Wait()
		if want := []int{0, 1, 2}; !slices.Equal(order, want) {
			t.Errorf("the turns went %d, want %d", order, want)
		}
		if len(turns.lines) != 0 {
			t.Errorf("%d lines are left", len(turns.lines))
		}
	})
}
