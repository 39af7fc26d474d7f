package svc_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/badgerstore"
	"github.com/seed-506d8e5d/svc/storage/pgstore"
	"github.com/seed-506d8e5d/svc/storage/pgstore/pgtest"
)

// charges is how many entries the ledger of each organization has. The figure of
// the documents is that of 1000, which take minutes to write.
var charges = flag.Int("charges", 10, "entries of each ledger in BenchmarkStart")

// BenchmarkStart starts a service over 10,000 organizations with ledgers, on disk and
// on PostgreSQL, and prints how long that takes, and how long the store takes to open.
func BenchmarkStart(b *testing.B) {
	quiet := slog.New(slog.DiscardHandler)
	b.Run("embedded", func(b *testing.B) {
		dir := b.TempDir()
		benchmarkStart(b, func(context.Context) (storage.Store, error) {
			return badgerstore.Open(badgerstore.Options{Dir: dir, Logger: quiet})
		})
	})
	b.Run("postgres", func(b *testing.B) {
		url := pgtest.Database(b)
		benchmarkStart(b, func(ctx context.Context) (storage.Store, error) {
			return pgstore.Open(ctx, pgstore.Options{URL: url})
		})
	})
}

func benchmarkStart(b *testing.B, open func(context.Context) (storage.Store, error)) {
	const organizations = 10_000
	quiet := slog.New(slog.DiscardHandler)
	store, err := open(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	const entry = `{"type":"charge","amount":-12,"use":{"endpoint":"responses","model":"svc-preview","input_tokens":40,"output_tokens":5},"created_at":1795300755}`
	err = store.Update(b.Context(), "system", func(tx storage.Tx) error {
		for i := range organizations {
			record := fmt.Sprintf(`{"id":"org_%05d","name":"n","status":"active","created_at":1795300755}`, i)
			if err := tx.Set(fmt.Appendf(nil, "a/o/org_%05d", i), []byte(record)); err != nil {
				return err
			}
		}
		return nil
	})
	seeding := errgroup.Group{}
	seeding.SetLimit(32) // whose transactions share a sync
	for i := range organizations {
		seeding.Go(func() error {
			return store.Update(b.Context(), storage.Namespace(fmt.Sprintf("org_%05d", i)), func(tx storage.Tx) error {
				for n := range *charges {
					if err := tx.Set(fmt.Appendf(nil, "a/e/%08d", n+1), []byte(entry)); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	if err := errors.Join(err, seeding.Wait(), store.Close()); err != nil {
		b.Fatal(err)
	}
	var opening, starting time.Duration
	for b.Loop() {
		begin := time.Now()
		store, err := open(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		opened := time.Now()
		service, err := svc.New(b.Context(), svc.Options{Store: store, Logger: quiet})
		if err == nil {
			err = service.Ready(b.Context())
		}
		if err != nil {
			b.Fatal(err)
		}
		opening, starting = opening+opened.Sub(begin), starting+time.Since(opened)
		b.StopTimer()
		if list, err := service.Organizations(b.Context(), svc.Page{Limit: 1}); err != nil || len(list.Items) != 1 {
			b.Fatal(list, err)
		}
		if err := service.Close(); err != nil {
			b.Fatal(err)
		}
		if err := store.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(opening.Microseconds())/1e3/float64(b.N), "ms-open/op")
	b.ReportMetric(float64(starting.Microseconds())/1e3/float64(b.N), "ms-start/op")
}
