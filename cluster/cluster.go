// Package cluster is about the processes that share one store: which of them are
// alive, which one does the work that is done once for all (leases), what work dead
// processes have left (orphans, work.go), and whether caches may be used.
// It needs nothing but the store. [Join] makes this process a [Member]. On a store
// that only one process can have open a Member costs nothing.
//
// A member is alive while its heartbeat, a record in the store, changes. Each member
// measures by its own clock how long the heartbeats of its peers did not change, so
// that clocks need not agree.
package cluster

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
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

const (
	pollEvery      = 400 * time.Millisecond // how often the records of the peers are read
	heartbeatEvery = 2 * time.Second
	deadAfter      = 10 * time.Second // without a change of a peer's heartbeat
	forgottenAfter = 6 * deadAfter    // when the record of a dead peer is removed
	storeTimeout   = 5 * time.Second
	cacheLifetime  = 900 * time.Millisecond // since the last poll
	unknownFor     = 2 * pollEvery          // how long a process without a record counts as one that is starting

	// A member that could not read or write the store for outageAfter acquires no
	// leases and takes no peer for dead, because the peers may have had the same
	// outage. After that it waits as long again, maxGrace at most.
	outageAfter = deadAfter / 2
	maxGrace    = 6 * deadAfter
)

// Keys in the service's own namespace.
const (
	system storage.Namespace = "system"

	prefix        = "r/"
	generationKey = "r/g"  // random bytes, changed whenever caches become invalid; a counter could repeat after a failover that lost commits
	leasePrefix   = "r/l/" // a leaseRecord
	peerPrefix    = "r/p/" // a heartbeat
)

// Options configure a [Member]. Only Store is required.
type Options struct {
	Store *storage.DB
	Log   *slog.Logger // nil: slog.Default()

	// Shared says that other processes may have the store open, for a store that
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

	stop       context.CancelFunc
	background sync.WaitGroup
	joined     time.Time
	beaten     atomic.Int64 // when the last heartbeat that was written began, in nanoseconds since joined
	beats      atomic.Uint64
	lapses     atomic.Uint64 // how often peers may have taken this process for dead
	registered sync.Map      // the registration of each namespace in which this process has registered work

	mu         sync.Mutex
	peers      map[string]*peer     // every process that has a record or had one lately, this one included
	unknown    map[string]time.Time // IDs without a record, and when Alive was first asked about them
	polled     time.Time            // when the last poll that succeeded began
	graceUntil time.Time            // no peer counts as dead before
	generation string
	epoch      uint64 // of the store at the last poll
	invalidate []func()
	peerGone   chan struct{} // capacity 1
}

// peer is what is known of a process.
type peer struct {
	heartbeat string
	at        time.Time // of the poll that found the heartbeat changed
	dead      bool
}

type leaseRecord struct {
	Owner string `json:"owner"`
}

