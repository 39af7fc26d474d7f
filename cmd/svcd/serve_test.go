package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/console"
)

// output collects what a server prints.
type output struct {
	mu     sync.Mutex
	text   bytes.Buffer
	filled chan struct{} // closed with the first bytes
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.text.Len() == 0 {
		close(o.filled)
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start runs a server until the test ends, or stop is called, and returns its URL.
func start(t *testing.T, getenv func(string) string, args ...string) (url string, stop func()) {
	t.Helper()
	return startLogging(t, io.Discard, getenv, args...)
}

// startLogging is start with a place for the log.
func startLogging(t *testing.T, log io.Writer, getenv func(string) string, args ...string) (url string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, ended := &output{filled: make(chan struct{})}, make(chan error, 1)
	e := environment{
		args:   append([]string{"-addr", "127.0.0.1:0", "-data", inMemory}, args...),
		getenv: getenv, stdout: out, stderr: log,
	}
	go func() { ended <- e.run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	select {
	case <-out.filled:
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(out.String(), "\n")
	return strings.TrimPrefix(line, "svcd listens on "), stop
}

// empty is an environment without variables.
func empty(string) string { return "" }

// certificate writes a certificate for 127.0.0.1 and its key.
func certificate(t *testing.T) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(parsed)
	write := func(name, kind string, data []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", keyDER), pool
}

func TestServeTLS(t *testing.T) {
	cert, key, pool := certificate(t)
	url, _ := start(t, empty, "-tls-cert", cert, "-tls-key", key)
	if !strings.HasPrefix(url, "https://127.0.0.1:") {
		t.Errorf("the server announces %s", url)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get(url + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 || resp.ProtoMajor != 2 {
		t.Errorf("got %s over %s", resp.Status, resp.Proto)
	}
}

func TestServeRefusesHalfACertificate(t *testing.T) {
	cert, key, _ := certificate(t)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"certificate alone": {[]string{"-tls-cert", cert}, "-tls-cert and -tls-key belong together"},
		"key alone":         {[]string{"-tls-key", key}, "-tls-cert and -tls-key belong together"},
		"no file":           {[]string{"-tls-cert", cert + "x", "-tls-key", key}, "the TLS certificate cannot be read: "},
		"exchanged":         {[]string{"-tls-cert", key, "-tls-key", cert}, "the TLS certificate cannot be read: "},
	} {
		e := environment{args: append(c.args, "-data", inMemory), getenv: empty, stdout: io.Discard, stderr: io.Discard}
		if err := e.run(t.Context()); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

func TestAdminKeyFlag(t *testing.T) {
	variables := map[string]string{"SVC_ADMIN_KEY": "admin key of the environment", "SVC_API_KEY": "user-key"}
	getenv := func(name string) string { return variables[name] }
	for name, c := range map[string]struct {
		getenv func(string) string
		args   []string
		key    string
		status int
	}{
		"unset":            {empty, nil, "", 404},
		"environment":      {getenv, nil, "admin key of the environment", 200},
		"flag":             {empty, []string{"-admin-key", "admin key of the flag"}, "admin key of the flag", 200},
		"flag wins":        {getenv, []string{"-admin-key", "admin key of the flag"}, "admin key of the flag", 200},
		"environment lost": {getenv, []string{"-admin-key", "admin key of the flag"}, "admin key of the environment", 401},
	} {
		t.Run(name, func(t *testing.T) {
			url, _ := start(t, c.getenv, c.args...)
			r, err := http.NewRequestWithContext(t.Context(), "GET", url+"/admin/v1/organizations", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+c.key)
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != c.status {
				t.Errorf("got %s, want %d", resp.Status, c.status)
			}
		})
	}
}

// TestMaxRequestsFlag keeps the only slot busy with an upload that does not end.
func TestMaxRequestsFlag(t *testing.T) {
	url, _ := start(t, empty, "-max-requests", "1", "-api-key", "user-key")
	body, writer := io.Pipe()
	defer writer.Close()
	running := make(chan struct{})
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(running) }})
	r, err := http.NewRequestWithContext(ctx, "POST", url+"/v1/files", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer user-key")
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	r.Header.Set("Expect", "100-continue") // which the server says once it reads the body
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Hour}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if resp, err := client.Do(r); err == nil {
			resp.Body.Close()
		}
	}()
	<-running
	if status, _ := ask(t, "GET", url+"/v1/models", ""); status != 503 {
		t.Errorf("beside a running request: got %d, want 503", status)
	}
	writer.Close()
	<-ended
	status := 0
	for range 1000 { // the answer is there before the slot is given back
		if status, _ = ask(t, "GET", url+"/v1/models", ""); status == 200 {
			return
		}
	}
	t.Errorf("after it: got %d, want 200", status)
}

func TestShortAdminKeysAreRefused(t *testing.T) {
	_, err := environment{args: []string{"-admin-key", "15-characters-1"}, getenv: empty, stderr: io.Discard}.config()
	if err == nil || !strings.Contains(err.Error(), "at least 16") {
		t.Errorf("got %v", err)
	}
}

// TestConsoleSecret holds that two servers with one secret know each other's
// sessions, and that a short one is refused.
func TestConsoleSecret(t *testing.T) {
	env := environment{args: []string{"-console-secret", "short"}, getenv: func(string) string { return "" }, stderr: io.Discard}
	if _, err := env.config(); err == nil || !strings.Contains(err.Error(), "at least 32") {
		t.Errorf("a short secret: %v", err)
	}
	service, err := svc.New(t.Context(), svc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	key, err := service.Bootstrap(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	c := config{console: true, data: "postgres://127.0.0.1/svc"}
	if _, _, err := c.withConsole(http.NotFoundHandler(), service, key, console.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}); err != nil || !strings.Contains(log.String(), "-console-secret") {
		t.Errorf("over a database without a secret: %v, logged %q", err, log.String())
	}
	c = config{console: true, secret: strings.Repeat("s", minSecret)}
	first, link, err := c.withConsole(http.NotFoundHandler(), service, key, console.Options{})
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := c.withConsole(http.NotFoundHandler(), service, "", console.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	first.ServeHTTP(w, httptest.NewRequest("GET", link, nil))
	r := httptest.NewRequest("GET", "/console/decide", nil)
	for _, cookie := range w.Result().Cookies() {
		r.AddCookie(cookie)
	}
	w = httptest.NewRecorder()
	if second.ServeHTTP(w, r); w.Code != http.StatusOK {
		t.Errorf("the other server answers %d", w.Code)
	}
}
