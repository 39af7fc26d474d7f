package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/seed-506d8e5d/svc/responses/websearch"
	"github.com/seed-506d8e5d/svc/storage"
)

// Store returns s with its transactions measured. Those of background work, which
// belong to no request, are in no trace.
func (t *Telemetry) Store(s storage.Store) storage.Store { return store{s, t} }

type store struct {
	storage.Store
	telemetry *Telemetry
}

// Unwrap returns what is measured; see package driver.
func (s store) Unwrap() any { return s.Store }

// View implements storage.Store.
func (s store) View(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	return s.measure(ctx, "view", ns, fn, s.Store.View)
}

// Update implements storage.Store.
func (s store) Update(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	return s.measure(ctx, "update", ns, fn, s.Store.Update)
}

// transact is View or Update.
type transact func(context.Context, storage.Namespace, func(storage.Tx) error) error

// measure runs a transaction. That its function returns an error is no failure of
// the store.
func (s store) measure(ctx context.Context, access string, ns storage.Namespace, fn func(storage.Tx) error, run transact) error {
	span := trace.Span(nil)
	if trace.SpanFromContext(ctx).IsRecording() {
		ctx, span = s.telemetry.tracer.Start(ctx, "store."+access)
	}
	start := time.Now()
	refused := false
	err := run(ctx, ns, func(tx storage.Tx) error {
		err := fn(tx)
		refused = err != nil
		return err
	})
	failure := err
	if refused {
		failure = nil
	}
	s.telemetry.transactions.observe(ctx, time.Since(start).Seconds(), access, errorType(failure))
	if span != nil {
		endSpan(span, failure)
	}
	return err
}

// Search returns c with its searches measured.
func (t *Telemetry) Search(c websearch.Client) websearch.Client { return search{c, t} }

type search struct {
	inner     websearch.Client
	telemetry *Telemetry
}

// Unwrap returns what is measured; see package driver.
func (s search) Unwrap() any { return s.inner }

// Search implements websearch.Client.
func (s search) Search(ctx context.Context, query string) ([]websearch.Result, error) {
	ctx, span := s.telemetry.tracer.Start(ctx, "web_search", trace.WithSpanKind(trace.SpanKindClient))
	start := time.Now()
	results, err := s.inner.Search(ctx, query)
	s.telemetry.searches.observe(ctx, time.Since(start).Seconds(), errorType(err))
	endSpan(span, err)
	return results, err
}
