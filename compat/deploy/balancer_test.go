package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-506d8e5d/svc/storage/pgstore/pgtest"
)

const (
	apiKey   = "sk-the-key-of-the-clients"
	adminKey = "the admin key that the replicas have in common"
	patience = 2 * time.Minute
)

// replica is a svcd as the compose file starts it, but for its address.
type replica struct {
	*exec.Cmd
	addr string
	done chan struct{}
}

// TestBalancer has three svcd behind HAProxy, with its file, under a load of turns,
// streams, turns in the background and WebSockets. They are replaced one after the
// other, as a deploy does, and no request fails. When one is killed those fail that
// it was working on, and none that is asked for a moment later.
func TestBalancer(t *testing.T) {
	haproxy, err := exec.LookPath("haproxy")
	if err != nil {
		if os.Getenv("SVC_HAPROXY") == "required" {
			t.Fatal(err)
		}
		t.Skip("no haproxy; to run this test install it")
	}
	svcd := filepath.Join(t.TempDir(), "svcd")
	build := exec.Command("go", "build", "-o", svcd, "./cmd/svcd")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	database := pgtest.Database(t)
	var replicas []*replica
	servers := ""
	for i := range 3 {
		r := start(t, svcd, database, freeAddr(t))
		replicas = append(replicas, r)
		servers += fmt.Sprintf("\tserver svcd%d %s\n", i, r.addr)
	}
	front := freeAddr(t)
	startBalancer(t, haproxy, front, servers)
	for _, r := range replicas {
		waitUntil(t, "http://"+r.addr+"/readyz", 200)
	}
	waitUntil(t, "http://"+front+"/readyz", 200)

	l := &load{front: front, done: map[string]int{}}
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for range 2 {
		for _, client := range []func(context.Context) (string, error){l.turn, l.stream, l.background, l.socket} {
			clients.Go(func() { l.repeat(ctx, client) })
		}
	}
	l.more(t, 40)
	for i, r := range replicas {
		check(t, r.Process.Signal(syscall.SIGTERM))
		<-r.done
		replicas[i] = start(t, svcd, database, r.addr)
		waitUntil(t, "http://"+r.addr+"/readyz", 200)
		l.more(t, 40)
	}
	for _, f := range l.failures() {
		t.Errorf("while the replicas were replaced: %v", f)
	}

	before := len(l.failures())
	check(t, replicas[0].Process.Kill())
	<-replicas[0].done
	killed := time.Now()
	l.more(t, 80)
	stop()
	clients.Wait()
	for _, f := range l.failures()[before:] {
		if f.began.After(killed.Add(100 * time.Millisecond)) {
			t.Errorf("%v after a replica was killed: %v", f.began.Sub(killed), f)
		}
	}
	t.Logf("%v were done, %d failed with the replica that was killed", l.done, len(l.failures())-before)
}

// start starts a replica as the compose file does.
func start(t *testing.T, svcd, database, addr string) *replica {
	t.Helper()
	r := &replica{Cmd: exec.Command(svcd), addr: addr, done: make(chan struct{})}
	r.Env = append(os.Environ(), "SVC_ADDR="+addr, "SVC_DATA="+database, "SVC_ADMIN_KEY="+adminKey, "SVC_API_KEY="+apiKey,
		"SVC_CONSOLE_SECRET="+strings.Repeat("s", 32), "SVC_DRAIN=5s", "SVC_GRACE=300s")
	check(t, r.Start())
	go func() {
		defer close(r.done)
		_ = r.Wait() // it is stopped or killed, either way
	}()
	t.Cleanup(func() {
		_ = r.Process.Kill()
		<-r.done
	})
	return r
}

// startBalancer starts HAProxy with its file, in which the names that Docker has
// give way to addresses.
func startBalancer(t *testing.T, haproxy, front, servers string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "haproxy.cfg"))
	check(t, err)
	config := string(text)
	for _, r := range [][2]string{
		{"\tserver-template svcd 3 svcd:8080 resolvers docker init-addr none\n", servers},
		{"bind :8080", "bind " + front},
	} {
		if strings.Count(config, r[0]) != 1 {
			t.Fatalf("%q is not in haproxy.cfg", r[0])
		}
		config = strings.Replace(config, r[0], r[1], 1)
	}
	file := filepath.Join(t.TempDir(), "haproxy.cfg")
	check(t, os.WriteFile(file, []byte(config), 0o600))
	cmd := exec.Command(haproxy, "-db", "-f", file)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	check(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("haproxy: %s", &out)
		}
	})
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer l.Close()
	return l.Addr().String()
}