// Join makes this process known to its peers. The member must be closed before the
// store is.
func Join(ctx context.Context, o Options) (*Member, error) {
	m := &Member{
		id: strings.ToLower(rand.Text()[:16]), store: o.Store, log: o.Log, shared: o.Shared || o.Store.Shared(), joined: time.Now(),
		peers: map[string]*peer{}, unknown: map[string]time.Time{}, peerGone: make(chan struct{}, 1),
	}
	m.polled = m.joined
	if m.log == nil {
		m.log = slog.Default()
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	m.stop = stop
	if !m.shared {
		return m, nil
	}
	err := m.beat(ctx)
	if err == nil {
		err = m.poll(ctx)
	}
	if err != nil {
		stop()
		return nil, err
	}
	m.background.Go(func() { m.run(running) })
	return m, nil
}

// Close tells the peers that this process has ended, which frees its leases.
func (m *Member) Close() error {
	m.stop()
	m.background.Wait()
	if !m.shared {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	return m.store.Update(ctx, system, func(tx storage.Tx) error { return tx.Delete([]byte(peerPrefix + m.id)) })
}

// ID identifies the process. It changes with every start.
func (m *Member) ID() string { return m.id }

// Shared reports whether there may be other processes.
func (m *Member) Shared() bool { return m.shared }

// Members returns how many processes are alive, this one included.
func (m *Member) Members() int {
	n := 1
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, p := range m.peers {
		if id != m.id && !p.dead {
			n++
		}
	}
	return n
}

// Alive reports whether the process with an ID is alive, as far as is known. An
// unknown process may have started a moment ago: it counts as alive until two more
// polls have not found it.
func (m *Member) Alive(id string) bool {
	if id == m.id {
		return true
	}
	if !m.shared || id == "" {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.peers[id]; p != nil {
		return !p.dead
	}
	asked, ok := m.unknown[id]
	if !ok {
		asked = time.Now()
		m.unknown[id] = asked
	}
	return m.polled.Sub(asked) < unknownFor || m.polled.Before(m.graceUntil)
}

// CachesValid reports whether caches may be used: the store was polled within the
// last second. Otherwise the caller must read the store.
func (m *Member) CachesValid() bool {
	if !m.shared {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Since(m.polled) < cacheLifetime
}

// OnInvalidate has fn called, in the member's goroutine, when a peer has called
// [Member.InvalidateCaches] or the store may have lost commits: within half a second.
func (m *Member) OnInvalidate(fn func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.invalidate = append(m.invalidate, fn)
}

// PeerGone receives a value when a peer has ended or died since the last value was
// taken. The channel is never closed.
func (m *Member) PeerGone() <-chan struct{} { return m.peerGone }

// InvalidateCaches tells the peers that what they have cached may have changed. It
// writes in the caller's transaction, which must be in the namespace system.
func (m *Member) InvalidateCaches(tx storage.Tx) error {
	if !m.shared {
		return nil
	}
	return tx.Set([]byte(generationKey), binary.BigEndian.AppendUint64(nil, mathrand.Uint64()))
}

// AcquireLease acquires or keeps the lease of a name and reports whether this process
// holds it. A lease is free if its holder is dead or has released it. The holder
// calls AcquireLease again before each piece of work.
func (m *Member) AcquireLease(ctx context.Context, name string) (held bool, err error) {
	if !m.shared {
		return true, nil
	}
	if m.lapsed() {
		return false, nil
	}
	err = m.store.Update(ctx, system, func(tx storage.Tx) error {
		owner, err := leaseOwner(tx, name)
		if err != nil {
			return err
		}
		held = owner == m.id || owner == "" || !m.Alive(owner)
		if !held || owner == m.id {
			return nil
		}
		return storage.SetJSON(tx, []byte(leasePrefix+name), leaseRecord{Owner: m.id})
	})
	return held && err == nil, err
}

// ReleaseLease releases a lease that this process may hold.
func (m *Member) ReleaseLease(ctx context.Context, name string) error {
	if !m.shared {
		return nil
	}
	return m.store.Update(ctx, system, func(tx storage.Tx) error {
		if owner, err := leaseOwner(tx, name); err != nil || owner != m.id {
			return err
		}
		return tx.Delete([]byte(leasePrefix + name))
	})
}

// leaseOwner returns the holder of a lease, empty if there is none. A malformed
// record has none.
func leaseOwner(tx storage.Tx, name string) (string, error) {
	data, err := tx.Get([]byte(leasePrefix + name))
	if errors.Is(err, storage.ErrNotFound) {
		return "", nil
	}
	var lease leaseRecord
	if err == nil && json.Unmarshal(data, &lease) != nil {
		return "", nil
	}
	return lease.Owner, err
}

// run polls and writes heartbeats until ctx ends. A poll that succeeds after one that
// failed is followed by a heartbeat at once.
func (m *Member) run(ctx context.Context) {
	due := time.Now().Add(heartbeatEvery)
	background.Every(ctx, pollEvery, nil, func() {
		if err := m.poll(ctx); err != nil {
			if ctx.Err() == nil {
				m.log.WarnContext(ctx, "cluster: cannot read the records of the other processes; caches are dropped", "err", err)
				m.invalidateCaches()
			}
			due = time.Time{}
			return
		}
		now := time.Now()
		if now.Before(due) {
			return
		}
		if err := m.beat(ctx); err == nil {
			due = now.Add(heartbeatEvery)
		} else if ctx.Err() == nil {
			m.log.WarnContext(ctx, "cluster: cannot write the heartbeat of this process", "err", err)
		}
	})
}

// sinceHeartbeat returns how long ago the last heartbeat was written, at a time.
func (m *Member) sinceHeartbeat(now time.Time) time.Duration {
	return now.Sub(m.joined) - time.Duration(m.beaten.Load())
}

// lapsed reports whether peers may take this process for dead, because it was
// suspended or could not write its heartbeat.
func (m *Member) lapsed() bool { return m.shared && m.sinceHeartbeat(time.Now()) > outageAfter }

// beat writes the heartbeat.
func (m *Member) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	began := time.Since(m.joined)
	beat := binary.BigEndian.AppendUint64(nil, m.beats.Add(1))
	err := m.store.Update(ctx, system, func(tx storage.Tx) error { return tx.Set([]byte(peerPrefix+m.id), beat) })
	if err == nil {
		if m.lapsed() {
			m.lapses.Add(1)
		}
		m.beaten.Store(int64(began))
	}
	return err
}

// poll reads what the peers have written.
func (m *Member) poll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	var generation string
	var heartbeats map[string]string
	began, epoch := time.Now(), m.store.Epoch()
	err := m.store.View(ctx, system, func(tx storage.Tx) error {
		generation, heartbeats = "", map[string]string{}
		for e, err := range tx.Scan(storage.Prefix([]byte(prefix))) {
			if err != nil {
				return err
			}
			if string(e.Key) == generationKey {
				generation = string(e.Value)
			} else if id, ok := strings.CutPrefix(string(e.Key), peerPrefix); ok {
				heartbeats[id] = string(e.Value)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	m.mu.Lock()
	gone := m.update(began, heartbeats)
	changed := m.generation != generation || m.epoch != epoch
	m.generation, m.epoch = generation, epoch
	m.mu.Unlock()
	if gone {
		select {
		case m.peerGone <- struct{}{}:
		default:
		}
	}
	if changed {
		m.invalidateCaches()
	}
	return nil
}

// update records the heartbeats that a poll has read and reports whether a peer has
// died or ended. mu is held.
func (m *Member) update(now time.Time, heartbeats map[string]string) (gone bool) {
	if outage := max(now.Sub(m.polled), m.sinceHeartbeat(now)); outage > outageAfter {
		m.graceUntil = now.Add(min(outage, maxGrace))
	}
	m.polled = now
	for id, heartbeat := range heartbeats {
		if p := m.peers[id]; p == nil || p.heartbeat != heartbeat {
			m.peers[id] = &peer{heartbeat: heartbeat, at: now}
			delete(m.unknown, id)
		}
	}
	for id, asked := range m.unknown {
		if now.Sub(asked) > forgottenAfter {
			delete(m.unknown, id)
		}
	}
	if now.Before(m.graceUntil) {
		return false
	}
	for id, p := range m.peers {
		_, recorded := heartbeats[id]
		dead := !recorded || now.Sub(p.at) >= deadAfter
		gone = gone || dead && !p.dead
		p.dead = dead
		if !recorded && now.Sub(p.at) > forgottenAfter {
			delete(m.peers, id)
		}
	}
	return gone
}

// invalidateCaches calls the functions of OnInvalidate.
func (m *Member) invalidateCaches() {
	m.mu.Lock()
	functions := m.invalidate
	m.mu.Unlock()
	for _, fn := range functions {
		fn()
	}
}

// RemoveDeadPeers removes the records of processes that have been dead for a minute.
// The holder of a lease for it calls it now and then.
func (m *Member) RemoveDeadPeers(ctx context.Context) error {
	m.mu.Lock()
	var dead []string
	for id, p := range m.peers {
		if id != m.id && p.dead && m.polled.Sub(p.at) > forgottenAfter {
			dead = append(dead, id)
		}
	}
	m.mu.Unlock()
	if len(dead) == 0 {
		return nil
	}
	return m.store.Update(ctx, system, func(tx storage.Tx) error {
		for _, id := range dead {
			if err := tx.Delete([]byte(peerPrefix + id)); err != nil {
				return err
			}
		}
		return nil
	})
}
