package webhooks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/egress"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
	"github.com/seed-506d8e5d/svc/webhooks"
)

// received is a request that an endpoint has got.
type received struct {
	header http.Header
	body   string
}

// env is a service with webhooks, its handler, and a network with one endpoint, in a
// bubble of synctest.
type env struct {
	t        *testing.T
	store    storage.Store
	script   *modeltest.Script
	service  *svc.Service
	webhooks *webhooks.Service
	outbox   webhooks.Outbox
	api      *httpapi.API
	caller   svc.Caller
	key      string

	mu       sync.Mutex
	got      []received
	statuses []int // of the next answers; 200 when there are none left
}

func newEnv(t *testing.T) *env {
	t.Helper()
	e := &env{t: t, store: memstore.New(), script: modeltest.New()}
	made := map[string]int{}
	newID := func(prefix string) string {
		e.mu.Lock()
		defer e.mu.Unlock()
		made[prefix]++
		return fmt.Sprintf("%s_%03d", prefix, made[prefix])
	}
	log := slog.New(slog.DiscardHandler)
	e.outbox = webhooks.Outbox{Now: time.Now, NewID: newID}
	service, err := svc.New(t.Context(), svc.Options{Store: e.store, Backend: e.script, Logger: log, NewID: newID, TurnEnded: e.outbox.Put})
	check(t, err)
	e.service = service
	p := service.Parts()
	e.webhooks = webhooks.New(webhooks.Options{Store: p.Store, Accounts: p.Accounts, Outbox: e.outbox, Log: log, Guard: egress.New(egress.Options{
		Hosts: []string{"hook.example"}, Resolver: e, Dial: e.dial,
	})})
	e.api = httpapi.New(service, httpapi.Options{Logger: log, Webhooks: e.webhooks})
	o, err := p.Accounts.CreateOrganization(t.Context(), accounts.NewOrganization{Name: "test", Credits: accounts.Dollar})
	check(t, err)
	k, err := p.Accounts.CreateKey(t.Context(), accounts.NewKey{OrganizationID: o.ID})
	check(t, err)
	e.key = k.Secret
	e.caller, err = service.Authenticate(t.Context(), e.key)
	check(t, err)
	t.Cleanup(func() {
		check(t, e.webhooks.Close())
		check(t, service.Close())
		check(t, e.store.Close())
	})
	return e
}

func bubble(t *testing.T, f func(t *testing.T, e *env)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newEnv(t)) })
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// LookupNetIP implements egress.Resolver.
func (e *env) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if host == "private.example" {
		return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
	}
	return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
}

// dial connects to a server that answers one request.
func (e *env) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	l := &oneConn{conn: server, done: make(chan struct{})}
	s := &http.Server{Handler: http.HandlerFunc(e.receive), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	s.SetKeepAlivesEnabled(false)
	go s.Serve(l)
	return client, nil
}

func (e *env) receive(w http.ResponseWriter, r *http.Request) {
	defer e.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	e.mu.Lock()
	if err != nil {
		e.t.Error(err)
	}
	e.got = append(e.got, received{r.Header, string(body)})
	status := 200
	if len(e.statuses) > 0 {
		status, e.statuses = e.statuses[0], e.statuses[1:]
	}
	if status/100 == 3 {
		w.Header().Set("Location", "http://hook.example/elsewhere")
	}
	w.WriteHeader(status)
}

// taken returns what was received, once.
func (e *env) taken() []received {
	e.mu.Lock()
	defer e.mu.Unlock()
	got := e.got
	e.got = nil
	return got
}

// oneConn is a listener with one connection.
type oneConn struct {
	conn net.Conn
	once sync.Once
	done chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	var conn net.Conn
	l.once.Do(func() { conn = l.conn })
	if conn != nil {
		return conn, nil
	}
	return nil, io.EOF
}

func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return l.conn.LocalAddr() }

// send sends a request and returns the status and the body.
func (e *env) send(method, path, body string) (int, string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+e.key)
	w := httptest.NewRecorder()
	e.api.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// do sends a request that must be answered with 200 and returns the object.
func (e *env) do(method, path, body string) map[string]any {
	e.t.Helper()
	status, answer := e.send(method, path, body)
	if status != 200 {
		e.t.Fatalf("%s %s: got %d %s", method, path, status, answer)
	}
	object := map[string]any{}
	check(e.t, json.Unmarshal([]byte(answer), &object))
	return object
}

const (
	path = "/v1/webhook_endpoints"
	hook = `{"name":"Mine","url":"http://hook.example/in?x=1","event_types":["response.completed","response.failed","batch.completed"]}`
)

// put writes an event as the service does.
func (e *env) put(kind, object string) {
	e.t.Helper()
	check(e.t, e.store.Update(e.t.Context(), e.caller.Namespace(), func(tx storage.Tx) error { return e.outbox.Put(tx, kind, object) }))
}

// wait lets time pass until all that is due then is done.
func (e *env) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
