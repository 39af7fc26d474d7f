package svc_test

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/model/builtin"
	"github.com/seed-506d8e5d/svc/storage/badgerstore"
)

// BenchmarkDeleteConversation deletes conversations from a store on disk, and prints
// what the process wrote for each and the CPU time that it took, with what tables are
// flushed and compacted for it until the store is closed.
//
//	go test . -run - -bench DeleteConversation -benchtime 1000x
func BenchmarkDeleteConversation(b *testing.B) {
	for _, items := range []int{20, 100} {
		b.Run(fmt.Sprintf("%dItems", items), func(b *testing.B) { benchmarkDelete(b, items) })
	}
}

func benchmarkDelete(b *testing.B, items int) {
	store, err := badgerstore.Open(badgerstore.Options{Dir: b.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	service, err := svc.New(b.Context(), svc.Options{Store: store, Backend: builtin.New(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	caller, err := service.LocalCaller(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	var ids []string
	for i := range b.N {
		var list []conversations.Item
		for j := range items {
			list = append(list, conversations.UserMessage(strings.Repeat(fmt.Sprintf("Item %d of conversation %d. ", j, i), 10)))
		}
		c, err := service.CreateConversation(b.Context(), caller, nil, list[:min(items, 20)])
		if err != nil {
			b.Fatal(err)
		}
		for rest := list[min(items, 20):]; len(rest) > 0; rest = rest[20:] {
			if _, err := service.AddConversationItems(b.Context(), caller, c.ID, rest[:20]); err != nil {
				b.Fatal(err)
			}
		}
		ids = append(ids, c.ID)
	}
	written, busy := bytesWritten(b), busyTime(b)
	b.ResetTimer()
	for _, id := range ids {
		if err := service.DeleteConversation(b.Context(), caller, id); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	if err := service.Close(); err != nil {
		b.Fatal(err)
	}
	if err := store.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(bytesWritten(b)-written)/float64(b.N), "written-B/op")
	b.ReportMetric(float64(busyTime(b)-busy)/float64(b.N), "cpu-µs/op")
}

// bytesWritten returns what the process has written to disks.
func bytesWritten(b *testing.B) uint64 {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		b.Fatal(err)
	}
	var n uint64
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "write_bytes: %d", &n); err == nil {
			return n
		}
	}
	b.Fatal("/proc/self/io has no write_bytes")
	return 0
}

// busyTime returns the CPU time of the process in microseconds.
func busyTime(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return (u.Utime.Nano() + u.Stime.Nano()) / 1000
}
