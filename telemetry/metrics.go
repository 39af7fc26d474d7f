package telemetry

import (
	"context"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// metrics are the metrics that the wrappers feed.
type metrics struct {
	requests       histogram
	activeRequests gauge
	ignoredFields  counter
	modelCalls     histogram
	activeCalls    gauge
	firstTokens    histogram
	tokens         histogram
	cachedTokens   counter
	policies       counter
	searches       histogram
	labelMass      histogram
	transactions   histogram

	extractions       histogram
	activeExtractions gauge
}

// The attributes. Each has a bounded set of values. Prometheus has their names with
// underscores for the dots, as it has those of the metrics.
const (
	labelMethod    = "http.request.method"
	labelRoute     = "http.route" // the pattern, not the path
	labelStatus    = "http.response.status_code"
	labelOperation = "gen_ai.operation.name" // chat or score
	labelModel     = "gen_ai.request.model"  // a listed one, or other
	labelTokenType = "gen_ai.token.type"     // input or output
	labelError     = "error.type"            // a kind of fault or a reason of package files, empty for success
	labelAccess    = "svc.store.access"      // view or update
	labelFormat    = "svc.file.format"       // pdf or word
	labelPolicy    = "policy"                // its name in the configuration
	labelStage     = "stage"                 // input or output
	labelOutcome   = "outcome"               // passed, blocked, logged or failed
)

// The bounds of buckets that the OpenTelemetry conventions advise.
var (
	requestBuckets    = []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 120}
	modelBuckets      = prometheus.ExponentialBuckets(0.01, 2, 14)
	firstTokenBuckets = []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
	tokenBuckets      = prometheus.ExponentialBuckets(1, 4, 14)
	labelMassBuckets  = []float64{0.01, 0.1, 0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999}
	storeBuckets      = prometheus.ExponentialBuckets(0.00001, 4, 10)
)

func newMetrics(i instruments) metrics {
	return metrics{
		requests: i.histogram("http.server.request.duration", "s", "Duration of requests, streams up to their end.",
			requestBuckets, labelMethod, labelRoute, labelStatus),
		activeRequests: i.gauge("http.server.active_requests", "Requests under way."),
		ignoredFields:  i.counter("svc.requests.ignored_fields", "Requests with fields that the interface does not have, which were ignored.", labelRoute),
		modelCalls: i.histogram("gen_ai.server.request.duration", "s", "Duration of calls of a model.",
			modelBuckets, labelOperation, labelModel, labelError),
		activeCalls: i.gauge("svc.model.active_calls", "Calls of models under way."),
		firstTokens: i.histogram("gen_ai.server.time_to_first_token", "s", "Time from the call of a model to the first piece of its answer.",
			firstTokenBuckets, labelOperation, labelModel),
		tokens: i.histogram("gen_ai.client.token.usage", "{token}", "Tokens of a call of a model, cached ones and reasoning included.",
			tokenBuckets, labelOperation, labelModel, labelTokenType),
		cachedTokens: i.counter("svc.model.cached_input_tokens", "Input tokens that a model server had cached.", labelModel),
		labelMass: i.histogram("svc.decision.label_mass", "1", "Probability that the labels of a question's options had together, also where that was too little for an answer.",
			labelMassBuckets, labelModel),
		policies: i.counter("svc.policy_decisions", "What policies said of inputs and outputs.", labelPolicy, labelStage, labelOutcome),
		searches: i.histogram("svc.search.duration", "s", "Duration of web searches.", modelBuckets, labelError),
		transactions: i.histogram("svc.store.transaction.duration", "s", "Duration of transactions, retries included.",
			storeBuckets, labelAccess, labelError),
		extractions: i.histogram("svc.extraction.duration", "s", "Duration of the extraction of text from documents.",
			modelBuckets, labelFormat, labelError),
		activeExtractions: i.gauge("svc.extraction.active", "Extractions under way."),
	}
}

// instruments makes metrics that are kept twice: for Prometheus, and for the program's
// own provider.
type instruments struct {
	registerer prometheus.Registerer
	meter      metric.Meter
}

func newInstruments(r prometheus.Registerer, p metric.MeterProvider) instruments {
	if p == nil {
		p = noop.NewMeterProvider()
	}
	return instruments{r, p.Meter(scope)}
}

// underscored is a name as Prometheus has it.
func underscored(name string) string { return strings.ReplaceAll(name, ".", "_") }

func allUnderscored(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = underscored(name)
	}
	return all
}

// must returns an instrument. The SDK of OpenTelemetry returns one that works besides
// an error about a name or unit; ours are right.
func must[T any](instrument T, _ error) T { return instrument }

// attributes returns what a value of a metric has. Those without a value are left out,
// such as the error of what went well.
func attributes(names, values []string) metric.MeasurementOption {
	var set []attribute.KeyValue
	for i, name := range names {
		if values[i] != "" {
			set = append(set, attribute.String(name, values[i]))
		}
	}
	return metric.WithAttributes(set...)
}

type histogram struct {
	vec    *prometheus.HistogramVec
	otel   metric.Float64Histogram
	labels []string
}

func (i instruments) histogram(name, unit, help string, buckets []float64, labels ...string) histogram {
	full := underscored(name)
	if unit == "s" {
		full += "_seconds"
	}
	vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: full, Help: help, Buckets: buckets}, allUnderscored(labels))
	i.registerer.MustRegister(vec)
	return histogram{vec, must(i.meter.Float64Histogram(name, metric.WithUnit(unit), metric.WithDescription(help),
		metric.WithExplicitBucketBoundaries(buckets...))), labels}
}

// observe adds a value. ctx has the span that it belongs to.
func (h histogram) observe(ctx context.Context, value float64, values ...string) {
	h.vec.WithLabelValues(values...).Observe(value)
	if h.otel.Enabled(ctx) {
		h.otel.Record(ctx, value, attributes(h.labels, values))
	}
}

type counter struct {
	vec    *prometheus.CounterVec
	otel   metric.Float64Counter
	labels []string
}

func (i instruments) counter(name, help string, labels ...string) counter {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: underscored(name) + "_total", Help: help}, allUnderscored(labels))
	i.registerer.MustRegister(vec)
	return counter{vec, must(i.meter.Float64Counter(name, metric.WithDescription(help))), labels}
}

func (c counter) add(ctx context.Context, value float64, values ...string) {
	c.vec.WithLabelValues(values...).Add(value)
	if c.otel.Enabled(ctx) {
		c.otel.Add(ctx, value, attributes(c.labels, values))
	}
}

type gauge struct {
	prometheus.Gauge
	otel metric.Float64UpDownCounter
}

func (i instruments) gauge(name, help string) gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: underscored(name), Help: help})
	i.registerer.MustRegister(g)
	return gauge{g, must(i.meter.Float64UpDownCounter(name, metric.WithDescription(help)))}
}

func (g gauge) add(ctx context.Context, delta float64) {
	g.Add(delta)
	g.otel.Add(ctx, delta)
}

// asked adds a gauge that read is asked for.
func (i instruments) asked(name, help string, labels map[string]string, read func() float64) {
	i.registerer.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, read))
	var set []attribute.KeyValue
	for key, value := range labels {
		set = append(set, attribute.String(key, value))
	}
	must(i.meter.Float64ObservableGauge(name, metric.WithDescription(help), metric.WithFloat64Callback(
		func(_ context.Context, o metric.Float64Observer) error {
			o.Observe(read(), metric.WithAttributes(set...))
			return nil
		})))
}
