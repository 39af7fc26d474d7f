package telemetry_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/responses"
	"github.com/seed-506d8e5d/svc/telemetry"
)

// provider has one meter.
type provider struct {
	noop.MeterProvider
	meters *meters
}

func (p provider) Meter(string, ...metric.MeterOption) metric.Meter { return p.meters }

// meters keeps what it is told, as "name attributes: value".
type meters struct {
	noop.Meter

	mu   sync.Mutex
	told []string // guarded by mu
	asks []func(context.Context, metric.Float64Observer) error
}

func (m *meters) tell(name string, value float64, attributes fmt.Stringer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.told = append(m.told, fmt.Sprintf("%s%s: %g", name, attributes, value))
}

type told struct {
	noop.Float64Histogram
	noop.Float64Counter
	noop.Float64UpDownCounter
	noop.Float64Observer
	meters *meters
	name   string
}

type list string

func (l list) String() string { return string(l) }

func (t told) Enabled(context.Context) bool { return true }

func (t told) Record(_ context.Context, value float64, o ...metric.RecordOption) {
	set := metric.NewRecordConfig(o).Attributes()
	text := ""
	for _, kv := range set.ToSlice() {
		text += " " + string(kv.Key) + "=" + kv.Value.Emit()
	}
	if strings.HasSuffix(t.name, "duration") || strings.HasSuffix(t.name, "first_token") {
		value = 0 // which differs
	}
	t.meters.tell(t.name, value, list(text))
}

func (t told) Add(_ context.Context, value float64, o ...metric.AddOption) {
	set := metric.NewAddConfig(o).Attributes()
	t.meters.tell(t.name, value, list(fmt.Sprint(" ", set.Len())))
}

func (t told) Observe(value float64, _ ...metric.ObserveOption) {
	t.meters.tell(t.name, value, list(""))
}

func (m *meters) Float64Histogram(name string, _ ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return told{meters: m, name: name}, nil
}

func (m *meters) Float64Counter(name string, _ ...metric.Float64CounterOption) (metric.Float64Counter, error) {
	return told{meters: m, name: name}, nil
}

func (m *meters) Float64UpDownCounter(name string, _ ...metric.Float64UpDownCounterOption) (metric.Float64UpDownCounter, error) {
	return told{meters: m, name: name}, nil
}

func (m *meters) Float64ObservableGauge(name string, o ...metric.Float64ObservableGaugeOption) (metric.Float64ObservableGauge, error) {
	for _, ask := range metric.NewFloat64ObservableGaugeConfig(o...).Callbacks() {
		m.asks = append(m.asks, func(ctx context.Context, _ metric.Float64Observer) error {
			return ask(ctx, told{meters: m, name: name})
		})
	}
	return noop.Float64ObservableGauge{}, nil
}

// TestTheProgramsOwnMeters has one turn, which a provider is told of as Prometheus is.
func TestTheProgramsOwnMeters(t *testing.T) {
	m := &meters{}
	service, err := svc.New(t.Context(), svc.Options{Observer: telemetry.New(telemetry.Options{Registerer: prometheus.NewRegistry(), Meters: provider{meters: m}})})
	if err != nil {
		t.Fatal(err)
	}
	caller, err := service.LocalCaller(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := service.CreateResponse(t.Context(), caller, &responses.Request{Model: model.DefaultGenerator, Input: responses.Text("Snow is white. What is white?")}); err != nil {
		t.Fatal(err)
	}
	for _, ask := range m.asks {
		if err := ask(t.Context(), nil); err != nil {
			t.Error(err)
		}
	}
	if err := service.Close(); err != nil {
		t.Fatal(err)
	}
	const of = " gen_ai.operation.name=chat gen_ai.request.model=svc-preview"
	for _, want := range []string{
		"gen_ai.server.request.duration" + of + ": 0",
		"gen_ai.server.time_to_first_token" + of + ": 0",
		"gen_ai.client.token.usage" + of + " gen_ai.token.type=input: 14",
		"gen_ai.client.token.usage" + of + " gen_ai.token.type=output: 3",
		"svc.model.cached_input_tokens 1: 0", "svc.model.active_calls 0: 1", "svc.model.active_calls 0: -1",
		"svc.store.transaction.duration svc.store.access=update: 0",
		"svc_extraction_queue: 0",
	} {
		if !slices.Contains(m.told, want) {
			t.Errorf("nobody was told %q, but\n%s", want, strings.Join(m.told, "\n"))
		}
	}
}
