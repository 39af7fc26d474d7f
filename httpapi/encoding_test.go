package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/model/modeltest"
)

func gzipped(t testing.TB, text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	must(t, err)
	must(t, w.Close())
	return b.String()
}

func zstandard(t testing.TB, text string) string {
	w, err := zstd.NewWriter(nil)
	must(t, err)
	return string(w.EncodeAll([]byte(text), nil))
}

// encoded sends a turn in an encoding.
func (a *turns) encoded(encoding, body string) (status int, answer string) {
	a.t.Helper()
	r := httptest.NewRequestWithContext(a.t.Context(), "POST", "/v1/responses", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+a.key)
	r.Header.Set("Content-Encoding", encoding)
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestEncodedBodies(t *testing.T) {
	a := newTurns(t, modeltest.Text("1"), modeltest.Text("2"), modeltest.Text("3"), modeltest.Text("4"))
	body := plain(`"metadata":{"a":"b"}`)
	large := say(strings.Repeat("x", 17<<20), "")
	const unreadable = `{"error":{"message":"The request body could not be read.","type":"invalid_request_error","param":null,"code":"validation_error"}}`
	const tooLarge = `{"error":{"message":"The request body is larger than 16 MiB.","type":"invalid_request_error","param":null,"code":"request_too_large"}}`
	const unknown = `{"error":{"message":"The Content-Encoding of the request must be gzip or zstd, or left out.","type":"invalid_request_error","param":null,"code":"unsupported_encoding"}}`
	for _, c := range []struct {
		encoding, body string
		status         int
		want           string // empty: any answer
	}{
		{"gzip", gzipped(t, body), 200, ""},
		{"X-GZIP", gzipped(t, body), 200, ""},
		{"zstd", zstandard(t, body), 200, ""},
		{"identity", body, 200, ""},
		{"gzip", gzipped(t, large), 413, tooLarge},
		{"zstd", zstandard(t, large), 413, tooLarge},
		{"gzip", body, 400, unreadable},
		{"zstd", body, 400, unreadable},
		{"gzip", gzipped(t, body)[:20], 400, unreadable},
		{"br", body, 415, unknown},
		{"gzip, zstd", body, 415, unknown},
	} {
		status, got := a.encoded(c.encoding, c.body)
		if status != c.status || c.want != "" && got != c.want {
			t.Errorf("%s: got %d %s, want %d %s", c.encoding, status, clip(got), c.status, c.want)
		}
	}
	is.New(t).Equal(len(a.script.Requests()), 4)
}
