package telemetry

import (
	"context"
	"errors"
	"io"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/seed-506d8e5d/svc/files"
)

// Extractor returns e with its extractions measured. Those of uploads run in the
// background and are traces of their own.
func (t *Telemetry) Extractor(e files.Extractor) files.Extractor { return extractor{e, t} }

type extractor struct {
	inner     files.Extractor
	telemetry *Telemetry
}

// Unwrap returns what is measured; see package driver.
func (e extractor) Unwrap() any { return e.inner }

// Extract implements files.Extractor.
func (e extractor) Extract(ctx context.Context, doc io.Reader, size int64, format files.Format) (files.Extracted, error) {
	t := e.telemetry
	ctx, span := t.tracer.Start(ctx, "extract "+string(format), trace.WithAttributes(
		attribute.String("svc.file.format", string(format)), attribute.Int64("svc.file.size", size)))
	t.activeExtractions.add(ctx, 1)
	defer t.activeExtractions.add(ctx, -1)
	start := time.Now()
	extracted, err := e.inner.Extract(ctx, doc, size, format)
	t.extractions.observe(ctx, time.Since(start).Seconds(), string(format), extractionError(err))
	if unreadable, ok := errors.AsType[*files.Unreadable](err); ok {
		span.SetAttributes(attribute.String("svc.file.reason", string(unreadable.Reason)))
		endSpan(span, nil)
	} else {
		endSpan(span, err)
	}
	return extracted, err
}

// extractionError is the label of an extraction: why a document cannot be read,
// or the kind of what went wrong.
func extractionError(err error) string {
	if unreadable, ok := errors.AsType[*files.Unreadable](err); ok {
		return string(unreadable.Reason)
	}
	return errorType(err)
}
