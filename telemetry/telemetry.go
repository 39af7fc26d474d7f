// Package telemetry shows what a service does, in metrics and traces. A
// [Telemetry] is the Observer of a service's options: it measures the model, the
// store, the web search and the reader of documents. [Telemetry.Handler] measures
// an HTTP handler.
//
//	t := telemetry.New(telemetry.Options{Registerer: registry, Traces: provider})
//	service, err := svc.New(ctx, svc.Options{Observer: t})
//	handler := t.Handler(httpapi.New(service, httpapi.Options{}))
//
// Metrics are for Prometheus, at [Telemetry.Metrics]. Their names are those of
// the OpenTelemetry conventions for generative AI and HTTP where there is one,
// and begin with svc_ otherwise. Spans go to the tracer provider of [Options].
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

	// Traces gets the spans; nil makes none.
	Traces trace.TracerProvider

	// Propagator finds the trace that a request belongs to; nil is that of W3C
	// Trace Context.
	Propagator propagation.TextMapPropagator
}

// Telemetry collects metrics and makes spans. Make one with [New].
type Telemetry struct {
	registerer prometheus.Registerer
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
	metrics
}

// metrics are the metrics that the wrappers feed.
type metrics struct {
	requests       *prometheus.HistogramVec
	activeRequests prometheus.Gauge
	modelCalls     *prometheus.HistogramVec
	activeCalls    prometheus.Gauge
	firstTokens    *prometheus.HistogramVec
	tokens         *prometheus.HistogramVec
	cachedTokens   *prometheus.CounterVec
	searches       *prometheus.HistogramVec
	labelMass      *prometheus.HistogramVec
	transactions   *prometheus.HistogramVec

	extractions       *prometheus.HistogramVec
	activeExtractions prometheus.Gauge
}

// The labels. Each has a bounded set of values.
const (
	labelMethod    = "http_request_method"
	labelRoute     = "http_route" // the pattern, not the path
	labelStatus    = "http_response_status_code"
	labelOperation = "gen_ai_operation_name" // chat or score
	labelModel     = "gen_ai_request_model"  // a listed one, or other
	labelTokenType = "gen_ai_token_type"     // input or output
	labelError     = "error_type"            // a kind of fault or a reason of package files, empty for success
	labelAccess    = "svc_store_access"      // view or update
	labelFormat    = "svc_file_format"       // pdf or word
)

// New returns a Telemetry. It panics where the registerer has metrics of the same
// names: a program with several services has one Telemetry for all of them.
func New(o Options) *Telemetry {
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
	t := &Telemetry{
		registerer: o.Registerer,
		tracer:     o.Traces.Tracer("github.com/seed-506d8e5d/svc/telemetry"),
		propagator: o.Propagator,
		metrics:    newMetrics(),
	}
	t.registerer.MustRegister(
		t.requests, t.activeRequests, t.modelCalls, t.activeCalls, t.firstTokens, t.tokens, t.cachedTokens, t.searches, t.transactions,
		t.extractions, t.activeExtractions, t.labelMass,
	)
	return t
}

// The bounds of buckets that the OpenTelemetry conventions advise.
var (
	requestBuckets    = []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 120}
	modelBuckets      = prometheus.ExponentialBuckets(0.01, 2, 14)
	firstTokenBuckets = []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
	tokenBuckets      = prometheus.ExponentialBuckets(1, 4, 14)
	labelMassBuckets  = []float64{0.01, 0.1, 0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999}
	storeBuckets      = prometheus.ExponentialBuckets(0.00001, 4, 10)
)

func newMetrics() metrics {
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	return metrics{
		requests: histogram("http_server_request_duration_seconds", "Duration of requests, streams up to their end.",
			requestBuckets, labelMethod, labelRoute, labelStatus),
		activeRequests: gauge("http_server_active_requests", "Requests under way."),
		modelCalls: histogram("gen_ai_server_request_duration_seconds", "Duration of calls of a model.",
			modelBuckets, labelOperation, labelModel, labelError),
		activeCalls: gauge("svc_model_active_calls", "Calls of models under way."),
		firstTokens: histogram("gen_ai_server_time_to_first_token_seconds", "Time from the call of a model to the first piece of its answer.",
			firstTokenBuckets, labelOperation, labelModel),
		tokens: histogram("gen_ai_client_token_usage", "Tokens of a call of a model, cached ones and reasoning included.",
			tokenBuckets, labelOperation, labelModel, labelTokenType),
		cachedTokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "svc_model_cached_input_tokens_total", Help: "Input tokens that a model server had cached."}, []string{labelModel}),
		labelMass: histogram("svc_decision_label_mass", "Probability that the labels of a question's options had together, also where that was too little for an answer.",
			labelMassBuckets, labelModel),
		searches: histogram("svc_search_duration_seconds", "Duration of web searches.", modelBuckets, labelError),
		transactions: histogram("svc_store_transaction_duration_seconds", "Duration of transactions, retries included.",
			storeBuckets, labelAccess, labelError),
		extractions: histogram("svc_extraction_duration_seconds", "Duration of the extraction of text from documents.",
			modelBuckets, labelFormat, labelError),
		activeExtractions: gauge("svc_extraction_active", "Extractions under way."),
	}
}

// Gauge adds a metric that read is asked for whenever metrics are: the size of a
// store, the length of a queue. Labels, which may be nil, are part of every value.
// A name may be added again with other labels. It panics where a metric with the
// name and labels exists, or the name is none.
func (t *Telemetry) Gauge(name, help string, labels map[string]string, read func() float64) {
	t.registerer.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, read))
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
