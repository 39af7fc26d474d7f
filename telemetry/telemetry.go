// Package telemetry shows what a service does, in metrics and traces. A
// [Telemetry] is the Observer of a service's options: it measures the model, the
// store, the web search and the reader of documents. [Telemetry.Handler] measures
// an HTTP handler.
//
//	t := telemetry.New(telemetry.Options{Registerer: registry, Meters: meters, Traces: traces})
//	service, err := svc.New(ctx, svc.Options{Observer: t})
//	handler := t.Handler(httpapi.New(service, httpapi.Options{}))
//
// Metrics are for Prometheus, at [Telemetry.Metrics], and for the meter provider of
// [Options]. Their names are those of the OpenTelemetry conventions for generative AI
// and HTTP where there is one, and begin with svc otherwise; Prometheus has them with
// underscores and units. Spans go to the tracer provider.
// Neither holds what users write or an ID that users choose: a model that the
// service does not list is called "other".
package telemetry

import (
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/seed-506d8e5d/svc/fault"
)

// Options are what a Telemetry may be told. The zero value is usable.
type Options struct {
	// Registerer takes the metrics; nil is a registry of the Telemetry's own, which
	// also has what the Go runtime and the operating system say of the process.
	Registerer prometheus.Registerer

	// Meters gets the metrics, too, under the same names with dots; nil gets none.
	Meters metric.MeterProvider

	// Traces gets the spans; nil makes none.
	Traces trace.TracerProvider

	// Propagator finds the trace that a request belongs to; nil is that of W3C
	// Trace Context where there are Traces, and finds none where there are not.
	Propagator propagation.TextMapPropagator
}

// scope is what the providers of OpenTelemetry know the package by.
const scope = "github.com/seed-506d8e5d/svc/telemetry"

// Telemetry collects metrics and makes spans. Make one with [New].
type Telemetry struct {
	instruments
	tracer     trace.Tracer
	tracing    bool // somebody wants to know of traces: without, a request needs no context for them
	propagator propagation.TextMapPropagator
	metrics
	ofAll ofAll
}

// New returns a Telemetry. It panics where the registerer has metrics of the same
// names: a program with several services has one Telemetry for all of them, and
// its gauges add up what they have.
func New(o Options) *Telemetry {
	tracing := o.Traces != nil || o.Propagator != nil
	if o.Traces == nil {
		o.Traces = noop.NewTracerProvider()
	}
	if o.Propagator == nil {
		o.Propagator = propagation.TraceContext{}
	}
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
		o.Registerer.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	i := newInstruments(o.Registerer, o.Meters)
	return &Telemetry{
		instruments: i, tracer: o.Traces.Tracer(scope), tracing: tracing, propagator: o.Propagator, metrics: newMetrics(i),
		ofAll: ofAll{reads: map[string][]func() float64{}},
	}
}

// Gauge adds a metric that read is asked for whenever metrics are: the size of a
// store, the length of a queue. Labels, which may be nil, are part of every value.
// A name may be added again with other labels. It panics where a metric with the
// name and labels exists, or the name is none.
func (t *Telemetry) Gauge(name, help string, labels map[string]string, read func() float64) {
	t.asked(name, help, labels, read)
}

// Metrics returns the handler that Prometheus scrapes. A registerer of the
// program's that cannot be gathered from has none: the program serves it.
func (t *Telemetry) Metrics() http.Handler {
	gatherer, ok := t.registerer.(prometheus.Gatherer)
	if !ok {
		return http.NotFoundHandler()
	}
	return promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{EnableOpenMetrics: true})
}

// errorType is the value of the label and attribute error_type: the kind of the
// fault, of which there are few, and not its code or text.
func errorType(err error) string {
	if err == nil {
		return ""
	}
	return strings.ReplaceAll(fault.From(err).Kind.String(), " ", "_")
}

// endSpan ends a span with the kind of the error, if any.
func endSpan(span trace.Span, err error) {
	if err != nil {
		kind := errorType(err)
		span.SetAttributes(attribute.String("error.type", kind))
		span.SetStatus(codes.Error, kind)
	}
	span.End()
}
