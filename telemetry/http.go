package telemetry

import (
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// statusAborted is shown for a request that ended without an answer.
const statusAborted = 499

// Handler returns h with its requests measured. The route of a request is the
// pattern that an [http.ServeMux] in h found for it. A span continues the trace
// that the client names in the header traceparent.
func (t *Telemetry) Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		ctx, span := t.tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer))
		a, start := &answer{ResponseWriter: w}, time.Now()
		r = r.WithContext(ctx)
		t.activeRequests.Inc()
		defer func() {
			t.activeRequests.Dec()
			if a.status == 0 {
				a.status = statusAborted
			}
			method, route := knownMethod(r.Method), r.Pattern
			t.requests.WithLabelValues(method, route, strconv.Itoa(a.status)).Observe(time.Since(start).Seconds())
			span.SetName(method + " " + route)
			span.SetAttributes(attribute.String("http.request.method", method), attribute.String("http.route", route),
				attribute.Int("http.response.status_code", a.status))
			if a.status >= http.StatusInternalServerError {
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

// answer is a response writer that remembers the status. It unwraps to the
// server's own, for [http.ResponseController].
type answer struct {
	http.ResponseWriter
	status int // 0 until the header is written
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap returns the server's response writer.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
