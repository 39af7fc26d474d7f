package openai

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/model"
)

// counting serves h and counts the connections that are made.
func counting(t *testing.T, h http.HandlerFunc) (s *httptest.Server, made *atomic.Int32) {
	t.Helper()
	made = new(atomic.Int32)
	s = httptest.NewUnstartedServer(h)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			made.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s, made
}

// written tells a server that a request is written. The client may otherwise note
// that only after the answer has come, and gives up the connection.
type written chan bool

func newWritten() written { return make(written, 10) }

// of returns a context whose requests are told.
func (w written) of(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { w <- true }})
}

// echo answers with the body of the request.
func (w written) echo(rw http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	<-w
	rw.Write(data)
}

// rest waits until the client has read all that has come on idle connections. It
// does not use them before.
func rest(c *conns) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cn := range c.idle {
		for cn.Err() == nil && !cn.wire.waiting.Load() {
			runtime.Gosched()
		}
	}
}

// connsTo returns connections to a server, which are closed at the end of the test.
func connsTo(t *testing.T, url string) *conns {
	c := newConns(&Server{URL: url, ConnectTimeout: 10 * time.Second}, "")
	t.Cleanup(c.close)
	return c
}

// repeats lets every request be repeated.
func repeats(bool) bool { return true }

// askAs sends a request for a tenant and returns the body of the answer.
func askAs(ctx context.Context, c *conns, tenant, url, body string) (string, error) {
	rest(c)
	resp, err := c.send(ctx, post(tenant, url, []byte(body)), repeats)
	if err != nil {
		return "", err
	}
	defer resp.discard()
	data, err := io.ReadAll(resp)
	return string(data), err
}

func TestConnectionsAreKept(t *testing.T) {
	is := is.New(t)
	written := newWritten()
	s, made := counting(t, written.echo)
	d := connsTo(t, s.URL)
	for _, text := range []string{"one", strings.Repeat("two", 10_000), strings.Repeat("three", 100_000), ""} {
		got, err := askAs(written.of(t.Context()), d, "org", s.URL, text)
		is.NoErr(err)
		is.True(got == text)
	}
	is.Equal(made.Load(), int32(1))
	d.close()
	is.Equal(len(d.idle), 0)
}

// TestAStreamThatHasEndedLeavesItsConnection reads a stream up to its last event,
// behind which comes the end of the body.
func TestAStreamThatHasEndedLeavesItsConnection(t *testing.T) {
	is := is.New(t)
	written := newWritten()
	s, made := counting(t, func(w http.ResponseWriter, _ *http.Request) {
		<-written
		io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		io.WriteString(w, "data: [DONE]\n\n")
	})
	d := connsTo(t, s.URL)
	for range 3 {
		rest(d)
		resp, err := d.send(written.of(t.Context()), post("org", s.URL, []byte("{}")), repeats)
		is.NoErr(err)
		events := newEventReader(resp)
		for data := []byte(nil); string(data) != "[DONE]"; {
			data, _, err = events.next()
			is.NoErr(err)
		}
		resp.discard()
	}
	is.Equal(made.Load(), int32(1))
}

// TestTheEndOfAStreamMayComeLate sends it when the answer has been given. One that
// does not come gives up the connection.
func TestTheEndOfAStreamMayComeLate(t *testing.T) {
	is := is.New(t)
	comes, written := make(chan bool), newWritten()
	s, made := counting(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // so that it is seen when the connection is given up
		<-written
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		w.(http.Flusher).Flush()
		if !<-comes {
			<-r.Context().Done()
		}
	})
	b, err := New(Options{Models: []Model{{
		Info: model.Info{ID: model.DefaultGenerator, Generates: true}, Targets: []Target{{Server: &Server{URL: s.URL}, Model: "base"}},
	}}})
	is.NoErr(err)
	t.Cleanup(b.Close)
	for _, end := range []bool{true, true, false, true} {
		rest(b.servers[0].conns)
		is.NoErr(fold(written.of(t.Context()), b, ask("Hello")).err)
		comes <- end
		b.servers[0].conns.ending.Wait()
	}
	is.Equal(made.Load(), int32(2))
}

func TestAnAnswerThatIsNotReadGivesUpItsConnection(t *testing.T) {
	is := is.New(t)
	s, made := counting(t, func(w http.ResponseWriter, r *http.Request) {
		w.Write(make([]byte, 1<<20))
	})
	d := connsTo(t, s.URL)
	for range 2 {
		resp, err := d.send(t.Context(), post("org", s.URL, []byte("{}")), repeats)
		is.NoErr(err)
		resp.discard()
	}
	is.Equal(made.Load(), int32(2))
}

