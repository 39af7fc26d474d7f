package fairqueue

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"
	"time"
)

// TestPlacesGoRoundByTenant has a burst of one tenant before the requests of two
// others, for a server that takes two at once.
func TestPlacesGoRoundByTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(2)
		entered := make(chan string, 8)
		for _, tenant := range []string{"a", "a", "a", "a", "a", "b", "b", "c"} {
			go func() {
				if err := q.Enter(t.Context(), tenant, time.Hour); err != nil {
					t.Error(err)
				}
				entered <- tenant
			}()
			synctest.Wait()
		}
		var order, inside []string
		for range 8 {
			tenant := <-entered
			order, inside = append(order, tenant), append(inside, tenant)
			if len(inside) == 2 { // who came first leaves first
				q.Leave(inside[0])
				inside = inside[1:]
				synctest.Wait()
			}
		}
		if want := []string{"a", "a", "b", "c", "a", "b", "a", "a"}; !reflect.DeepEqual(order, want) {
			t.Errorf("got %v, want %v", order, want)
		}
	})
}

// TestPlacesAreKeptForOthers while there are others: who is alone has all places.
func TestPlacesAreKeptForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(8)
		takes := func(tenant string, want int) {
			t.Helper()
			n := 0
			for q.Enter(t.Context(), tenant, 0) == nil {
				n++
			}
			if n != want {
				t.Errorf("%s got %d places, want %d", tenant, n, want)
			}
		}
		takes("a", 8)
		for range 8 {
			q.Leave("a")
		}
		takes("b", 6)
		takes("c", 1)
		takes("d", 1) // one that has none gets the last one
		for range 6 {
			q.Leave("b")
		}
		time.Sleep(usedLately + time.Second)
		takes("c", 6) // but the one of d
	})
}

func TestWaitingForAPlaceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(1)
		if err := q.Enter(t.Context(), "a", 0); err != nil {
			t.Fatal(err)
		}
		if err := q.Enter(t.Context(), "a", time.Second); err != ErrBusy {
			t.Errorf("got %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := q.Enter(ctx, "a", time.Minute); err != context.DeadlineExceeded {
			t.Errorf("got %v", err)
		}
		q.Leave("a")
		if err := q.Enter(t.Context(), "b", 0); err != nil || len(q.waiting) != 0 || len(q.tenants) != 1 {
			t.Errorf("%v, waiting %v, tenants %v", err, q.waiting, q.tenants)
		}
	})
}
