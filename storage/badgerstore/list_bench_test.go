package badgerstore

import (
	"fmt"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// BenchmarkListAfterDeletions reads a page of twenty objects behind which, in key
// order before them, 6,000 were deleted one by one.
func BenchmarkListAfterDeletions(b *testing.B) {
	for _, deleted := range []int{0, 6000} {
		for name, open := range map[string]func() storage.Store{
			"memory": memstore.New,
			"disk":   func() storage.Store { return openDir(b, b.TempDir()) },
		} {
			b.Run(fmt.Sprint(name, "-", deleted), func(b *testing.B) {
				s := open()
				writeAndDelete(b, s, deleted)
				for b.Loop() {
					n := 0
					err := s.View(b.Context(), "org", func(tx storage.Tx) error {
						for _, err := range tx.Scan(storage.Prefix([]byte("v/c/"))) {
							if n++; err != nil || n == 20 {
								return err
							}
						}
						return nil
					})
					if err != nil || n < 20 {
						b.Fatal(n, err)
					}
				}
				if name == "memory" {
					s.Close()
				}
			})
		}
	}
}

// writeAndDelete writes objects and deletes the first of them, one by one.
func writeAndDelete(b *testing.B, s storage.Store, deleted int) {
	key := func(n int) []byte { return fmt.Appendf(nil, "v/c/%06d", n) }
	const most = 7000
	for n := range most {
		if err := s.Update(b.Context(), "org", func(tx storage.Tx) error { return tx.Set(key(n), make([]byte, 200)) }); err != nil {
			b.Fatal(err)
		}
	}
	for n := range deleted {
		if err := s.Update(b.Context(), "org", func(tx storage.Tx) error { return tx.Delete(key(n)) }); err != nil {
			b.Fatal(err)
		}
	}
}
