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
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/internal/admission"
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
			is.Equal(c.api.admission.Usage().Streams, int64(1))
			event, err := f.next(nil, test.pong)
			is.Equal(err == nil, test.last != "")
			is.True(strings.Contains(string(event), test.last))
			c.after(t, test.after)
			_, _ = io.Copy(io.Discard, f.r)
			synctest.Wait()
			is.Equal(c.api.admission.Usage().Streams, int64(0))
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
	is.True(a.admission.Usage().Bytes >= 40<<10)
	_, last = ask(t, conn, create(`"input":"more","store":false,"previous_response_id":"`+last.Response.ID+`"`))
	is.True(a.admission.Usage().Bytes >= 40<<10)
	_, last = ask(t, conn, create(`"input":"more","store":false`))
	is.True(a.bytesFall(1 << 10))
	is.Equal(last.Response.Status, "completed")
	_, _ = ask(t, conn, create(`"input":"more"`))
	is.True(a.bytesFall(0))

	check(t, conn.Write(t.Context(), websocket.MessageText, []byte(create(`"input":"`+strings.Repeat("x ", 100<<10)+`"`))))
	_, _, err := conn.Read(t.Context())
	is.Equal(websocket.CloseStatus(err), websocket.StatusTryAgainLater)
	is.True(a.bytesFall(0))
}

// bytesFall waits until no more than most are counted, which is soon after the
// client has the last of an answer.
func (a *API) bytesFall(most int64) bool {
	for patience := time.After(time.Minute); a.admission.Usage().Bytes > most; runtime.Gosched() {
		select {
		case <-patience:
			return false
		default:
		}
	}
	return true
}

// TestASocketWhoseKeyIsRevoked gives back the slot that it took: the organization
// may have one request at once, and its other key has it afterwards.
func TestASocketWhoseKeyIsRevoked(t *testing.T) {
	is := is.New(t)
	a := newBareAPI(t, svc.Options{Backend: counted()}, Options{Logger: slog.New(slog.DiscardHandler)})
	id, key := newLimited(t, a, 0, 0)
	other, err := a.service.CreateKey(t.Context(), accounts.NewKey{OrganizationID: id})
	check(t, err)
	one := 1
	_, err = a.service.UpdateOrganization(t.Context(), id, accounts.OrganizationUpdate{ConcurrentRequests: &one})
	check(t, err)
	c := &client{httptest.NewServer(a), key}
	t.Cleanup(c.Close)
	conn := c.dial(t)
	_, last := ask(t, conn, create(`"input":"Hi"`))
	is.Equal(last.Response.Status, "completed")
	keys, err := a.service.Keys(t.Context(), id, svc.Page{})
	check(t, err)
	check(t, a.service.RevokeKey(t.Context(), keys.Items[0].ID))
	check(t, conn.Write(t.Context(), websocket.MessageText, []byte(create(`"input":"`+strings.Repeat("x ", 20<<10)+`"`))))
	check(t, conn.Write(t.Context(), websocket.MessageText, []byte(create(`"input":"`+strings.Repeat("y ", 20<<10)+`"`)))) // read while the first is refused
	_, data, err := conn.Read(t.Context())
	check(t, err)
	is.True(strings.Contains(string(data), `"code":"invalid_api_key"`))
	conn.CloseNow()
	for a.admission.Usage() != (admission.Usage{}) {
		runtime.Gosched() // the handler ends soon after its connection
	}
	if w := send(a, other.Secret, "GET", "/v1/models", ""); w.Code != 200 {
		t.Errorf("the other key: got %d %s", w.Code, w.Body)
	}
}

// TestAFrameOfImpossibleLength ends its connection when its header has come.
func TestAFrameOfImpossibleLength(t *testing.T) {
	for name, header := range map[string][]byte{
		"more than a message":   {0x81, 0x80 | 127, 0, 0, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 0},
		"half of all that is":   {0x81, 0x80 | 127, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0},
		"more than is":          {0x81, 0x80 | 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0},
		"behind a frame before": {0x01, 0x80 | 2, 0, 0, 0, 0, '{', '"', 0x80, 0x80 | 127, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				c := newSlowClient(t, modeltest.New())
				f := newFrames(t, c, c.key)
				go func() { _, _ = f.Write(header) }() // the server may not take the end of it
				_, _ = io.Copy(io.Discard, f.r)
				c.after(t, 0)
				synctest.Wait()
				is.Equal(c.api.admission.Usage(), admission.Usage{})
			})
		})
	}
}
