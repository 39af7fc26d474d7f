package generation

import (
	"context"
	"iter"
	"time"

	"github.com/seed-506d8e5d/svc/internal/guard"
	"github.com/seed-506d8e5d/svc/model"
)

// Patience is how long a stream may show nothing while a model server has not
// said yet whether it takes the request.
const Patience = 500 * time.Millisecond

// Announce yields what generate does, and [model.Started] before it where nothing
// has come within [Patience]: what refuses the request in that time is the first
// thing that the sequence yields, what fails later comes behind an event.
// generate is called with a context that ends with the sequence.
func Announce(ctx context.Context, generate func(context.Context) iter.Seq2[model.Event, error]) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		next, stop := iter.Pull2(generate(ctx))
		first, ok := awaited(next, yield)
		if !ok {
			cancel()
			<-first
			stop()
			return
		}
		// The first event is here: what follows is read where it is wanted.
		defer stop()
		for p := <-first; p.ok; p.event, p.err, p.ok = next() {
			if !yield(p.event, p.err) {
				return
			}
		}
	}
}

// awaited has the first element pulled into a channel, and yields model.Started
// where that takes longer than [Patience]. It reports false where the consumer
// wants no more then.
func awaited(next func() (model.Event, error, bool), yield func(model.Event, error) bool) (<-chan pulled, bool) {
	first := make(chan pulled, 1)
	go func() { first <- pull(next) }()
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	select {
	case p := <-first:
		first <- p
		return first, true
	case <-timer.C:
		return first, yield(model.Started{}, nil)
	}
}

// pulled is one element of a sequence, if ok.
type pulled struct {
	event model.Event
	err   error
	ok    bool
}

// pull returns the next element. A panic is an error: it would end the process in
// the goroutine where this runs.
func pull(next func() (model.Event, error, bool)) (p pulled) {
	err := guard.Call(func() error {
		p.event, p.err, p.ok = next()
		return nil
	})
	if err != nil {
		return pulled{err: err, ok: true}
	}
	return p
}
