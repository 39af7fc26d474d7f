package compat

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/mcpserver"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/openai"
	"github.com/seed-506d8e5d/svc/responses/mcptools"
)

// freePort returns a port that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	check(t, err)
	return port
}

// everything starts @modelcontextprotocol/server-everything and returns its URL.
func everything(t *testing.T) string {
	t.Helper()
	port := freePort(t)
	cmd := exec.CommandContext(t.Context(), nodeBinary(t), absolute(t, "node/node_modules/@modelcontextprotocol/server-everything/dist/index.js"), "streamableHttp")
	cmd.Env = append(os.Environ(), "PORT="+port)
	listening := make(chan struct{})
	cmd.Stderr = &watcher{text: "listening on port", seen: listening}
	check(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Wait() }) // the test's context kills it
	select {
	case <-listening:
	case <-t.Context().Done():
	}
	return "http://127.0.0.1:" + port + "/mcp"
}

// watcher closes seen when a text has been written.
type watcher struct {
	text    string
	seen    chan struct{}
	written bytes.Buffer
	closed  bool
}

func (w *watcher) Write(p []byte) (int, error) {
	w.written.Write(p)
	if !w.closed && strings.Contains(w.written.String(), w.text) {
		w.closed = true
		close(w.seen)
	}
	return len(p), nil
}

// overHTTP serves a server that speaks over its standard input and output, and
// returns its URL.
func overHTTP(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "bridge"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	check(t, err)
	t.Cleanup(func() { session.Close() })
	server := mcp.NewServer(&mcp.Implementation{Name: "bridge"}, nil)
	list, err := session.ListTools(t.Context(), nil)
	check(t, err)
	for _, tool := range list.Tools {
		server.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return session.CallTool(ctx, &mcp.CallToolParams{Name: r.Params.Name, Arguments: r.Params.Arguments})
		})
	}
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(s.Close)
	return s.URL
}

// TestNodeMCP has the Agents SDK and the AI SDK use servers from npm, with and without
// approval.
func TestNodeMCP(t *testing.T) {
	directory := t.TempDir()
	check(t, os.WriteFile(filepath.Join(directory, "note.txt"), []byte("The code is 4711."), 0o600))
	servers := map[string]mcptools.Server{
		"everything": {URL: everything(t)},
		"files": {URL: overHTTP(t, exec.Command(nodeBinary(t),
			absolute(t, "node/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"), directory))},
	}
	client, err := mcptools.New(mcptools.Options{Servers: servers, Log: slog.New(slog.DiscardHandler)})
	check(t, err)
	g := &gallery{models: newScripted(t)}
	backend, err := openai.New(openai.Options{Logger: slog.New(slog.DiscardHandler), Models: []openai.Model{
		{Info: model.Info{ID: modelID, Generates: true}, Targets: []openai.Target{{Server: &openai.Server{URL: g.models.URL + "/v1"}}}},
	}})
	check(t, err)
	t.Cleanup(func() { backend.Close() })
	t.Cleanup(func() { check(t, client.Close()) })
	g.serve(t, svc.Options{Backend: backend, MCP: client})
	t.Setenv("SVC_EVERYTHING", servers["everything"].URL)
	t.Setenv("SVC_FILES", servers["files"].URL)
	t.Setenv("SVC_NOTE", filepath.Join(directory, "note.txt"))
	if out := g.run(t, nodeBinary(t), "cases/mcp.mjs"); !strings.Contains(out, "ok: mcp") {
		t.Errorf("the case did not come to its end:\n%s", out)
	}
}

// passed is what the suite says at its end.
var passed = regexp.MustCompile(`Passed: (\d+/\d+), (\d+) failed`)

// conforming are the scenarios of @modelcontextprotocol/conformance that are not about
// tools of its own.
var conforming = []string{"server-initialize", "ping", "tools-list", "dns-rebinding-protection", "server-stateless", "caching", "http-header-validation"}

// TestNodeMCPConformance holds /mcp to the protocol's own suite.
func TestNodeMCPConformance(t *testing.T) {
	g := &gallery{}
	service := g.serve(t, svc.Options{})
	log := slog.New(slog.DiscardHandler)
	api := httpapi.New(service, httpapi.Options{Logger: log, MCP: mcpserver.New(mcpserver.Options{Service: service, Log: log})})
	// The suite has no key of its own.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+g.key)
		api.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	for _, scenario := range conforming {
		t.Run(scenario, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), nodeBinary(t), "node_modules/@modelcontextprotocol/conformance/dist/index.js", "server", "--url", server.URL+"/mcp", "--scenario", scenario)
			cmd.Dir = "node"
			data, _ := cmd.CombinedOutput() // it fails with the checks that are not testable, too
			out := string(data)
			result := passed.FindStringSubmatch(out)
			if result == nil {
				t.Fatal(out)
			}
			failed, err := strconv.Atoi(result[2])
			check(t, err)
			if failed != strings.Count(out, "Error: Not testable") {
				t.Error(out)
			}
			t.Log(result[0])
		})
	}
}

// TestCodexMCP has codex call a tool of /mcp, with the lines of configuration that
// docs/operating.md has codex write.
func TestCodexMCP(t *testing.T) {
	g := newGallery(t, false)
	own := fmt.Sprintf("[mcp_servers.svc]\nurl = %q\nbearer_token_env_var = \"OPENAI_API_KEY\"\n", strings.TrimSuffix(g.url, "/v1")+"/mcp")
	out := g.codex(t, t.TempDir(), t.TempDir(), own, "", `SCRIPT:{"steps":[[{"name":"mcp__svc__list_files","args":{"limit":1}}]],"final":"There are none."}`)
	if !strings.Contains(out, "There are none.") {
		t.Errorf("codex did not finish:\n%s", out)
	}
	sent := g.models.sent()
	if last := sent[len(sent)-1]; !strings.Contains(last, "has_more") {
		t.Errorf("the model was not sent what the tool said:\n%s", last)
	}
}
