package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/mcpserver"
	"github.com/seed-506d8e5d/svc/model/builtin"
	"github.com/seed-506d8e5d/svc/vectorstores"
)

// env is a server over the built-in model.
type env struct {
	t       *testing.T
	service *svc.Service
	stores  *vectorstores.Service
	url     string
}

func newEnv(t *testing.T) *env {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	var mu sync.Mutex
	made := map[string]int{}
	service, err := svc.New(t.Context(), svc.Options{Backend: builtin.New(), Logger: log, NewID: func(prefix string) string {
		mu.Lock()
		defer mu.Unlock()
		made[prefix]++
		return fmt.Sprintf("%s_%04d", prefix, made[prefix])
	}})
	check(t, err)
	p := service.Parts()
	stores := vectorstores.New(vectorstores.Options{Store: p.Store, Cluster: p.Cluster, Accounts: p.Accounts, Files: p.Files, Now: p.Now, NewID: p.NewID, Log: p.Log})
	server := httptest.NewServer(httpapi.New(service, httpapi.Options{Logger: log, MCP: mcpserver.New(mcpserver.Options{Service: service, VectorStores: stores, Log: log})}))
	t.Cleanup(func() {
		server.Close()
		check(t, errors.Join(stores.Close(), service.Close()))
	})
	return &env{t, service, stores, server.URL}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// key returns a key of a new organization.
func (e *env) key(n accounts.NewOrganization) (caller svc.Caller, key string) {
	e.t.Helper()
	n.Name = "Acme"
	o, err := e.service.CreateOrganization(e.t.Context(), n)
	check(e.t, err)
	k, err := e.service.CreateKey(e.t.Context(), accounts.NewKey{OrganizationID: o.ID})
	check(e.t, err)
	caller, err = e.service.Authenticate(e.t.Context(), k.Secret)
	check(e.t, err)
	return caller, k.Secret
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// connect connects a client of the protocol.
func (e *env) connect(key string) *mcp.ClientSession {
	e.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil)
	session, err := client.Connect(e.t.Context(), &mcp.StreamableClientTransport{Endpoint: e.url + "/mcp", HTTPClient: &http.Client{Transport: bearer(key)}, DisableStandaloneSSE: true}, nil)
	check(e.t, err)
	e.t.Cleanup(func() { session.Close() })
	return session
}

func (e *env) upload(caller svc.Caller, name, text string) string {
	e.t.Helper()
	f, err := e.service.UploadFile(e.t.Context(), caller, files.Upload{Filename: name, MIMEType: "text/plain", Purpose: "assistants", Content: strings.NewReader(text)})
	check(e.t, err)
	for f.Status != files.Processed {
		f, err = e.service.File(e.t.Context(), caller, f.ID)
		check(e.t, err)
	}
	return f.ID
}

// call calls a tool and returns the text of its result.
func call(t *testing.T, s *mcp.ClientSession, name, arguments string) (string, *mcp.CallToolResult) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	check(t, err)
	return r.Content[0].(*mcp.TextContent).Text, r
}

func TestTools(t *testing.T) {
	e := newEnv(t)
	caller, key := e.key(accounts.NewOrganization{Credits: accounts.Dollar})
	s := e.connect(key)
	long := strings.Repeat("A line of forty characters, with its end\n", 1000)
	e.upload(caller, "short.txt", "The door code is 4711.")
	e.upload(caller, "long.txt", long)
	for _, c := range []struct{ name, arguments, want string }{
		{"rerank", `{"query":"refund","documents":["opening hours","refund policy"],"top_n":1}`, `"index":1`},
		{"respond", `{"input":"What is the door code? The door code is 4711."}`, `{"response_id":"resp_0001","status":"completed","text":"`},
		{"respond", `{"input":"Hello","stream":true,"background":true}`, `"status":"completed"`},
		{"list_files", `{"limit":1}`, `{"files":[{"id":"file_0002","filename":"long.txt","bytes":41000,"created_at":`},
		{"list_files", `{"after":"file_0002"}`, `"filename":"short.txt"`},
		{"read_file", `{"file_id":"file_0001"}`, `{"file_id":"file_0001","filename":"short.txt","page":1,"pages":1,"text":"The door code is 4711."}`},
		{"read_file", `{"file_id":"file_0002","page":3}`, `"page":3,"pages":3,"text":"A line of forty`},
	} {
		got, r := call(t, s, c.name, c.arguments)
		if r.IsError || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: got %s, want %s", c.name, c.arguments, got, c.want)
		}
		structured, err := json.Marshal(r.StructuredContent)
		check(t, err)
		if len(structured) < 3 {
			t.Errorf("%s has no structured content", c.name)
		}
	}
	var whole string
	for page := range 3 {
		text, _ := call(t, s, "read_file", fmt.Sprintf(`{"file_id":"file_0002","page":%d}`, page+1))
		var p struct{ Text string }
		check(t, json.Unmarshal([]byte(text), &p))
		whole += p.Text
	}
	if whole != long {
		t.Errorf("the pages are not the text: %d bytes, want %d", len(whole), len(long))
	}
}

