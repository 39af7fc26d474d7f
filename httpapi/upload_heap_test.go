package httpapi

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/storage/badgerstore"
)

// heapWatch knows the peak of the heap since it began.
type heapWatch struct {
	before, peak uint64
	percent      int
	stop         chan struct{}
	stopped      sync.WaitGroup
}

// watchHeap begins to look at what lives on the heap, as the collector finds it, which
// runs often meanwhile: what it has not come to yet depends on what else the machine does.
func watchHeap() *heapWatch {
	w := &heapWatch{percent: debug.SetGCPercent(5), stop: make(chan struct{})}
	runtime.GC()
	w.before = heapBytes()
	w.stopped.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			w.peak = max(w.peak, heapBytes())
			select {
			case <-w.stop:
				return
			case <-tick.C:
			}
		}
	})
	return w
}

// growth ends the watch and returns by how many bytes the heap grew at most.
func (w *heapWatch) growth() uint64 {
	close(w.stop)
	w.stopped.Wait()
	debug.SetGCPercent(w.percent)
	return w.peak - min(w.before, w.peak)
}

func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// uploads is a server over a store on disk that takes large uploads.
type uploads struct{ url string }

func newUploads(t testing.TB) *uploads {
	store, err := badgerstore.Open(badgerstore.Options{Dir: t.TempDir()})
	check(t, err)
	logger := slog.New(slog.DiscardHandler)
	service, err := svc.New(context.Background(), svc.Options{Store: store, Logger: logger})
	check(t, err)
	_, err = service.Bootstrap(context.Background(), "sk-test")
	check(t, err)
	server := httptest.NewServer(New(service, Options{Logger: logger}))
	t.Cleanup(func() {
		server.Close()
		check(t, errors.Join(service.Close(), store.Close()))
	})
	return &uploads{server.URL}
}

// upload sends 50 MB of text.
func (u *uploads) upload(t testing.TB) {
	head, tail, _ := strings.Cut(form(purpose, formPart{"file", "a.txt", "text/plain", "<>"}), "<>")
	body := io.MultiReader(strings.NewReader(head), io.LimitReader(letters{}, 50_000_000), strings.NewReader(tail))
	r, err := http.NewRequest("POST", u.url+"/v1/files", body)
	check(t, err)
	r.Header.Set("Authorization", "Bearer sk-test")
	r.Header.Set("Content-Type", formType)
	resp, err := http.DefaultClient.Do(r)
	check(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 || !strings.Contains(string(answer), `"bytes":50000000,`) {
		t.Fatalf("got %d %s, %v", resp.StatusCode, answer, err)
	}
}

// letters are endless.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

// TestAnUploadTakesLittleMemory holds the bound of 16 MiB, with client, server
// and store in one process.
func TestAnUploadTakesLittleMemory(t *testing.T) {
	u := newUploads(t)
	w := watchHeap()
	u.upload(t)
	if growth := w.growth(); growth > 16<<20 {
		t.Errorf("the heap grew by %d bytes", growth)
	}
}

// BenchmarkUpload50MB reports how much the heap grows at most.
func BenchmarkUpload50MB(b *testing.B) {
	u := newUploads(b)
	b.SetBytes(50_000_000)
	var growth uint64
	for b.Loop() {
		w := watchHeap()
		u.upload(b)
		growth = max(growth, w.growth())
	}
	b.ReportMetric(float64(growth)/(1<<20), "peak-MiB")
}
