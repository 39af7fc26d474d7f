package httpapi

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/internal/status"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// pipes is a listener whose connections are pipes in memory, so that time in a
// test of slow clients is synctest's.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// slowClient is a connection to a server over a model, and a key.
type slowClient struct {
	net.Conn
	api   *API
	key   string
	start time.Time
	conns chan<- net.Conn // to the server
}

// newSlowClient is called in a bubble of synctest.
func newSlowClient(t *testing.T, backend model.Backend) *slowClient {
	t.Helper()
	return newSlowClientOf(t, newAdminAPI(t, svc.Options{Backend: backend, Now: time.Now}, Options{}))
}

func newSlowClientOf(t *testing.T, a *API) *slowClient {
	t.Helper()
	_, key := newLimited(t, a, 0, 0)
	listener := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: a, IdleTimeout: time.Minute}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	client, conn := net.Pipe()
	listener.conns <- conn
	t.Cleanup(func() {
		client.Close()
		server.Close()
		<-done
		synctest.Wait()
	})
	return &slowClient{Conn: client, api: a, key: key, start: time.Now(), conns: listener.conns}
}

// another is the same client with a connection more.
func (c *slowClient) another(t *testing.T) *slowClient {
	t.Helper()
	client, conn := net.Pipe()
	c.conns <- conn
	t.Cleanup(func() { client.Close() })
	return &slowClient{Conn: client, api: c.api, key: c.key, start: time.Now(), conns: c.conns}
}

// begin sends the head of a request and as much of its body.
func (c *slowClient) begin(t *testing.T, key, path string, length int, body string) {
	t.Helper()
	_, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", path, key, length, body)
	check(t, err)
}

// after checks how long ago the connection was made, about: a transaction in a database
// may have paused.
func (c *slowClient) after(t *testing.T, want time.Duration) {
	t.Helper()
	if got := time.Since(c.start); got < want || got > want+500*time.Millisecond {
		t.Errorf("after %v, want %v", got, want)
	}
}

const streamed = `{"model":"svc-preview","stream":true,"messages":[{"role":"user","content":"Hi"}]}`

// TestAnswersDoNotWaitForBodies sends heads whose bodies never come: a request
// that is refused is answered all the same.
func TestAnswersDoNotWaitForBodies(t *testing.T) {
	for _, c := range []struct {
		rule, path string
		keyed      bool
		status     int
		after      time.Duration
	}{
		{"no key", chatPathOf, false, 401, restTimeout},
		{"no route", "/v1/nothing", false, 404, restTimeout},
		{"no such method", "/healthz", false, 405, restTimeout},
		{"a body that is read", chatPathOf, true, 400, bodyGrace + restTimeout},
		{"a body of Decisions", decisionsPath, true, 422, bodyGrace + restTimeout},
	} {
		t.Run(c.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := newSlowClient(t, modeltest.New())
				key := "none"
				if c.keyed {
					key = client.key
				}
				client.begin(t, key, c.path, 100, "{")
				res, err := http.ReadResponse(bufio.NewReader(client), nil)
				check(t, err)
				defer res.Body.Close()
				client.after(t, c.after)
				if res.StatusCode != c.status {
					t.Errorf("got %d, want %d", res.StatusCode, c.status)
				}
			})
		})
	}
}

// TestChatKeepalives watches a stream whose model is silent: the first chunk comes
// when the model has taken the request, or after half a second.
func TestChatKeepalives(t *testing.T) {
	for rule, events := range map[string][]model.Event{
		"before the model has begun": nil,
		"after it":                   {model.Started{}},
	} {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := newSlowClient(t, modeltest.New(modeltest.Block(events...)))
				client.begin(t, client.key, chatPathOf, len(streamed), streamed)
				// The body is not closed: that would read it to its end.
				res, err := http.ReadResponse(bufio.NewReader(client), nil)
				check(t, err)
				lines := bufio.NewReader(res.Body)
				first := time.Duration(0)
				if events == nil {
					first = 500 * time.Millisecond
				}
				line, err := lines.ReadString('\n')
				check(t, err)
				if !strings.HasPrefix(line, "data: ") || !strings.Contains(line, `"delta":{"role":"assistant","content":""}`) {
					t.Errorf("got %q", line)
				}
				client.after(t, first)
				_, err = lines.ReadString('\n') // the blank line after it
				check(t, err)
				for n := range 24 { // longer than a client may stall, or take for its body
					line, err := lines.ReadString('\n')
					check(t, err)
					if line != ": keepalive\n" {
						t.Errorf("got %q", line)
					}
					client.after(t, first+time.Duration(n+1)*15*time.Second)
				}
			})
		})
	}
}

// TestAClientThatReadsNothing takes no byte of the answer it asked for.
func TestAClientThatReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newSlowClient(t, modeltest.New(modeltest.Text(strings.Repeat("x", 1<<20))))
		body := strings.Replace(streamed, "true", "false", 1)
		client.begin(t, client.key, chatPathOf, len(body), body)
		time.Sleep(answerTimeout + time.Second)
		synctest.Wait()
		if n, err := client.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("got %d bytes and %v, want the connection closed", n, err)
		}
	})
}

// timed is a writer that remembers its deadline, and fails when told to.
type timed struct {
	httptest.ResponseRecorder
	deadline time.Time
	err      error
}

func (w *timed) SetWriteDeadline(deadline time.Time) error {
	w.deadline = deadline
	return nil
}

func (w *timed) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	return w.ResponseRecorder.Write(p)
}

func newTimed() (*timed, *call) {
	w := &timed{ResponseRecorder: *httptest.NewRecorder()}
	return w, &call{w: &status.Writer{ResponseWriter: w}}
}

// TestAStreamIsWrittenWithADeadline follows the deadline, which ends a stream
// that its client does not read, and must move for one that is read.
func TestAStreamIsWrittenWithADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c := newTimed()
		s := c.stream(keepalive)
		check(t, s.send([]byte("data: 1\n\n"), false))
		for range 5 {
			s.mu.Lock()
			left := time.Until(w.deadline)
			s.mu.Unlock()
			if left < stallTimeout-keepaliveEvery || left > stallTimeout {
				t.Errorf("the deadline is %v away", left)
			}
			time.Sleep(keepaliveEvery)
			synctest.Wait()
		}
		s.close()
		time.Sleep(time.Hour)
		if got, want := w.Body.String(), "data: 1\n\n"+strings.Repeat(": keepalive\n", 5); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestAStreamWhoseClientIsGone(t *testing.T) {
	w, c := newTimed()
	s := c.stream(keepalive)
	defer s.close()
	gone := errors.New("broken pipe")
	w.err = gone
	if err := s.send([]byte("a"), false); err != gone {
		t.Errorf("got %v, want %v", err, gone)
	}
	w.err = nil
	if err := s.send([]byte("b"), false); err != gone || w.Body.Len() != 0 {
		t.Errorf("got %v and %q, want %v again", err, w.Body, gone)
	}
}
