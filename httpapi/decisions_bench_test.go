//go:build unix

package httpapi

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/openai"
)

// judging is a double of a model server that answers "B" and keeps what it was
// asked.
type judging struct {
	mu     sync.Mutex
	bodies [][]byte // guarded by mu; nil: they are not kept
}

const judgment = `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"double","choices":[{"index":0,"message":{"role":"assistant","content":"B"},` +
	`"logprobs":{"content":[{"token":"B","logprob":-0.1,"top_logprobs":[{"token":"B","logprob":-0.1},{"token":"C","logprob":-2.4}]}]},"finish_reason":"stop"}],` +
	`"usage":{"prompt_tokens":%d,"completion_tokens":1,"total_tokens":2}}`

func (j *judging) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/chat/completions" {
		http.NotFound(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	j.mu.Lock()
	if j.bodies != nil {
		j.bodies = append(j.bodies, body)
	}
	j.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, judgment, len(body)/4)
}

// BenchmarkSixteenQuestions measures the CPU time of a decision with sixteen
// questions beyond that of the bare calls that it makes of a model server, for
// states of a page and of a book. The server is in this process and costs both the
// same.
//
//	go test ./httpapi -run '^$' -bench SixteenQuestions -benchtime 300x
func BenchmarkSixteenQuestions(b *testing.B) {
	const questions = 16
	for _, size := range []int{1 << 10, 100 << 10} {
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			double := &judging{bodies: [][]byte{}}
			server := httptest.NewServer(double)
			b.Cleanup(server.Close)
			backend, err := openai.New(openai.Options{
				Models: []openai.Model{{Info: model.Info{ID: model.DefaultDecider, Decides: true}, Decides: openai.ByLabels,
					Targets: []openai.Target{{Server: &openai.Server{URL: server.URL + "/v1"}, Model: "judge"}}}},
				Logger: slog.New(slog.DiscardHandler),
			})
			check(b, err)
			b.Cleanup(backend.Close)
			a := newDecisionAPIOver(b, backend)
			var list []string
			for i := range questions {
				list = append(list, fmt.Sprintf(`"q%d":{"type":"choice","instructions":"Question %d?","criteria":{"one":null,"two":"the second"}}`, i, i))
			}
			body := `{"model":"svc-snap-preview","state":"` + strings.Repeat("Some more state. ", size/17) + `","questions":{` + strings.Join(list, ",") + `}}`
			decide := func() {
				if w := a.post(a.key, strings.NewReader(body)); w.Code != 200 {
					b.Fatal(w.Code, w.Body)
				}
			}
			decide()
			double.mu.Lock()
			bodies := double.bodies[len(double.bodies)-questions:]
			double.bodies = nil
			double.mu.Unlock()
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: questions}}
			b.Cleanup(client.CloseIdleConnections)
			bare := func() {
				var wg sync.WaitGroup
				for i, body := range bodies {
					one := func() {
						resp, err := client.Post(server.URL+"/v1/chat/completions", "application/json", bytes.NewReader(body))
						if err != nil {
							b.Error(err)
							return
						}
						_, _ = io.Copy(io.Discard, resp.Body)
						resp.Body.Close()
					}
					if i == 0 {
						one()
					} else {
						wg.Go(one)
					}
				}
				wg.Wait()
			}
			var ours, theirs time.Duration
			for range b.N { // in turn, so that both see the same noise
				begin := processTime(b)
				decide()
				middle := processTime(b)
				bare()
				ours, theirs = ours+middle-begin, theirs+processTime(b)-middle
			}
			n := float64(b.N) * float64(time.Microsecond)
			b.ReportMetric(float64(ours)/n, "µs-decision")
			b.ReportMetric(float64(theirs)/n, "µs-bare")
			b.ReportMetric(float64(ours-theirs)/n, "µs-beyond")
		})
	}
}

// processTime is the CPU time that this process has used.
func processTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	check(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
