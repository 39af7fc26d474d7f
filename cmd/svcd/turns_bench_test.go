package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/badgerstore"
)

// The benchmarks measure what a turn costs beside a bare reverse proxy, both
// before the same double of a model server: CPU time of this process, bytes
// given to the store, and memory per open stream. The clients and the double are
// in a process of their own, which is this program again with peerChild set:
// what they spend does not count.
//
//	go test ./cmd/svcd -run '^$' -bench Turn -benchtime 3000x

// peerChild is set in the process with the clients and the double.
const peerChild = "SVC_BENCH_PEER"

const (
	benchKey     = "sk-bench"
	benchClients = 8
	benchDeltas  = 16 // of an answer
)

// benchText is half of a turn of 1 KB; the answer is the other half.
var benchText = strings.Repeat("0123456789abcde ", 32)

func BenchmarkTurn(b *testing.B)         { benchmarkTurn(b, false) }
func BenchmarkTurnStreamed(b *testing.B) { benchmarkTurn(b, true) }

func benchmarkTurn(b *testing.B, stream bool) {
	peer := startPeer(b)
	for _, server := range []struct {
		name string
		url  func(*testing.B) (address string, written *atomic.Int64)
	}{
		{"svcd", func(b *testing.B) (string, *atomic.Int64) { return benchServer(b, peer.url) }},
		{"proxy", func(b *testing.B) (string, *atomic.Int64) { return benchProxy(b, peer.url), nil }},
	} {
		b.Run(server.name, func(b *testing.B) {
			address, stored := server.url(b)
			path := "/v1/responses"
			if stored == nil {
				path = "/v1/chat/completions"
			} else {
				stored.Store(0)
			}
			peer.run(b, address+path, benchClients, stream) // warm up
			before, bytesBefore := cpuTime(b), load(stored)
			b.ResetTimer()
			n := max(b.N, benchClients)
			peer.run(b, address+path, n, stream)
			b.StopTimer()
			b.ReportMetric(float64((cpuTime(b)-before).Nanoseconds())/float64(n), "cpu-ns/op")
			if stored != nil {
				b.ReportMetric(float64(load(stored)-bytesBefore)/float64(n), "stored-B/op")
			}
		})
	}
}

func load(n *atomic.Int64) int64 {
	if n == nil {
		return 0
	}
	return n.Load()
}

// BenchmarkOpenStream reports the memory of this process per stream that is open
// and waits for its model.
func BenchmarkOpenStream(b *testing.B) {
	peer := startPeer(b)
	address, _ := benchServer(b, peer.url)
	n := max(b.N, 200)
	peer.run(b, address+"/v1/responses", benchClients, true)
	before := memory()
	peer.hold(b, address+"/v1/responses", n)
	b.ReportMetric(float64(memory()-before)/float64(n), "B/stream")
	peer.release(b)
}

// memory is what the runtime holds for live objects and stacks.
func memory() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// benchServer serves the interface over a store on disk and the double.
func benchServer(b *testing.B, double string) (address string, stored *atomic.Int64) {
	m, err := oneUpstream(double+"/v1", "", "")
	if err != nil {
		b.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	backend, _, err := m.open(b.Context(), quiet)
	if err != nil {
		b.Fatal(err)
	}
	disk, err := badgerstore.Open(badgerstore.Options{Dir: b.TempDir(), Logger: quiet})
	if err != nil {
		b.Fatal(err)
	}
	counted := &countingStore{Store: disk}
	service, err := svc.New(b.Context(), svc.Options{Store: counted, Backend: backend, Logger: quiet})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := service.Bootstrap(b.Context(), benchKey); err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(httpapi.New(service, httpapi.Options{Logger: quiet, MaxRequests: 1 << 16}))
	b.Cleanup(func() {
		server.Close()
		if err := errors.Join(service.Close(), disk.Close()); err != nil {
			b.Error(err)
		}
		backend.Close()
	})
	return server.URL, &counted.bytes
}

func benchProxy(b *testing.B, double string) string {
	target, err := url.Parse(double)
	if err != nil {
		b.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1
	proxy.Transport = &http.Transport{MaxIdleConnsPerHost: benchClients}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Otherwise the answer may close the request's body while the proxy still
		// looks for its end.
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			b.Error(err)
		}
		proxy.ServeHTTP(w, r)
	}))
	b.Cleanup(server.Close)
	return server.URL
}

// countingStore counts the bytes that transactions set.
type countingStore struct {
	storage.Store
	bytes atomic.Int64
}

