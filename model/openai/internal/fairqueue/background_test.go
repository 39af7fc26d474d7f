package fairqueue

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-506d8e5d/svc/model"
)

// TestWorkInTheBackgroundLeavesPlacesFree for who comes next, more of them while
// others use the server.
func TestWorkInTheBackgroundLeavesPlacesFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(8)
		batch := model.Tenant("a", true)
		takes := func(want int) {
			t.Helper()
			n := 0
			for q.Enter(t.Context(), batch, 0) == nil {
				n++
			}
			if n != want {
				t.Errorf("got %d places, want %d", n, want)
			}
			for range n {
				q.Leave(batch)
			}
		}
		takes(7)
		if err := q.Enter(t.Context(), "b", 0); err != nil {
			t.Fatal(err)
		}
		takes(5)
		q.Leave("b")
		takes(6)
		time.Sleep(usedLately + time.Second)
		takes(7)
	})
}

// TestNobodyWaitsBehindWorkInTheBackground has it wait before a request of somebody
// comes: the next place is that one's.
func TestNobodyWaitsBehindWorkInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(1)
		entered := make(chan string, 4)
		for _, tenant := range []string{model.Tenant("a", true), model.Tenant("a", true), model.Tenant("b", true), "a"} {
			go func() {
				wait := time.Hour
				if model.IsBackground(tenant) {
					wait = time.Second // which it takes longer than
				}
				if err := q.Enter(t.Context(), tenant, wait); err != nil {
					t.Error(err)
				}
				entered <- tenant
			}()
			synctest.Wait()
		}
		var order []string
		for range 4 {
			tenant := <-entered
			order = append(order, tenant)
			time.Sleep(time.Minute)
			q.Leave(tenant)
			synctest.Wait()
		}
		if want := []string{"background a", "a", "background b", "background a"}; !slices.Equal(order, want) {
			t.Errorf("got %v, want %v", order, want)
		}
	})
}