func waitUntil(t *testing.T, url string, status int) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		res, err := http.Get(url)
		if err != nil {
			continue
		}
		res.Body.Close()
		if res.StatusCode == status {
			return
		}
	}
	t.Fatalf("%s is not %d", url, status)
}

// load counts what clients do and what fails.
type load struct {
	front string
	all   atomic.Int64

	mu     sync.Mutex
	done   map[string]int
	failed []failure
}

type failure struct {
	began time.Time
	what  string
	err   error
}

func (f failure) String() string {
	return fmt.Sprintf("%s after %v: %v", f.what, time.Since(f.began).Round(time.Millisecond), f.err)
}

func (l *load) failures() []failure {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed[:len(l.failed):len(l.failed)]
}

// more waits until so many more requests have ended.
func (l *load) more(t *testing.T, n int64) {
	t.Helper()
	want := l.all.Load() + n
	for deadline := time.Now().Add(2 * patience); l.all.Load() < want; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d requests have ended, want %d", l.all.Load(), want)
		}
	}
}

func (l *load) repeat(ctx context.Context, client func(context.Context) (string, error)) {
	for ctx.Err() == nil {
		began := time.Now()
		limited, cancel := context.WithTimeout(ctx, patience)
		what, err := client(limited)
		cancel()
		if ctx.Err() != nil {
			return
		}
		l.mu.Lock()
		if l.done[what]++; err != nil {
			l.failed = append(l.failed, failure{began, what, err})
		}
		l.mu.Unlock()
		l.all.Add(1)
	}
}

// ask sends a request and returns its body where it was answered with 200.
func (l *load) ask(ctx context.Context, method, path, body string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+l.front+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+apiKey)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != 200 {
		err = fmt.Errorf("%s: %s", res.Status, text)
	}
	return string(text), err
}

type response struct{ ID, Status string }

func (l *load) turn(ctx context.Context) (string, error) {
	_, err := l.ask(ctx, "POST", "/v1/responses", `{"model":"svc-preview","input":"Hello"}`)
	return "turn", err
}

func (l *load) stream(ctx context.Context) (string, error) {
	text, err := l.ask(ctx, "POST", "/v1/responses", `{"model":"svc-preview","input":"Hello","stream":true}`)
	if err == nil && !strings.Contains(text, "event: response.completed") {
		err = fmt.Errorf("the stream ends with %q", text[max(0, len(text)-300):])
	}
	return "stream", err
}

func (l *load) background(ctx context.Context) (string, error) {
	const what = "background"
	text, err := l.ask(ctx, "POST", "/v1/responses", `{"model":"svc-preview","input":"Hello","background":true}`)
	var r response
	for err == nil {
		if err = json.Unmarshal([]byte(text), &r); err != nil || r.Status == "completed" {
			return what, err
		}
		if r.Status != "in_progress" && r.Status != "queued" {
			return what, fmt.Errorf("the response is %s", text)
		}
		text, err = l.ask(ctx, "GET", "/v1/responses/"+r.ID, "")
	}
	return what, err
}

func (l *load) socket(ctx context.Context) (string, error) {
	const what = "socket"
	conn, _, err := websocket.Dial(ctx, "ws://"+l.front+"/v1/responses", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + apiKey}}})
	if err != nil {
		return what, err
	}
	defer conn.CloseNow()
	conn.SetReadLimit(1 << 20)
	if err := conn.Write(ctx, websocket.MessageText, []byte(`{"type":"response.create","model":"svc-preview","input":"Hello"}`)); err != nil {
		return what, err
	}
	for {
		_, r, err := conn.Reader(ctx)
		if err != nil {
			return what, err
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return what, err
		}
		var event struct{ Type string }
		if err := json.Unmarshal(text, &event); err != nil {
			return what, err
		}
		switch event.Type {
		case "response.completed":
			return what, conn.Close(websocket.StatusNormalClosure, "")
		case "response.failed", "error":
			return what, fmt.Errorf("got %s", text)
		}
	}
}
