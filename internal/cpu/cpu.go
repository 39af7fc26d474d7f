// Package cpu shares the processors among organizations. Code that works the CPU
// for an organization enters the gate first, and leaves it before it waits for
// anything else. An organization has at most one processor less than there are, so
// that a request of another one always finds a processor; organizations that wait
// take turns. Long work gives its turn up every [Slice] where others wait. A
// goroutine has one turn at a time: with a second one it could wait for itself.
package cpu

import (
	"runtime"
	"sync"
	"time"
)

// Slice is how long a turn lasts while others wait.
const Slice = 2 * time.Millisecond

// process is the gate of this process, whose processors are what it shares.
var process = New(runtime.GOMAXPROCS(0))

// Enter waits for a turn of the process's gate; see [Turn.Enter].
func Enter(organization string) *Turn {
	t := &Turn{}
	t.Enter(organization)
	return t
}

// Gate lets as many goroutines work at once as there are processors.
type Gate struct {
	mu      sync.Mutex
	free    int                // processors that nobody has
	share   int                // the most for one organization
	by      map[string]*member // those that have or wait for a turn
	waiting []*member          // those that wait, the next one first
}

// member is an organization.
type member struct {
	name  string
	has   int
	queue []chan struct{} // closed when it is its turn
}

// New returns a gate for a number of processors.
func New(processors int) *Gate {
	return &Gate{free: processors, share: max(processors-1, 1), by: map[string]*member{}}
}

// Turn is the right to work. The zero value is one of the process's gate that has
// not been entered. Leave may be called from any goroutine and more than once; the
// other methods are for the goroutine that works. A nil Turn needs no gate: its
// methods do nothing.
type Turn struct {
	gate         *Gate
	organization string
	began        time.Time

	mu     sync.Mutex
	inside bool
}

// Enter waits for a turn of the gate.
func (g *Gate) Enter(organization string) *Turn {
	t := &Turn{gate: g}
	t.Enter(organization)
	return t
}

// Enter waits until it is the organization's turn. Nobody waits for long: who has a
// turn does not wait for anything. The turn must have been left.
func (t *Turn) Enter(organization string) {
	if t.gate == nil {
		t.gate = process
	}
	if wait := t.gate.acquire(organization); wait != nil {
		<-wait
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.organization, t.began, t.inside = organization, time.Now(), true
}

// Leave ends the turn.
func (t *Turn) Leave() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.inside {
		t.inside = false
		t.gate.release(t.organization)
	}
}

// Yield lets others have a turn, where some wait and this one has lasted for a
// [Slice].
func (t *Turn) Yield() {
	if t == nil || time.Since(t.began) < Slice || !t.gate.contended() {
		return
	}
	t.Leave()
	t.Enter(t.organization)
}

func (g *Gate) contended() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting) > 0
}

// acquire takes a processor, or returns what is closed when the organization has
// one.
func (g *Gate) acquire(organization string) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.by[organization]
	if m == nil {
		m = &member{name: organization}
		g.by[organization] = m
	}
	if g.free > 0 && m.has < g.share && len(m.queue) == 0 {
		g.free--
		m.has++
		return nil
	}
	if len(m.queue) == 0 {
		g.waiting = append(g.waiting, m)
	}
	turn := make(chan struct{})
	m.queue = append(m.queue, turn)
	return turn
}

func (g *Gate) release(organization string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.by[organization]
	m.has--
	g.free++
	g.next()
	if m.has == 0 && len(m.queue) == 0 {
		delete(g.by, organization)
	}
}

// next gives the processors that are free to those that wait: one to each before
// any has a second one.
func (g *Gate) next() {
	for i := 0; i < len(g.waiting) && g.free > 0; {
		m := g.waiting[i]
		if m.has >= g.share {
			i++
			continue
		}
		g.free--
		m.has++
		close(m.queue[0])
		m.queue = m.queue[1:]
		g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
		if len(m.queue) > 0 {
			g.waiting = append(g.waiting, m)
		}
	}
}
