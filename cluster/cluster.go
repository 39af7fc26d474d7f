// Package cluster is what the processes share that serve one store: who is
// alive, who does the work that one has to do for all, what the dead have left
// unfinished (work.go), and when caches are old.
// It needs nothing but the store. [Join] makes a [Member]; on a store that only
// one process can have open that costs nothing, as it is alone by nature.
//
// No clock of one process is compared with that of another: a process is alive
// while others see the count in its record change, by their own clocks.
package cluster

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"log/slog"
	mathrand "math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/storage"
)

// How old what a process knows of the others may be, and when it takes one for
// dead whose count stands still. One that cannot write its own count gives its
// leases up in half that time.
const (
	lookEvery = 400 * time.Millisecond
	beatEvery = 2 * time.Second
	deadAfter = 10 * time.Second
	waitMost  = 5 * time.Second // for the store, in the background
	freshFor  = 900 * time.Millisecond
	unseenFor = 2 * lookEvery // a process that has no record counts as one that is about to have one
)

// Keys in the service's own namespace.
const (
	system storage.Namespace = "system"

	prefix        = "r/"
	generationKey = "r/g" // 8 bytes that are others whenever something was changed that others remember; not a count, which a database that lost its last commits could reach twice
	leasePrefix   = "r/l/"
	processPrefix = "r/p/" // count, 8 bytes
)

// Options say what a process shares. Only Store is required.
type Options struct {
	Store *storage.DB
	Log   *slog.Logger // nil: slog.Default()

	// Shared says that other processes may have the store open, where the store
	// does not say so itself.
	Shared bool
}

// Member is this process among those that share the store. All methods may be
// called concurrently.
type Member struct {
	id     string
	store  *storage.DB
	log    *slog.Logger
	shared bool

	stop    context.CancelFunc
	running sync.WaitGroup
	joined  time.Time    // what times of this process are counted from, whatever its clock is set to
	beaten  atomic.Int64 // when the count was written last, in nanoseconds since joined
	count   atomic.Uint64
	lapses  atomic.Uint64 // how often others may have taken this process for dead
	noted   sync.Map      // the namespaces of this process's notes, each with its standing before

	mu         sync.Mutex
	seen       map[string]*sighting // of the processes that have or had a record, by ID
	unseen     map[string]time.Time // processes that have none, by ID, with when it was asked for them first
	looked     time.Time            // when the last look at the store began
	generation uint64
	age        uint64 // of the store when it was looked at last
	changed    []func()
	departed   chan struct{} // has room for one
}

// sighting is what is known of a process.
type sighting struct {
	count uint64
	at    time.Time // when it changed last
	gone  bool      // it has no record any more, or its count stands still
}

// leaseRecord is what is stored of a lease.
type leaseRecord struct {
	Owner string `json:"owner"`
}

// Join makes this process known to the others. It owns a goroutine on a store
// that is shared and must be closed before the store is.
func Join(ctx context.Context, o Options) (*Member, error) {
	p := &Member{
		id: strings.ToLower(rand.Text()[:16]), store: o.Store, log: o.Log, shared: o.Shared || o.Store.Shared(), joined: time.Now(),
		seen: map[string]*sighting{}, unseen: map[string]time.Time{}, departed: make(chan struct{}, 1),
	}
	if p.log == nil {
		p.log = slog.Default()
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stop = stop
	if !p.shared {
		return p, nil
	}
	if err := errors.Join(p.beat(ctx), p.look(ctx)); err != nil {
		stop()
		return nil, err
	}
	p.running.Go(func() { p.run(background) })
	return p, nil
}

// Close tells the others that this process has ended; its leases are free then.
func (p *Member) Close() error {
	p.stop()
	p.running.Wait()
	if !p.shared {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), waitMost)
	defer cancel()
	return p.store.Update(ctx, system, func(tx storage.Tx) error { return tx.Delete([]byte(processPrefix + p.id)) })
}