// TestErrorsAreThoseOfTheInterface calls tools with what the routes refuse.
func TestErrorsAreThoseOfTheInterface(t *testing.T) {
	e := newEnv(t)
	_, key := e.key(accounts.NewOrganization{Credits: accounts.Dollar})
	_, poor := e.key(accounts.NewOrganization{})
	owner, _ := e.key(accounts.NewOrganization{Credits: accounts.Dollar})
	foreign := e.upload(owner, "secret.txt", "secret")
	s := e.connect(key)
	for _, c := range []struct{ name, arguments, want string }{
		{"decide", `{"state":"x","questions":{}}`, `{"error":{"code":"validation_error","message":"questions: must have 1 to 16 questions"}}`},
		{"decide", `{"state":"x","model":"nope","questions":{"a":{"type":"noul","instructions":"b"}}}`, `{"error":{"code":"validation_error","message":"model: \"nope\" is not a decision model"}}`},
		{"decide", `[]`, `"code":"validation_error"`},
		{"rerank", `{"query":"x"}`, `"code":"validation_error"`},
		{"respond", `{}`, `{"error":{"code":"validation_error","message":"input must be a string or an array.","param":"input"}}`},
		{"list_files", `{"limit":0}`, `{"error":{"code":"validation_error","message":"limit must be 1 to 100.","param":"limit"}}`},
		{"list_files", `{"limits":1}`, `unknown field`},
		{"read_file", `{}`, `{"error":{"code":"validation_error","message":"file_id is required.","param":"file_id"}}`},
		{"read_file", `{"file_id":"` + foreign + `"}`, `{"error":{"code":"not_found","message":"No file found with id \"` + foreign + `\"."`},
	} {
		got, r := call(t, s, c.name, c.arguments)
		if !r.IsError || !strings.Contains(strings.ReplaceAll(got, `\"`, `"`), strings.ReplaceAll(c.want, `\"`, `"`)) {
			t.Errorf("%s %s: got %s, want %s", c.name, c.arguments, got, c.want)
		}
	}
	if got, r := call(t, e.connect(poor), "respond", `{"input":"x"}`); !r.IsError || !strings.Contains(got, `"insufficient_credits"`) {
		t.Errorf("without credits: got %s", got)
	}
	if list, err := s.ListResources(t.Context(), nil); err != nil || len(list.Resources) != 0 {
		t.Errorf("the files of others are listed: %v, %v", list, err)
	}
	if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "svc://files/" + foreign}); err == nil {
		t.Error("a file of another organization was read")
	}
}

// TestSearch finds passages of the organization's files alone.
func TestSearch(t *testing.T) {
	e := newEnv(t)
	caller, key := e.key(accounts.NewOrganization{Credits: accounts.Dollar})
	_, other := e.key(accounts.NewOrganization{Credits: accounts.Dollar})
	store, err := e.stores.Create(t.Context(), caller, vectorstores.NewStore{Files: []string{e.upload(caller, "lease.txt", "The notice period of the lease is three months.")}})
	check(t, err)
	for store.Files.Completed == 0 {
		store, err = e.stores.Get(t.Context(), caller, store.ID)
		check(t, err)
	}
	s := e.connect(key)
	for _, arguments := range []string{`{"query":"notice period"}`, `{"query":"notice period","vector_store_id":"` + store.ID + `","max_num_results":1}`} {
		if got, r := call(t, s, "search_files", arguments); r.IsError || !strings.Contains(got, `"filename":"lease.txt"`) || !strings.Contains(got, "three months") {
			t.Errorf("%s: %s", arguments, got)
		}
	}
	s = e.connect(other)
	if got, r := call(t, s, "search_files", `{"query":"notice period"}`); r.IsError || got != `{"passages":[]}` {
		t.Errorf("another organization: %s", got)
	}
	for _, arguments := range []string{`{"query":"notice period","vector_store_id":"` + store.ID + `"}`, `{"query":"x","max_num_results":21}`, `{"query":7}`} {
		if got, r := call(t, s, "search_files", arguments); !r.IsError {
			t.Errorf("%s: %s", arguments, got)
		}
	}
}

