package conversations_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/cluster"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// silent is a store that takes no writes while it is told not to.
type silent struct {
	storage.Store
	silent atomic.Bool
}

func (s *silent) Update(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	if s.silent.Load() {
		return storage.ErrUnavailable
	}
	return s.Store.Update(ctx, ns, fn)
}

// TestATurnThatLostItsPlaceIsNotStored has two processes. One cannot say that it lives
// while its turn runs, is taken for dead, and the other goes on with the conversation:
// the first turn is refused, whether the other's still runs or has been stored, and the
// history has no fork.
func TestATurnThatLostItsPlaceIsNotStored(t *testing.T) {
	for name, stored := range map[string]bool{"while the other runs": false, "behind the other": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				below := memstore.New()
				defer below.Close()
				heartbeats := &silent{Store: below}
				store := storage.Use(below)
				caller := accounts.Caller{Organization: "org_1"}
				process := func(heartbeats storage.Store) (*cluster.Member, *conversations.Service) {
					m, err := cluster.Join(t.Context(), cluster.Options{Store: storage.Use(heartbeats), Shared: true})
					is.NoErr(err)
					return m, conversations.New(conversations.Options{Store: store, Cluster: m})
				}
				oneMember, one := process(heartbeats)
				otherMember, other := process(below)
				time.Sleep(time.Second)
				c, err := one.Create(t.Context(), caller, nil, nil)
				is.NoErr(err)
				begin := func(s *conversations.Service, id string) (d *conversations.NewTurn, release func()) {
					release, err := s.Queue(t.Context(), caller, c.ID)
					is.NoErr(err)
					p, err := s.Continue(t.Context(), caller, "", c.ID)
					is.NoErr(err)
					input := conversations.WithID(conversations.UserMessage(id), func(string) string { return "msg_" + id })
					return &conversations.NewTurn{ID: id, Parent: p, Input: []conversations.Item{input}, Body: []byte("{}")}, release
				}
				write := func(s *conversations.Service, d *conversations.NewTurn) error {
					return store.Update(t.Context(), caller.Namespace(), func(tx storage.Tx) error { return s.Write(tx, d) })
				}

				lost, releaseLost := begin(one, "resp_one")
				heartbeats.silent.Store(true)
				time.Sleep(time.Minute)
				d, release := begin(other, "resp_other")
				if stored {
					is.NoErr(write(other, d))
					release()
				}
				is.True(fault.Is(write(one, lost), fault.Unavailable))
				if !stored {
					is.NoErr(write(other, d))
					release()
				}
				is.True(fault.Is(write(one, lost), fault.Unavailable))
				releaseLost()

				items, err := other.ListItems(t.Context(), caller, c.ID, page.Params{Limit: 10})
				is.NoErr(err)
				is.Equal(len(items.Items), 1)
				is.Equal(items.Items[0].ItemID(), "msg_resp_other")
				heartbeats.silent.Store(false)
				is.NoErr(oneMember.Close())
				is.NoErr(otherMember.Close())
			})
		})
	}
}
