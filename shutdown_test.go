package svc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/responses"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// say is a request for a turn.
func say(text string) *responses.Request {
	return &responses.Request{Model: model.DefaultGenerator, Input: []conversations.Item{
		&conversations.Message{Role: model.User, Content: []conversations.Part{{Type: conversations.InputText, Text: text}}},
	}}
}

// thinking is a model that pauses for a minute in the middle of its answer, or for
// an hour where it is asked something slow.
type thinking struct{}

func (thinking) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		pause := time.Minute
		if strings.Contains(fmt.Sprint(req.Messages), "slow") {
			pause = time.Hour
		}
		if !yield(model.Usage{InputTokens: 10, OutputTokens: 1}, nil) || !yield(model.TextDelta{Text: "Well"}, nil) {
			return
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			yield(nil, ctx.Err())
			return
		}
		_ = yield(model.TextDelta{Text: "."}, nil) && yield(model.Usage{InputTokens: 10, OutputTokens: 2}, nil) && yield(model.Finish{Reason: model.Stop}, nil)
	}
}

// TestShutdownUnderLoad shuts down while turns run, some of which end in time.
func TestShutdownUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		store := memstore.New()
		defer store.Close()
		service, err := svc.New(t.Context(), svc.Options{Store: store, Backend: thinking{}, MaxDuration: time.Hour, Logger: slog.New(slog.DiscardHandler)})
		is.NoErr(err)
		caller, err := service.LocalCaller(t.Context())
		is.NoErr(err)

		const turns = 200
		var mu sync.Mutex
		ended := map[responses.Status][]string{}
		var all sync.WaitGroup
		for i := range turns {
			all.Go(func() {
				text := "quick"
				if i%2 == 0 {
					text = "slow"
				}
				events, err := service.StreamResponse(t.Context(), caller, say(text))
				if err != nil {
					t.Error(err)
					return
				}
				var last *responses.Response
				for event := range events {
					if event.Response != nil {
						last = event.Response
					}
				}
				mu.Lock()
				defer mu.Unlock()
				ended[last.Status] = append(ended[last.Status], last.ID)
			})
		}
		time.Sleep(time.Second)
		is.NoErr(service.Ready(t.Context()))
		grace, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
		defer cancel()
		done := make(chan error)
		go func() { done <- service.Shutdown(grace) }()
		synctest.Wait()

		_, err = service.CreateResponse(t.Context(), caller, say("late"))
		is.True(fault.Is(err, fault.Unavailable))
		_, err = service.StreamChat(t.Context(), caller, &chat.Request{})
		is.True(fault.Is(err, fault.Unavailable))
		is.True(fault.Is(service.Ready(t.Context()), fault.Unavailable))

		is.NoErr(<-done)
		all.Wait()
		is.Equal(len(ended[responses.Completed]), turns/2)
		is.Equal(len(ended[responses.Cancelled]), turns/2)
		charged := map[string]bool{}
		for p := (svc.Page{Limit: 1000}); ; {
			page, err := service.Usage(t.Context(), caller.Organization, p)
			is.NoErr(err)
			for _, e := range page.Items {
				charged[e.Use.Object] = e.Use.InputTokens == 10
				p.After = e.ID
			}
			if !page.HasMore {
				break
			}
		}
		is.Equal(len(charged), turns)
		for status, ids := range ended {
			for _, id := range ids {
				stored, err := service.Response(t.Context(), caller, id)
				is.NoErr(err)
				is.Equal(stored.Status, status)
				is.True(charged[id])
			}
		}
		is.NoErr(service.Close())
		is.NoErr(service.Close())
	})
}

// TestCloseCancels closes a service in the middle of an operation of each kind.
func TestCloseCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		script := &modeltest.Script{Respond: func(*model.Request) modeltest.Answer { return modeltest.Block(model.TextDelta{Text: "a"}) }}
		service, err := svc.New(t.Context(), svc.Options{Backend: script})
		is.NoErr(err)
		caller, err := service.LocalCaller(t.Context())
		is.NoErr(err)
		ended := make(chan error, 2)
		go func() {
			_, err := service.CompleteChat(t.Context(), caller, &chat.Request{Model: model.DefaultGenerator, Messages: []chat.Message{{Role: model.User, Content: []chat.Part{chat.Text("Hi")}}}})
			ended <- err
		}()
		late, err := service.StreamResponse(t.Context(), caller, say("Hi"))
		is.NoErr(err)
		synctest.Wait()
		is.NoErr(service.Close())
		is.True(fault.Is(<-ended, fault.Canceled))
		for _, err := range late { // ranged over too late
			is.True(fault.Is(err, fault.Unavailable))
		}
	})
}

