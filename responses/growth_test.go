package responses_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/responses"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/badgerstore"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// What a long chain costs: each turn stores what was said in it, and reads its
// history with as many scans as the first ones.

// metered is a store that counts the scans begun, the bytes set and the transactions
// that read.
type metered struct {
	storage.Store
	scans, bytes, views atomic.Int64
}

func (m *metered) View(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	m.views.Add(1)
	return m.Store.View(ctx, ns, func(tx storage.Tx) error { return fn(&meteredTx{tx, m}) })
}

func (m *metered) Update(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	return m.Store.Update(ctx, ns, func(tx storage.Tx) error { return fn(&meteredTx{tx, m}) })
}

type meteredTx struct {
	storage.Tx
	of *metered
}

func (t *meteredTx) Scan(r storage.Range) iter.Seq2[storage.Entry, error] {
	t.of.scans.Add(1)
	return t.Tx.Scan(r)
}

func (t *meteredTx) Set(key, value []byte) error {
	t.of.bytes.Add(int64(len(key) + len(value)))
	return t.Tx.Set(key, value)
}

// lastAsked is a model that repeats what was said last, and keeps the messages
// of the last request.
type lastAsked struct{ messages []model.Message }

func (l *lastAsked) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	l.messages = req.Messages
	return func(yield func(model.Event, error) bool) {
		said := req.Messages[len(req.Messages)-1].Parts[0].(model.Text)
		_ = yield(model.TextDelta{Text: string(said)}, nil) &&
			yield(model.Usage{InputTokens: 1, OutputTokens: 1}, nil) &&
			yield(model.Finish{Reason: model.Stop}, nil)
	}
}

// chain is a chain of turns in the making.
type chain struct {
	*responses.Service
	history *conversations.Service
	caller  accounts.Caller
	store   *metered
	model   *lastAsked
	last    string // ID of the last response
}

func newChain(t testing.TB, store storage.Store) *chain {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	c := &chain{store: &metered{Store: store}, model: &lastAsked{}}
	books, err := accounts.New(t.Context(), accounts.Options{Store: c.store, Log: quiet})
	must(t, err)
	t.Cleanup(func() {
		must(t, books.Close())
		must(t, store.Close())
	})
	organization, err := books.CreateOrganization(t.Context(), accounts.NewOrganization{Name: "test", Credits: 100 * accounts.Dollar})
	must(t, err)
	c.caller, err = books.CallerFor(t.Context(), organization.ID)
	must(t, err)
	c.history = conversations.New(conversations.Options{Store: c.store, Log: quiet})
	c.Service = responses.New(responses.Options{Accounts: books, Log: quiet, Conversations: c.history, Backend: c.model})
	t.Cleanup(func() { must(t, c.Close()) })
	return c
}

// turn adds a turn and returns the scans begun and the bytes set for it.
func (c *chain) turn(t testing.TB, said string) (scans, bytes int64) {
	t.Helper()
	scans, bytes = c.store.scans.Load(), c.store.bytes.Load()
	req := ask(said)
	req.PreviousResponseID = c.last
	r, err := c.Create(t.Context(), c.caller, req)
	must(t, err)
	c.last = r.ID
	return c.store.scans.Load() - scans, c.store.bytes.Load() - bytes
}

// read reads the history behind the last turn.
func (c *chain) read(t testing.TB) *conversations.Parent {
	p, err := c.history.Continue(t.Context(), c.caller, c.last, "")
	must(t, err)
	return p
}

func TestTurnsOfALongChain(t *testing.T) {
	is := is.New(t)
	c := newChain(t, memstore.New())
	c.turn(t, "Hi")
	var before []model.Message
	second, stored := c.turn(t, "Hi")
	for n := 3; n <= 200; n++ {
		before = c.model.messages
		scans, bytes := c.turn(t, "Hi")
		is.Equal(scans, second)     // a history is read at once
		is.True(bytes <= stored+64) // nothing of it is written again
		now := c.model.messages
		is.Equal(len(now), len(before)+2)
		is.True(reflect.DeepEqual(now[:len(before)], before)) // each turn begins with the one before
	}
	is.Equal(len(c.read(t).Lineage), 1)
}

