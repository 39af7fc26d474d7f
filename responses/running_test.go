package responses_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/responses"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/storagetest"
)

// other returns the service as another process on the same store has it.
func (f *fixture) other(t *testing.T) *responses.Service {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	s := responses.New(responses.Options{
		Backend: modeltest.New(), Accounts: f.books, Log: quiet,
		Conversations: conversations.New(conversations.Options{Store: f.store.Store, Log: quiet}),
	})
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func inBackground(text string) *responses.Request {
	req := ask(text)
	req.Background = true
	return req
}

// pausing answers with the deltas, and waits before each.
func pausing(wait time.Duration, deltas ...string) model.Backend {
	return modeltest.Plain(&modeltest.Script{Respond: func(*model.Request) modeltest.Answer {
		a := modeltest.Text(deltas...)
		a.Before = func(ctx context.Context) error {
			select {
			case <-time.After(wait):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return a
	}})
}

// collect returns what a sequence yields of a response, shown one by one.
func collect(t *testing.T, s *responses.Service, f *fixture, id string, after int) (shown []string, last responses.Event) {
	t.Helper()
	events, err := s.Replay(t.Context(), f.caller, id, after)
	must(t, err)
	for event, err := range events {
		must(t, err)
		if event.Sequence != after+1+len(shown) {
			t.Errorf("event %d has the number %d", after+1+len(shown), event.Sequence)
		}
		shown = append(shown, show(event))
		last = event
	}
	return shown, last
}

// TestAnotherProcessFollowsABackgroundTurn polls, follows and cancels turns that
// this process does not make.
func TestAnotherProcessFollowsABackgroundTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		f := newFixture(t, responses.Options{Backend: pausing(45*time.Second, "Y", "e", "s.")})
		other := f.other(t)
		begun, err := f.Create(t.Context(), f.caller, inBackground("Hi"))
		must(t, err)
		time.Sleep(30 * time.Second) // longer than a lease
		r, err := other.Get(t.Context(), f.caller, begun.ID)
		must(t, err)
		is.Equal(r.Status, responses.InProgress)
		there, last := collect(t, other, f, begun.ID, -1)
		is.Equal(last.Type, responses.EventCompleted)
		is.Equal(last.Response.OutputText(), "Yes.")
		here, _ := collect(t, f.Service, f, begun.ID, -1)
		is.Equal(there, here)
		for n := range there {
			tail, _ := collect(t, other, f, begun.ID, n)
			is.Equal(len(tail), len(there)-n-1)
		}

		begun, err = f.Create(t.Context(), f.caller, inBackground("Hi"))
		must(t, err)
		began := time.Now()
		r, err = other.Cancel(t.Context(), f.caller, begun.ID)
		must(t, err)
		is.Equal(r.Status, responses.Cancelled)
		is.True(time.Since(began) <= 2*time.Second)
	})
}

// TestManyEventsAtOnce has background turns that say in one moment what takes many
// pages of events, which have a text four times: another process finds all of it.
func TestManyEventsAtOnce(t *testing.T) {
	for _, size := range []int{storage.MaxValue / 3, storage.MaxValue - 1<<10} {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			text := strings.Repeat("x", size)
			f := newFixture(t, responses.Options{Backend: modeltest.New(modeltest.Text(text))})
			begun, err := f.Create(t.Context(), f.caller, inBackground("Hi"))
			must(t, err)
			is.True(f.Wait(t.Context()))
			events, err := f.other(t).Replay(t.Context(), f.caller, begun.ID, -1)
			must(t, err)
			var types []responses.EventType
			for event, err := range events {
				must(t, err)
				is.Equal(event.Sequence, len(types))
				types = append(types, event.Type)
				is.True(event.Type != responses.EventTextDelta || event.Text == text)
				is.True(event.Type != responses.EventCompleted || event.Response.OutputText() == text)
			}
			is.Equal(types, []responses.EventType{responses.EventCreated, responses.EventInProgress, responses.EventItemAdded, responses.EventPartAdded,
				responses.EventTextDelta, responses.EventTextDone, responses.EventPartDone, responses.EventItemDone, responses.EventCompleted})
			is.Equal(f.charges(t), []string{"11+7"})
		})
	}
}

