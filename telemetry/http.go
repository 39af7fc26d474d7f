package telemetry

import (
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/seed-506d8e5d/svc/internal/answer"
)

// statusAborted is shown for a request that ended without an answer.
const statusAborted = 499

// Handler returns h with its requests measured. The route of a request is the
// pattern that an [http.ServeMux] in h found for it. A span continues the trace
// that the client names in the header traceparent.
func (t *Telemetry) Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := t.propagator.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		ctx, span := t.tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer))
		a, start := &answer.Writer{ResponseWriter: w}, time.Now()
		r = r.WithContext(ctx)
		t.activeRequests.Inc()
		defer func() {
			t.activeRequests.Dec()
			if a.Status == 0 {
				a.Status = statusAborted
			}
			method, route := knownMethod(r.Method), r.Pattern
			t.requests.WithLabelValues(method, route, strconv.Itoa(a.Status)).Observe(time.Since(start).Seconds())
			span.SetName(method + " " + route)
			span.SetAttributes(attribute.String("http.request.method", method), attribute.String("http.route", route),
				attribute.Int("http.response.status_code", a.Status))
			if a.Status >= http.StatusInternalServerError {
				span.SetStatus(codes.Error, "")
			}
			span.End()
		}()
		h.ServeHTTP(a, r)
	})
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
