package admission

import (
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/fault"
)

func open(c *Controller, organization string, concurrent int) *Ticket {
	t := &Ticket{}
	t.Open(c, organization, concurrent)
	return t
}

// TestTicketReleasesWhatItAcquired opens tickets that acquire everything that there
// is to acquire, in every order, and releases them twice.
func TestTicketReleasesWhatItAcquired(t *testing.T) {
	is := is.New(t)
	c := New(Options{Requests: 8, Streams: 8, Bytes: 9 << 20})
	one, two := open(c, "org_1", 1), open(c, "org_2", 0)
	is.NoErr(one.AcquireRequest())
	is.NoErr(one.AcquireRequest()) // it has one
	is.NoErr(one.AcquireStream())
	is.NoErr(one.GrowBody(1 << 20))
	is.NoErr(one.GrowBody(2 << 20))
	is.NoErr(two.AcquireStream())
	is.NoErr(two.GrowBody(SmallBody)) // not counted
	is.Equal(c.Usage(), Usage{Streams: 2, Bytes: 2 << 20, Concurrent: 1, Organizations: 2})

	err := open(c, "org_1", 1).AcquireRequest()
	is.Equal(fault.From(err).Message, "The organization's limit of 1 requests at once is reached. Try again.")
	one.ReleaseBytes(1 << 20)
	is.Equal(c.Usage().Bytes, int64(1<<20))
	for range 2 {
		one.Release()
		two.Release()
	}
	is.Equal(c.Usage(), Usage{})
	is.NoErr(open(c, "org_1", 1).AcquireRequest())
}

func TestSharesOfOrganizations(t *testing.T) {
	is := is.New(t)
	c := New(Options{Requests: 4, Bytes: 9 << 20})
	kinds := []fault.Kind{}
	for _, organization := range []string{"a", "a", "a", "b", "c", "d"} {
		if err := open(c, organization, 0).AcquireRequest(); err != nil {
			kinds = append(kinds, fault.From(err).Kind)
		}
	}
	is.Equal(kinds, []fault.Kind{fault.RateLimited, fault.Unavailable})

	is.NoErr(open(c, "a", 0).AcquireBytes(4 << 20)) // the first piece may be larger than the share
	is.Equal(fault.From(open(c, "a", 0).AcquireBytes(1)).Kind, fault.RateLimited)
	is.NoErr(open(c, "b", 0).AcquireBytes(2 << 20))
}

// TestATicketThatIsNotOpen is of a request without a caller.
func TestATicketThatIsNotOpen(t *testing.T) {
	is := is.New(t)
	var none Ticket
	is.NoErr(none.AcquireRequest())
	is.NoErr(none.AcquireStream())
	is.NoErr(none.GrowBody(1 << 20))
	none.ReleaseBytes(1)
	none.Release()
}

func TestTicketsConcurrently(t *testing.T) {
	c := New(Options{})
	ticket := open(c, "org", 4)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 100 {
				_ = ticket.AcquireBytes(10) // within the share
				_ = ticket.AcquireStream()
				ticket.ReleaseBytes(10)
			}
		})
	}
	group.Wait()
	ticket.Release()
	is.New(t).Equal(c.Usage(), Usage{})
}