func TestAConnectionThatTheServerGaveUpIsMadeAnew(t *testing.T) {
	is := is.New(t)
	written := newWritten()
	s, made := counting(t, written.echo)
	d := connsTo(t, s.URL)
	for n := range 3 {
		got, err := askAs(written.of(t.Context()), d, "org", s.URL, "again")
		is.NoErr(err)
		is.Equal(got, "again")
		is.Equal(made.Load(), int32(n+1))
		s.CloseClientConnections()
	}
}

// answering serves raw connections: answer writes to each whatever it likes for a
// request and reports whether it takes another one.
func answering(t *testing.T, answer func(nc net.Conn, body string) bool) (url string, made *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	made = new(atomic.Int32)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			made.Add(1)
			serving.Go(func() {
				defer nc.Close()
				for r := bufio.NewReader(nc); ; {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					body, _ := io.ReadAll(req.Body)
					if !answer(nc, string(body)) {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait() })
	return "http://" + l.Addr().String(), made
}

// TestAConnectionIsKeptWhereItsAnswerHasEnded has answers behind which the next one
// can come, and others. All say what was asked.
func TestAConnectionIsKeptWhereItsAnswerHasEnded(t *testing.T) {
	for _, c := range []struct {
		rule   string
		answer string
		behind string // comes while the connection is idle
		closes bool
		kept   bool
	}{
		{"with a length", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%s", "", false, true},
		{"in chunks with extensions and trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;a=b\r\n%s\r\n0;c\r\nD: e\r\n\r\n", "", false, true},
		{"the server takes no more", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\n%s", "", false, false},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n%s", "", false, false},
		{"more than its length", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%sHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad", "", false, false},
		{"another answer later", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%s", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad", false, false},
		{"another status", "HTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\n%s", "", false, false},
		{"something before it", "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%s", "", false, false},
		{"100 before it", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%s", "", false, true},
		{"a timeout later", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%s", "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n", true, false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			is := is.New(t)
			idle, told, written := make(chan bool, 1), make(chan bool, 10), newWritten()
			url, made := answering(t, func(nc net.Conn, body string) bool {
				<-written
				fmt.Fprintf(nc, c.answer, body)
				select {
				case <-idle:
				case <-t.Context().Done():
				}
				io.WriteString(nc, c.behind)
				told <- true
				return !c.closes
			})
			d := connsTo(t, url)
			for _, text := range []string{"a", "b", "c"} {
				got, err := askAs(written.of(t.Context()), d, "org", url, text)
				is.NoErr(err)
				is.Equal(got, text)
				failed := make(chan bool, 1)
				if len(d.idle) > 0 {
					d.idle[0].SetStateHook(func(cn *http.ClientConn) {
						if cn.Err() != nil {
							failed <- true
						}
					})
				}
				idle <- true
				<-told
				if len(d.idle) > 0 && c.behind != "" {
					<-failed
				}
			}
			is.Equal(made.Load() == 1, c.kept)
		})
	}
}

// TestAConnectionGivenUpWhileARequestIsWrittenIsMadeAnew has a server that closes
// connections instead of answering their second requests.
func TestAConnectionGivenUpWhileARequestIsWrittenIsMadeAnew(t *testing.T) {
	is := is.New(t)
	var asked atomic.Int32
	written := newWritten()
	url, made := answering(t, func(nc net.Conn, body string) bool {
		<-written
		if asked.Add(1) == 2 {
			return false
		}
		fmt.Fprintf(nc, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		return true
	})
	d := connsTo(t, url)
	for _, text := range []string{"one", "two"} {
		got, err := askAs(written.of(t.Context()), d, "org", url, text)
		is.NoErr(err)
		is.Equal(got, text)
	}
	is.Equal(made.Load(), int32(2))
}

// TestALongRequestThatIsNotReadIsAnswered has a server that refuses a body of
// which it reads nothing, more than its socket's buffers take.
func TestALongRequestThatIsNotReadIsAnswered(t *testing.T) {
	is := is.New(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	is.NoErr(err)
	defer l.Close()
	asked := make(chan struct{})
	go func() {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		nc.Read(make([]byte, 100))
		io.WriteString(nc, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
		<-asked
		nc.Close()
	}()
	url := "http://" + l.Addr().String()
	d := connsTo(t, url)
	resp, err := d.send(t.Context(), post("org", url, make([]byte, 32<<20)), repeats)
	is.NoErr(err)
	is.Equal(resp.StatusCode, http.StatusRequestEntityTooLarge)
	text, err := io.ReadAll(resp)
	is.NoErr(err)
	is.Equal(string(text), "no")
	resp.discard()
	is.Equal(len(d.idle), 0) // the rest of the request would be the next one
	close(asked)
}

func TestRequestsAreWrittenAsTheServerIsConfigured(t *testing.T) {
	for _, c := range []struct {
		rule   string
		server Server
		path   string
		body   []byte
		want   string
	}{
		{"with a key", Server{URL: "http://ADDR/v1", Key: "a\r\nb"}, "/chat", []byte("{}"),
			"POST /v1/chat HTTP/1.1\r\nHost: ADDR\r\nUser-Agent: Go-http-client/1.1\r\nContent-Length: 2\r\nAuthorization: Bearer a  b\r\nContent-Type: application/json\r\n\r\n{}"},
		{"with a user", Server{URL: "http://me:it@ADDR/a%20b"}, "/models", nil,
			"POST /a%20b/models HTTP/1.1\r\nHost: ADDR\r\nUser-Agent: Go-http-client/1.1\r\nContent-Length: 0\r\nAuthorization: Basic bWU6aXQ=\r\n\r\n"},
		{"without a path", Server{URL: "http://ADDR"}, "", nil, "POST / HTTP/1.1\r\nHost: ADDR\r\nUser-Agent: Go-http-client/1.1\r\nContent-Length: 0\r\n\r\n"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			is := is.New(t)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			is.NoErr(err)
			defer l.Close()
			c.server.URL = strings.Replace(c.server.URL, "ADDR", l.Addr().String(), 1)
			got := make(chan string, 1)
			go func() {
				nc, err := l.Accept()
				if err != nil {
					return
				}
				defer nc.Close()
				text := make([]byte, 1024)
				n, _ := nc.Read(text)
				got <- string(text[:n])
			}()
			s := newServer(c.server.withDefaults(), slog.New(slog.DiscardHandler))
			defer s.health.close()
			_, err = s.conns.send(t.Context(), post("org", s.URL+c.path, c.body), repeats)
			is.True(err != nil) // there is no answer
			is.Equal(<-got, strings.ReplaceAll(c.want, "ADDR", l.Addr().String()))
		})
	}
}

// TestACancelledCallEnds has calls that are cancelled before the header and in
// the middle of the body.
func TestACancelledCallEnds(t *testing.T) {
	for _, flushed := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		s, _ := counting(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			if flushed {
				io.WriteString(w, "a")
				w.(http.Flusher).Flush()
			}
			cancel()
			<-r.Context().Done() // the connection is closed
		})
		d := connsTo(t, s.URL)
		if _, err := askAs(ctx, d, "org", s.URL, "{}"); err == nil {
			t.Error("no error")
		}
		is.New(t).Equal(len(d.idle), 0)
	}
}

func TestAnswersAreWhatHTTPMakesOfThem(t *testing.T) {
	for _, c := range []struct{ rule, answer, want, err string }{
		{"what comes before the answer is skipped", "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "hi", ""},
		{"a body without a length ends with the connection", "HTTP/1.0 200 OK\r\n\r\nhi", "hi", ""},
		{"a body that is cut is an error", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhi", "hi", "unexpected EOF"},
		{"a header has a bound", "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", 1<<20) + "\r\n\r\n", "", "server response headers exceeded"},
		{"nonsense is an error", "hello\r\n\r\n", "", "malformed HTTP response"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			is := is.New(t)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			is.NoErr(err)
			defer l.Close()
			go func() {
				nc, err := l.Accept()
				if err != nil {
					return
				}
				nc.Read(make([]byte, 1024))
				io.WriteString(nc, c.answer)
				nc.(*net.TCPConn).CloseWrite()
				io.Copy(io.Discard, nc)
				nc.Close()
			}()
			d := connsTo(t, "http://"+l.Addr().String())
			got, err := askAs(t.Context(), d, "org", "http://"+l.Addr().String(), "{}")
			is.Equal(got, c.want)
			if c.err == "" {
				is.NoErr(err)
			} else if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v, want %s", err, c.err)
			}
		})
	}
}
