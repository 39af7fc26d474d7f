package files

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
)

// heapWatch knows the peak of the heap since it began.
type heapWatch struct {
	before, peak uint64
	percent      int
	stop         chan struct{}
	stopped      sync.WaitGroup
}

// watchHeap begins to look at the heap. The collector runs often meanwhile, so
// that what is in use shows and not what it has not come to yet.
func watchHeap() *heapWatch {
	w := &heapWatch{percent: debug.SetGCPercent(5), stop: make(chan struct{})}
	runtime.GC()
	w.before = heapBytes()
	w.stopped.Go(func() {
		for {
			w.peak = max(w.peak, heapBytes())
			select {
			case <-w.stop:
				return
			default:
				runtime.Gosched()
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
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// uploadOnDisk uploads 50 MB of text to a store on disk.
func uploadOnDisk(t testing.TB, store storage.Store) {
	e := newEnvOver(t, store, Options{})
	u := upload("text/plain", "")
	u.Content = &zeros{n: MaxBytes}
	f, err := e.Create(t.Context(), one, u)
	ok(t, err)
	equal(t, f.Status, Processed)
}

// TestAnUploadTakesLittleMemory holds the bound of 16 MiB, badger included.
func TestAnUploadTakesLittleMemory(t *testing.T) {
	store := openDir(t, t.TempDir())
	w := watchHeap()
	uploadOnDisk(t, store)
	if growth := w.growth(); growth > 16<<20 {
		t.Errorf("the heap grew by %d bytes", growth)
	}
}

func BenchmarkUpload50MB(b *testing.B) {
	store := openDir(b, b.TempDir())
	b.SetBytes(MaxBytes)
	var growth uint64
	for b.Loop() {
		w := watchHeap()
		uploadOnDisk(b, store)
		growth = max(growth, w.growth())
	}
	b.ReportMetric(float64(growth)/(1<<20), "peak-MiB")
}
