package main

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// run calls svcd with the arguments and no environment, and returns what it
// prints and its error.
func run(ctx context.Context, args ...string) (stdout, stderr string, err error) {
	var out, diagnostics bytes.Buffer
	env := environment{args: args, getenv: func(string) string { return "" }, stdout: &out, stderr: &diagnostics}
	err = env.run(ctx)
	return out.String(), diagnostics.String(), err
}

// TestFirstStart starts a server as a newcomer does, and sends it the command
// that it prints.
func TestFirstStart(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	data := filepath.Join(t.TempDir(), "svc-data")
	output, printed := io.Pipe()
	env := environment{
		args:   []string{"-addr", "127.0.0.1:0", "-data", data},
		getenv: func(string) string { return "" }, stdout: printed, stderr: io.Discard,
	}
	ended := make(chan error, 1)
	go func() {
		ended <- env.run(ctx)
		printed.Close()
	}()
	lines := bufio.NewScanner(output)
	var text strings.Builder
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "curl ") {
		text.WriteString(lines.Text() + "\n")
	}
	intro := regexp.MustCompile(`^svcd listens on (http://127\.0\.0\.1:\d+)\n\nYour API key, shown only this once: (sk-svc-[A-Za-z0-9_-]{43})\n\nTry it:\n\n$`)
	said := intro.FindStringSubmatch(text.String())
	if said == nil {
		t.Fatalf("svcd printed %q", text.String())
	}
	url, key := said[1], said[2]
	curl := `curl ` + url + `/v1/systemone -H "Authorization: Bearer ` + key + `" -H "Content-Type: application/json" -d '` + firstDecision + `'`
	if lines.Text() != curl {
		t.Fatalf("\ngot  %s\nwant %s", lines.Text(), curl)
	}
	link := regexp.MustCompile(`^` + regexp.QuoteMeta(url) + `/console/signin/[A-Za-z0-9_-]{22}$`)
	for lines.Scan() && !link.MatchString(lines.Text()) {
		if lines.Text() != "" && !strings.HasPrefix(lines.Text(), "Or in a browser") {
			t.Fatalf("svcd printed %q", lines.Text())
		}
	}
	req, err := http.NewRequestWithContext(ctx, "POST", url+"/v1/systemone", strings.NewReader(firstDecision))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	if status, body := answerTo(t, req); status != 200 || !strings.HasPrefix(body, `{"model":"svc-snap-preview","answers":{"team":{"type":"choice","choice":"billing",`) {
		t.Errorf("got %d %s", status, body)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		req, err := http.NewRequestWithContext(ctx, "GET", url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if status, body := answerTo(t, req); status != 200 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	_, _, err = run(ctx, "-addr", "127.0.0.1:0", "-data", data)
	if err == nil || !strings.Contains(err.Error(), data+" is in use by another process") || !strings.Contains(err.Error(), "choose another -data") || strings.Contains(err.Error(), "\n") {
		t.Errorf("a second server on the directory: %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("svcd ended with %v", err)
	}
}

func answerTo(t *testing.T, req *http.Request) (status int, body string) {
	t.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

// TestNothingIsBootstrappedOverData starts on a directory that has data, whole and
// without its log: a key that was made is neither made again nor replaced.
func TestNothingIsBootstrappedOverData(t *testing.T) {
	data := filepath.Join(t.TempDir(), "svc-data")
	first := firstLines(t, data)
	if !strings.Contains(first, "Your API key") {
		t.Fatalf("the first start printed %q", first)
	}
	if again := firstLines(t, data); strings.Contains(again, "key") || !strings.Contains(again, "\nConsole: http://127.0.0.1:") {
		t.Errorf("the second start printed %q", again)
	}
	logs, err := filepath.Glob(filepath.Join(data, "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("the directory has no log: %v", err)
	}
	for _, name := range logs {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	stdout, _, err := run(t.Context(), "-addr", "127.0.0.1:0", "-data", data)
	if err == nil || !strings.Contains(err.Error(), "the log is missing") || stdout != "" {
		t.Errorf("over data without its log: %q, %v", stdout, err)
	}
}

// TestSalvage starts over damaged data: without -salvage it is refused, and with it
// what can be read is served, by every later start, too. That may be damaged again.
func TestSalvage(t *testing.T) {
	data := filepath.Join(t.TempDir(), "svc-data")
	firstLines(t, data)
	damaged := data
	for range 2 {
		tables, err := filepath.Glob(filepath.Join(damaged, "*.sst"))
		if err != nil || len(tables) == 0 {
			t.Fatalf("%s has no table: %v", damaged, err)
		}
		content, err := os.ReadFile(tables[0])
		if err != nil {
			t.Fatal(err)
		}
		content[len(content)-4] ^= 0x40
		if err := os.WriteFile(tables[0], content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err = run(t.Context(), "-addr", "127.0.0.1:0", "-data", data)
		if err == nil || !strings.Contains(err.Error(), filepath.Base(tables[0])) || !strings.Contains(err.Error(), "svcd -salvage starts with the rest") {
			t.Fatalf("over damaged data: %v", err)
		}
		firstLines(t, data, "-salvage")
		damaged = filepath.Join(damaged, "salvaged")
		if again := firstLines(t, data); strings.Contains(again, "API key") {
			t.Errorf("the start after that printed %q", again)
		}
	}
	if parts, err := filepath.Glob(filepath.Join(data, "*.partial")); err != nil || len(parts) > 0 {
		t.Errorf("left behind: %q, %v", parts, err)
	}
}

// firstLines starts a server, ends it, and returns what it printed.
func firstLines(t *testing.T, data string, flags ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	output, printed := io.Pipe()
	env := environment{args: append([]string{"-addr", "127.0.0.1:0", "-data", data}, flags...), getenv: empty, stdout: printed, stderr: io.Discard}
	ended := make(chan error, 1)
	go func() {
		ended <- env.run(ctx)
		printed.Close()
	}()
	var text strings.Builder
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		text.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), "svcd listens on ") {
			stop()
		}
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestWrongCalls(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct {
		rule   string
		args   []string
		want   string // is in the error
		stderr string // is what stderr begins with
	}{
		{"an unknown flag is explained once", []string{"-bogus"}, "flag provided but not defined: -bogus; svcd -help lists the flags", ""},
		{"a value of the wrong type", []string{"-grace", "soon"}, "invalid value \"soon\" for flag -grace: parse error; svcd -help lists the flags", ""},
		{"help is no error to be told of", []string{"-help"}, flag.ErrHelp.Error(), "svcd [flags]: serve."},
		{"an argument too many", []string{"-grace", "1s", "extra"}, "a command comes before the flags", ""},
		{"an address without a port", []string{"-addr", "here"}, "cannot listen on here, the -addr: listen tcp: address here: missing port in address; write it as HOST:PORT", ""},
		{"a port that is taken", []string{"-addr", taken.Addr().String()}, "address already in use; stop the program that has the port, or choose another -addr", ""},
		{"PostgreSQL is down", []string{"-addr", "127.0.0.1:0", "-data", "postgres://svc:secret@127.0.0.1:1/svc?connect_timeout=2"}, "; see that PostgreSQL runs there and that this machine may connect", ""},
		{"a database URL that is none", []string{"-addr", "127.0.0.1:0", "-data", "postgres://127.0.0.1:port/svc"}, "; write it as postgres://USER:PASSWORD@HOST:5432/DATABASE", ""},
		{"a configuration that is not there", []string{"-config", file + "x"}, "no such file or directory; docs/servers.md shows how to write one", ""},
		{"a configuration that is empty", []string{"-config", file}, "line 1, column 0: unexpected end of JSON input", ""},
		{"a URL of a model server that is none", []string{"-addr", "127.0.0.1:0", "-data", inMemory, "-upstream", "127.0.0.1:11434"}, "127.0.0.1:11434", ""},
		{"an origin that is none", []string{"-cors-origin", "https://a.example/app"}, `"https://a.example/app" is no origin: write a scheme and a host`, ""},
		{"an alias of a model that does not exist", []string{"-addr", "127.0.0.1:0", "-data", inMemory, "-alias", "a=none"}, `"a" is an alias of the model "none", which does not exist`, ""},
		{"two answers to where models run", []string{"-upstream", "http://127.0.0.1:1", "-config", file}, "give one of them", ""},
		{"a program of models that is not there", []string{"-addr", "127.0.0.1:0", "-data", inMemory, "-gguf", file + "x"}, "-gguf: ", ""},
		{"a directory that is a file", []string{"-addr", "127.0.0.1:0", "-data", file}, file, ""},
		{"a key that cannot be one", []string{"-addr", "127.0.0.1:0", "-data", inMemory, "-api-key", "a b"}, "An API key must be", ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			stdout, stderr, err := run(t.Context(), c.args...)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.ContainsAny(err.Error(), "\n\t") || strings.Contains(err.Error(), "secret") {
				t.Errorf("got the error %v, want one line with %q", err, c.want)
			}
			if stdout != "" || !strings.HasPrefix(stderr, c.stderr) || c.stderr == "" && strings.Contains(stderr, "\n  -") {
				t.Errorf("printed %q and %q", stdout, stderr)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	variables := map[string]string{"SVC_ADDR": "127.0.0.1:1", "SVC_DATA": "d", "SVC_API_KEY": "k", "SVC_ADMIN_KEY": "sixteen letters!", "SVC_SEARCH_URL": "u"}
	env := environment{args: []string{"-data", "flag"}, getenv: func(name string) string { return variables[name] }, stderr: io.Discard}
	got, err := env.config()
	if err != nil {
		t.Fatal(err)
	}
	if got.addr != "127.0.0.1:1" || got.data != "flag" || got.apiKey != "k" || got.adminKey != "sixteen letters!" || got.search != "u" {
		t.Errorf("got %+v", got)
	}
	variables["SVC_GRACE"] = "soon"
	if _, err := env.config(); err == nil || !strings.Contains(err.Error(), "the environment variable SVC_GRACE") {
		t.Errorf("got %v", err)
	}
}

func TestReachable(t *testing.T) {
	for addr, want := range map[string]string{"127.0.0.1": "127.0.0.1:80", "0.0.0.0": "127.0.0.1:80", "::": "127.0.0.1:80", "::1": "[::1]:80"} {
		if got := reachable(&net.TCPAddr{IP: net.ParseIP(addr), Port: 80}); got != want {
			t.Errorf("%s: got %s, want %s", addr, got, want)
		}
	}
}

// streaming is a server in the middle of a stream.
type streaming struct {
	server  *http.Server
	cancel  context.CancelFunc // of all requests
	service *svc.Service
	body    *bufio.Reader // of the stream, behind its first event
	script  *modeltest.Script
}

func newStreaming(t *testing.T, answer modeltest.Answer) *streaming {
	t.Helper()
	s := &streaming{script: modeltest.New(answer)}
	service, err := svc.New(t.Context(), svc.Options{Backend: s.script, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := service.Bootstrap(t.Context(), "sk-one"); err != nil {
		t.Fatal(err)
	}
	requests, cancel := context.WithCancel(t.Context())
	s.cancel, s.service = cancel, service
	server := httptest.NewUnstartedServer(httpapi.New(service, httpapi.Options{Logger: slog.New(slog.DiscardHandler)}))
	server.Config.BaseContext = func(net.Listener) context.Context { return requests }
	server.Start()
	s.server = server.Config
	t.Cleanup(func() {
		cancel()
		server.Close()
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	req, err := http.NewRequestWithContext(t.Context(), "POST", server.URL+"/v1/chat/completions",
		strings.NewReader(`{"model":"svc-preview","stream":true,"messages":[{"role":"user","content":"Hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer sk-one")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	s.body = bufio.NewReader(res.Body)
	for range 2 { // the event and the blank line after it
		if _, err := s.body.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestShutDownLetsRequestsEnd(t *testing.T) {
	requests, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun, finish := make(chan struct{}), make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(begun)
		<-finish
		if r.Context().Err() == nil {
			io.WriteString(w, "done")
		}
	}))
	server.Config.BaseContext = func(net.Listener) context.Context { return requests }
	stopped := make(chan struct{})
	server.Config.RegisterOnShutdown(func() { close(stopped) })
	server.Start()
	defer server.Close()
	ended := make(chan error, 1)
	go func() {
		<-begun
		ended <- shutDown(server.Config, nil, time.Minute, cancel)
	}()
	go func() {
		<-stopped
		close(finish)
	}()
	req, err := http.NewRequestWithContext(t.Context(), "GET", server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, body := answerTo(t, req); body != "done" {
		t.Errorf("got %q, want the whole answer", body)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestShutDownCancelsRequestsAfterTheGracePeriod(t *testing.T) {
	s := newStreaming(t, modeltest.Block(model.Started{}))
	if err := shutDown(s.server, s.service, time.Millisecond, s.cancel); err != nil {
		t.Error(err)
	}
	if n := s.script.UnderWay(); n != 0 {
		t.Errorf("%d calls of the model are under way", n)
	}
	rest, err := io.ReadAll(s.body)
	want := `data: {"error":{"message":"The request was cancelled.","type":"invalid_request_error","param":null,"code":"request_canceled"}}` + "\n\n"
	if err != nil || string(rest) != want {
		t.Errorf("the stream ended with %v and %q, want %q", err, rest, want)
	}
}

// TestADatabaseThatDoesNotExist is told from one that cannot be reached.
func TestADatabaseThatDoesNotExist(t *testing.T) {
	base := os.Getenv("SVC_TEST_POSTGRES")
	if base == "" {
		t.Skip("SVC_TEST_POSTGRES is not set")
	}
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/no_such_database"
	_, _, err = run(t.Context(), "-addr", "127.0.0.1:0", "-data", u.String())
	if err == nil || !strings.Contains(err.Error(), "create it (createdb NAME) or correct the name in the URL") {
		t.Errorf("got %v", err)
	}
}

// TestALostKeyIsReplaced starts a second time with a key that the operator chose:
// the way back that docs/operating.md describes.
func TestALostKeyIsReplaced(t *testing.T) {
	data := filepath.Join(t.TempDir(), "svc-data")
	firstLines(t, data)
	base, _ := start(t, empty, "-data", data, "-api-key", "sk-another-one")
	req, err := http.NewRequestWithContext(t.Context(), "GET", base+"/v1/models", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer sk-another-one")
	if status, body := answerTo(t, req); status != 200 {
		t.Errorf("got %d %s", status, body)
	}
}

// TestABrowserIsLedToTheConsole where it asks for the server's root.
func TestABrowserIsLedToTheConsole(t *testing.T) {
	for _, c := range []struct {
		accept, flag string
		status       int
	}{{"text/html,*/*", "-console=true", 302}, {"*/*", "-console=true", 404}, {"text/html", "-console=false", 404}} {
		base, stop := start(t, empty, c.flag)
		req, err := http.NewRequestWithContext(t.Context(), "GET", base+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", c.accept)
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != c.status || c.status == 302 && res.Header.Get("Location") != "/console" {
			t.Errorf("%+v: got %s to %q", c, res.Status, res.Header.Get("Location"))
		}
		stop()
	}
}

func TestDurationsInTheLog(t *testing.T) {
	for d, want := range map[time.Duration]string{
		93_000_454: "93ms", 93_140_454: "93.1ms", 1_523_456_789: "1.52s", 130_400_000_000: "2m10s", 999: "999ns", 12_345: "12.3µs", 0: "0s",
	} {
		var log bytes.Buffer
		slog.New(newLogHandler(&log)).Info("x", "took", d)
		if !strings.HasSuffix(log.String(), " took="+want+"\n") {
			t.Errorf("%d: got %q, want %s", d, log.String(), want)
		}
	}
}
