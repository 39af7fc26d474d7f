package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/driver"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/builtin"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/responses/websearch"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
	"github.com/seed-506d8e5d/svc/storage/storagetest"
	"github.com/seed-506d8e5d/svc/telemetry"
)

// The wrappers keep the contracts of what they wrap.

func TestStore(t *testing.T) {
	storagetest.Run(t, storagetest.Suite{
		Open: func(*testing.T, string) storage.Store {
			return telemetry.New(telemetry.Options{}).Store(memstore.New())
		},
	})
}

func TestBackend(t *testing.T) {
	tel := telemetry.New(telemetry.Options{})
	modeltest.Run(t, func(*testing.T) model.Backend { return tel.Backend(builtin.New()) }, modeltest.Options{})
}

func TestBackendIsWhatItWraps(t *testing.T) {
	tel := telemetry.New(telemetry.Options{})
	if _, ok := driver.As[model.Scorer](tel.Backend(modeltest.Plain(&modeltest.Script{}))); ok {
		t.Error("a backend that cannot score can, once wrapped")
	}
	for name, b := range map[string]model.Backend{"script": &modeltest.Script{}, "plain": modeltest.Plain(&modeltest.Script{})} {
		if got, want := model.Use(tel.Backend(b)).List(), model.Use(b).List(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: the models are %v, want %v", name, got, want)
		}
	}
}

// searcher finds nothing, or fails.
type searcher struct{ err error }

func (s searcher) Search(context.Context, string) ([]websearch.Result, error) { return nil, s.err }

// reader is an Extractor that answers with its error.
type reader struct{ err error }

func (r reader) Extract(context.Context, io.Reader, int64, files.Format) (files.Extracted, error) {
	return files.Extracted{Text: "text"}, r.err
}

// secret is in every text and every ID that a client of the tests chooses.
const secret = "zebra"