// TestShutdownRefusesAllThatCallsAModel asks for each operation afterwards.
func TestShutdownRefusesAllThatCallsAModel(t *testing.T) {
	is := is.New(t)
	script := answering("An answer.")
	service, err := svc.New(t.Context(), svc.Options{Backend: script, Aliases: names})
	is.NoErr(err)
	defer service.Close()
	caller, err := service.LocalCaller(t.Context())
	is.NoErr(err)
	is.NoErr(service.Shutdown(t.Context()))
	for name, do := range operations(t.Context(), service, caller, "late") {
		if err := do(); !fault.Is(err, fault.Unavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	is.Equal(len(script.Requests())+len(script.ScoreCalls()), 0)
}

// failing is a store that does not show the namespace of one organization.
type failing struct {
	storage.Store
	ns storage.Namespace
}

func (f *failing) View(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	if ns == f.ns {
		return errors.New("a damaged page")
	}
	return f.Store.View(ctx, ns, fn)
}

// full is a store on a disk without room, not even for recovery.
type full struct {
	storage.Store
	is atomic.Bool
}

func (f *full) Update(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	if f.is.Load() {
		return storage.ErrFull
	}
	return f.Store.Update(ctx, ns, fn)
}

// interrupt leaves the deletion of a conversation as a process that dies does, and
// returns its mark.
func interrupt(t *testing.T, store storage.Store, organization string) (mark []byte) {
	t.Helper()
	mark = []byte("v/d/conv_1")
	err := errors.Join(
		store.Update(t.Context(), storage.Namespace(organization), func(tx storage.Tx) error { return tx.Set(mark, nil) }),
		store.Update(t.Context(), "system", func(tx storage.Tx) error { return tx.Set([]byte("w/dead/"+organization), nil) }))
	if err != nil {
		t.Fatal(err)
	}
	return mark
}

// has reports whether an organization's namespace has a key.
func has(t *testing.T, store storage.Store, organization string, key []byte) (found bool) {
	t.Helper()
	err := store.View(t.Context(), storage.Namespace(organization), func(tx storage.Tx) error {
		_, err := tx.Get(key)
		if found = err == nil; errors.Is(err, storage.ErrNotFound) {
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestRecoveryThatCannotWriteIsAWarning starts over a full store: what there is can
// be read, and what an earlier process left is taken up once there is room.
func TestRecoveryThatCannotWriteIsAWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		store := &full{Store: memstore.New()}
		defer store.Close()
		service, err := svc.New(t.Context(), svc.Options{Store: store})
		is.NoErr(err)
		synctest.Wait()
		o, err := service.CreateOrganization(t.Context(), accounts.NewOrganization{Name: "test"})
		is.NoErr(err)
		is.NoErr(service.Close())
		mark := interrupt(t, store, o.ID)

		store.is.Store(true)
		var log bytes.Buffer
		service, err = svc.New(t.Context(), svc.Options{Store: store, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		is.NoErr(err)
		defer service.Close() // closing twice is no error
		synctest.Wait()
		is.Equal(strings.Count(log.String(), "level=WARN"), 1)
		is.True(!strings.Contains(log.String(), "level=ERROR"))
		is.True(has(t, store, o.ID, mark))
		_, err = service.Organization(t.Context(), o.ID)
		is.NoErr(err)

		store.is.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		is.True(!has(t, store, o.ID, mark))
		is.NoErr(service.Close())
	})
}

// TestAFailureOfRecoveryStopsNobody has three organizations with a deletion each
// that was interrupted, the second of which cannot be read.
func TestAFailureOfRecoveryStopsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		store := &failing{Store: memstore.New()}
		defer store.Close()
		service, err := svc.New(t.Context(), svc.Options{Store: store})
		is.NoErr(err)
		synctest.Wait()
		var ids []string
		var mark []byte
		for range 3 {
			o, err := service.CreateOrganization(t.Context(), accounts.NewOrganization{Name: "test"})
			is.NoErr(err)
			ids = append(ids, o.ID)
			mark = interrupt(t, store, o.ID)
		}
		is.NoErr(service.Close())
		store.ns = storage.Namespace(ids[1])
		var log bytes.Buffer
		service, err = svc.New(t.Context(), svc.Options{Store: store, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		is.NoErr(err)
		synctest.Wait()
		is.NoErr(service.Close())
		is.Equal(strings.Count(log.String(), "level=ERROR"), 1)
		is.True(strings.Contains(log.String(), "organization="+ids[1]))
		store.ns = ""
		for i, id := range ids {
			is.Equal(has(t, store, id, mark), i == 1)
		}
	})
}
