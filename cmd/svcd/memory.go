package main

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc/internal/background"
)

const (
	// garbagePercent is how much garbage there may be beside what is used, where GOGC
	// does not say it. Most of what is used are the store's buffers, which have no
	// pointers: to collect twice as often costs little.
	garbagePercent = 50

	// leastGarbage is how many bytes of garbage there may be in any case while there
	// are requests: half of what a small service uses is made every few of them.
	leastGarbage = 48 << 20

	// quiet is the time between two collections after which nothing goes on that is
	// worth the memory. The runtime collects every two minutes by itself.
	quiet = time.Minute
)

// limitMemory lets the garbage collector know how much memory the process may
// have, where GOMEMLIMIT does not say it: nine tenths of what the control group
// has, which leaves the rest to mapped files and the kernel.
func limitMemory(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
		paceGarbage(time.Now())
	}
	if getenv("GOMEMLIMIT") != "" {
		return
	}
	if limit := groupMemory("/proc/self/cgroup", "/sys/fs/cgroup"); limit < math.MaxInt64 {
		debug.SetMemoryLimit(limit / 10 * 9)
	}
}

// paceGarbage sets how much garbage there may be after each collection. The last one
// was at a time.
func paceGarbage(last time.Time) {
	collected := new(*byte) // not needed by anybody, so that the next collection finds it
	runtime.AddCleanup(collected, func(last time.Time) {
		// What the percentage is of: see the runtime's documentation of GOGC.
		base := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
		metrics.Read(base)
		used := base[0].Value.Uint64() + base[1].Value.Uint64() + base[2].Value.Uint64()
		debug.SetGCPercent(garbage(used, time.Since(last)))
		paceGarbage(time.Now())
	}, last)
}

// garbage returns how many percent of the bytes that are used there may be of
// garbage, a time after the collection before the last.
func garbage(used uint64, since time.Duration) int {
	if since >= quiet {
		return garbagePercent
	}
	return max(garbagePercent, int(leastGarbage*100/max(used, 1<<20)))
}

// returnMemory gives memory back to the system while little goes on after much did,
// until ctx ends. The runtime alone takes minutes for that, and keeps a part.
func returnMemory(ctx context.Context) {
	var r returned
	background.Every(ctx, lookEvery, nil, func() {
		allocated := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
		metrics.Read(allocated)
		if r.due(allocated[0].Value.Uint64()) {
			debug.FreeOSMemory()
		}
	})
}

const (
	lookEvery = 10 * time.Second

	// restful is how much is allocated between two looks where little goes on, and
	// worthwhile how much must have been since memory was given back the last time.
	restful    = 16 << 20
	worthwhile = 256 << 20
)

// returned is what had been allocated by the process, in bytes, when it was looked
// the last time and when memory was given back. The zero value is that of its start.
type returned struct{ looked, at uint64 }

// due looks, and reports whether memory is to be given back.
func (r *returned) due(allocated uint64) bool {
	rest := allocated-r.looked < restful
	r.looked = allocated
	if !rest || allocated-r.at < worthwhile {
		return false
	}
	r.at = allocated
	return true
}

// groupMemory returns the smallest memory limit of the process's control group
// and those around it, math.MaxInt64 where there is none. A container may see its
// own group as the outermost.
func groupMemory(self, root string) int64 {
	limit := int64(math.MaxInt64)
	text, err := os.ReadFile(self)
	if err != nil {
		return limit
	}
	group := "/"
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) == 3 && parts[0] == "0" {
			group = parts[2]
		}
	}
	for dir := filepath.Join("/", group); ; dir = filepath.Dir(dir) {
		for _, name := range []string{"memory.max", "memory.high"} {
			limit = min(limit, readLimit(filepath.Join(root, dir, name)))
		}
		if dir == "/" {
			break
		}
	}
	return min(limit, readLimit(filepath.Join(root, "memory", "memory.limit_in_bytes")))
}

// readLimit reads a limit from a file, math.MaxInt64 where it has none.
func readLimit(path string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return math.MaxInt64
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	if err != nil || n <= 0 || n > 1<<50 { // "max", and what stands for it
		return math.MaxInt64
	}
	return n
}
