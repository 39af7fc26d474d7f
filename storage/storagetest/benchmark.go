package storagetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
)

const benchEntries = 1000

// Benchmark measures what the service does most: small commits, alone and 100 at
// a time, reads of one key and scans of 100. syncs returns how often the store
// has waited for the disk so far; nil leaves that out.
func Benchmark(b *testing.B, store storage.Store, syncs func() uint64) {
	for _, writers := range []int{1, 100} {
		b.Run(fmt.Sprintf("Commit%d", writers), func(b *testing.B) { benchCommit(b, store, writers, syncs) })
	}
	err := store.Update(context.Background(), ns, func(tx storage.Tx) error {
		for i := range benchEntries {
			if err := tx.Set(benchKey(i), make([]byte, 256)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("Get", func(b *testing.B) { benchGet(b, store) })
	b.Run("Scan100", func(b *testing.B) { benchScan(b, store, false) })
	b.Run("Scan100Reverse", func(b *testing.B) { benchScan(b, store, true) })
}

func benchCommit(b *testing.B, store storage.Store, writers int, syncs func() uint64) {
	b.ReportAllocs()
	var before uint64
	if syncs != nil {
		before = syncs()
	}
	var turn atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range writers {
		wg.Go(func() {
			for n := turn.Add(1); n <= int64(b.N); n = turn.Add(1) {
				if err := writeTurn(store, n); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if syncs != nil {
		b.ReportMetric(float64(syncs()-before)/float64(b.N), "syncs/op")
	}
}

func benchGet(b *testing.B, store storage.Store) {
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		err := store.View(context.Background(), ns, func(tx storage.Tx) error {
			_, err := tx.Get(benchKey(i % benchEntries))
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func benchScan(b *testing.B, store storage.Store, reverse bool) {
	b.ReportAllocs()
	r := storage.Range{Start: benchKey(300), End: benchKey(400), Reverse: reverse}
	for b.Loop() {
		var n int
		err := store.View(context.Background(), ns, func(tx storage.Tx) error {
			n = 0
			for _, err := range tx.Scan(r) {
				if err != nil {
					return err
				}
				n++
			}
			return nil
		})
		if err != nil || n != 100 {
			b.Fatalf("%d entries, %v", n, err)
		}
	}
}

func benchKey(i int) []byte { return fmt.Appendf(nil, "key/%06d", i) }

// writeTurn is a transaction like the one that stores a turn: 3 reads, 4 writes,
// 1 KB in all.
func writeTurn(store storage.Store, n int64) error {
	return store.Update(context.Background(), ns, func(tx storage.Tx) error {
		for i := range 3 {
			if _, err := get(tx, fmt.Sprintf("turn/%d/%d", n, i)); err != nil {
				return err
			}
		}
		for i := range 4 {
			if err := tx.Set(fmt.Appendf(nil, "turn/%d/%d", n, i), make([]byte, 240)); err != nil {
				return err
			}
		}
		return nil
	})
}
