package responses_test

import (
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// TestAPageIsReadInOneTransaction: the list and what retention reads of it.
func TestAPageIsReadInOneTransaction(t *testing.T) {
	is := is.New(t)
	c := newChain(t, memstore.New())
	var made []string
	for range 12 {
		c.turn(t, "Hi")
		made = append(made, c.last)
	}
	views := c.store.views.Load()
	first, err := c.List(t.Context(), c.caller, page.Params{Limit: 10})
	is.NoErr(err)
	is.Equal(c.store.views.Load()-views, int64(1))
	is.True(first.HasMore)
	for i, r := range first.Items {
		is.Equal(r.ID, made[i])
		is.Equal(r.OutputText(), "Hi")
	}
	views = c.store.views.Load()
	ids, next, err := c.Expired(t.Context(), c.caller, time.Now().Unix()+1, page.Params{Limit: 10})
	is.NoErr(err)
	is.Equal(ids, made[:10])
	is.Equal(next, made[9])
	ids, next, err = c.Expired(t.Context(), c.caller, time.Now().Unix()+1, page.Params{Limit: 10, After: next})
	is.NoErr(err)
	is.Equal(ids, made[10:])
	is.Equal(next, "")
	ids, _, err = c.Expired(t.Context(), c.caller, time.Now().Unix()-3600, page.Params{})
	is.NoErr(err)
	is.Equal(len(ids), 0)
	is.Equal(c.store.views.Load()-views, int64(3))
}
