package batches

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"strconv"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/storage"
)

const (
	pollEvery = time.Second // how often a process looks for work that others have left
	// storeTimeout bounds what is written after a line has been answered.
	storeTimeout = 30 * time.Second
	// restFor is how long an organization that is suspended is left alone.
	restFor = 30 * time.Second
)

// task is what a process does next for a batch.
type task struct {
	ns      storage.Namespace
	id      string
	record  *record
	segment *numbered // lines to run; nil: the record's status says what is to be done
}

// name tells the tasks of a process apart.
func (t *task) name() string {
	if t.segment == nil {
		return t.id
	}
	return segmentName(t.id, t.segment.n)
}

func segmentName(id string, n int) string { return id + "/" + strconv.Itoa(n) }

// look has dispatch look for work now.
func (s *Service) look() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// dispatch begins work until ctx ends, and waits for it.
func (s *Service) dispatch(ctx context.Context) {
	s.round(ctx)
	background.Every(ctx, pollEvery, s.wake, func() { s.round(ctx) })
}

// round begins as much work as there are workers for. Next comes the organization that
// has the fewest. Where there is no worker left, those that have work are noted.
func (s *Service) round(ctx context.Context) {
	organizations, err := s.organizations.All(ctx)
	s.log(ctx, "", "", err)
	left := map[storage.Namespace][]string{} // active batches in which there may be work
	for _, ns := range organizations {
		ids, err := s.activeOf(ctx, ns)
		s.log(ctx, ns, "", err)
		if len(ids) > 0 {
			left[ns] = ids
		}
	}
	for len(left) > 0 && ctx.Err() == nil {
		ns := s.next(left)
		if ns == "" {
			return
		}
		id := left[ns][0]
		t, err := s.claim(ctx, ns, id)
		s.log(ctx, ns, id, err)
		if t != nil {
			s.begin(ctx, t)
			continue
		}
		if left[ns] = left[ns][1:]; len(left[ns]) == 0 {
			delete(left, ns)
		}
	}
}

// next returns the organization with the fewest workers of those that may have another
// one, empty for none.
func (s *Service) next(left map[storage.Namespace][]string) (ns storage.Namespace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.hungry)
	for candidate := range left {
		switch {
		case s.workers[candidate] >= s.limit(candidate) || s.o.Now().Before(s.resting[candidate]):
		case s.total >= s.o.Workers:
			s.hungry[candidate] = true
		case ns == "" || s.workers[candidate] < s.workers[ns]:
			ns = candidate
		}
	}
	return ns
}

// limit is how many workers an organization may have. The caller holds the lock.
func (s *Service) limit(ns storage.Namespace) int {
	return cmp.Or(s.limits[ns], s.o.LinesOfOrganization, s.o.Workers)
}

// admits notes how many requests an organization may have at once, 0 for any number,
// and reports whether it has no more workers than that.
func (s *Service) admits(ns storage.Namespace, concurrent int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.limits, ns); concurrent > 0 {
		s.limits[ns] = min(concurrent, s.limit(ns))
	}
	return s.workers[ns] <= s.limit(ns)
}

// yields reports whether a worker of an organization should go to another one: one that
// has work, and would have fewer workers also with this one.
func (s *Service) yields(ns storage.Namespace) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other := range s.hungry {
		if s.workers[other]+1 < s.workers[ns] {
			delete(s.hungry, other) // one worker is enough for now
			return true
		}
	}
	return false
}

// rest has nothing begin for an organization for a while.
func (s *Service) rest(ns storage.Namespace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resting[ns] = s.o.Now().Add(restFor)
}

// activeOf returns the batches of an organization that have something left to do, and
// forgets the organization if it has had none for a while.
func (s *Service) activeOf(ctx context.Context, ns storage.Namespace) (ids []string, err error) {
	var over []string
	err = s.o.Store.View(ctx, ns, func(tx storage.Tx) error {
		ids, err = active(tx)
		over = nil
		for _, id := range ids {
			r, err := get(tx, id)
			if err != nil {
				return err
			}
			if r.Status == Cancelling || r.Status == InProgress && s.expired(r) {
				over = append(over, id)
			}
		}
		return err
	})
	for _, id := range over {
		s.halt(id)
	}
	if err != nil || len(ids) > 0 {
		return ids, err
	}
	s.forget(ns)
	return nil, s.organizations.Remove(ctx, ns)
}

// forget forgets what is known of an organization.
func (s *Service) forget(ns storage.Namespace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.limits, ns)
	delete(s.resting, ns)
}

