package openai

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// outOfStep is a model server whose connections get out of step: it answers a body
// over 64 KiB with the status early and does not read it, and takes what follows on
// the connection for the next request. Other requests are answered with their mark.
type outOfStep struct {
	early   int  // status; 0 reads every body
	unasked bool // each request has the server send an answer on every idle connection

	mu   sync.Mutex
	open map[net.Conn]string // connections with no request, and the mark of the last one; guarded by mu
}

// mark is what the prompts of the test have in them.
var mark = regexp.MustCompile(`<[ab]-[0-9]+>`)

func (o *outOfStep) serve(nc net.Conn) {
	defer nc.Close()
	defer o.leave(nc)
	r := bufio.NewReader(nc)
	for {
		req, err := http.ReadRequest(r)
		if err == io.EOF {
			return
		}
		if err != nil { // goes on behind the line, as some servers do
			answerWith(nc, http.StatusBadRequest, "this is no request")
			continue
		}
		o.leave(nc)
		if o.early > 0 && req.ContentLength > 64<<10 {
			answerWith(nc, o.early, "early")
			continue
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		found := mark.FindString(string(body))
		if o.unasked {
			o.disturb()
		}
		o.rest(nc, found)
		answerWith(nc, http.StatusOK, found)
	}
}

// disturb answers on every idle connection once more.
func (o *outOfStep) disturb() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for nc, last := range o.open {
		answerWith(nc, http.StatusOK, last)
	}
}

func (o *outOfStep) rest(nc net.Conn, mark string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open[nc] = mark
}

func (o *outOfStep) leave(nc net.Conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.open, nc)
}

func answerWith(nc net.Conn, status int, text string) {
	body := fmt.Sprintf(`{"choices":[{"message":{"content":%q},"finish_reason":"stop"}]}`, text)
	if status != http.StatusOK {
		body = fmt.Sprintf(`{"error":{"message":%q}}`, text)
	}
	fmt.Fprintf(nc, "HTTP/1.1 %d Status\r\nRetry-After: 60\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}

// listen serves connections until the end of the test.
func listen(t *testing.T, serve func(net.Conn)) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go serve(nc)
		}
	}()
	t.Cleanup(func() { l.Close() })
	return "http://" + l.Addr().String()
}

