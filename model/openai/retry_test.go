package openai

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
)

// twoServers returns a model with a target on each of two servers that nothing
// is sent to.
func twoServers(change func(*Server)) *served {
	m := &served{}
	for _, url := range []string{"http://a/v1", "http://b/v1"} {
		s := Server{URL: url}
		if change != nil {
			change(&s)
		}
		m.targets = append(m.targets, &target{server: newServer(s.withDefaults())})
	}
	return m
}

func status(t *target, status int, after time.Duration) error { return t.classify(status, nil, after) }

func TestTargetsAreTriedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := twoServers(nil)
		var tried []string
		begin := time.Now()
		err := m.do(t.Context(), func(_ context.Context, target *target) error {
			tried = append(tried, target.host)
			if len(tried) < 4 {
				return status(target, http.StatusInternalServerError, 0)
			}
			return nil
		})
		if err != nil || !reflect.DeepEqual(tried, []string{"a", "b", "a", "b"}) {
			t.Errorf("tried %v: %v", tried, err)
		}
		if took := time.Since(begin); took < firstPause/2 || took > firstPause*3/2 {
			t.Errorf("the second round began after %v", took)
		}
	})
}

func TestRetriesEnd(t *testing.T) {
	tests := map[string]struct {
		status int
		after  time.Duration
		tries  int
		waited time.Duration // at least
		kind   fault.Kind
	}{
		"rejected":              {400, 0, 1, 0, fault.Rejected},
		"failing":               {500, 0, 3, 250 * time.Millisecond, fault.Upstream},
		"busy for a while":      {429, 2 * time.Second, 3, 4 * time.Second, fault.RateLimited},
		"busy for too long":     {429, time.Minute, 1, 0, fault.RateLimited},
		"unavailable for long":  {503, time.Minute, 1, 0, fault.Unavailable},
		"unavailable, no hints": {503, 0, 3, 250 * time.Millisecond, fault.Unavailable},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := twoServers(nil)
				m.targets = m.targets[:1]
				tries, begin := 0, time.Now()
				err := m.do(t.Context(), func(_ context.Context, target *target) error {
					tries++
					return status(target, tt.status, tt.after)
				})
				if !fault.Is(err, tt.kind) || tries != tt.tries || time.Since(begin) < tt.waited || tt.waited == 0 && time.Since(begin) > 0 {
					t.Errorf("%d tries in %v: %v", tries, time.Since(begin), err)
				}
				if got := fault.From(err).RetryAfter; got != tt.after {
					t.Errorf("retry after %v", got)
				}
			})
		})
	}
}

func TestRetriesEndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		err := twoServers(nil).do(ctx, func(_ context.Context, target *target) error {
			cancel()
			return status(target, 500, 0)
		})
		if err != context.Canceled {
			t.Errorf("got %v", err)
		}
	})
}

func TestFailingServerIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := twoServers(nil)
		var tried []string
		failing := true
		call := func() {
			tried = nil
			err := m.do(t.Context(), func(_ context.Context, target *target) error {
				tried = append(tried, target.host)
				if target.host == "a" && failing {
					return status(target, 502, 0)
				}
				return nil
			})
			if err != nil {
				t.Errorf("got %v", err)
			}
		}
		for range tripAfter {
			call()
		}
		check := func(when string, want ...string) {
			t.Helper()
			call()
			if !reflect.DeepEqual(tried, want) {
				t.Errorf("%s: tried %v, want %v", when, tried, want)
			}
		}
		check("left alone", "b")
		time.Sleep(restFor + time.Second) // of the bubble's clock
		check("probed", "a", "b")
		check("left alone again", "b")
		time.Sleep(restFor + time.Second)
		failing = false
		check("well again", "a")
		check("stays well", "a")
	})
}

func TestServersThatAreAllLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := twoServers(nil)
		tries := 0
		for range 2 * tripAfter {
			m.round(t.Context(), func(_ context.Context, target *target) error {
				tries++
				return status(target, 500, 0)
			})
		}
		before, begin := tries, time.Now()
		err := m.do(t.Context(), func(context.Context, *target) error { tries++; return nil })
		if !fault.Is(err, fault.Unavailable) || fault.From(err).RetryAfter != restFor || tries != before || time.Since(begin) > 0 {
			t.Errorf("%d more tries, %v later: %v", tries-before, time.Since(begin), err)
		}
	})
}

func TestCallersThatGoSayNothingAboutAServer(t *testing.T) {
	m := twoServers(nil)
	for range 3 * tripAfter {
		m.round(t.Context(), func(context.Context, *target) error { return context.Canceled })
		m.round(t.Context(), func(_ context.Context, target *target) error { return status(target, 400, 0) })
	}
	if err := m.do(t.Context(), func(_ context.Context, target *target) error {
		if target.host != "a" {
			return errors.New("the first server was left alone")
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func TestConcurrencyIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := twoServers(func(s *Server) { s.Concurrency, s.QueueWait = 2, time.Minute })
		running := map[string]int{}
		results := make(chan error, 6)
		release := make(chan struct{})
		hosts := make(chan string, 6)
		for range 6 {
			go func() {
				results <- m.do(t.Context(), func(_ context.Context, target *target) error {
					hosts <- target.host
					<-release
					return nil
				})
			}()
		}
		synctest.Wait()
		for range len(hosts) {
			running[<-hosts]++
		}
		if !reflect.DeepEqual(running, map[string]int{"a": 2, "b": 2}) {
			t.Errorf("running: %v", running)
		}
		time.Sleep(2 * time.Minute) // of the bubble's clock
		for range 2 {
			if err := <-results; !fault.Is(err, fault.Unavailable) || fault.From(err).RetryAfter == 0 {
				t.Errorf("got %v", err)
			}
		}
		close(release)
		for range 4 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		for range 5 {
			if err := m.do(t.Context(), func(context.Context, *target) error { return nil }); err != nil {
				t.Errorf("a slot was not given back: %v", err)
			}
		}
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	tests := map[string]time.Duration{
		"":                              0,
		"7":                             7 * time.Second,
		"0.5":                           500 * time.Millisecond,
		"-3":                            0,
		"1e30":                          time.Hour,
		"Fri, 20 Nov 2026 12:00:30 GMT": 30 * time.Second,
		"Fri, 20 Nov 2026 11:00:00 GMT": 0,
		"soon":                          0,
	}
	for value, want := range tests {
		if got := retryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q: got %v, want %v", value, got, want)
		}
	}
}