// server is a service under telemetry, with the spans that it made.
type server struct {
	http.Handler
	tel   *telemetry.Telemetry
	key   string
	spans *tracetest.InMemoryExporter
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{spans: tracetest.NewInMemoryExporter()}
	s.tel = telemetry.New(telemetry.Options{Traces: trace.NewTracerProvider(trace.WithSyncer(s.spans))})
	s.tel.Gauge("svc_store_size_bytes", "Size.", nil, func() float64 { return 7 })
	logger := slog.New(slog.DiscardHandler)
	service, err := svc.New(t.Context(), svc.Options{
		Observer: s.tel, Search: searcher{}, Logger: logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	if s.key, err = service.Bootstrap(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	s.Handler = s.tel.Handler(httpapi.New(service, httpapi.Options{AdminKey: "admin", Metrics: s.tel.Metrics(), Logger: logger}))
	return s
}

func (s *server) send(key, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Traceparent", "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// ask sends one request of each kind.
func (s *server) ask(t *testing.T) {
	t.Helper()
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/v1/systemone", `{"model":"svc-snap-preview","state":"zebra","questions":{"zebra":{"type":"noul","instructions":"zebra?"}}}`, 200},
		{"POST", "/v1/responses", `{"model":"svc-preview","input":"zebra?","tools":[{"type":"web_search_preview"}]}`, 200},
		{"POST", "/v1/responses", `{"model":"svc-preview","input":"zebra?","stream":true,"zebra":"zebra"}`, 200},
		{"POST", "/v1/chat/completions", `{"model":"svc-preview","messages":[{"role":"user","content":"zebra"}],"stream":true}`, 200},
		{"POST", "/v1/chat/completions", `{"model":"zebra","messages":[{"role":"user","content":"zebra"}]}`, 404},
		{"GET", "/v1/responses/resp_zebra", "", 404},
		{"GET", "/zebra", "", 404},
		{"ZEBRA", "/v1/models", "", 405},
	} {
		if w := s.send(s.key, c.method, c.path, c.body); w.Code != c.status {
			t.Fatalf("%s %s: got %d %s", c.method, c.path, w.Code, w.Body)
		}
	}
}

var (
	sample = regexp.MustCompile(`^([a-z0-9_]+)(?:\{(.*)\})? `)
	label  = regexp.MustCompile(`([a-z_]+)="([^"]*)"`)
)

// wantLabels is every metric of the service with its labels and their values.
var wantLabels = map[string]map[string][]string{
	"http_server_request_duration_seconds": {
		"http_request_method":       {"GET", "POST", "_OTHER"},
		"http_response_status_code": {"200", "404", "405"},
		"http_route":                {"/", "/v1/chat/completions", "/v1/models", "/v1/responses", "/v1/responses/{response_id}", "/v1/systemone"},
	},
	"http_server_active_requests": {},
	"svc_requests_ignored_fields_total": {
		"http_route": {"/v1/responses"},
	},
	"gen_ai_server_request_duration_seconds": {
		"gen_ai_operation_name": {"chat", "score"},
		"gen_ai_request_model":  {"svc-preview", "svc-snap-preview"},
		"error_type":            {""},
	},
	"gen_ai_server_time_to_first_token_seconds": {
		"gen_ai_operation_name": {"chat", "score"},
		"gen_ai_request_model":  {"svc-preview", "svc-snap-preview"},
	},
	"gen_ai_client_token_usage": {
		"gen_ai_operation_name": {"chat", "score"},
		"gen_ai_request_model":  {"svc-preview", "svc-snap-preview"},
		"gen_ai_token_type":     {"input", "output"},
	},
	"svc_model_active_calls":                 {},
	"svc_model_cached_input_tokens_total":    {"gen_ai_request_model": {"svc-preview", "svc-snap-preview"}},
	"svc_decision_label_mass":                {"gen_ai_request_model": {"svc-snap-preview"}},
	"svc_search_duration_seconds":            {"error_type": {""}},
	"svc_store_transaction_duration_seconds": {"svc_store_access": {"update", "view"}, "error_type": {""}},
	"svc_store_size_bytes":                   {},
	"svc_extraction_active":                  {},
	"svc_extraction_queue":                   {},
}

func TestMetrics(t *testing.T) {
	s := newServer(t)
	s.ask(t)
	w := s.send("admin", "GET", "/metrics", "")
	if w.Code != 200 {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	text := w.Body.String()
	if strings.Contains(strings.ToLower(text), secret) {
		t.Error("what a client wrote is in the metrics")
	}
	got := map[string]map[string][]string{}
	for line := range strings.Lines(text) {
		m := sample.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		name := m[1]
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			name = strings.TrimSuffix(name, suffix)
		}
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") || strings.HasPrefix(name, "promhttp_") {
			continue
		}
		if got[name] == nil {
			got[name] = map[string][]string{}
		}
		for _, l := range label.FindAllStringSubmatch(m[2], -1) {
			if l[1] != "le" && !slices.Contains(got[name][l[1]], l[2]) {
				got[name][l[1]] = append(got[name][l[1]], l[2])
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		for _, values := range got[name] {
			slices.Sort(values)
		}
		if fmt.Sprint(got[name]) != fmt.Sprint(wantLabels[name]) {
			t.Errorf("%s has %v, want %v", name, got[name], wantLabels[name])
		}
	}
	guide, err := os.ReadFile("../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range wantLabels {
		if got[name] == nil {
			t.Errorf("%s is missing", name)
		}
		if !strings.Contains(string(guide), "| `"+name+"` |") {
			t.Errorf("%s is not in the operator's guide", name)
		}
	}
	for _, line := range []string{
		`http_server_request_duration_seconds_count{http_request_method="POST",http_response_status_code="200",http_route="/v1/responses"} 2`,
		`gen_ai_server_request_duration_seconds_count{error_type="",gen_ai_operation_name="score",gen_ai_request_model="svc-snap-preview"} 1`,
		`http_server_active_requests 1`,
		`svc_model_active_calls 0`,
		`svc_store_size_bytes 7`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("there is no line %s", line)
		}
	}
}

func TestMetricsNeedTheAdminKey(t *testing.T) {
	s := newServer(t)
	if w := s.send(s.key, "GET", "/metrics", ""); w.Code != 401 {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestFailuresAreCountedByKind(t *testing.T) {
	tel := telemetry.New(telemetry.Options{})
	failure := &fault.Error{Kind: fault.Upstream, Code: secret, Message: secret}
	backend := tel.Backend(modeltest.New(modeltest.Answer{Err: failure}, modeltest.Answer{Events: []model.Event{model.TextDelta{Text: "a"}}}))
	for range backend.Generate(t.Context(), &model.Request{Model: secret}) {
	}
	for range backend.Generate(t.Context(), &model.Request{Model: model.DefaultGenerator}) {
		break
	}
	if _, err := tel.Search(searcher{errors.New(secret)}).Search(t.Context(), secret); err == nil {
		t.Error("the search's error is lost")
	}
	for format, err := range map[files.Format]error{files.Word: nil, files.PDF: &files.Unreadable{Reason: files.Password}} {
		got, gotErr := tel.Extractor(reader{err}).Extract(t.Context(), nil, 0, format)
		if got.Text != "text" || gotErr != err {
			t.Errorf("got %v, %v", got, gotErr)
		}
	}
	if _, err := tel.Extractor(reader{context.Canceled}).Extract(t.Context(), nil, 0, files.PDF); err != context.Canceled {
		t.Errorf("got %v", err)
	}
	w := httptest.NewRecorder()
	tel.Metrics().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, line := range []string{
		`gen_ai_server_request_duration_seconds_count{error_type="upstream",gen_ai_operation_name="chat",gen_ai_request_model="other"} 1`,
		`gen_ai_server_request_duration_seconds_count{error_type="canceled",gen_ai_operation_name="chat",gen_ai_request_model="svc-preview"} 1`,
		`svc_search_duration_seconds_count{error_type="internal"} 1`,
		`svc_extraction_duration_seconds_count{error_type="",svc_file_format="word"} 1`,
		`svc_extraction_duration_seconds_count{error_type="password",svc_file_format="pdf"} 1`,
		`svc_extraction_duration_seconds_count{error_type="canceled",svc_file_format="pdf"} 1`,
		`svc_extraction_active 0`,
	} {
		if !strings.Contains(w.Body.String(), line+"\n") {
			t.Errorf("there is no line %s in\n%s", line, w.Body)
		}
	}
}

func TestTraces(t *testing.T) {
	s := newServer(t)
	s.ask(t)
	names := map[string]bool{}
	for _, span := range s.spans.GetSpans() {
		names[span.Name] = true
		if got := span.SpanContext.TraceID().String(); got != "0123456789abcdef0123456789abcdef" {
			t.Errorf("%s is in the trace %s, not in the client's", span.Name, got)
		}
		if strings.Contains(strings.ToLower(fmt.Sprint(span.Name, span.Attributes, span.Events, span.Status)), secret) {
			t.Errorf("what a client wrote is in the span %+v", span)
		}
	}
	for _, want := range []string{"POST /v1/responses", "chat svc-preview", "score svc-snap-preview", "web_search", "store.view", "store.update", "_OTHER /v1/models"} {
		if !names[want] {
			t.Errorf("there is no span %q among %v", want, slices.Sorted(maps.Keys(names)))
		}
	}
}

// TestTheProgramsOwnRegistry has a program with a registry of its own, whose
// names get a prefix.
func TestTheProgramsOwnRegistry(t *testing.T) {
	registry := prometheus.NewRegistry()
	for range 2 { // one after the other, as in tests of programs
		tel := telemetry.New(telemetry.Options{Registerer: prometheus.WrapRegistererWithPrefix("mine_", registry)})
		service, err := svc.New(t.Context(), svc.Options{Observer: tel})
		if err != nil {
			t.Fatal(err)
		}
		if err := service.Close(); err != nil {
			t.Fatal(err)
		}
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if !strings.HasPrefix(f.GetName(), "mine_") {
				t.Errorf("%s is in the program's registry", f.GetName())
			}
		}
		if len(families) == 0 {
			t.Error("nothing is in the program's registry")
		}
		w := httptest.NewRecorder()
		if tel.Metrics().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil)); w.Code != 404 {
			t.Errorf("what cannot be gathered is served: %d", w.Code)
		}
		registry = prometheus.NewRegistry()
	}
}

// sized is a store that knows its size, and a backend that knows its servers.
type sized struct {
	storage.Store
	model.Backend
	bytes int64
	up    bool
}

func (s sized) Size() (int64, error)    { return s.bytes, nil }
func (s sized) Health() map[string]bool { return map[string]bool{"http://a.test/v1": s.up} }

// TestSeveralServices has two with one Telemetry, of which one has a server that is
// ill.
func TestSeveralServices(t *testing.T) {
	registry := prometheus.NewRegistry()
	tel := telemetry.New(telemetry.Options{Registerer: registry})
	for i, up := range []bool{true, false} {
		s := sized{memstore.New(), builtin.New(), int64(i + 1), up}
		defer s.Close()
		service, err := svc.New(t.Context(), svc.Options{Observer: tel, Store: s, Backend: s})
		if err != nil {
			t.Fatal(err)
		}
		defer service.Close()
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		got[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue()
	}
	for name, want := range map[string]float64{"svc_store_size_bytes": 3, "svc_extraction_queue": 0, "svc_upstream_up": 0} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s is %v (%v), want %v", name, value, ok, want)
		}
	}
}

// TestLabelMassOfRefusals counts the answers that were none, which are those that
// an operator wants to know of.
func TestLabelMassOfRefusals(t *testing.T) {
	tel := telemetry.New(telemetry.Options{})
	script := &modeltest.Script{Scores: func(context.Context, *model.ScoreRequest) (*model.Scores, error) {
		return nil, fault.Upstreamf(fmt.Errorf("double: %w", &model.NoLabels{Mass: 0.05}), "The model cannot be used for decisions.")
	}}
	b := model.Use(tel.Backend(script))
	if _, err := b.Score(t.Context(), &model.ScoreRequest{Model: model.DefaultDecider}); err == nil {
		t.Fatal("no error")
	}
	w := httptest.NewRecorder()
	tel.Metrics().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`svc_decision_label_mass_bucket{gen_ai_request_model="svc-snap-preview",le="0.01"} 0`,
		`svc_decision_label_mass_bucket{gen_ai_request_model="svc-snap-preview",le="0.1"} 1`,
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s is not in the metrics", want)
		}
	}
}
