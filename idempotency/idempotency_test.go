package idempotency_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/idempotency"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
	"github.com/seed-506d8e5d/svc/storage/storagetest"
)

// process is a process on a store that others have too, which can be killed: from
// then on it reaches the store no more.
type process struct {
	storage.Store
	*idempotency.Service
	dead atomic.Bool
}

func newProcess(store storage.Store) *process {
	p := &process{Store: store}
	p.Service = idempotency.New(idempotency.Options{Store: p, Log: slog.New(slog.DiscardHandler)})
	return p
}

// Shared makes the store one of several processes.
func (p *process) Shared() bool { return true }

var errKilled = errors.New("killed")

func (p *process) Update(ctx context.Context, ns storage.Namespace, f func(storage.Tx) error) error {
	if p.dead.Load() {
		return errKilled
	}
	return p.Store.Update(ctx, ns, f)
}

func newStore(t *testing.T) storage.Store {
	store := memstore.New()
	t.Cleanup(func() { store.Close() })
	return store
}

func request(body string) idempotency.Request {
	return idempotency.Request{Namespace: "org_1", Route: "/v1/things", Key: "k", Body: sha256.Sum256([]byte(body))}
}

// do makes thing_1 under a claim, as an interface does.
func (p *process) do(t *testing.T, c *idempotency.Claim, object string) error {
	t.Helper()
	return p.Update(t.Context(), "org_1", func(tx storage.Tx) error {
		if err := tx.Set([]byte("thing/"+object), nil); err != nil {
			return err
		}
		return c.Did(tx, object)
	})
}

// things are what was made.
func things(t *testing.T, store storage.Store) (names []string) {
	t.Helper()
	err := store.View(t.Context(), "org_1", func(tx storage.Tx) error {
		for e, err := range tx.Scan(storage.Prefix([]byte("thing/"))) {
			if err != nil {
				return err
			}
			names = append(names, string(e.Key[len("thing/"):]))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func claim(t *testing.T, p *process) *idempotency.Claim {
	t.Helper()
	c, answer, err := p.Begin(t.Context(), request("a"))
	if c == nil || answer != nil || err != nil {
		t.Fatalf("got %v, %v, %v, want a claim", c, answer, err)
	}
	return c
}

var done = idempotency.Answer{Status: 200, ContentType: "application/json", Body: []byte(`{"id":"thing_1"}`)}

// TestTwoProcesses send the same at once: one does it, and both have its answer.
func TestTwoProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		store := newStore(t)
		first, second := newProcess(store), newProcess(store)
		c := claim(t, first)
		got := make(chan *idempotency.Answer)
		go func() {
			_, a, _ := second.Begin(t.Context(), request("a"))
			got <- a
		}()
		time.Sleep(5 * time.Minute) // it is renewed as long as it takes
		is.NoErr(first.do(t, c, "thing_1"))
		time.Sleep(5 * time.Minute) // nor is it answered before there is an answer
		a := done
		c.End(t.Context(), &a)
		is.Equal(*<-got, done)

		_, _, err := second.Begin(t.Context(), request("b"))
		is.Equal(fault.From(err).Code, idempotency.CodeReused)
		is.Equal(things(t, store), []string{"thing_1"})
	})
}

// TestAProcessThatDies has done what it was asked for, or not: another one does it
// in the second case alone.
func TestAProcessThatDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		store := newStore(t)

		before := newProcess(store)
		c := claim(t, before)
		before.dead.Store(true)
		began := time.Now()
		after := newProcess(store)
		c2 := claim(t, after)
		is.True(time.Since(began) <= 31*time.Second)
		is.NoErr(after.do(t, c2, "thing_2"))
		after.dead.Store(true)
		c2.End(t.Context(), &done)

		third := newProcess(store)
		_, a, err := third.Begin(t.Context(), request("a"))
		is.NoErr(err)
		is.Equal(*a, idempotency.Answer{Object: "thing_2"})
		is.Equal(things(t, store), []string{"thing_2"})
		c.End(t.Context(), nil)
	})
}

// TestAProcessThatWasPaused for longer than its claim holds finds that another one
// has it, and does nothing.
func TestAProcessThatWasPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, end := range []*idempotency.Answer{&done, nil} {
			is := is.New(t)
			store := newStore(t)
			paused, other := newProcess(store), newProcess(store)
			c := claim(t, paused)
			paused.dead.Store(true)
			c2 := claim(t, other)
			if end == nil { // the other one was refused, and there is a third
				c2.End(t.Context(), nil)
				c2 = claim(t, other)
			}
			paused.dead.Store(false)
			is.Equal(fault.From(paused.do(t, c, "thing_1")).Code, idempotency.CodeReused)
			is.Equal(len(things(t, store)), 0)
			c.End(t.Context(), &idempotency.Answer{Status: 200, Body: []byte("lost")}) // nobody gets it
			is.NoErr(other.do(t, c2, "thing_2"))
			c2.End(t.Context(), &done)
			_, a, err := paused.Begin(t.Context(), request("a"))
			is.NoErr(err)
			is.Equal(*a, done)
		}
	})
}

