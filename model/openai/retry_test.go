package openai

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
)

// twoServers returns a model with a target on each of two servers that nothing
// is sent to, and which every probe finds well.
func twoServers(t *testing.T, change func(*Server)) *served {
	m := &served{}
	for _, url := range []string{"http://a/v1", "http://b/v1"} {
		s := Server{URL: url}
		if change != nil {
			change(&s)
		}
		server := newServer(s.withDefaults(), slog.New(slog.DiscardHandler))
		server.health.probe = func(context.Context) error { return nil }
		t.Cleanup(server.health.close)
		m.targets = append(m.targets, &target{server: server})
	}
	return m
}

func status(t *target, status int, after time.Duration) error { return t.classify(status, nil, after) }

func TestTargetsAreTriedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := twoServers(t, nil)
		var tried []string
		begin := time.Now()
		err := m.do(t.Context(), "org", func(_ context.Context, target *target) error {
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
				m := twoServers(t, nil)
				m.targets = m.targets[:1]
				tries, begin := 0, time.Now()
				err := m.do(t.Context(), "org", func(_ context.Context, target *target) error {
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
		err := twoServers(t, nil).do(ctx, "org", func(_ context.Context, target *target) error {
			cancel()
			return status(target, 500, 0)
		})
		if err != context.Canceled {
			t.Errorf("got %v", err)
		}
	})
}

// TestAnAilingServerIsAskedLast has a server that fails, and says so to whoever
// probes it, until it is well again.
func TestAnAilingServerIsAskedLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := twoServers(t, nil)
		var failing atomic.Bool
		failing.Store(true)
		m.targets[0].health.probe = func(context.Context) error {
			if failing.Load() {
				return errors.New("down")
			}
			return nil
		}
		check := func(when string, want ...string) {
			t.Helper()
			var tried []string
			err := m.do(t.Context(), "org", func(_ context.Context, target *target) error {
				tried = append(tried, target.host)
				if target.host == "a" && failing.Load() {
					return status(target, 502, 0)
				}
				return nil
			})
			if err != nil || !reflect.DeepEqual(tried, want) {
				t.Errorf("%s: tried %v, want %v: %v", when, tried, want, err)
			}
			synctest.Wait()
		}
		check("at first", "a", "b")
		check("ailing", "b")
		time.Sleep(10 * restFor) // of the bubble's clock
		check("ailing still", "b")
		failing.Store(false)
		time.Sleep(restFor)
		synctest.Wait()
		check("well again", "a")
	})
}

// TestBadRequestsOfOneTenantAreNotHeldAgainstOthers has requests that a server
// which is well fails at, however often.
func TestBadRequestsOfOneTenantAreNotHeldAgainstOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := twoServers(t, nil)
		for range 30 {
			m.do(t.Context(), "hostile", func(_ context.Context, target *target) error { return status(target, 500, 0) })
			synctest.Wait()
			tries := 0
			err := m.do(t.Context(), "other", func(_ context.Context, target *target) error {
				if tries++; target.host != "a" || tries > 1 {
					t.Errorf("asked %s at try %d", target.host, tries)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
	})
}

func TestTheOnlyServerIsAlwaysAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := twoServers(t, nil)
		m.targets = m.targets[:1]
		m.targets[0].health.probe = func(context.Context) error { return errors.New("down") }
		for range 50 {
			asked := false
			m.do(t.Context(), "org", func(_ context.Context, target *target) error {
				asked = true
				return status(target, 502, 0)
			})
			if !asked {
				t.Fatal("a request was refused without asking the server")
			}
		}
	})
}

func TestRetriesAreAFifthOfTheRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := twoServers(t, nil)
		m.targets = m.targets[:1]
		tries := map[string]int{}
		ask := func(tenant string) {
			m.do(t.Context(), tenant, func(_ context.Context, target *target) error {
				tries[tenant]++
				return status(target, 500, 0)
			})
		}
		for range 100 {
			ask("failing")
		}
		ask("other")
		if n := tries["failing"]; n < 120 || n > 100+firstRetries+20 {
			t.Errorf("100 requests made %d tries", n)
		}
		if tries["other"] != maxRounds {
			t.Errorf("the other tenant's request made %d tries", tries["other"])
		}
	})
}

func TestFailuresThatSayNothingAboutAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := twoServers(t, nil)
		m.targets[0].health.probe = func(context.Context) error {
			t.Error("the server was probed")
			return nil
		}
		m.do(t.Context(), "org", func(context.Context, *target) error { return context.Canceled })
		for _, code := range []int{400, 429} {
			m.do(t.Context(), "org", func(_ context.Context, target *target) error { return status(target, code, time.Hour) })
		}
		synctest.Wait()
	})
}

func TestConcurrencyIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := twoServers(t, func(s *Server) { s.Concurrency, s.QueueWait = 2, time.Minute })
		running := map[string]int{}
		results := make(chan error, 6)
		release := make(chan struct{})
		hosts := make(chan string, 6)
		for range 6 {
			go func() {
				results <- m.do(t.Context(), "org", func(_ context.Context, target *target) error {
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
			if err := m.do(t.Context(), "org", func(context.Context, *target) error { return nil }); err != nil {
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