func (s *Service) expired(r *record) bool { return s.o.Now().Unix() >= r.ExpiresAt }

// halt has no more lines of a batch begin in this process.
func (s *Service) halt(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping[id] = true
}

func (s *Service) halted(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping[id]
}

// begin does a task in the background.
func (s *Service) begin(ctx context.Context, t *task) {
	s.running.Go(func() {
		defer s.look()
		defer s.release(t)
		err := background.Recover(func() error { return s.do(ctx, t) })
		if fault.Is(err, fault.Denied) {
			s.rest(t.ns) // it may come back
			return
		}
		s.log(ctx, t.ns, t.id, err)
		if err != nil {
			background.Sleep(ctx, pollEvery) // before somebody tries again
		}
	})
}

func (s *Service) do(ctx context.Context, t *task) error {
	switch {
	case t.segment != nil:
		return s.run(ctx, t)
	case t.record.Status == Validating:
		return s.validate(ctx, t)
	}
	return s.finish(ctx, t)
}

// claim makes the next piece of work of a batch this process's. There may be none.
func (s *Service) claim(ctx context.Context, ns storage.Namespace, id string) (t *task, err error) {
	err = s.o.Store.Update(ctx, ns, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		t = nil
		r, err := get(tx, id)
		if fault.Is(err, fault.NotFound) {
			return nil // the organization was deleted
		}
		if err != nil {
			return err
		}
		if r.Status == InProgress && !s.expired(r) {
			free, open, err := s.freeSegment(tx, id)
			if err != nil || open && (free == nil || !s.room(r.Model)) {
				return err
			}
			if free != nil {
				t = &task{ns: ns, id: id, record: r, segment: free}
				return storage.SetJSON(tx, segmentKey(id, free.n), free.segment)
			}
		}
		if s.taken(r.Owner, id) {
			return nil
		}
		if r.Status != Validating && !r.Closed {
			if closed, err := s.close(tx, id, r); err != nil || !closed {
				return err
			}
		}
		r.Owner = s.o.Cluster.ID()
		t = &task{ns: ns, id: id, record: r}
		return r.set(tx, id)
	})
	if err != nil || t == nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy[t.name()] = true
	s.total++
	s.workers[ns]++
	if t.segment != nil {
		s.segments[t.record.Model]++
	}
	return t, nil
}

// room reports whether one more segment may run that is for a model.
func (s *Service) room(model string) bool {
	most := s.o.Lines(model)
	s.mu.Lock()
	defer s.mu.Unlock()
	return most == 0 || s.segments[model] < most
}

// taken reports whether work with an owner is being done.
func (s *Service) taken(owner, name string) bool {
	if owner == s.o.Cluster.ID() {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.busy[name]
	}
	return owner != "" && s.o.Cluster.Alive(owner)
}

// freeSegment returns the first segment that nobody runs, marked as this process's,
// and whether there is any segment.
func (s *Service) freeSegment(tx storage.Tx, id string) (free *numbered, open bool, err error) {
	for e, err := range tx.Scan(storage.Prefix(segmentsOf(id))) {
		if err != nil {
			return nil, false, err
		}
		open = true
		n := numbered{n: int(binary.BigEndian.Uint32(e.Key[len(e.Key)-4:]))}
		if err := decode(e.Value, &n.segment); err != nil {
			return nil, true, err
		}
		if !s.taken(n.Owner, segmentName(id, n.n)) {
			n.Owner, n.Begun = s.o.Cluster.ID(), true
			return &n, true, nil
		}
	}
	return nil, open, nil
}

// close has no line of a batch run from now on, unless some segment is being run. The
// record is the caller's to write.
func (s *Service) close(tx storage.Tx, id string, r *record) (bool, error) {
	all, err := segments(tx, id, func(*segment) bool { return true })
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(all, func(seg numbered) bool { return s.taken(seg.Owner, segmentName(id, seg.n)) }) {
		return false, nil
	}
	for _, seg := range all {
		if err := tx.Delete(segmentKey(id, seg.n)); err != nil {
			return false, err
		}
	}
	r.Closed = true
	if r.Status == InProgress && len(all) == 0 {
		r.Status, r.FinalizingAt = Finalizing, s.o.Now().Unix()
	}
	return true, nil
}

// release ends a task.
func (s *Service) release(t *task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.busy, t.name())
	s.total--
	if model := t.record.Model; t.segment != nil {
		if s.segments[model]--; s.segments[model] == 0 {
			delete(s.segments, model)
		}
	}
	if s.workers[t.ns]--; s.workers[t.ns] == 0 {
		delete(s.workers, t.ns)
	}
}