// TestNoAnswerCrosses has two organizations use a server of each kind that puts
// connections out of step. Organization a sends long prompts, too. Every answer of b
// is its own, none is a failure, and no answer of a is one of b's.
func TestNoAnswerCrosses(t *testing.T) {
	const rounds = 60
	for _, c := range []struct {
		kind   string
		server *outOfStep
	}{
		{"200 before the body is read", &outOfStep{early: 200}},
		{"400 before the body is read", &outOfStep{early: 400}},
		{"413 before the body is read", &outOfStep{early: 413}},
		{"503 before the body is read", &outOfStep{early: 503}},
		{"answers that nobody asked for", &outOfStep{unasked: true}},
	} {
		t.Run(c.kind, func(t *testing.T) {
			c.server.open = map[net.Conn]string{}
			b := backendOf(t, listen(t, c.server.serve))
			var marks atomic.Int64
			long := strings.Repeat("x ", 100<<10)
			ask := func(tenant, filling string) (want, got string, err error) {
				want = fmt.Sprintf("<%s-%d>", tenant, marks.Add(1))
				req := ask(want + filling)
				req.Tenant, req.Whole = tenant, true
				// What a client's schema has between its tokens ends no line.
				req.Format = model.Format{Type: model.FormatSchema, Name: "n", Schema: []byte("{\n\"type\":\"string\"\n}")}
				f := fold(t.Context(), b, req)
				return want, f.text, f.err
			}
			var wg sync.WaitGroup
			for _, tenant := range []string{"a", "b"} {
				wg.Go(func() {
					for i := range rounds {
						if tenant == "a" && c.server.early > 0 && i%3 == 0 {
							_, got, _ := ask(tenant, long)
							if strings.HasPrefix(got, "<") {
								t.Errorf("a long prompt of a got %s", got)
							}
						}
						want, got, err := ask(tenant, "")
						switch {
						case err != nil:
							t.Errorf("%s: %v", want, fault.From(err).Err)
						case got != want && !(c.server.unasked && strings.HasPrefix(got, "<"+tenant)):
							t.Errorf("%s got %s", want, got)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// backendOf returns a backend with one model on a server.
func backendOf(t *testing.T, url string) *Backend {
	t.Helper()
	return (&double{url: url + "/v1"}).backend(t)
}

// TestAStrayAnswerIsNotTheCallers has a server that answers the second request of a
// connection as if it were none. The request is sent again over another connection.
func TestAStrayAnswerIsNotTheCallers(t *testing.T) {
	for _, status := range []int{http.StatusBadRequest, http.StatusRequestTimeout, http.StatusRequestURITooLong, http.StatusNotImplemented} {
		is := is.New(t)
		var connections, requests atomic.Int32
		written := newWritten()
		b := backendOf(t, listen(t, func(nc net.Conn) {
			defer nc.Close()
			first := connections.Add(1) == 1
			for r := bufio.NewReader(nc); ; {
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				io.Copy(io.Discard, req.Body)
				<-written
				if requests.Add(1) == 2 && first {
					answerWith(nc, status, "this is no request")
					continue
				}
				answerWith(nc, http.StatusOK, "hello")
			}
		}))
		for range 3 {
			rest(b.servers[0].conns)
			got := fold(written.of(t.Context()), b, ask("Hello"))
			is.NoErr(got.err)
			is.Equal(got.text, "hello")
		}
		is.Equal(connections.Load(), int32(2))
		is.Equal(requests.Load(), int32(4))
		is.Equal(b.Servers()[0].Requests, int64(4)) // each that was sent is counted
	}
}

// TestARefusalIsTheCallersOnANewConnection has a server that refuses each request.
func TestARefusalIsTheCallersOnANewConnection(t *testing.T) {
	is := is.New(t)
	var requests atomic.Int32
	b := backendOf(t, listen(t, func(nc net.Conn) {
		defer nc.Close()
		for r := bufio.NewReader(nc); ; {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			io.Copy(io.Discard, req.Body)
			requests.Add(1)
			answerWith(nc, http.StatusBadRequest, "no such thing")
		}
	}))
	for range 3 {
		got := fold(t.Context(), b, ask("Hello"))
		is.True(fault.Is(got.err, fault.Rejected))
	}
	is.Equal(requests.Load(), int32(3))
}

// TestConnectionsAreApartForEachTenant counts connections.
func TestConnectionsAreApartForEachTenant(t *testing.T) {
	is := is.New(t)
	written := newWritten()
	s, made := counting(t, written.echo)
	c := connsTo(t, s.URL)
	for range 3 {
		for _, tenant := range []string{"a", "b", "c"} {
			got, err := askAs(written.of(t.Context()), c, tenant, s.URL, tenant)
			is.NoErr(err)
			is.Equal(got, tenant)
		}
	}
	is.Equal(made.Load(), int32(3))
	c.limit(2)
	is.Equal(len(c.idle), 2) // of those used last
	_, err := askAs(written.of(t.Context()), c, "c", s.URL, "c")
	is.NoErr(err)
	is.Equal(made.Load(), int32(3))
}

// TestBodiesHaveNoLineFeed looks at what a backend sends for the requests of all
// its methods.
func TestBodiesHaveNoLineFeed(t *testing.T) {
	is := is.New(t)
	bodies := make(chan string, 100)
	s, _ := counting(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
		w.WriteHeader(http.StatusNotFound)
	})
	b := backendOf(t, s.URL)
	fold(t.Context(), b, &model.Request{
		Model: model.DefaultGenerator, Messages: []model.Message{model.TextMessage(model.User, "a\nb")},
		Tools:    []model.Tool{{Name: "f", Parameters: []byte("{\n\"type\": \"object\"\r\n}")}},
		Format:   model.Format{Type: model.FormatSchema, Name: "n", Schema: []byte("{\n\"type\":\"object\"}")},
		Sampling: model.Sampling{LogitBias: []byte("{\n}"), ChatTemplateKwargs: []byte("{\n}")},
	})
	b.Embed(t.Context(), &model.EmbedRequest{Model: model.DefaultGenerator, Texts: []string{"a\nb"}})
	b.Score(t.Context(), question("A", "B"))
	b.Decide(t.Context(), &model.DecideRequest{Model: model.DefaultDecider, State: []byte("{\n\"a\": \"b\"\n}"), Questions: []model.DecideQuestion{
		{Name: "q", Kind: model.DecideNoul, Options: []model.DecideOption{{Name: "yes", Description: []byte("[\n1]")}, {Name: "no"}}},
	}})
	close(bodies)
	sent := 0
	for body := range bodies {
		if body != "" {
			sent++
		}
		is.True(!strings.ContainsAny(body, "\r\n"))
	}
	is.True(sent >= 4)
}
