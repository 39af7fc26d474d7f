package main

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// vars returns the environment of a test.
func vars(pairs ...string) func(string) string {
	all := map[string]string{}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		all[name] = value
	}
	return func(name string) string { return all[name] }
}

func TestOTLPSendsWhatTheVariablesSay(t *testing.T) {
	is := is.New(t)
	var got *http.Request
	var spans tracepb.TracesData
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = r
		unpacked, err := gzip.NewReader(r.Body)
		is.NoErr(err)
		body, err := io.ReadAll(unpacked)
		is.NoErr(err)
		is.NoErr(proto.Unmarshal(body, &spans))
	}))
	defer collector.Close()
	o, err := newOTLP(vars("OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL+"/", "OTEL_EXPORTER_OTLP_HEADERS=api-key=a%20b, team = x", "OTEL_EXPORTER_OTLP_COMPRESSION=gzip", "OTEL_EXPORTER_OTLP_TIMEOUT=5000"))
	is.NoErr(err)
	is.NoErr(o.UploadTraces(t.Context(), []*tracepb.ResourceSpans{{SchemaUrl: "ours"}}))
	is.Equal(got.URL.Path, "/v1/traces")
	is.Equal(got.Header.Get("Content-Type"), "application/x-protobuf")
	is.Equal(got.Header.Get("Api-Key"), "a b")
	is.Equal(got.Header.Get("Team"), "x")
	is.Equal(spans.ResourceSpans[0].SchemaUrl, "ours")
	is.Equal(o.client.Timeout, 5*time.Second)

	o, err = newOTLP(vars("OTEL_EXPORTER_OTLP_ENDPOINT=http://other", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+collector.URL+"/mine", "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION=gzip"))
	is.NoErr(err)
	is.NoErr(o.UploadTraces(t.Context(), nil))
	is.Equal(got.URL.Path, "/mine")
}

func TestOTLPVariablesThatAreWrong(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318"
	for _, wrong := range []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=127.0.0.1:4318", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_HEADERS=nothing", "OTEL_EXPORTER_OTLP_HEADERS=a=%zz",
		"OTEL_EXPORTER_OTLP_TIMEOUT=10s", "OTEL_EXPORTER_OTLP_CERTIFICATE=/nowhere", "OTEL_EXPORTER_OTLP_CERTIFICATE=otlp_test.go", "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=/nowhere",
	} {
		if _, err := newOTLP(vars(endpoint, wrong)); err == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
}

// answering answers requests with one status after the other.
type answering []int

func (a *answering) RoundTrip(*http.Request) (*http.Response, error) {
	status := (*a)[0]
	*a = (*a)[1:]
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{"Retry-After": {"7"}}, Body: http.NoBody}, nil
}

func TestOTLPTriesAgain(t *testing.T) {
	for want, statuses := range map[time.Duration]answering{
		0:                {400},
		7 * time.Second:  {503, 200},
		17 * time.Second: {503, 429, 200},
		67 * time.Second: {503, 503, 503, 502, 504, 200},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			o := &otlp{url: "http://collector/v1/traces", headers: http.Header{}, client: &http.Client{Transport: &statuses}}
			err := o.UploadTraces(t.Context(), nil)
			if took := time.Since(begun); took != want || (err == nil) != (want == 7*time.Second || want == 17*time.Second) {
				t.Errorf("it took %v, want %v: %v", took, want, err)
			}
		})
	}
}

// TestWhatTheProgramBrings holds that nothing brings gRPC.
func TestWhatTheProgramBrings(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.Lines(string(out)) {
		if strings.HasPrefix(path, "google.golang.org/grpc") || strings.HasPrefix(path, "google.golang.org/genproto") {
			t.Errorf("the program has %s", strings.TrimSpace(path))
		}
	}
}