// TestAlternatingBranches adds turns to two branches in turn: a history is read
// with a range for each branch that it goes through, and stored as that.
func TestAlternatingBranches(t *testing.T) {
	is := is.New(t)
	c := newChain(t, memstore.New())
	c.turn(t, "Hi")
	branches := [2]string{c.last, c.last}
	var third [2][2]int64
	for n := 1; n <= 100; n++ {
		for i := range branches {
			c.last = branches[i]
			scans, bytes := c.turn(t, "Hi")
			branches[i] = c.last
			switch {
			case n == 3:
				third[i] = [2]int64{scans, bytes}
			case n > 3:
				is.Equal(scans, third[i][0])
				is.True(bytes <= third[i][1]+64)
			}
			is.Equal(len(c.model.messages), 2*n+1)
		}
	}
	for i, ranges := range []int{1, 2} {
		c.last = branches[i]
		is.Equal(len(c.read(t).Lineage), ranges)
	}
}

// TestTurnsAskedForAgain goes on from the second answer to each question: one that
// has never read the history reads it at once, beside the answers given up.
func TestTurnsAskedForAgain(t *testing.T) {
	is := is.New(t)
	c := newChain(t, memstore.New())
	const turns = 100
	for range turns {
		before := c.last
		c.turn(t, "Hi")
		c.last = before
		c.turn(t, "Hi")
	}
	scans := c.store.scans.Load()
	p, err := c.stranger().Continue(t.Context(), c.caller, c.last, "")
	must(t, err)
	is.Equal(c.store.scans.Load()-scans, int64(1))
	is.Equal(len(p.Entries), 2*turns)
	for i, e := range p.Entries {
		is.True(i == 0 || e.Seq > p.Entries[i-1].Seq)
	}
	is.True(reflect.DeepEqual(p.Entries, c.read(t).Entries))
}

// stranger returns the conversations as a process has them that knows nothing yet.
func (c *chain) stranger() *conversations.Service {
	return conversations.New(conversations.Options{Store: c.store, Log: slog.New(slog.DiscardHandler)})
}

// BenchmarkChain reports the bytes that are stored and the scans that are begun
// for a turn of 1 KB, and the time to read the history behind it.
func BenchmarkChain(b *testing.B) {
	disk, err := badgerstore.Open(badgerstore.Options{Dir: b.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	must(b, err)
	c := newChain(b, disk)
	said := strings.Repeat("0123456789abcde ", 32) // half of a turn of 1 KB
	turns := 0
	for _, n := range []int{10, 100, 1000} {
		var scans, stored int64
		for ; turns < n; turns++ {
			scans, stored = c.turn(b, said)
		}
		b.Run(fmt.Sprint("turn-", n), func(b *testing.B) {
			for b.Loop() {
				if got := len(c.read(b).Entries); got != 2*n {
					b.Fatal(got)
				}
			}
			b.ReportMetric(float64(scans), "scans/turn")
			b.ReportMetric(float64(stored), "stored-B/turn")
		})
	}
}

// BenchmarkTurnOfAChain makes turns behind a chain, of which a turn is stored in
// memory and asks a model that costs nothing: what is left grows with the history.
func BenchmarkTurnOfAChain(b *testing.B) {
	for _, n := range []int{10, 200, 1000} {
		b.Run(fmt.Sprint("turn-", n), func(b *testing.B) {
			c := newChain(b, memstore.New())
			said := "What came of the order that I asked about?"
			for range n {
				c.turn(b, said)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%64 == 0 { // of about the same length
					b.StopTimer()
					c = newChain(b, memstore.New())
					for range n {
						c.turn(b, said)
					}
					b.StartTimer()
				}
				c.turn(b, said)
			}
		})
	}
}

// BenchmarkHeld reports what a store in memory holds for a response of 0.9 KB that
// begins a conversation.
//
//	go test ./responses -run - -bench Held -benchtime 20000x
func BenchmarkHeld(b *testing.B) {
	c := newChain(b, memstore.New())
	said := strings.Repeat("0123456789abcde ", 28) // half of it
	c.turn(b, said)
	before := held()
	for b.Loop() {
		c.last = ""
		c.turn(b, said)
	}
	b.ReportMetric(float64(held()-before)/float64(b.N), "B/response")
}

// held is what live objects take.
func held() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