// TestATurnWhoseProcessHasEnded loses its process, which is one that cannot write
// any more, and is ended by the next: exactly once.
func TestATurnWhoseProcessHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		wait := make(chan struct{})
		goOn := sync.OnceFunc(func() { close(wait) })
		answer := modeltest.Text("Never.")
		answer.Before = func(context.Context) error { <-wait; return nil }
		f := newFixture(t, responses.Options{Backend: modeltest.New(answer, modeltest.Text("Again."))})
		t.Cleanup(goOn)
		begun, err := f.Create(t.Context(), f.caller, inBackground("Hi"))
		must(t, err)
		time.Sleep(12 * time.Second)
		f.store.fail(errors.New("killed"))
		other := f.other(t)
		began := time.Now()
		must(t, other.Recover(t.Context(), f.caller.Namespace()))
		var r *responses.Response
		for ; ; time.Sleep(time.Second) {
			r, err = other.Get(t.Context(), f.caller, begun.ID)
			must(t, err)
			if r.Status != responses.InProgress {
				break
			}
		}
		is.True(time.Since(began) < 30*time.Second)
		is.Equal(r.Status, responses.Failed)
		is.Equal(r.Error.Code, responses.CodeInterrupted)
		input, err := other.InputItems(t.Context(), f.caller, begun.ID, page.Params{})
		must(t, err)
		is.Equal(len(input.Items), 1)
		whole, last := collect(t, other, f, begun.ID, -1)
		is.Equal(last.Type, responses.EventFailed)
		for n := range whole {
			tail, last := collect(t, other, f, begun.ID, n)
			if n < len(whole)-1 {
				is.True(slices.Equal(tail, whole[n+1:]))
			} else { // it may have seen an event that was never stored, under this number
				is.True(slices.Equal(tail, whole[n-1:]))
			}
			is.Equal(last.Type, responses.EventFailed)
			is.True(last.Sequence > n)
		}
		seenMore, last := collect(t, other, f, begun.ID, 100)
		is.Equal(len(seenMore), 2)
		is.Equal(last.Sequence, 102)

		// The process was only slow. What its model did, if it had begun before the turn
		// was told to end, is charged, and changes nothing.
		f.store.fail(nil)
		goOn()
		synctest.Wait()
		again, err := f.Get(t.Context(), f.caller, begun.ID)
		must(t, err)
		is.Equal(again, r)
		is.True(len(f.charges(t)) <= 1)
		is.Equal(len(leases(t, f)), 0)
	})
}

func leases(t *testing.T, f *fixture) (ids []string) {
	t.Helper()
	kept := conversations.New(conversations.Options{Store: f.store.Store})
	ids, err := kept.Running(t.Context(), f.caller.Namespace())
	must(t, err)
	return ids
}

// TestClosingEndsTheTurnsThatRun closes the service under a background turn.
func TestClosingEndsTheTurnsThatRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		f := newFixture(t, responses.Options{Backend: modeltest.New(modeltest.Block(model.TextDelta{Text: "Ha"}))})
		begun, err := f.Create(t.Context(), f.caller, inBackground("Hi"))
		must(t, err)
		must(t, f.Close())
		r, err := f.Get(t.Context(), f.caller, begun.ID)
		must(t, err)
		is.Equal(r.Status, responses.Failed)
		is.Equal(r.Error.Code, responses.CodeInterrupted)
		is.Equal(len(leases(t, f)), 0)
		_, err = f.Create(t.Context(), f.caller, inBackground("Hi"))
		is.True(fault.Is(err, fault.Unavailable))
	})
}

// TestAConversationThatIsDeletedUnderItsTurn leaves nothing of it.
func TestAConversationThatIsDeletedUnderItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		f := newFixture(t, responses.Options{Backend: pausing(10*time.Second, "Yes.")})
		begun, err := f.Create(t.Context(), f.caller, inBackground("Hi"))
		must(t, err)
		time.Sleep(5 * time.Second)
		kept := conversations.New(conversations.Options{Store: f.store.Store})
		must(t, kept.Delete(t.Context(), f.caller, begun.Conversation))
		time.Sleep(time.Minute)
		_, err = f.Get(t.Context(), f.caller, begun.ID)
		is.True(fault.Is(err, fault.NotFound))
		must(t, f.Recover(t.Context(), f.caller.Namespace()))
		is.Equal(len(leases(t, f)), 0)
		must(t, f.store.View(t.Context(), f.caller.Namespace(), func(tx storage.Tx) error {
			for e, err := range tx.Scan(storage.Prefix([]byte("v/"))) {
				must(t, err)
				t.Errorf("%q is left", e.Key)
			}
			return nil
		}))
	})
}

// halting is a model that waits before each of its events.
type halting struct {
	model.Backend
	wait time.Duration
}

func (h halting) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		for event, err := range h.Backend.Generate(ctx, req) {
			if time.Sleep(h.wait); !yield(event, err) {
				return
			}
		}
	}
}

// TestAStoreThatLosesEvents goes on without the last events that a turn in the
// background has kept: what the turn says afterwards, were it its end alone, brings
// them back, so that another process reads all of them.
func TestAStoreThatLosesEvents(t *testing.T) {
	for name, at := range map[string]time.Duration{
		"more is said":     35 * time.Second, // the second piece is kept, and the third is to come
		"nothing but ends": 45 * time.Second, // all pieces are kept, and the usage has been told
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				f := newFixture(t, responses.Options{Backend: halting{modeltest.New(modeltest.Text("Y", "e", "s.")), 10 * time.Second}})
				lossy := &storagetest.Lossy{Store: f.store.Store}
				f.store.Store = lossy
				begun, err := f.Create(t.Context(), f.caller, inBackground("Hi"))
				must(t, err)
				time.Sleep(25 * time.Second) // the first piece is kept
				kept := lossy.Commits()
				time.Sleep(at - 25*time.Second)
				must(t, lossy.Lose(t.Context(), kept))
				is.True(f.Wait(t.Context()))
				events, last := collect(t, f.other(t), f, begun.ID, -1)
				is.Equal(last.Type, responses.EventCompleted)
				is.Equal(last.Response.OutputText(), "Yes.")
				here, _ := collect(t, f.Service, f, begun.ID, -1)
				is.Equal(events, here)
				is.Equal(f.charges(t), []string{"11+7"})
			})
		})
	}
}
