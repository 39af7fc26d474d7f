package telemetry

import (
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/seed-506d8e5d/svc/internal/status"
)

// ignoredHeader is the header of answers to requests with fields that the interface
// does not have.
const ignoredHeader = "Svc-Ignored-Fields"

// statusAborted is shown for a request that ended without an answer.
const statusAborted = 499

// Handler returns h with its requests measured. The route of a request is the
// pattern that an [http.ServeMux] in h found for it. A span continues the trace
// that the client names in the header traceparent.
func (t *Telemetry) Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m, r := t.begin(w, r)
		defer m.end(r)
		h.ServeHTTP(&m.answer, r)
	})
}

// request is one that is measured.
type request struct {
	telemetry *Telemetry
	answer    status.Writer
	span      trace.Span
	start     time.Time
}

func (t *Telemetry) begin(w http.ResponseWriter, r *http.Request) (*request, *http.Request) {
	m := &request{telemetry: t, answer: status.Writer{ResponseWriter: w}, start: time.Now()}
	if m.span = (noop.Span{}); t.tracing {
		ctx := t.propagator.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		ctx, m.span = t.tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer))
		r = r.WithContext(ctx)
	}
	t.activeRequests.add(r.Context(), 1)
	return m, r
}

func (m *request) end(r *http.Request) {
	m.telemetry.activeRequests.add(r.Context(), -1)
	status := m.answer.Status
	if status == 0 {
		status = statusAborted
	}
	method, route := knownMethod(r.Method), r.Pattern
	m.telemetry.requests.observe(r.Context(), time.Since(m.start).Seconds(), method, route, strconv.Itoa(status))
	if m.answer.Header().Get(ignoredHeader) != "" {
		m.telemetry.ignoredFields.add(r.Context(), 1, route)
	}
	if m.span.IsRecording() {
		m.span.SetName(method + " " + route)
		m.span.SetAttributes(attribute.String("http.request.method", method), attribute.String("http.route", route),
			attribute.Int("http.response.status_code", status))
		if status >= http.StatusInternalServerError {
			m.span.SetStatus(codes.Error, "")
		}
	}
	m.span.End()
}

// knownMethod returns a method of HTTP and _OTHER for what a client made up.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions, http.MethodConnect, http.MethodTrace:
		return method
	}
	return "_OTHER"
}
