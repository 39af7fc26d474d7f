package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMetricsAddress(t *testing.T) {
	log := &output{filled: make(chan struct{})}
	answering := httptest.NewServer(http.NotFoundHandler())
	defer answering.Close()
	file := filepath.Join(t.TempDir(), "config.json")
	config := fmt.Sprintf(`{"servers":{"dead":{"url":"http://user:secret@127.0.0.1:1/v1"},"well":{"url":"%s/v1"}},"models":[
		{"id":"dead","generates":true,"targets":[{"server":"dead"}]},{"id":"well","generates":true,"targets":[{"server":"well"}]}]}`, answering.URL)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	url, _ := startLogging(t, log, empty, "-metrics-addr", "127.0.0.1:0", "-data", t.TempDir(), "-api-key", "user-key", "-config", file)
	if status, body := ask(t, "POST", url+"/v1/chat/completions", `{"model":"dead","messages":[{"role":"user","content":"Hi"}]}`); status < 500 {
		t.Errorf("the dead server answers %d %s", status, body)
	}
	_, address, _ := strings.Cut(log.String(), "msg=metrics url=")
	address, _, _ = strings.Cut(address, "\n")
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(text), "\nsvc_store_size_bytes ") || strings.Contains(string(text), "svc_store_size_bytes NaN") {
		t.Errorf("got %v\n%s", err, text)
	}
	if !strings.Contains(string(text), "\nsvc_store_syncs ") || strings.Contains(string(text), "\nsvc_store_syncs 0\n") {
		t.Errorf("the syncs are not counted:\n%s", text)
	}
	if !strings.Contains(string(text), "\nsvc_extraction_queue 0\n") {
		t.Errorf("the queue is not shown:\n%s", text)
	}
	for address, up := range map[string]int{"127.0.0.1:1": 0, strings.TrimPrefix(answering.URL, "http://"): 1} {
		if line := fmt.Sprintf("\nsvc_upstream_up{server_address=\"%s/v1\"} %d\n", address, up); !strings.Contains(string(text), line) {
			t.Errorf("there is no line%sin\n%s", line, text)
		}
	}
	if strings.Contains(string(text), "secret") {
		t.Errorf("the password of a model server is shown:\n%s", text)
	}
	if resp, err := http.Get(url + "/metrics"); err != nil || resp.StatusCode != 404 {
		t.Errorf("the server itself: got %v, %v", resp, err)
	}
}

// TestTracesGoWhereTheEnvironmentSays has a collector wait for the spans of a
// request, and then a server that is told to send none.
func TestTracesGoWhereTheEnvironmentSays(t *testing.T) {
	got := make(chan string, 16)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- r.URL.Path + " " + string(body)
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	url, stop := start(t, os.Getenv)
	if _, err := http.Get(url + "/healthz"); err != nil {
		t.Fatal(err)
	}
	stop()
	if sent := <-got; !strings.HasPrefix(sent, "/v1/traces ") || !strings.Contains(sent, "GET /healthz") || !strings.Contains(sent, "svcd") {
		t.Errorf("the collector got %q", sent)
	}
	t.Setenv("OTEL_SDK_DISABLED", "true")
	url, stop = start(t, os.Getenv)
	if _, err := http.Get(url + "/healthz"); err != nil {
		t.Fatal(err)
	}
	stop()
	if len(got) > 0 {
		t.Errorf("without the SDK the collector got %q", <-got)
	}
}
