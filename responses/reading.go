package responses

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/storage"
)

const (
	// pollEvery is how often a turn that another process makes is looked at.
	pollEvery = 250 * time.Millisecond
	// cancelTimeout is how long Cancel waits for another process.
	cancelTimeout = 10 * time.Second
)

// Get returns a stored response, also one that is in progress. The error is
// NotFound.
func (s *Service) Get(ctx context.Context, caller accounts.Caller, id string) (*Response, error) {
	r, _, err := s.read(ctx, caller, id)
	return r, err
}

// read reads a response and its turn. One that its process has left is ended.
func (s *Service) read(ctx context.Context, caller accounts.Caller, id string) (*Response, conversations.Turn, error) {
	t, _, output, err := s.o.Conversations.GetTurn(ctx, caller, id)
	if err == nil && t.Running && s.running.find(caller, id) == nil {
		var ended bool
		if ended, err = s.o.Conversations.Abandon(ctx, caller.Namespace(), id, s.interrupted); ended && err == nil {
			t, _, output, err = s.o.Conversations.GetTurn(ctx, caller, id)
		}
	}
	if err != nil {
		return nil, t, err
	}
	r, err := newResponse(t, output)
	return r, t, err
}

// Recover ends the turns of a namespace that were left by processes which are not
// alive.
func (s *Service) Recover(ctx context.Context, ns storage.Namespace) error {
	ids, err := s.o.Conversations.Running(ctx, ns)
	for _, id := range ids {
		_, endErr := s.o.Conversations.Abandon(ctx, ns, id, s.interrupted)
		err = errors.Join(err, endErr) // one bad record stops nobody
	}
	return err
}

