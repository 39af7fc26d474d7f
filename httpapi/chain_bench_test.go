//go:build unix

package httpapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/openai"
	"github.com/seed-506d8e5d/svc/storage/badgerstore"
)

// BenchmarkChainedTurn reports the CPU time of a turn behind about 200 others, from
// the request to the answer, over a store on disk and a model server. The client and
// the double of the model server are in it: they cost the same whatever svc does.
//
//	go test ./httpapi -run '^$' -bench ChainedTurn -benchtime 100x
func BenchmarkChainedTurn(b *testing.B) {
	for _, c := range []struct {
		name string
		text string // of the question; the answer is as long
	}{{"40B", strings.Repeat("0123456 ", 5)}, {"1KB", strings.Repeat("0123456789abcde ", 64)}} {
		b.Run(c.name, func(b *testing.B) {
			url := chainServer(b, c.text)
			last := ""
			for range 150 {
				last = chainTurn(b, url, last, c.text)
			}
			before := processTime(b)
			b.ReportAllocs()
			for b.Loop() {
				last = chainTurn(b, url, last, c.text)
			}
			b.ReportMetric(float64((processTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

func chainServer(b *testing.B, text string) string {
	answer := fmt.Sprintf(`{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12}}`, text)
	double := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/v1/models" {
			io.WriteString(w, `{"object":"list","data":[{"id":"m"}]}`)
			return
		}
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		io.WriteString(w, answer)
	}))
	quiet := slog.New(slog.DiscardHandler)
	backend, err := openai.New(openai.Options{Models: []openai.Model{{Info: model.Info{ID: "m", Generates: true, ContextWindow: 1 << 24}, Targets: []openai.Target{{Server: &openai.Server{URL: double.URL + "/v1"}, Model: "m"}}}}, Logger: quiet})
	if err != nil {
		b.Fatal(err)
	}
	disk, err := badgerstore.Open(badgerstore.Options{Dir: b.TempDir(), Logger: quiet})
	if err != nil {
		b.Fatal(err)
	}
	service, err := svc.New(b.Context(), svc.Options{Store: disk, Backend: backend, Logger: quiet})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := service.Bootstrap(b.Context(), "sk-chain"); err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(httpapi.New(service, httpapi.Options{Logger: quiet}))
	b.Cleanup(func() {
		server.Close()
		service.Close()
		disk.Close()
		double.Close()
	})
	return server.URL
}

func chainTurn(b *testing.B, url, last, text string) (id string) {
	body, _ := json.Marshal(map[string]any{"model": "m", "input": text, "previous_response_id": last})
	if last == "" {
		body, _ = json.Marshal(map[string]any{"model": "m", "input": text})
	}
	r, _ := http.NewRequest("POST", url+"/v1/responses", strings.NewReader(string(body)))
	r.Header.Set("Authorization", "Bearer sk-chain")
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	var made struct{ ID, Status string }
	data, _ := io.ReadAll(resp.Body)
	if json.Unmarshal(data, &made) != nil || made.Status != "completed" {
		b.Fatalf("%d %s", resp.StatusCode, data)
	}
	return made.ID
}

func processTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
