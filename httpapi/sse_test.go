package httpapi

import (
	"errors"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/answer"
)

// newEventStream returns a stream into a recorder.
func newEventStream(t *testing.T) (*eventStream, *httptest.ResponseRecorder) {
	t.Helper()
	w := httptest.NewRecorder()
	s := (&call{w: &answer.Writer{ResponseWriter: w}}).stream()
	t.Cleanup(s.close)
	return s, w
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
		wait(15*time.Second - 1)
		is.Equal(body(), "")
		wait(1)
		is.Equal(body(), ": keepalive\n") // the first thing sent
		wait(15 * time.Second)
		is.Equal(body(), ": keepalive\n: keepalive\n")
		wait(14 * time.Second)
		is.NoErr(s.send([]byte("data: 1\n\n")))
		wait(15*time.Second - 1)
		is.Equal(body(), ": keepalive\n: keepalive\ndata: 1\n\n") // counted from the event
		wait(1)
		is.Equal(body(), ": keepalive\n: keepalive\ndata: 1\n\n: keepalive\n")
		is.Equal(w.Header().Get("Content-Type"), "text/event-stream")
		is.Equal(w.Header().Get("Cache-Control"), "no-cache, no-transform")
		is.Equal(w.Header().Get("X-Accel-Buffering"), "no")
		s.close()
		wait(time.Hour)
		is.Equal(body(), ": keepalive\n: keepalive\ndata: 1\n\n: keepalive\n")
	})
}

func TestARefusalIsAnAnswerUnlessAKeepaliveWasSent(t *testing.T) {
	refusal := fault.Missing("file_not_found", "file", "x")
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		s, w := newEventStream(t)
		is.True(errors.Is(s.refuse(refusal), refusal))
		time.Sleep(time.Hour)
		is.Equal(w.Body.String(), "")
		is.Equal(s.w.Status, 0)
	})
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		s, w := newEventStream(t)
		time.Sleep(15 * time.Second)
		synctest.Wait()
		is.True(errors.Is(s.refuse(refusal), refusal))
		time.Sleep(time.Hour)
		is.Equal(w.Body.String(), ": keepalive\nevent: error\ndata: {\"type\":\"error\",\"sequence_number\":0,"+
			`"code":"file_not_found","message":"No file found with id \"x\".","param":null,`+
			`"error":{"message":"No file found with id \"x\".","type":"invalid_request_error","param":null,"code":"file_not_found"}}`+"\n\n")
	})
}
