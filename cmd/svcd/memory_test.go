package main

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func TestGarbage(t *testing.T) {
	for _, test := range []struct {
		name  string
		used  uint64
		since time.Duration
		want  int
	}{
		{"a small heap has as much as a middling one", 8 << 20, time.Second, 600},
		{"a large one has its part", 200 << 20, time.Second, garbagePercent},
		{"nothing is used", 0, 0, 4800},
		{"nothing goes on", 8 << 20, 2 * time.Minute, garbagePercent},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := garbage(test.used, test.since); got != test.want {
				t.Errorf("%d %%, want %d", got, test.want)
			}
		})
	}
}

// TestEachCollectionSetsTheNext collects until it is seen, twice, since the runtime
// says in a goroutine of its own that something was collected.
func TestEachCollectionSetsTheNext(t *testing.T) {
	const before = 77
	defer debug.SetGCPercent(debug.SetGCPercent(before))
	paceGarbage(time.Now())
	for range 2 {
		debug.SetGCPercent(before)
		percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		for deadline := time.Now().Add(patience); ; runtime.Gosched() {
			runtime.GC()
			if metrics.Read(percent); percent[0].Value.Uint64() > before {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%v of collections have changed nothing", patience)
			}
		}
	}
}

func TestMemoryIsGivenBackAtRest(t *testing.T) {
	var r returned
	for i, look := range []struct {
		allocated uint64 // since the last one
		want      bool
	}{
		{30 << 20, false},   // a start is not worth it
		{1 << 20, false},    // nor is what is made at rest
		{2000 << 20, false}, // much goes on
		{1 << 20, true},
		{1 << 20, false}, // it was given back
		{500 << 20, false},
		{0, true},
	} {
		if got := r.due(r.looked + look.allocated); got != look.want {
			t.Errorf("look %d: %v", i, got)
		}
	}
}

func TestGroupMemory(t *testing.T) {
	for _, test := range []struct {
		name, self string
		files      map[string]string
		want       int64
	}{
		{"none", "0::/a\n", map[string]string{"a/memory.max": "max\n"}, math.MaxInt64},
		{"its own", "0::/a/b\n", map[string]string{"a/b/memory.max": "1000\n"}, 1000},
		{"the one around it", "0::/a/b\n", map[string]string{"a/b/memory.max": "1000\n", "a/memory.max": "700\n"}, 700},
		{"the high mark", "0::/\n", map[string]string{"memory.max": "1000\n", "memory.high": "900\n"}, 900},
		{"the old kind", "7:memory:/x\n", map[string]string{"memory/memory.limit_in_bytes": "5000\n"}, 5000},
		{"the old kind without", "7:memory:/x\n", map[string]string{"memory/memory.limit_in_bytes": "9223372036854771712\n"}, math.MaxInt64},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			self := filepath.Join(root, "self")
			write := func(path, text string) {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write(self, test.self)
			for name, text := range test.files {
				write(filepath.Join(root, "cgroup", name), text)
			}
			if got := groupMemory(self, filepath.Join(root, "cgroup")); got != test.want {
				t.Errorf("%d, want %d", got, test.want)
			}
		})
	}
}
