//go:build unix

package openai_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/openai"
)

// What streaming costs is measured in a process that does nothing else: the
// model server and the client live in a child process, the benchmark in the
// parent is what stands between them.

const (
	benchChild  = "SVC_BENCH_CHILD" // set in the child
	benchKey    = "sk-bench"
	benchChunks = 1000
)

func TestMain(m *testing.M) {
	if os.Getenv(benchChild) != "" {
		runBenchChild()
		return
	}
	os.Exit(m.Run())
}

// runBenchChild serves a model server, says its URL, and streams from each URL
// that it is told to.
func runBenchChild() {
	received := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range benchChunks {
			fmt.Fprintf(w, `data: {"id":"chatcmpl-123456789","object":"chat.completion.chunk","created":1763712000,"model":"some-model","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"role":"assistant","content":" word%d"},"finish_reason":null}]}`+"\n\n", i)
			w.(http.Flusher).Flush()
			<-received // so that each chunk is a read of its own
		}
		io.WriteString(w, `data: {"id":"chatcmpl-123456789","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n"+
			`data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1000}}`+"\n\ndata: [DONE]\n\n")
	}))
	fmt.Println(server.URL)
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		target, body, _ := strings.Cut(commands.Text(), " ")
		n, err := drain(target, body, received)
		fmt.Println(n, err)
	}
}

// drain reads a stream and acknowledges each piece of text in it.
func drain(target, body string, received chan<- struct{}) (int, error) {
	req, err := http.NewRequest("POST", target, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+benchKey)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	n := 0
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data: ") && strings.Contains(lines.Text(), `" word`) && !strings.Contains(lines.Text(), `" word0 `) {
			n++
			received <- struct{}{}
		}
	}
	return n, nil
}

// child is the process with the model server and the client.
type child struct {
	url string
	in  io.Writer
	out *bufio.Reader
}

func startChild(b *testing.B) *child {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), benchChild+"=1")
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
		cmd.Wait() // its error says nothing that the benchmark has not noticed
	})
	c := &child{in: in, out: bufio.NewReader(out)}
	c.url = c.line(b)
	return c
}

func (c *child) line(b *testing.B) string {
	b.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// stream lets the child stream once and returns the CPU time that this process
// spent on it.
func (c *child) stream(b *testing.B, target, body string) time.Duration {
	b.Helper()
	before := cpuTime(b)
	fmt.Fprintln(c.in, target, body)
	if got := c.line(b); got != fmt.Sprint(benchChunks, " <nil>") {
		b.Fatalf("streamed %s", got)
	}
	return cpuTime(b) - before
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// service serves the interface in front of a model server.
func service(b *testing.B, upstream string) string {
	b.Helper()
	quiet := slog.New(slog.DiscardHandler)
	backend, err := openai.New(openai.Options{Logger: quiet, Models: []openai.Model{{
		Info:    model.Info{ID: model.DefaultGenerator, Generates: true},
		Targets: []openai.Target{{Server: &openai.Server{URL: upstream + "/v1"}}},
	}}})
	if err != nil {
		b.Fatal(err)
	}
	s, err := svc.New(context.Background(), svc.Options{Backend: backend, Logger: quiet})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.Bootstrap(context.Background(), benchKey); err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(httpapi.New(s, httpapi.Options{Logger: quiet}))
	b.Cleanup(func() {
		server.Close()
		backend.Close()
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return server.URL
}

// BenchmarkStreamAgainstProxy streams 1,000 chunks through the service and
// through a reverse proxy in turn, and reports the CPU time of each chunk and
// how the two compare.
func BenchmarkStreamAgainstProxy(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	c := startChild(b)
	upstream, err := url.Parse(c.url)
	if err != nil {
		b.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(upstream) }}
	proxied := httptest.NewServer(proxy)
	defer proxied.Close()
	serviced := service(b, c.url)

	chat, _ := json.Marshal(map[string]any{"model": "m", "stream": true})
	response, _ := json.Marshal(map[string]any{"model": model.DefaultGenerator, "input": "Hello", "stream": true, "store": false})
	run := func() (through, past time.Duration) {
		past = c.stream(b, proxied.URL+"/v1/chat/completions", string(chat))
		return c.stream(b, serviced+"/v1/responses", string(response)), past
	}
	run() // connections and caches
	var through, past time.Duration
	for b.Loop() {
		t, p := run()
		through, past = through+t, past+p
	}
	chunks := float64(b.N) * benchChunks
	b.ReportMetric(float64(through.Nanoseconds())/chunks, "svc-ns/chunk")
	b.ReportMetric(float64(past.Nanoseconds())/chunks, "proxy-ns/chunk")
	b.ReportMetric(float64(through)/float64(past), "times-proxy")
	b.ReportMetric(0, "ns/op")
}
