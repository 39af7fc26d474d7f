package console_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/console"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/responses"
)

// notebook is an MCP server with one tool.
type notebook struct{ calls []string }

func (n *notebook) Server(context.Context, accounts.Caller, *responses.MCPTool) (responses.MCPServer, error) {
	return n, nil
}

func (n *notebook) Source() string { return "notebook" }

func (n *notebook) ListTools(context.Context) ([]conversations.MCPTool, time.Time, error) {
	return []conversations.MCPTool{{Name: "remember", Description: "Remembers <b>a note</b>.", InputSchema: json.RawMessage(`{"type":"object"}`)}}, time.Time{}, nil
}

func (n *notebook) NeedsApproval(context.Context, *conversations.MCPTool, string) (bool, error) {
	return true, nil
}

func (n *notebook) CallTool(_ context.Context, _ *conversations.MCPTool, arguments string) (string, *conversations.MCPError) {
	n.calls = append(n.calls, arguments)
	return "Remembered.", nil
}

func (n *notebook) Close() {}

// TestApproveAndDeny chooses a server, is asked about its calls, and answers.
func TestApproveAndDeny(t *testing.T) {
	notes := &notebook{}
	asks := func() modeltest.Answer {
		return modeltest.Calls(model.ToolCall{ID: "1", Name: "notes__remember", Arguments: `{"note":"<i>"}`})
	}
	service, err := svc.New(t.Context(), svc.Options{Backend: modeltest.New(asks(), modeltest.Text("It is noted."), asks(), modeltest.Text("As you wish.")), MCP: notes})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { service.Close() })
	d := &desk{T: t, service: service, now: time.Now()}
	if d.key, err = service.Bootstrap(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	d.console, err = console.New(service, console.Options{
		AdminKey: adminKey, Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return d.now },
		MCPNamed: func(string) []string { return []string{"notes"} },
		MCPServers: func() []console.MCPServer {
			return []console.MCPServer{{Name: "notes", URL: "http://notes", Used: true, Failure: "The server took too long to answer."}, {Name: "other", URL: "http://other"}}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(d.console)
	t.Cleanup(server.Close)
	d.url, d.client = server.URL, d.browser()
	token := d.signIn(d.key)
	_, page := d.get("/respond")
	if !strings.Contains(page, `<input type="checkbox" name="mcp" value="notes"> notes`) {
		t.Fatalf("the page offers no server:\n%s", page)
	}
	form := url.Values{"token": {token}, "model": {"svc-preview"}, "text": {"Note it."}, "mcp": {"notes"}}
	_, page = d.post("/respond", form)
	for _, want := range []string{"listed the tools of <code>notes</code>", "remember: Remembers &lt;b&gt;a note&lt;/b&gt;.", "asks to call <code>notes · remember</code>", "{&#34;note&#34;:&#34;&lt;i&gt;&#34;}",
		"May <code>notes · remember</code> be called?", `value="notes" checked`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q:\n%s", want, page)
		}
	}
	answer := func(page, decided string) string {
		id, previous := hiddenField(t, page, "approval_id"), hiddenField(t, page, "previous")
		_, page = d.post("/respond", url.Values{"token": {token}, "model": {"svc-preview"}, "previous": {previous}, "mcp": {"notes"}, "approval_id": {id}, "approve_" + id: {decided}, "approval_reason": {"because"}})
		return page
	}
	page = answer(page, "yes")
	if !strings.Contains(page, "called <code>notes · remember</code>") || !strings.Contains(page, "It is noted.") || len(notes.calls) != 1 {
		t.Errorf("approved, called %v:\n%s", notes.calls, page)
	}
	_, page = d.post("/respond", form)
	page = answer(page, "no")
	if !strings.Contains(page, "denied") || !strings.Contains(page, "As you wish.") || len(notes.calls) != 1 {
		t.Errorf("denied, called %v:\n%s", notes.calls, page)
	}
	d.client = d.browser()
	d.signIn(adminKey)
	_, page = d.get("/admin/system")
	for _, want := range []string{"<td>notes</td><td>http://notes</td>", "ailing", "The server took too long to answer.", "not used yet"} {
		if !strings.Contains(page, want) {
			t.Errorf("the system page does not have %q:\n%s", want, page)
		}
	}
}

// hiddenField returns the value of a hidden field.
func hiddenField(t *testing.T, page, name string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, `name="`+name+`" value="`)
	value, _, _ := strings.Cut(rest, `"`)
	if !ok || value == "" {
		t.Fatalf("the page has no field %s:\n%s", name, page)
	}
	return value
}
