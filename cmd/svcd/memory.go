package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

// garbagePercent is how much garbage there may be beside what is used, where GOGC
// does not say it. Most of what is used are the store's buffers, which have no
// pointers: to collect twice as often costs little.
const garbagePercent = 50

// limitMemory lets the garbage collector know how much memory the process may
// have, where GOMEMLIMIT does not say it: nine tenths of what the control group
// has, which leaves the rest to mapped files and the kernel.
func limitMemory(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
	if getenv("GOMEMLIMIT") != "" {
		return
	}
	if limit := groupMemory("/proc/self/cgroup", "/sys/fs/cgroup"); limit < math.MaxInt64 {
		debug.SetMemoryLimit(limit / 10 * 9)
	}
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
