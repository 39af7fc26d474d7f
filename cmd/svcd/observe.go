package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/seed-506d8e5d/svc/telemetry"
)

// flushTimeout bounds the sending of the last spans.
const flushTimeout = 5 * time.Second

// observer is the telemetry of a server and what has to end with it.
type observer struct {
	*telemetry.Telemetry
	closers []func()
}

// observe starts the telemetry: traces go out where the variables of
// OpenTelemetry say where to, metrics have an address of their own where there is
// a flag for it.
func (e environment) observe(ctx context.Context, c config, logger *slog.Logger) (*observer, error) {
	o := &observer{}
	var options telemetry.Options
	if e.tracing() {
		provider, err := newTracing(ctx, e.getenv)
		if err != nil {
			return nil, fmt.Errorf("traces: %w", err)
		}
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { logger.Warn("traces", "err", err) }))
		options.Traces = provider
		o.closers = append(o.closers, func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
			defer cancel()
			if err := provider.Shutdown(ctx); err != nil {
				logger.Warn("traces: the last spans are lost", "err", err)
			}
		})
	}
	o.Telemetry = telemetry.New(options)
	if c.metricsAddr != "" {
		if err := o.serveMetrics(ctx, c.metricsAddr, logger); err != nil {
			o.stop()
			return nil, err
		}
	}
	return o, nil
}

// tracing reports whether the environment names a collector of traces.
func (e environment) tracing() bool {
	if e.getenv("OTEL_SDK_DISABLED") == "true" || e.getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return e.getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || e.getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// newTracing returns a provider that sends spans as the variables of
// OpenTelemetry say: where, with which headers, how many.
func newTracing(ctx context.Context, getenv func(string) string) (*trace.TracerProvider, error) {
	client, err := newOTLP(getenv)
	if err != nil {
		return nil, err
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, err
	}
	// The name is OTEL_SERVICE_NAME where that is set.
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attribute.String("service.name", "svcd")), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	return trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about)), nil
}

// serveMetrics serves /metrics, and nothing else, at an address.
func (o *observer) serveMetrics(ctx context.Context, addr string, logger *slog.Logger) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("cannot listen for metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", o.Metrics())
	server := &http.Server{Handler: mux, ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	logger.Info("metrics", "url", "http://"+reachable(listener.Addr())+"/metrics")
	o.closers = append(o.closers, func() {
		if err := errors.Join(server.Close(), <-served); !errors.Is(err, http.ErrServerClosed) {
			logger.Warn("metrics", "err", err)
		}
	})
	return nil
}

// stop ends what observe started.
func (o *observer) stop() {
	for _, closer := range o.closers {
		closer()
	}
}
