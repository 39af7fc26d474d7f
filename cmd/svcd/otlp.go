package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/seed-506d8e5d/svc/internal/background"
)

// otlp sends spans to a collector with OTLP over HTTP, as the variables of
// OpenTelemetry say. It implements otlptrace.Client. The client of OpenTelemetry's own
// brings gRPC, which it does not use.
type otlp struct {
	url     string
	headers http.Header
	gzip    bool
	client  *http.Client
}

const (
	otlpTimeout  = 10 * time.Second // of one try
	otlpTries    = 5
	otlpPause    = 5 * time.Second // before the second try; it doubles
	otlpMaxPause = 30 * time.Second
)

// newOTLP reads the variables of OpenTelemetry.
func newOTLP(getenv func(string) string) (*otlp, error) {
	variable := func(name string) string {
		return cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_"+name), getenv("OTEL_EXPORTER_OTLP_"+name))
	}
	o := &otlp{headers: http.Header{}, client: &http.Client{Timeout: otlpTimeout}}
	// The general endpoint is that of all signals, the other one that of traces alone.
	o.url = cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), strings.TrimSuffix(getenv("OTEL_EXPORTER_OTLP_ENDPOINT"), "/")+"/v1/traces")
	if u, err := url.Parse(o.url); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT is not a URL such as http://127.0.0.1:4318: %q", o.url)
	}
	if protocol := variable("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q; svcd sends http/protobuf", protocol)
	}
	for pair := range strings.SplitSeq(variable("HEADERS"), ",") {
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if strings.TrimSpace(pair) == "" {
			continue
		}
		if !ok || err != nil {
			return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS must be name=value, several with commas between them")
		}
		o.headers.Set(strings.TrimSpace(name), value)
	}
	if text := variable("TIMEOUT"); text != "" {
		milliseconds, err := strconv.Atoi(text)
		if err != nil || milliseconds <= 0 {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT must be milliseconds: %q", text)
		}
		o.client.Timeout = time.Duration(milliseconds) * time.Millisecond
	}
	o.gzip = variable("COMPRESSION") == "gzip"
	return o, o.trust(variable("CERTIFICATE"), variable("CLIENT_CERTIFICATE"), variable("CLIENT_KEY"))
}

// trust reads the files of certificates that the collector must have and that it asks
// for; an empty name is none.
func (o *otlp) trust(authorities, certificate, key string) error {
	config := &tls.Config{}
	if authorities != "" {
		data, err := os.ReadFile(authorities)
		if err != nil {
			return err
		}
		if config.RootCAs = x509.NewCertPool(); !config.RootCAs.AppendCertsFromPEM(data) {
			return fmt.Errorf("%s has no certificate", authorities)
		}
	}
	if certificate != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = config
	o.client.Transport = transport
	return nil
}

// Start implements otlptrace.Client.
func (o *otlp) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (o *otlp) Stop(context.Context) error {
	o.client.CloseIdleConnections()
	return nil
}

// UploadTraces implements otlptrace.Client. It tries again where the collector says
// that it may be able to later.
func (o *otlp) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// TracesData is on the wire what the request of the collector is.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	if o.gzip {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := w.Write(body); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		body = packed.Bytes()
	}
	pause := otlpPause
	for try := 1; ; try++ {
		after, again, err := o.send(ctx, body)
		if err == nil || !again || try == otlpTries || !background.Sleep(ctx, min(max(pause, after), otlpMaxPause)) {
			return err
		}
		pause *= 2
	}
}

// send tries once. again reports whether another try may succeed, after a time that the
// collector asks for.
func (o *otlp) send(ctx context.Context, body []byte) (after time.Duration, again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url, bytes.NewReader(body))
	if err != nil {
		return 0, false, err
	}
	req.Header = o.headers.Clone()
	req.Header.Set("Content-Type", "application/x-protobuf")
	if o.gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := o.client.Do(req)
	if err != nil {
		return 0, ctx.Err() == nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if resp.StatusCode/100 == 2 {
		return 0, false, nil
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		after = time.Duration(seconds) * time.Second
	}
	return after, again, errors.Join(fmt.Errorf("%s: %s: %s", o.url, resp.Status, strings.ToValidUTF8(strings.TrimSpace(string(text)), "")), err)
}