// ID names the process. A process that starts anew has a new one.
func (p *Member) ID() string { return p.id }

// Shared says whether there may be other processes.
func (p *Member) Shared() bool { return p.shared }

// Members returns how many processes are alive, this one included.
func (p *Member) Members() int {
	n := 1
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, s := range p.seen {
		if id != p.id && s.living() {
			n++
		}
	}
	return n
}

func (s *sighting) living() bool { return !s.gone && time.Since(s.at) < deadAfter }

// Alive says whether the process with that ID is alive, as far as is known. One
// that nobody has heard of may have begun a moment ago, and counts as alive for a
// few looks at the store.
func (p *Member) Alive(id string) bool {
	if id == p.id {
		return true
	}
	if !p.shared || id == "" {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.seen[id]; s != nil {
		return s.living()
	}
	asked, ok := p.unseen[id]
	if !ok {
		asked = time.Now()
		p.unseen[id] = asked
	}
	return p.looked.Sub(asked) < unseenFor
}

// CachesValid says whether what this process remembers is not older than the others may
// take for granted: it has looked at the store within the last second. A process
// that has too much to do, or whose store is slow, asks the store itself.
func (p *Member) CachesValid() bool {
	if !p.shared {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.looked) < freshFor
}

// OnInvalidate has fn called, from the process's goroutine, when another process may
// have changed what is remembered, or the store may have lost it: within half a
// second of that.
func (p *Member) OnInvalidate(fn func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed = append(p.changed, fn)
}

// PeerGone has a value when a process has ended or died since the last was taken,
// whose work may be left. It is never closed.
func (p *Member) PeerGone() <-chan struct{} { return p.departed }

// InvalidateCaches tells the other processes, with the transaction in the namespace
// system that it is called in, that something they may remember is different.
func (p *Member) InvalidateCaches(tx storage.Tx) error {
	if !p.shared {
		return nil
	}
	return tx.Set([]byte(generationKey), binary.BigEndian.AppendUint64(nil, mathrand.Uint64()))
}

// AcquireLease takes the lease of a name, or keeps it, and says whether this process
// has it now. It is free when the process that had it is dead or has released it.
// A holder asks again before each piece of work.
func (p *Member) AcquireLease(ctx context.Context, name string) (held bool, err error) {
	if !p.shared {
		return true, nil
	}
	if p.lapsed() {
		return false, nil
	}
	key := []byte(leasePrefix + name)
	err = p.store.Update(ctx, system, func(tx storage.Tx) error {
		held = false
		var lease leaseRecord
		err := storage.GetJSON(tx, key, &lease)
		switch {
		case err != nil && !errors.Is(err, storage.ErrNotFound):
			return err
		case lease.Owner == p.id:
			held = true
			return nil
		case lease.Owner != "" && p.Alive(lease.Owner):
			return nil
		}
		held = true
		return storage.SetJSON(tx, key, leaseRecord{Owner: p.id})
	})
	return held && err == nil, err
}

// ReleaseLease gives a lease back.
func (p *Member) ReleaseLease(ctx context.Context, name string) error {
	if !p.shared {
		return nil
	}
	key := []byte(leasePrefix + name)
	return p.store.Update(ctx, system, func(tx storage.Tx) error {
		var lease leaseRecord
		if err := storage.GetJSON(tx, key, &lease); err != nil || lease.Owner != p.id {
			if errors.Is(err, storage.ErrNotFound) {
				err = nil
			}
			return err
		}
		return tx.Delete(key)
	})
}

// run looks at the others and shows that this process is alive until ctx ends.
func (p *Member) run(ctx context.Context) {
	beaten := time.Now()
	background.Every(ctx, lookEvery, nil, func() {
		if err := p.look(ctx); err != nil && ctx.Err() == nil {
			p.log.WarnContext(ctx, "cluster: the store did not say what others do; what is remembered is dropped", "err", err)
			p.forget()
		}
		if time.Since(beaten) < beatEvery {
			return
		}
		beaten = time.Now()
		if err := p.beat(ctx); err != nil && ctx.Err() == nil {
			p.log.WarnContext(ctx, "cluster: the store did not take that this process is alive", "err", err)
		}
	})
}

// lapsed says whether others may take this process for dead: it was stopped for a
// while, or the store did not take its count.
func (p *Member) lapsed() bool {
	return p.shared && time.Since(p.joined)-time.Duration(p.beaten.Load()) > deadAfter/2
}

// beat writes the count.
func (p *Member) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, waitMost)
	defer cancel()
	at := time.Since(p.joined)
	count := p.count.Add(1)
	err := p.store.Update(ctx, system, func(tx storage.Tx) error {
		return tx.Set([]byte(processPrefix+p.id), binary.BigEndian.AppendUint64(nil, count))
	})
	if err == nil {
		if p.lapsed() {
			p.lapses.Add(1)
		}
		p.beaten.Store(int64(at))
	}
	return err
}

