package httpapi

import (
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/internal/status"
)

// newEventStream returns a stream into a recorder.
func newEventStream(t *testing.T) (*eventStream, *httptest.ResponseRecorder) {
	t.Helper()
	w := httptest.NewRecorder()
	s := (&call{w: &status.Writer{ResponseWriter: w}}).stream(keepalive)
	t.Cleanup(s.close)
	return s, w
}

// TestMessagesPing has a silent stream of Messages send what its clients know.
func TestMessagesPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		w := httptest.NewRecorder()
		s := (&call{w: &status.Writer{ResponseWriter: w}}).stream((&messageEncoder{}).alive())
		defer s.close()
		is.NoErr(s.send([]byte("event: a\ndata: {}\n\n"), false))
		time.Sleep(15 * time.Second)
		synctest.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		is.Equal(w.Body.String(), "event: a\ndata: {}\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n")
	})
}

func TestKeepalives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		s, w := newEventStream(t)
		wait := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		body := func() string {
			s.mu.Lock()
			defer s.mu.Unlock()
			return w.Body.String()
		}
		wait(time.Minute - 1)
		is.Equal(body(), "") // the first event comes first
		is.NoErr(s.send([]byte("data: 1\n\n"), false))
		wait(15*time.Second - 1)
		is.Equal(body(), "data: 1\n\n")
		wait(1)
		is.Equal(body(), "data: 1\n\n: keepalive\n")
		wait(14 * time.Second)
		is.NoErr(s.send([]byte("data: 2\n\n"), false))
		wait(15*time.Second - 1)
		is.Equal(body(), "data: 1\n\n: keepalive\ndata: 2\n\n") // counted from the event
		wait(1)
		is.Equal(body(), "data: 1\n\n: keepalive\ndata: 2\n\n: keepalive\n")
		is.Equal(w.Header().Get("Content-Type"), "text/event-stream")
		is.Equal(w.Header().Get("Cache-Control"), "no-cache, no-transform")
		is.Equal(w.Header().Get("X-Accel-Buffering"), "no")
		s.close()
		wait(time.Hour)
		is.Equal(body(), "data: 1\n\n: keepalive\ndata: 2\n\n: keepalive\n")
	})
}
