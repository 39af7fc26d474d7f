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
		mark := []byte("v/d/conv_1") // of a conversation that is being deleted
		for range 3 {
			o, err := service.CreateOrganization(t.Context(), accounts.NewOrganization{Name: "test"})
			is.NoErr(err)
			ids = append(ids, o.ID)
			is.NoErr(store.Update(t.Context(), storage.Namespace(o.ID), func(tx storage.Tx) error { return tx.Set(mark, nil) }))
			is.NoErr(store.Update(t.Context(), "system", func(tx storage.Tx) error { return tx.Set([]byte("w/dead/"+o.ID), nil) }))
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
			is.NoErr(store.View(t.Context(), storage.Namespace(id), func(tx storage.Tx) error {
				_, err := tx.Get(mark)
				is.Equal(err == nil, i == 1)
				return nil
			}))
		}
	})
}