// TestExamples runs the example of each description.
func TestExamples(t *testing.T) {
	e := newEnv(t)
	caller, key := e.key(accounts.NewOrganization{Credits: accounts.Dollar})
	id := e.upload(caller, "a.txt", "a")
	s := e.connect(key)
	list, err := s.ListTools(t.Context(), nil)
	check(t, err)
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		_, example, ok := strings.Cut(tool.Description, "Example: ")
		if !ok || len(tool.Description) > 900 {
			t.Errorf("%s: the description has no example or is long: %d characters", tool.Name, len(tool.Description))
			continue
		}
		if text, r := call(t, s, tool.Name, strings.ReplaceAll(example, "file_123", id)); r.IsError {
			t.Errorf("%s: %s", tool.Name, text)
		}
	}
	if got := strings.Join(names, " "); got != "decide list_files read_file rerank respond search_files" {
		t.Errorf("the tools are %s", got)
	}
}

func TestResources(t *testing.T) {
	e := newEnv(t)
	caller, key := e.key(accounts.NewOrganization{Credits: accounts.Dollar})
	for i := range 101 {
		e.upload(caller, fmt.Sprintf("%d.txt", i), fmt.Sprint("text ", i))
	}
	s := e.connect(key)
	var uris []string
	for r, err := range s.Resources(t.Context(), nil) {
		check(t, err)
		uris = append(uris, r.URI)
	}
	if len(uris) != 101 || uris[0] != "svc://files/file_0101" {
		t.Errorf("%d resources, first %s", len(uris), uris[0])
	}
	r, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uris[1]})
	check(t, err)
	if got := r.Contents[0].Text; got != "text 99" {
		t.Errorf("got %q", got)
	}
}

// TestWhoMayCall sends requests without a key, over the limit, and of other methods.
func TestWhoMayCall(t *testing.T) {
	e := newEnv(t)
	_, limited := e.key(accounts.NewOrganization{Credits: accounts.Dollar, RequestsPerMinute: 2})
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"respond","arguments":{"input":"x"}}}`
	for _, c := range []struct {
		name, key, method, origin, host string
		status                          int
		want                            string
	}{
		{"no key", "", "POST", "", "", 401, `"invalid_api_key"`},
		{"a GET", limited, "GET", "", "", 405, `"method_not_allowed"`},
		{"a request counts once", limited, "POST", "", "", 200, `"structuredContent"`},
		{"behind a proxy", limited, "POST", "", "svc.example.com", 200, `"structuredContent"`},
		{"over the limit", limited, "POST", "", "", 429, `"rate_limit_exceeded"`},
	} {
		status, body := e.post(c.key, c.method, c.origin, c.host, list)
		if status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: got %d %s, want %d %s", c.name, status, body, c.status, c.want)
		}
	}
	_, free := e.key(accounts.NewOrganization{Credits: accounts.Dollar})
	if status, body := e.post(free, "POST", "http://evil.example.com", "evil.example.com", list); status != 403 {
		t.Errorf("a page that was led here by a name of its own: %d %s", status, body)
	}
	for _, body := range []string{"", "{", `[]`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":7}`, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}`} {
		if status, answer := e.post(free, "POST", "", "", body); status == 500 || strings.Contains(answer, `"result"`) {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
}

func (e *env) post(key, method, origin, host, body string) (int, string) {
	e.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, e.url+"/mcp", strings.NewReader(body))
	check(e.t, err)
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	r.Host = host
	resp, err := http.DefaultClient.Do(r)
	check(e.t, err)
	defer resp.Body.Close()
	var b strings.Builder
	buffer := make([]byte, 1<<16)
	for {
		n, err := resp.Body.Read(buffer)
		b.Write(buffer[:n])
		if err != nil {
			return resp.StatusCode, b.String()
		}
	}
}
