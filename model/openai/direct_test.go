package openai

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"
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

// echo answers with the body of the request, once it has come.
func echo(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	w.Write(data)
}

// askDirectly sends a request and returns the body of the answer.
func askDirectly(ctx context.Context, d *direct, url, body string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	resp, err := d.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return string(data), err
}

func TestDirectConnectionsAreKept(t *testing.T) {
	is := is.New(t)
	s, made := counting(t, echo)
	d := newDirect(s.URL, &net.Dialer{})
	for _, text := range []string{"one", strings.Repeat("two", 10_000), ""} {
		got, err := askDirectly(t.Context(), d, s.URL, text)
		is.NoErr(err)
		is.True(got == text)
	}
	is.Equal(made.Load(), int32(1))
	d.CloseIdleConnections()
	is.Equal(len(d.idle), 0)
}

// TestAStreamThatHasEndedLeavesItsConnection reads a stream up to its last event,
// behind which comes the end of the body.
func TestAStreamThatHasEndedLeavesItsConnection(t *testing.T) {
	is := is.New(t)
	s, made := counting(t, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		io.WriteString(w, "data: [DONE]\n\n")
	})
	d := newDirect(s.URL, &net.Dialer{})
	for range 3 {
		req, err := http.NewRequest(http.MethodPost, s.URL, strings.NewReader("{}"))
		is.NoErr(err)
		resp, err := d.RoundTrip(req)
		is.NoErr(err)
		events := newEventReader(resp.Body)
		for data := []byte(nil); string(data) != "[DONE]"; {
			data, _, err = events.next()
			is.NoErr(err)
		}
		is.NoErr(resp.Body.Close())
	}
	is.Equal(made.Load(), int32(1))
}

func TestAnAnswerThatIsNotReadGivesUpItsConnection(t *testing.T) {
	is := is.New(t)
	s, made := counting(t, func(w http.ResponseWriter, r *http.Request) {
		w.Write(make([]byte, 1<<20))
	})
	d := newDirect(s.URL, &net.Dialer{})
	for range 2 {
		req, err := http.NewRequest(http.MethodPost, s.URL, strings.NewReader("{}"))
		is.NoErr(err)
		resp, err := d.RoundTrip(req)
		is.NoErr(err)
		is.NoErr(resp.Body.Close())
	}
	is.Equal(made.Load(), int32(2))
}

func TestAConnectionThatTheServerGaveUpIsMadeAnew(t *testing.T) {
	is := is.New(t)
	s, made := counting(t, echo)
	d := newDirect(s.URL, &net.Dialer{})
	for n := range 3 {
		got, err := askDirectly(t.Context(), d, s.URL, "again")
		is.NoErr(err)
		is.Equal(got, "again")
		is.Equal(made.Load(), int32(n+1))
		s.CloseClientConnections()
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
		d := newDirect(s.URL, &net.Dialer{})
		if _, err := askDirectly(ctx, d, s.URL, "{}"); err == nil {
			t.Error("no error")
		}
		is.New(t).Equal(len(d.idle), 0)
	}
}

func TestDirectAnswersAreWhatHTTPMakesOfThem(t *testing.T) {
	for _, c := range []struct{ rule, answer, want, err string }{
		{"what comes before the answer is skipped", "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "hi", ""},
		{"a body without a length ends with the connection", "HTTP/1.0 200 OK\r\n\r\nhi", "hi", ""},
		{"a body that is cut is an error", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhi", "hi", "unexpected EOF"},
		{"a header has a bound", "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", maxHeader) + "\r\n\r\n", "", errHeader.Error()},
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
			d := newDirect("http://"+l.Addr().String(), &net.Dialer{Timeout: 10 * time.Second})
			got, err := askDirectly(t.Context(), d, "http://"+l.Addr().String(), "{}")
			is.Equal(got, c.want)
			if c.err == "" {
				is.NoErr(err)
			} else if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v, want %s", err, c.err)
			}
		})
	}
}

func TestOnlyPlainServersAreSpokenToDirectly(t *testing.T) {
	is := is.New(t)
	is.True(newDirect("https://models.example/v1", &net.Dialer{}) == nil)
	is.Equal(newDirect("http://models.example/v1", &net.Dialer{}).address, "models.example:80")
	is.Equal(newDirect("http://[::1]:8000/v1", &net.Dialer{}).address, "[::1]:8000")
}
