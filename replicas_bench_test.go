//go:build unix

package svc_test

import (
	"context"
	"encoding/json"
	"syscall"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/responses"
	"github.com/seed-506d8e5d/svc/storage/badgerstore"
	"github.com/seed-506d8e5d/svc/storage/pgstore"
	"github.com/seed-506d8e5d/svc/storage/pgstore/pgtest"
)

// BenchmarkPostgres says what each kind of request costs on PostgreSQL: waits for
// the database, statements, and CPU of this process; and a stored turn on the
// embedded store beside it. The waits that a process makes every 400 ms to look
// at the others are among them.
func BenchmarkPostgres(b *testing.B) {
	store, err := pgstore.Open(b.Context(), pgstore.Options{URL: pgtest.Database(b)})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	service, caller := open(b.Context(), svc.Options{Store: store})
	defer service.Close()
	for name, op := range requests(b, service, caller) {
		b.Run(name, func(b *testing.B) {
			op(b.Context(), b)
			before, cpu := store.Stats(), cpuTime()
			for b.Loop() {
				op(b.Context(), b)
			}
			after, n := store.Stats(), float64(b.N)
			b.ReportMetric(float64(after.Trips-before.Trips)/n, "trips/op")
			b.ReportMetric(float64(after.Statements-before.Statements)/n, "statements/op")
			b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/n, "cpu-µs/op")
		})
	}
}

// BenchmarkEmbedded is the same on the embedded store.
func BenchmarkEmbedded(b *testing.B) {
	store, err := badgerstore.Open(badgerstore.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	service, caller := open(b.Context(), svc.Options{Store: store})
	defer service.Close()
	for name, op := range requests(b, service, caller) {
		b.Run(name, func(b *testing.B) {
			op(b.Context(), b)
			cpu := cpuTime()
			for b.Loop() {
				op(b.Context(), b)
			}
			b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

// requests are what the benchmarks ask for, by name.
func requests(b *testing.B, service *svc.Service, caller svc.Caller) map[string]func(context.Context, testing.TB) {
	turn := func(ctx context.Context, t testing.TB, previous string) string {
		r, err := service.CreateResponse(ctx, caller, &responses.Request{
			Model: model.DefaultGenerator, Input: responses.Text("How long do I have to return an item?"), PreviousResponseID: previous,
		})
		if err != nil {
			t.Fatal(err)
		}
		return r.ID
	}
	first := turn(b.Context(), b, "")
	return map[string]func(context.Context, testing.TB){
		"turn":    func(ctx context.Context, t testing.TB) { turn(ctx, t, "") },
		"chained": func(ctx context.Context, t testing.TB) { turn(ctx, t, first) },
		"chat": func(ctx context.Context, t testing.TB) {
			_, err := service.CompleteChat(ctx, caller, &chat.Request{Model: model.DefaultGenerator, Messages: []chat.Message{
				{Role: model.User, Content: []chat.Part{chat.Text("How long do I have?")}},
			}})
			if err != nil {
				t.Fatal(err)
			}
		},
		"decision": func(ctx context.Context, t testing.TB) {
			_, err := service.Decide(ctx, caller, &decisions.Request{
				Model: model.DefaultDecider, State: json.RawMessage(`"I was charged twice."`),
				Questions: []decisions.Question{{Name: "twice", Type: decisions.Noul, Instructions: "Was the customer charged twice?"}},
			})
			if err != nil {
				t.Fatal(err)
			}
		},
	}
}

// cpuTime is what this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
