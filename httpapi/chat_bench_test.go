//go:build unix

package httpapi_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// The benchmarks compare the CPU time that this process spends on an answer as
// the whole interface over a scripted model, and as a bare reverse proxy before
// a server that sends the same bytes. The clients and the proxied server are in
// a process of their own, which is this program again with loadEnv set: what
// they spend does not count.
//
//	go test ./httpapi -run '^$' -bench Chat -benchtime 3000x

// loadEnv holds, for the process with the clients, the URL of the interface and
// the address that is told of each chunk that was read.
const loadEnv = "SVC_CHAT_LOAD"

const (
	benchChunks = 200 // of a stream
	benchPlain  = `{"model":"svc-preview","messages":[{"role":"system","content":"You are terse."},{"role":"user","content":"What is the capital of Switzerland?"}]}`
	benchStream = `{"model":"svc-preview","stream":true,"messages":[{"role":"user","content":"Count."}]}`
)

func BenchmarkChatCompletion(b *testing.B) { benchmarkChat(b, "plain", 1) }

func BenchmarkChatChunk(b *testing.B) { benchmarkChat(b, "stream", benchChunks) }

func benchmarkChat(b *testing.B, kind string, unitsPerRequest int) {
	ticks, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	backend := &paced{}
	api := benchAPI(b, backend)
	load := startLoad(b, api.URL, ticks, backend)
	target, err := url.Parse(load.upstream)
	if err != nil {
		b.Fatal(err)
	}
	reverse := httputil.NewSingleHostReverseProxy(target)
	reverse.FlushInterval = -1
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Otherwise the answer may close the request's body while the proxy still
		// looks for its end.
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			b.Error(err)
		}
		reverse.ServeHTTP(w, r)
	}))
	b.Cleanup(proxy.Close)

	for _, server := range []struct{ name, url string }{{"httpapi", api.URL}, {"proxy", proxy.URL}} {
		b.Run(server.name, func(b *testing.B) {
			requests := max(1, b.N/unitsPerRequest)
			load.run(b, server.url, kind, max(1, requests/10)) // warm up
			before := cpuTime(b)
			b.ResetTimer()
			load.run(b, server.url, kind, requests)
			b.StopTimer()
			spent := cpuTime(b) - before
			b.ReportMetric(float64(spent.Nanoseconds())/float64(requests*unitsPerRequest), "cpu-ns/op")
		})
	}
}

// cpuTime returns the user and system time that this process has spent.
func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// benchAPI serves the interface over a script whose answers are one text, or the
// chunks of one.
func benchAPI(b *testing.B, backend *paced) *httptest.Server {
	plain := modeltest.Text("The capital of Switzerland is Bern; strictly speaking it is the \"federal city\".")
	words := strings.SplitAfter(strings.Repeat("another ", benchChunks-1), " ")
	stream := modeltest.Text(words[:benchChunks-1]...)
	backend.Respond = func(req *model.Request) modeltest.Answer {
		if isBenchStream(req) {
			return stream
		}
		return plain
	}
	service, err := svc.New(b.Context(), svc.Options{Backend: backend, DefaultPrices: &accounts.Prices{}})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := service.Bootstrap(b.Context(), "sk-one"); err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(httpapi.New(service, httpapi.Options{Logger: slog.New(slog.DiscardHandler)}))
	b.Cleanup(func() {
		server.Close()
		if err := service.Close(); err != nil {
			b.Error(err)
		}
	})
	return server
}

// isBenchStream tells the two benchmark requests apart.
func isBenchStream(req *model.Request) bool { return len(req.Messages) == 1 }

// paced is a Script that waits for a byte before each event of a stream that
// becomes a chunk, but the first.
type paced struct {
	modeltest.Script
	ticks net.Conn
}

func (p *paced) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		wait := false
		for event, err := range p.Script.Generate(ctx, req) {
			if _, ok := event.(model.Usage); !ok && wait {
				if _, err := p.ticks.Read(make([]byte, 1)); err != nil {
					yield(nil, err)
					return
				}
			}
			wait = isBenchStream(req)
			if !yield(event, err) {
				return
			}
		}
	}
}