// look reads what others have written.
func (p *Member) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, waitMost)
	defer cancel()
	var generation uint64
	var counts map[string]uint64
	begun, age := time.Now(), p.store.Age()
	err := p.store.View(ctx, system, func(tx storage.Tx) error {
		generation, counts = 0, map[string]uint64{}
		for e, err := range tx.Scan(storage.Prefix([]byte(prefix))) {
			if err != nil {
				return err
			}
			if string(e.Key) == generationKey {
				generation, err = number(e.Value, nil)
			} else if id, ok := strings.CutPrefix(string(e.Key), processPrefix); ok {
				counts[id], err = number(e.Value, nil)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if p.note(begun, age, generation, counts) {
		p.forget()
	}
	return nil
}

// note remembers what was read and says whether something was changed.
func (p *Member) note(now time.Time, age, generation uint64, counts map[string]uint64) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.looked = now
	for id, count := range counts {
		if s := p.seen[id]; s == nil || s.count != count {
			p.seen[id] = &sighting{count: count, at: now}
			delete(p.unseen, id)
		}
	}
	for id, asked := range p.unseen {
		if now.Sub(asked) > 6*deadAfter {
			delete(p.unseen, id)
		}
	}
	departed := false
	for id, s := range p.seen {
		_, there := counts[id]
		dead := !there || time.Since(s.at) >= deadAfter
		departed = departed || dead && !s.gone
		s.gone = dead
		if !there && now.Sub(s.at) > 6*deadAfter {
			delete(p.seen, id)
		}
	}
	if departed {
		select {
		case p.departed <- struct{}{}:
		default:
		}
	}
	changed = p.generation != generation || p.age != age
	p.generation, p.age = generation, age
	return changed
}

// forget calls those who remember something.
func (p *Member) forget() {
	p.mu.Lock()
	changed := p.changed
	p.mu.Unlock()
	for _, fn := range changed {
		fn()
	}
}

// number reads 8 bytes; a key that is missing is 0.
func number(value []byte, err error) (uint64, error) {
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return 0, nil
	case err != nil:
		return 0, err
	case len(value) != 8:
		return 0, errors.New("cluster: a number does not have 8 bytes")
	}
	return binary.BigEndian.Uint64(value), nil
}

// RemoveDeadPeers removes the records of processes that have been dead for long. Whoever
// holds a lease for it calls it now and then.
func (p *Member) RemoveDeadPeers(ctx context.Context) error {
	p.mu.Lock()
	var dead []string
	for id, s := range p.seen {
		if id != p.id && time.Since(s.at) > 6*deadAfter {
			dead = append(dead, id)
		}
	}
	p.mu.Unlock()
	if len(dead) == 0 {
		return nil
	}
	return p.store.Update(ctx, system, func(tx storage.Tx) error {
		for _, id := range dead {
			if err := tx.Delete([]byte(processPrefix + id)); err != nil {
				return err
			}
		}
		return nil
	})
}
