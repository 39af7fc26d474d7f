package generation_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/internal/generation"
	"github.com/seed-506d8e5d/svc/model"
)

// late yields its events after a while, unless ctx ends before.
func late(wait time.Duration, err error, ended *bool) func(context.Context) iter.Seq2[model.Event, error] {
	return func(ctx context.Context) iter.Seq2[model.Event, error] {
		return func(yield func(model.Event, error) bool) {
			defer func() { *ended = true }()
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			_ = yield(model.TextDelta{Text: "Hi"}, nil) && yield(model.Finish{Reason: model.Stop}, nil)
		}
	}
}

func TestAnnounce(t *testing.T) {
	failed := errors.New("failed")
	text, finish := "{Hi false} <nil>", "{stop } <nil>"
	for _, c := range []struct {
		rule  string
		wait  time.Duration
		err   error
		want  []string
		first time.Duration // when the first came
	}{
		{"what comes at once is not announced", 0, nil, []string{text, finish}, 0},
		{"what comes late is announced", time.Minute, nil, []string{"{} <nil>", text, finish}, generation.Patience},
		{"a refusal comes first", generation.Patience - 1, failed, []string{"<nil> failed"}, generation.Patience - 1},
		{"a failure does not", time.Minute, failed, []string{"{} <nil>", "<nil> failed"}, generation.Patience},
	} {
		for stop := range len(c.want) + 1 {
			t.Run(fmt.Sprint(c.rule, ", stopped after ", stop), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					is := is.New(t)
					var ended bool
					var got []string
					began := time.Now()
					for event, err := range generation.Announce(t.Context(), late(c.wait, c.err, &ended)) {
						if got = append(got, fmt.Sprint(event, " ", err)); len(got) == 1 {
							is.Equal(time.Since(began), c.first)
						}
						if len(got) == stop {
							break
						}
					}
					if stop > 0 {
						is.Equal(got, c.want[:stop])
					} else {
						is.True(slices.Equal(got, c.want))
					}
					is.True(ended)
				})
			})
		}
	}
}

// TestAPanicOfTheConsumerIsItsOwn has a consumer that panics when it is told that
// the model works: in its own goroutine, where it can be recovered.
func TestAPanicOfTheConsumerIsItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var ended bool
		defer func() {
			is.Equal(recover(), "mine")
			is.True(ended) // what generates was told to end, long before it has something
		}()
		for range generation.Announce(t.Context(), late(time.Hour, nil, &ended)) {
			panic("mine")
		}
	})
}

// TestAnAnnouncementCanBePulled has a consumer that pulls events, whose coroutine
// the announcement enters from another goroutine, and one that stops behind it.
func TestAnAnnouncementCanBePulled(t *testing.T) {
	all := []string{"{} <nil> true", "{Hi false} <nil> true", "{stop } <nil> true", "<nil> <nil> false"}
	for pulls := range len(all) + 1 {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			var ended bool
			next, stop := iter.Pull2(generation.Announce(t.Context(), late(time.Minute, nil, &ended)))
			got := []string{}
			for range pulls {
				event, err, ok := next()
				got = append(got, fmt.Sprint(event, " ", err, " ", ok))
			}
			stop()
			is.Equal(got, all[:pulls])
			is.Equal(ended, pulls > 0)
		})
	}
}
