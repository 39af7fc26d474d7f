package storagetest

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
)

// Benchmark measures what the service does most: small commits, alone and 100 at
// a time, reads of one key and scans of 100. syncs returns how often the store
// has waited for the disk so far; nil leaves that out.
func Benchmark(b *testing.B, store storage.Store, syncs func() uint64) {
	for _, writers := range []int{1, 100} {
		b.Run(fmt.Sprintf("Commit%d", writers), func(b *testing.B) {
			b.ReportAllocs()
			before := uint64(0)
			if syncs != nil {
				before = syncs()
			}
			var turn atomic.Int64
			commit := func() {
				if err := writeTurn(store, int(turn.Add(1))); err != nil {
					b.Error(err)
				}
			}
			if writers == 1 {
				for b.Loop() {
					commit()
				}
			} else {
				b.SetParallelism(writers / runtime.GOMAXPROCS(0))
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						commit()
					}
				})
			}
			if syncs != nil {
				b.ReportMetric(float64(syncs()-before)/float64(b.N), "syncs/op")
			}
		})
	}
	const entries = 1000
	d := db{ns: "bench"}
	err := store.Update(context.Background(), d.ns, func(tx storage.Tx) error {
		for i := range entries {
			if err := tx.Set(benchKey(i), make([]byte, 256)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("Get", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			err := store.View(context.Background(), d.ns, func(tx storage.Tx) error {
				_, err := tx.Get(benchKey(i % entries))
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, reverse := range []bool{false, true} {
		b.Run(fmt.Sprintf("Scan100/reverse=%t", reverse), func(b *testing.B) {
			b.ReportAllocs()
			r := storage.Range{Start: benchKey(300), End: benchKey(400), Reverse: reverse}
			for b.Loop() {
				n := 0
				err := store.View(context.Background(), d.ns, func(tx storage.Tx) error {
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
		})
	}
}

func benchKey(i int) []byte { return fmt.Appendf(nil, "key/%06d", i) }

// writeTurn is a transaction like the one that stores a turn: 3 reads, 4 writes,
// 1 KB in all.
func writeTurn(store storage.Store, n int) error {
	return store.Update(context.Background(), "bench", func(tx storage.Tx) error {
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