// Cancel ends a turn that runs, and returns its response as it is then. A
// response that is cancelled already is returned as it is; the error is Invalid
// for any other that has ended, and NotFound.
func (s *Service) Cancel(ctx context.Context, caller accounts.Caller, id string) (*Response, error) {
	r, err := s.Get(ctx, caller, id)
	if err != nil || r.Status == Cancelled {
		return r, err
	}
	if r.Status != InProgress {
		return nil, fault.Invalidf("response_id", "The response %q has ended and cannot be cancelled.", id)
	}
	if l := s.running.find(caller, id); l != nil {
		l.cancel(context.Canceled)
		select {
		case <-l.done:
		case <-ctx.Done():
		}
		return s.Get(ctx, caller, id)
	}
	if err := s.o.Conversations.Cancel(ctx, caller, id); err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, cancelTimeout)
	defer cancel()
	for r.Status == InProgress && background.Sleep(waiting, pollEvery) {
		if r, err = s.Get(ctx, caller, id); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Replay yields the events of a stored response that come behind the one with a
// number, -1 for all. A turn that was made in the background has those that it
// had, until one of its items is deleted, and has more of them as long as it runs;
// any other one has each text in one piece, when it has ended. The sequence breaks
// off where ctx ends, is empty where the consumer has certainly seen the end, and
// otherwise has the end at least, and ends with
// [EventError] of the code [CodeEventsLost], or that error, before events that the
// store has lost. The error is NotFound.
func (s *Service) Replay(ctx context.Context, caller accounts.Caller, id string, after int) (iter.Seq2[Event, error], error) {
	r, _, err := s.read(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	if !r.Echo.Background {
		return s.replayWhole(ctx, caller, r, after), nil
	}
	if l := s.running.find(caller, id); l != nil {
		return l.follow(ctx, after), nil
	}
	return func(yield func(Event, error) bool) {
		f := follower{s: s, caller: caller, id: id, after: after, yield: yield}
		f.run(ctx)
	}, nil
}

func (s *Service) replayWhole(ctx context.Context, caller accounts.Caller, r *Response, after int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for r.Status == InProgress {
			if !background.Sleep(ctx, pollEvery) {
				return
			}
			var err error
			if r, err = s.Get(ctx, caller, r.ID); err != nil {
				yield(Event{}, err)
				return
			}
		}
		r.replayBehind(after, yield)
	}
}

// replayBehind yields the events of the whole replay that come behind a number.
// While it ran the turn may have sent more events than it is replayed with, each
// with a number: whoever has not certainly seen its end gets that.
func (r *Response) replayBehind(after int, yield func(Event, error) bool) {
	sent := false
	replay(r, func(event Event, err error) bool {
		if event.Sequence <= after {
			return true
		}
		sent = true
		return yield(event, err)
	})
	if !sent && (r.events == 0 || after < r.events+r.closing()-1) {
		r.close(after+1, yield)
	}
}

// closing returns how many events end a response that has ended.
func (r *Response) closing() int {
	if r.answered() {
		return 1
	}
	return 2 // what went wrong, and that it failed
}

// close yields the last events of a response that has ended, from a number on.
func (r *Response) close(from int, yield func(Event, error) bool) {
	e := emitter{response: r, sequence: from, yield: yield}
	e.last()
}

// follower reads the events of a background turn from the store, whichever
// process makes it.
type follower struct {
	s      *Service
	caller accounts.Caller
	id     string
	after  int
	yield  func(Event, error) bool
	turn   conversations.Turn
	next   int // number of the next event
}

func (f *follower) run(ctx context.Context) {
	f.next = f.after + 1
	for begun := false; ; begun = true {
		// The turn is read before its events: where it has ended they are all there.
		r, t, err := f.s.read(ctx, f.caller, f.id)
		if err != nil {
			f.yield(Event{}, err)
			return
		}
		f.turn = t
		if !begun && !f.begin(r) {
			return
		}
		if more, err := f.pages(ctx); err != nil {
			f.yield(Event{}, err)
			return
		} else if !more {
			return
		}
		if r.Status != InProgress {
			if f.next < r.events {
				f.missing(ctx, r)
				return
			}
			f.end(ctx, r)
			return
		}
		if !background.Sleep(ctx, pollEvery) {
			return
		}
	}
}

// begin yields the first events, if they are wanted.
func (f *follower) begin(r *Response) bool {
	skeleton := r.skeleton()
	for i, t := range []EventType{EventCreated, EventInProgress} {
		if f.next > i {
			continue
		}
		if !f.yield(Event{Type: t, Sequence: i, Response: skeleton, More: i == 0}, nil) {
			return false
		}
		f.next = i + 1
	}
	return true
}

// pages yields the events that are stored, and reports whether the consumer wants
// more.
func (f *follower) pages(ctx context.Context) (bool, error) {
	for {
		pages, err := f.s.o.Conversations.Events(ctx, f.caller, f.turn, f.next)
		if err != nil {
			return false, err
		}
		before := f.next
		for _, page := range pages {
			events, err := decodeEvents(page.Data, page.First)
			if err != nil {
				return false, err
			}
			for _, event := range events {
				if event.Sequence < f.next {
					continue
				}
				if event.Sequence > f.next {
					f.lose(event.Sequence)
					return false, nil
				}
				if !f.yield(event, nil) {
					return false, nil
				}
				f.next = event.Sequence + 1
			}
		}
		if f.next == before {
			return true, nil
		}
	}
}

// missing ends a sequence whose turn has ended and of which not all events are
// there. Where there are none at all they went with an item that was deleted: it is
// as that of a turn which was not made in the background.
func (f *follower) missing(ctx context.Context, r *Response) {
	pages, err := f.s.o.Conversations.Events(ctx, f.caller, f.turn, math.MaxInt32)
	switch {
	case err != nil:
		f.yield(Event{}, err)
	case len(pages) > 0:
		f.lose(r.events)
	default:
		r.replayBehind(f.next-1, f.yield)
	}
}

// lose says that the store does not have the events any more from the next one up
// to another, and ends the sequence: with an error where it is the first thing, and
// with an event otherwise.
func (f *follower) lose(until int) {
	err := &fault.Error{Kind: fault.NotFound, Code: CodeEventsLost, Message: fmt.Sprintf(
		"The events %d to %d of the response %q were lost. Read the response without them.", f.next, until-1, f.id)}
	if f.next == f.after+1 {
		f.yield(Event{}, err)
		return
	}
	f.yield(Event{Type: EventError, Sequence: f.next, Error: err}, nil)
}

// end yields the last events that the turn has.
func (f *follower) end(ctx context.Context, r *Response) {
	last := r.events
	if last == 0 {
		var err error
		if last, err = f.count(ctx); err != nil {
			f.yield(Event{}, err)
			return
		}
		// A consumer that asks behind the end may have seen events that were never
		// stored under these numbers, or the end itself: it gets the end behind what it
		// has seen. Before that it gets what is left of the whole.
		if f.after >= last+r.closing()-1 {
			last = f.after + 1
		}
	}
	r.close(last, func(event Event, err error) bool { return event.Sequence <= f.after || f.yield(event, err) })
}

// count returns how many events a turn has that is stored without their number.
func (f *follower) count(ctx context.Context) (int, error) {
	pages, err := f.s.o.Conversations.Events(ctx, f.caller, f.turn, math.MaxInt32)
	if err != nil || len(pages) == 0 {
		return firstPersisted, err
	}
	page := pages[len(pages)-1]
	events, err := decodeEvents(page.Data, page.First)
	return page.First + len(events), err
}