func (s *countingStore) Update(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	size := 0
	err := s.Store.Update(ctx, ns, func(tx storage.Tx) error {
		size = 0
		return fn(&countingTx{tx, &size})
	})
	s.bytes.Add(int64(size))
	return err
}

type countingTx struct {
	storage.Tx
	size *int
}

func (t *countingTx) Set(key, value []byte) error {
	*t.size += len(key) + len(value)
	return t.Tx.Set(key, value)
}

// peer is the process with the clients and the double.
type peer struct {
	url string
	in  io.Writer
	out *bufio.Reader
}

func startPeer(b *testing.B) *peer {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), peerChild+"=1")
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
	p := &peer{in: in, out: bufio.NewReader(out)}
	p.url = p.line(b)
	return p
}

func (p *peer) line(b *testing.B) string {
	text, err := p.out.ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(text)
}

func (p *peer) tell(b *testing.B, command string, url string, n int) {
	if _, err := fmt.Fprintln(p.in, command, url, n); err != nil {
		b.Fatal(err)
	}
	if got := p.line(b); got != "done" {
		b.Fatal(got)
	}
}

func (p *peer) run(b *testing.B, url string, n int, stream bool) {
	p.tell(b, map[bool]string{false: "plain", true: "stream"}[stream], url, n)
}

func (p *peer) hold(b *testing.B, url string, n int) { p.tell(b, "hold", url, n) }
func (p *peer) release(b *testing.B)                 { p.tell(b, "release", "-", 0) }

// servePeer is the main function of the process with the clients.
func servePeer() error {
	d := &double{release: make(chan struct{})}
	server := httptest.NewServer(d)
	fmt.Println(server.URL)
	held := &sync.WaitGroup{}
	for {
		var command, address string
		var n int
		if _, err := fmt.Scanln(&command, &address, &n); err != nil {
			return nil // the benchmark has ended
		}
		var err error
		switch command {
		case "plain", "stream":
			err = sendMany(address, n, command == "stream")
		case "hold":
			err = holdMany(address, n, held)
		case "release":
			close(d.release)
			held.Wait()
		}
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println("done")
	}
}

// sendMany sends n requests from several clients and reads the answers.
func sendMany(address string, n int, stream bool) error {
	var left atomic.Int64
	left.Store(int64(n))
	failures := make(chan error, benchClients)
	for range benchClients {
		go func() {
			var err error
			for err == nil && left.Add(-1) >= 0 {
				var resp *http.Response
				if resp, err = send(address, benchText, stream); err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}
			failures <- err
		}()
	}
	var all error
	for range benchClients {
		all = errors.Join(all, <-failures)
	}
	return all
}

// holdMany opens n streams whose model stops after its first words.
func holdMany(address string, n int, held *sync.WaitGroup) error {
	for range n {
		resp, err := send(address, "hold", true)
		if err != nil {
			return err
		}
		lines := bufio.NewReader(resp.Body)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return err
			}
			if strings.Contains(line, "output_text.delta") {
				break
			}
		}
		held.Go(func() {
			io.Copy(io.Discard, resp.Body) // until the double lets go
			resp.Body.Close()
		})
	}
	return nil
}

var benchHTTP = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: benchClients}}

func send(address, text string, stream bool) (*http.Response, error) {
	body := map[string]any{"model": "svc-preview", "stream": stream, "input": text,
		"messages": []map[string]string{{"role": "user", "content": text}}}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(http.MethodPost, address, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+benchKey)
	req.Header.Set("Content-Type", "application/json")
	resp, err := benchHTTP.Do(req)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	return resp, err
}

// double is a model server that answers with benchText.
type double struct{ release chan struct{} }

func (d *double) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Stream   bool
		Messages []struct{ Content json.RawMessage }
	}
	if r.URL.Path != "/v1/chat/completions" {
		http.NotFound(w, r)
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	const usage = `"usage":{"prompt_tokens":100,"completion_tokens":100,"total_tokens":200}`
	if !body.Stream {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],%s}`, benchText, usage)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	flusher := w.(http.Flusher)
	size := len(benchText) / benchDeltas
	for i := range benchDeltas {
		fmt.Fprintf(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":null}]}\n\n", benchText[i*size:(i+1)*size])
		flusher.Flush()
		if i == 0 && strings.Contains(string(body.Messages[0].Content), "hold") {
			<-d.release
		}
	}
	fmt.Fprintf(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],%s}\n\ndata: [DONE]\n\n", usage)
}