// load is the process with the clients and the proxied server.
type load struct {
	upstream string // URL of the proxied server
	in       io.Writer
	out      *bufio.Reader
}

func startLoad(b *testing.B, api string, ticks net.Listener, backend *paced) *load {
	cmd := exec.Command(os.Args[0], "-test.run=^TestChatLoad$")
	cmd.Env = append(os.Environ(), loadEnv+"="+api+" "+ticks.Addr().String())
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	if backend.ticks, err = ticks.Accept(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { backend.ticks.Close(); ticks.Close() })
	l := &load{in: in, out: bufio.NewReader(out)}
	l.upstream = l.line(b)
	return l
}

func (l *load) line(b *testing.B) string {
	text, err := l.out.ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(text)
}

// run sends requests of a kind one after the other.
func (l *load) run(b *testing.B, url, kind string, requests int) {
	if _, err := fmt.Fprintln(l.in, url, kind, requests); err != nil {
		b.Fatal(err)
	}
	if got := l.line(b); got != "done" {
		b.Fatal(got)
	}
}

// TestChatLoad is the process with the clients; in an ordinary test run it has
// nothing to do.
func TestChatLoad(t *testing.T) {
	if os.Getenv(loadEnv) == "" {
		t.Skip("only runs for the benchmarks")
	}
	api, address, _ := strings.Cut(os.Getenv(loadEnv), " ")
	ticks, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer ticks.Close()
	c := client{bodies: map[string]string{"plain": benchPlain, "stream": benchStream}}
	proxied := make(chan struct{}, benchChunks)
	tell := map[bool]func(){
		true:  func() { ticks.Write([]byte{0}) },
		false: func() { proxied <- struct{}{} },
	}
	answers := map[string]recorded{}
	for kind := range c.bodies {
		answers[c.bodies[kind]] = c.send(t, api, kind, tell[true])
	}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		answers[string(body)].replay(w, proxied)
	}))
	defer upstream.Close()
	fmt.Println(upstream.URL)
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		var url, kind string
		var n int
		if _, err := fmt.Sscan(commands.Text(), &url, &kind, &n); err != nil {
			t.Fatal(err)
		}
		for range n {
			c.send(t, url, kind, tell[url == api])
		}
		fmt.Println("done")
	}
}

// recorded is an answer of the interface.
type recorded struct {
	header http.Header
	body   []byte
}

// replay sends the answer as it was sent, a stream with a flush for each event.
// The next event waits until the client has read the last one, so that a proxy
// has to pass on each by itself, as the interface does.
func (a recorded) replay(w http.ResponseWriter, read <-chan struct{}) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	if !bytes.HasPrefix(a.body, []byte("data: ")) {
		w.Write(a.body)
		return
	}
	for rest := a.body; len(rest) > 0; {
		end := bytes.Index(rest, []byte("\n\n")) + 2
		if bytes.Contains(rest[:end], []byte(`"finish_reason":"stop"`)) {
			end = len(rest) // the last chunk and [DONE] are one write
		}
		w.Write(rest[:end])
		http.NewResponseController(w).Flush()
		if rest = rest[end:]; len(rest) > 0 {
			<-read
		}
	}
}

type client struct {
	bodies map[string]string // by kind
}

// send sends a request and reads the answer. It calls read for each event but
// those at the end.
func (c *client) send(t *testing.T, url, kind string, read func()) recorded {
	req, err := http.NewRequest("POST", url+chatPath, strings.NewReader(c.bodies[kind]))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer sk-one")
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer := recorded{header: res.Header}
	lines := bufio.NewReader(res.Body)
	for {
		line, err := lines.ReadBytes('\n')
		answer.body = append(answer.body, line...)
		if bytes.Contains(line, []byte(`"finish_reason":null`)) {
			read()
		}
		if err == io.EOF {
			return answer
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