// TestAnAnswerThatWasCut is lost, and what was done stays done.
func TestAnAnswerThatWasCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		for _, end := range []*idempotency.Answer{nil, {Status: 200, Unread: true}} {
			store := newStore(t)
			p := newProcess(store)
			c := claim(t, p)
			c.End(t.Context(), end) // nothing was done
			c = claim(t, p)
			is.NoErr(p.do(t, c, "thing_1"))
			c.End(t.Context(), nil)
			_, a, err := p.Begin(t.Context(), request("a"))
			is.NoErr(err)
			is.Equal(*a, idempotency.Answer{Object: "thing_1"})
		}
	})
}

// TestADayLater the key is free, and nothing is left of it.
func TestADayLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		store := newStore(t)
		p := newProcess(store)
		long := idempotency.Answer{Status: 200, ContentType: "text/event-stream", Body: bytes.Repeat([]byte("a secret "), 1<<20)}
		c := claim(t, p)
		is.NoErr(p.do(t, c, "thing_1"))
		c.End(t.Context(), &long)
		_, a, err := p.Begin(t.Context(), request("a"))
		is.NoErr(err)
		is.True(bytes.Equal(a.Body, long.Body))
		is.Equal(stored(t, store, []byte("a secret")), 0) // it is sealed

		time.Sleep(24*time.Hour + time.Second)
		claim(t, p).End(t.Context(), nil)
		is.Equal(stored(t, store, nil), 1) // the thing
	})
}

// stored returns how many entries of the store have a text in their value.
func stored(t *testing.T, store storage.Store, text []byte) (n int) {
	t.Helper()
	err := store.View(t.Context(), "org_1", func(tx storage.Tx) error {
		for e, err := range tx.Scan(storage.Range{}) {
			if err != nil {
				return err
			}
			if bytes.Contains(e.Value, text) {
				n++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestAStoreThatLosesAClaim does what the claim is for all the same, once.
func TestAStoreThatLosesAClaim(t *testing.T) {
	is := is.New(t)
	store := &storagetest.Lossy{Store: newStore(t)}
	p := newProcess(store)
	claim, _, err := p.Begin(t.Context(), request("a"))
	is.NoErr(err)
	is.NoErr(store.Lose(t.Context(), 0))
	is.NoErr(p.do(t, claim, "1"))
	claim.End(t.Context(), &idempotency.Answer{Status: 200, Body: []byte("made")})
	again, answer, err := p.Begin(t.Context(), request("a"))
	is.NoErr(err)
	is.True(again == nil)
	is.Equal(string(answer.Body), "made")
}

// alone is a process that has its store for itself, and counts what it commits.
type alone struct {
	*process
	updates int
}

func (a *alone) Shared() bool { return false }

func (a *alone) Update(ctx context.Context, ns storage.Namespace, f func(storage.Tx) error) error {
	a.updates++
	return a.process.Update(ctx, ns, f)
}

func newAlone(store storage.Store) *alone {
	a := &alone{process: &process{Store: store}}
	a.Service = idempotency.New(idempotency.Options{Store: a, Log: slog.New(slog.DiscardHandler)})
	return a
}

// TestAProcessAlone keeps its claims in memory: a request costs its own transaction
// and the one that keeps the answer.
func TestAProcessAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p := newAlone(newStore(t))
		c := claim(t, p.process)
		_, _, err := p.Begin(t.Context(), request("b"))
		is.Equal(fault.From(err).Code, idempotency.CodeReused)
		got := make(chan *idempotency.Answer)
		go func() {
			_, a, _ := p.Begin(t.Context(), request("a"))
			got <- a
		}()
		time.Sleep(time.Hour) // however long it takes
		is.NoErr(p.do(t, c, "thing_1"))
		c.End(t.Context(), &done)
		is.Equal(*<-got, done)
		is.Equal(p.updates, 1) // and the one of do, which is not counted here

		time.Sleep(24*time.Hour + time.Second) // the record is old, and in the way of nobody
		c = claim(t, p.process)
		is.NoErr(p.do(t, c, "thing_2"))
		c.End(t.Context(), &done)
		_, a, err := p.Begin(t.Context(), request("a"))
		is.NoErr(err)
		is.Equal(*a, done)
		is.Equal(things(t, p), []string{"thing_1", "thing_2"})
	})
}

// TestAProcessAloneThatDies has done what it was asked for, or not.
func TestAProcessAloneThatDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		store := newStore(t)
		before := newAlone(store)
		claim(t, before.process)
		began := time.Now()
		after := newAlone(store)
		c := claim(t, after.process)
		is.Equal(time.Since(began), time.Duration(0)) // nobody else can have begun it
		is.NoErr(after.do(t, c, "thing_1"))
		third := newAlone(store)
		_, a, err := third.Begin(t.Context(), request("a"))
		is.NoErr(err)
		is.Equal(*a, idempotency.Answer{Object: "thing_1"})
	})
}

// TestAClaimThatIsGivenUp in a process alone leaves nothing.
func TestAClaimThatIsGivenUp(t *testing.T) {
	is := is.New(t)
	p := newAlone(newStore(t))
	claim(t, p.process).End(t.Context(), nil)
	is.Equal(stored(t, p, nil), 0)
	claim(t, p.process).End(t.Context(), &idempotency.Answer{Status: 200, Unread: true})
	is.Equal(stored(t, p, nil), 0)
	claim(t, p.process).End(t.Context(), nil)
}
