package httpapi

import (
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// writes counts what a server writes to its connections.
type writes struct {
	net.Listener
	n atomic.Int64
}

type countedConn struct {
	net.Conn
	n *atomic.Int64
}

func (w *writes) Accept() (net.Conn, error) {
	conn, err := w.Listener.Accept()
	return &countedConn{conn, &w.n}, err
}

func (c *countedConn) Write(p []byte) (int, error) {
	c.n.Add(1)
	return c.Conn.Write(p)
}

// TestEventsThatFollowAtOnceAreOneWrite has one for what begins the response, one
// for the message with its first text, and one for all that comes at its end.
func TestEventsThatFollowAtOnceAreOneWrite(t *testing.T) {
	is := is.New(t)
	a := newBareAPI(t, svc.Options{Backend: counted()}, Options{Logger: slog.New(slog.DiscardHandler)})
	_, key := newLimited(t, a, 0, 0)
	server := httptest.NewUnstartedServer(a)
	w := &writes{Listener: server.Listener}
	server.Listener = w
	server.Start()
	t.Cleanup(server.Close)
	conn := (&client{server, key}).dial(t)
	opened := w.n.Load()
	events, _ := ask(t, conn, create(`"input":"Hi"`))
	is.Equal(len(events), 9)
	is.Equal(w.n.Load()-opened, int64(3))
}

// TestAnIdleSocket is asked whether its client is there, and closed where it is
// not, or when its time is over.
func TestAnIdleSocket(t *testing.T) {
	for _, test := range []struct {
		pong  bool
		after time.Duration
		last  string
	}{
		{true, socketLifetime, `"code":"websocket_connection_limit_reached"`},
		{false, keepaliveEvery + pongTimeout, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			c := newSlowClient(t, modeltest.New())
			f := newFrames(t, c, c.key)
			is.Equal(c.api.streams.taken, int64(1))
			event, err := f.next(nil, test.pong)
			is.Equal(err == nil, test.last != "")
			is.True(strings.Contains(string(event), test.last))
			c.after(t, test.after)
			_, _ = io.Copy(io.Discard, f.r)
			synctest.Wait()
			is.Equal(c.api.streams.taken, int64(0))
		})
	}
}

// TestAMessageThatTrickles has the time that a body has.
func TestAMessageThatTrickles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		c := newSlowClient(t, modeltest.New())
		f := newFrames(t, c, c.key)
		_, err := f.Write([]byte{0x81, 0x80 | 100, 0, 0, 0, 0, '{'})
		check(t, err)
		_, err = io.Copy(io.Discard, f.r)
		is.NoErr(err)
		c.after(t, bodyGrace)
	})
}

// TestMessagesAreBytesInFlight as bodies are, while they wait, are worked on, or
// can be continued from.
func TestMessagesAreBytesInFlight(t *testing.T) {
	is := is.New(t)
	a := newBareAPI(t, svc.Options{Backend: counted()}, Options{Logger: slog.New(slog.DiscardHandler), MaxBodies: 300 << 10})
	_, key := newLimited(t, a, 0, 0)
	c := &client{httptest.NewServer(a), key}
	t.Cleanup(c.Close)
	conn := c.dial(t)
	_, last := ask(t, conn, create(`"input":"`+strings.Repeat("x ", 20<<10)+`","store":false`))
	is.True(a.bodies.inUse() >= 40<<10)
	_, last = ask(t, conn, create(`"input":"more","store":false,"previous_response_id":"`+last.Response.ID+`"`))
	is.True(a.bodies.inUse() >= 40<<10)
	_, last = ask(t, conn, create(`"input":"more","store":false`))
	is.True(a.bodies.falls(1 << 10))
	is.Equal(last.Response.Status, "completed")
	_, _ = ask(t, conn, create(`"input":"more"`))
	is.True(a.bodies.falls(0))

	check(t, conn.Write(t.Context(), websocket.MessageText, []byte(create(`"input":"`+strings.Repeat("x ", 100<<10)+`"`))))
	_, _, err := conn.Read(t.Context())
	is.Equal(websocket.CloseStatus(err), websocket.StatusTryAgainLater)
	is.True(a.bodies.falls(0))
}

// falls waits until no more than most is in use, which is soon after the client has
// the last of an answer.
func (p *pool) falls(most int64) bool {
	for patience := time.After(time.Minute); p.inUse() > most; runtime.Gosched() {
		select {
		case <-patience:
			return false
		default:
		}
	}
	return true
}

func (p *pool) inUse() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}
