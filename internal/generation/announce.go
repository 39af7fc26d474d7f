package generation

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/model"
)

// Patience is how long a stream may show nothing while a model server has not
// said yet whether it takes the request.
const Patience = 500 * time.Millisecond

// Announce yields what generate does, and [model.Started] before it where nothing
// has come within [Patience]: what refuses the request in that time is the first
// thing that the sequence yields, what fails later comes behind an event.
// generate is called with a context that ends with the sequence. The announcement
// is yielded in a goroutine of its own, while the consumer's waits in generate.
func Announce(ctx context.Context, generate func(context.Context) iter.Seq2[model.Event, error]) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		a := announcement{yield: yield, cancel: cancel}
		timer := time.AfterFunc(Patience, a.make)
		defer timer.Stop()
		defer a.over()
		first := true
		for event, err := range generate(ctx) {
			if first {
				if first = false; !a.over() {
					return
				}
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// announcement is what says that a model works, unless it has said so itself.
type announcement struct {
	yield  func(model.Event, error) bool
	cancel context.CancelFunc // ends what generates where nobody wants it any more

	mu       sync.Mutex // held while it is made
	done     bool       // it is made, or too late; guarded by mu, as are the others
	unwanted bool
	panicked any // by the consumer, whose goroutine is another
}

// make makes the announcement, unless it is over.
func (a *announcement) make() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		return
	}
	a.done, a.unwanted = true, true
	defer func() {
		if a.panicked = recover(); a.unwanted {
			a.cancel()
		}
	}()
	a.unwanted = !a.yield(model.Started{}, nil)
}

// over lets no announcement be made from now on, and reports whether the consumer
// wants what follows.
func (a *announcement) over() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.done = true
	if p := a.panicked; p != nil {
		a.panicked = nil
		panic(p)
	}
	return !a.unwanted
}
