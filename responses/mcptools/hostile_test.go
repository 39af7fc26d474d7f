package mcptools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/responses"
	"github.com/seed-506d8e5d/svc/responses/mcptools"
)

// hostile is a server that answers requests of the protocol with what answer writes,
// but for those that begin a session.
func hostile(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, method string, id json.RawMessage)) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &m)
		switch m.Method {
		case "server/discover":
			reply(w, m.ID, `"error":{"code":-32601,"message":"no"}`)
		case "initialize":
			reply(w, m.ID, `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`)
		case "notifications/initialized", "notifications/cancelled":
			w.WriteHeader(202)
		default:
			answer(w, r, m.Method, m.ID)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func reply(w http.ResponseWriter, id json.RawMessage, member string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, id, member)
}

const oneTool = `"result":{"tools":[{"name":"roll","inputSchema":{"type":"object"}}]}`

// listsOne answers a list with one tool, and calls otherwise.
func listsOne(call http.HandlerFunc) func(http.ResponseWriter, *http.Request, string, json.RawMessage) {
	return func(w http.ResponseWriter, r *http.Request, method string, id json.RawMessage) {
		if method == "tools/list" {
			reply(w, id, oneTool)
			return
		}
		call(w, r)
	}
}

// TestListsThatAreTooLong have an error in their item, and the model goes on.
func TestListsThatAreTooLong(t *testing.T) {
	for name, c := range map[string]struct {
		tools   int
		page    int // tools in a page
		allowed string
		want    string
	}{
		"10,000 tools":     {10_000, 10_000, "", `mcp_list_tools "The server lists more than 1000 tools, or more than 1024 KiB of them."`},
		"an endless list":  {100, 0, "", `mcp_list_tools "The server lists more than 1000 tools, or more than 1024 KiB of them."`},
		"129 tools":        {129, 129, "", `mcp_list_tools "The server lists 129 tools, which are too many: all servers of a request together may have 128. Choose some with allowed_tools."`},
		"one of 129 tools": {129, 129, `,"allowed_tools":["t7"]`, `mcp_list_tools t7`},
	} {
		s := hostile(t, func(w http.ResponseWriter, _ *http.Request, _ string, id json.RawMessage) {
			var list []string
			for i := range c.tools {
				list = append(list, fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"}}`, i))
			}
			next := ""
			if c.page == 0 {
				next = `,"nextCursor":"more"`
			}
			reply(w, id, `"result":{"tools":[`+strings.Join(list, ",")+`]`+next+`}`)
		})
		e := newEnv(t, named(s.URL), modeltest.Text("Without."))
		r := e.turn(`"input":"Go.","tools":[{"type":"mcp","server_label":"s"` + c.allowed + `}]`)
		if got := r.output(); r.Status != "completed" || got != c.want+"\nmessage Without." {
			t.Errorf("%s: %s\n%s", name, r.Status, got)
		}
	}
}

// TestServersThatMisbehave fail calls, of which the model is told, and never turns.
func TestServersThatMisbehave(t *testing.T) {
	for name, c := range map[string]struct {
		call http.HandlerFunc
		want string
	}{
		"an answer without end": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte(`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"`))
			for piece := make([]byte, 1<<20); ; {
				for i := range piece {
					piece[i] = 'a'
				}
				if _, err := w.Write(piece); err != nil {
					return
				}
			}
		}, `{"type":"mcp_protocol_error","code":-32603,"message":"The answer of the server is too large."}`},
		"an event without end": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Write([]byte(`data: {"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"`))
			for piece := []byte(strings.Repeat("a", 1<<20)); ; {
				if _, err := w.Write(piece); err != nil {
					return
				}
			}
		}, `{"type":"mcp_protocol_error","code":-32603,"message":"The server could not be reached, or broke off."}`},
		"a connection that breaks": {func(w http.ResponseWriter, r *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			conn.Close()
		}, `{"type":"mcp_protocol_error","code":-32603,"message":"The server could not be reached, or broke off."}`},
		"a stream that breaks": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Write([]byte("data: {\n\n"))
		}, `{"type":"mcp_protocol_error","code":-32603,"message":"The server could not be reached, or broke off."}`},
		"a status": {func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "<html>secret of the operator</html>", http.StatusTeapot)
		}, `{"type":"http_error","code":418,"message":"The server answered with the status 418."}`},
		"no JSON": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte("]"))
		}, `{"type":"mcp_protocol_error","code":-32603,"message":"The server could not be reached, or broke off."}`},
		"another host": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusTemporaryRedirect)
		}, `{"type":"mcp_protocol_error","code":-32603,"message":"The server is not used: the server redirected to another host."}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := hostile(t, listsOne(c.call))
			e := newEnv(t, named(s.URL), call("s__roll", `{}`), modeltest.Text("Without."))
			r := e.turn(`"input":"Go.",` + free)
			if got := r.output(); r.Status != "completed" || got != "mcp_list_tools roll\nmcp_call roll{} failed "+c.want+"\nmessage Without." {
				t.Errorf("%s\n%s", r.Status, got)
			}
			if got := e.client.States()[0].Failure; !strings.Contains(c.want, got) || got == "" {
				t.Errorf("the state is %q", got)
			}
			if !strings.Contains(e.prompt(1), "tool The call failed: ") {
				t.Errorf("the model read\n%s", e.prompt(1))
			}
		})
	}
}

// TestAServerThatHangs is left when the time of a call is up, and when the turn ends.
func TestAServerThatHangs(t *testing.T) {
	hangs := make(chan struct{}, 2)
	s := hostile(t, listsOne(func(w http.ResponseWriter, r *http.Request) {
		hangs <- struct{}{}
		<-r.Context().Done()
	}))
	client, err := mcptools.New(named(s.URL))
	check(t, err)
	defer client.Close()
	server, err := client.Server(t.Context(), accounts.Caller{Organization: "org_1"}, &responses.MCPTool{Label: "s"})
	check(t, err)
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, failure := server.CallTool(ctx, &conversations.MCPTool{Name: "roll"}, "{}"); failure == nil || failure.Message != "The server took too long to answer." {
		t.Errorf("the call failed with %+v", failure)
	}
	<-hangs
	e := newEnv(t, named(s.URL), call("s__roll", `{}`))
	r := e.turn(`"input":"Go.","background":true,` + free)
	<-hangs
	status, _ := e.send("POST", "/v1/responses/"+r.ID+"/cancel", "")
	if status != 200 {
		t.Errorf("cancelling: %d", status)
	}
}

// TestToolsThatChange removes a tool after it was listed.
func TestToolsThatChange(t *testing.T) {
	s := newTools(t)
	e := newEnv(t, named(s.URL), modeltest.Text("Yes?"), call("s__roll", `{}`), modeltest.Text("Without."))
	first := e.turn(`"input":"Hi.",` + free)
	s.mcp.RemoveTools("roll")
	if got := e.client.States(); len(got) != 1 || got[0] != (mcptools.State{Label: "s", URL: s.URL, Used: true}) {
		t.Errorf("the state is %+v", got)
	}
	second := e.turn(`"input":"Roll.","previous_response_id":"` + first.ID + `",` + free)
	if got := second.output(); got != `mcp_call roll{} failed {"type":"mcp_protocol_error","code":-32602,"message":"unknown tool \"roll\""}`+"\nmessage Without." {
		t.Errorf("got\n%s", got)
	}
}

// TestOutputs compares what models and callers get of results of several kinds.
func TestOutputs(t *testing.T) {
	for name, c := range map[string]struct {
		result *mcp.CallToolResult
		model  string
		item   string
	}{
		"texts":      {&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "a"}, &mcp.TextContent{Text: "b"}}}, "a\nb", "completed a\nb"},
		"structured": {&mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: map[string]any{"a": 1}}, `{"a":1}`, `completed {"a":1}`},
		"nothing":    {&mcp.CallToolResult{Content: []mcp.Content{}}, "", "completed "},
		"an image": {&mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: []byte("x")}}},
			"[An image was left out here: images are not read.]", "completed [An image was left out here: images are not read.]"},
		"an error": {&mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no dice"}}}, "no dice",
			`failed {"type":"mcp_tool_execution_error","content":[{"type":"text","text":"no dice"}]}`},
	} {
		s := newTools(t)
		s.add("odd", `{"type":"object"}`, true, func(context.Context, string) (*mcp.CallToolResult, error) { return c.result, nil })
		e := newEnv(t, named(s.URL), call("s__odd", `{}`), modeltest.Text("Done."))
		r := e.turn(`"input":"Go.",` + free)
		if got := r.output(); got != "mcp_list_tools odd remember roll\nmcp_call odd{} "+c.item+"\nmessage Done." {
			t.Errorf("%s:\n%s", name, got)
		}
		if got := e.prompt(1); !strings.HasSuffix(got, "tool "+c.model) {
			t.Errorf("%s: the model read\n%s", name, got)
		}
	}
	s := newTools(t)
	s.add("long", `{"type":"object"}`, true, func(context.Context, string) (*mcp.CallToolResult, error) {
		return say(strings.Repeat("ä", 1<<20)), nil
	})
	e := newEnv(t, named(s.URL), call("s__long", `{}`), modeltest.Text("Done."))
	r := e.turn(`"input":"Go.",` + free)
	if got := *r.Output[1].Output; len(got) > 1<<20 || len(got) < 1<<20-3 || !strings.HasSuffix(got, "ä\n[The output was cut here: it is too long.]") {
		t.Errorf("an output of 2 MiB has %d bytes and ends with %q", len(got), got[len(got)-60:])
	}
}

type resolver string

func (r resolver) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr(string(r))}, nil
}

// TestCallersServers are reached at public addresses of hosts that the operator allows.
func TestCallersServers(t *testing.T) {
	var dialled atomic.Pointer[string]
	o := mcptools.Options{Hosts: []string{"mcp.example.com"}, Resolver: resolver("10.0.0.1"), Dial: func(_ context.Context, _, address string) (net.Conn, error) {
		dialled.Store(&address)
		return nil, net.ErrClosed
	}}
	e := newEnv(t, o, modeltest.Text("Without."), modeltest.Text("Without."))
	tool := func(fields string) string {
		return `"input":"Go.","tools":[{"type":"mcp","server_label":"s",` + fields + `}]`
	}
	for fields, code := range map[string]string{
		`"server_url":"https://other.example.com/mcp"`:                                                   "mcp_server_not_allowed",
		`"server_url":"http://mcp.example.com/mcp"`:                                                      "mcp_server_not_allowed",
		`"server_url":"https://mcp.example.com.evil.com/mcp"`:                                            "mcp_server_not_allowed",
		`"server_url":"https://127.0.0.1/mcp"`:                                                           "mcp_server_not_allowed",
		`"server_url":"file:///etc/passwd"`:                                                              "validation_error",
		`"server_url":"https://a:b@mcp.example.com/mcp"`:                                                 "validation_error",
		`"server_description":"named by nobody"`:                                                         "mcp_server_not_allowed",
		`"server_url":"https://mcp.example.com","headers":{"Host":"internal"}`:                           "validation_error",
		`"server_url":"https://mcp.example.com","headers":{"Mcp-Session-Id":"x"}`:                        "validation_error",
		`"server_url":"https://mcp.example.com","headers":{"a\r\nb":"x"}`:                                "validation_error",
		`"server_url":"https://mcp.example.com","headers":{"a":"x\r\nHost: b"}`:                          "validation_error",
		`"server_url":"https://mcp.example.com","authorization":"a","headers":{"authorization":"zebra"}`: "validation_error",
	} {
		if message := e.refused(tool(fields), code); strings.Contains(message, "zebra") {
			t.Errorf("%s: the message shows a secret: %s", fields, message)
		}
	}
	r := e.turn(tool(`"server_url":"https://mcp.example.com/mcp"`))
	if got := r.output(); got != `mcp_list_tools "The server is not used: the host mcp.example.com has no public address."`+"\nmessage Without." || dialled.Load() != nil {
		t.Errorf("got\n%s", got)
	}
	e.close()
	o.Resolver = resolver("93.184.216.34")
	e.open(o)
	e.turn(tool(`"server_url":"https://MCP.example.com./mcp"`))
	if address := dialled.Load(); address == nil || *address != "93.184.216.34:443" {
		t.Errorf("connected to %v", address)
	}
}

// TestOperatorsRules hold whatever a request asks for.
func TestOperatorsRules(t *testing.T) {
	s := newTools(t)
	only := true
	o := mcptools.Options{Servers: map[string]mcptools.Server{
		"s":      {URL: s.URL, Approval: &responses.MCPApproval{Never: &responses.MCPFilter{ReadOnly: &only}}, Authorization: "operator's"},
		"read":   {URL: s.URL, Allowed: &responses.MCPFilter{ReadOnly: &only}},
		"others": {URL: s.URL, Organizations: []string{"org_other"}},
	}}
	e := newEnv(t, o, call("s__remember", `{}`), modeltest.Text("None."), modeltest.Text("None."), modeltest.Text("None."), modeltest.Text("None."))
	if got := e.turn(`"input":"Go.",` + free).output(); !strings.HasSuffix(got, "mcp_approval_request remember{}") {
		t.Errorf("a request for no approval:\n%s", got)
	}
	if got := s.header.Get("Authorization"); got != "Bearer operator's" {
		t.Errorf("sent the authorization %q", got)
	}
	e.turn(`"input":"Go.","tools":[{"type":"mcp","server_label":"s","headers":{"X-User":"u"}}]`)
	if got := s.header.Get("Authorization") + s.header.Get("X-User"); got != "u" {
		t.Errorf("with headers of the request: sent %q", got)
	}
	if got := e.turn(`"input":"Go.","tools":[{"type":"mcp","server_label":"read","allowed_tools":["roll","remember"]}]`).output(); got != "mcp_list_tools roll\nmessage None." {
		t.Errorf("tools that the operator does not allow:\n%s", got)
	}
	e.refused(`"input":"Go.","tools":[{"type":"mcp","server_label":"others"}]`, "mcp_server_not_allowed")
	e.refused(`"input":"Go.","tools":[{"type":"mcp","server_label":"others","server_url":"`+s.URL+`"}]`, "mcp_server_not_allowed")
	e.refused(`"input":"Go.","tools":[{"type":"mcp","server_label":"x","server_url":"`+s.URL+`"}]`, "mcp_server_not_allowed")
	if got := e.turn(`"input":"Go.","tools":[{"type":"mcp","server_label":"read","server_url":"` + s.URL + `"}]`).output(); got != "mcp_list_tools roll\nmessage None." {
		t.Errorf("a server that is named with its URL:\n%s", got)
	}
	e.refused(`"input":"Go.","tools":[{"type":"mcp","server_label":"s"},{"type":"mcp","server_label":"s"}]`, "validation_error")
	var many []string
	for i := range 9 {
		many = append(many, fmt.Sprintf(`{"type":"mcp","server_label":"s%d"}`, i))
	}
	e.refused(`"input":"Go.","tools":[`+strings.Join(many, ",")+`]`, "validation_error")
}

// TestSecretsStaySecret looks for what a request authenticates with in everything that
// is stored, answered and logged.
func TestSecretsStaySecret(t *testing.T) {
	s := newTools(t)
	e := newEnv(t, named(s.URL), call("s__remember", `{}`), modeltest.Text("Done."))
	const tools = `"tools":[{"type":"mcp","server_label":"s","authorization":"zebra-1","headers":{"X-Secret":"zebra-2"}}]`
	asked := e.turn(`"input":"Go.",` + tools)
	done := e.turn(`"input":[{"type":"mcp_approval_response","approval_request_id":"mcpr_0001","approve":true}],"background":true,"previous_response_id":"` + asked.ID + `",` + tools)
	_, stream := e.send("GET", "/v1/responses/"+done.ID+"?stream=true", "")
	if s.header.Get("Authorization") != "Bearer zebra-1" || s.header.Get("X-Secret") != "zebra-2" {
		t.Errorf("the server got %v", s.header)
	}
	_, read := e.send("GET", "/v1/responses/"+done.ID, "")
	_, input := e.send("GET", "/v1/responses/"+done.ID+"/input_items", "")
	for what, text := range map[string]string{"answer": asked.body, "stream": stream, "response": read, "input": input, "store": e.stored(), "log": e.log.String()} {
		if strings.Contains(text, "zebra") {
			t.Errorf("a secret is in the %s:\n%s", what, text)
		}
	}
	if !strings.Contains(read, `"headers":null`) {
		t.Errorf("the response is %s", read)
	}
}

// TestChoices offers and demands tools.
func TestChoices(t *testing.T) {
	s := newTools(t)
	e := newEnv(t, named(s.URL), modeltest.Text("."), modeltest.Text("."), modeltest.Text("."), call("s__roll", `{}`), modeltest.Text("."), modeltest.Text("."))
	offered := func(n int) string {
		r := e.script.Requests()[n]
		text := string(r.ToolChoice.Mode)
		for _, tool := range r.Tools {
			text += " " + tool.Name
		}
		return text
	}
	const function = `{"type":"function","name":"f"}`
	const server = `{"type":"mcp","server_label":"s","require_approval":"never"}`
	for i, c := range []struct{ choice, want string }{
		{`"auto"`, "auto f s__remember s__roll"},
		{`{"type":"allowed_tools","mode":"auto","tools":[{"type":"mcp","server_label":"s","name":"roll"}]}`, "auto s__roll"},
		{`{"type":"allowed_tools","mode":"required","tools":[{"type":"mcp","server_label":"s"},` + function + `]}`, "required f s__remember s__roll"},
		{`{"type":"mcp","server_label":"s","name":"roll"}`, "required s__roll"},
	} {
		e.turn(`"input":"Go.","tools":[` + function + `,` + server + `],"tool_choice":` + c.choice)
		if got := offered(i); got != c.want {
			t.Errorf("%s: offered %s, want %s", c.choice, got, c.want)
		}
	}
	if got := offered(4); got != " f s__remember s__roll" {
		t.Errorf("after the call that was demanded: %s", got)
	}
	e.turn(`"input":"Go.","tools":[` + server + `],"tool_choice":{"type":"mcp","server_label":"s","name":"none"}`)
	if got := offered(5); got != "" {
		t.Errorf("a tool that is not listed is demanded: %s", got)
	}
}

// TestCallsTogether has functions and servers' tools called at once, too many, and
// with arguments that are none.
func TestCallsTogether(t *testing.T) {
	s := newTools(t)
	e := newEnv(t, named(s.URL), call("f", `{}`, "s__roll", `{}`, "s__roll", `not JSON`, "s__roll", `{"sides":7}`), modeltest.Text("Done."))
	r := e.turn(`"input":"Go.","max_tool_calls":2,"tools":[{"type":"function","name":"f"},{"type":"mcp","server_label":"s","require_approval":"never"}]`)
	want := "mcp_list_tools remember roll\nfunction_call f{} completed\nmcp_call roll{} completed 4\n" +
		`mcp_call rollnot JSON failed {"type":"mcp_protocol_error","code":-32602,"message":"The tool was not called: its arguments are not a JSON object."}` + "\n" +
		`mcp_call roll{"sides":7} failed {"type":"mcp_protocol_error","code":-32603,"message":"The tool was not called: no more calls are allowed for this answer."}`
	if r.output() != want {
		t.Errorf("got\n%s\nwant\n%s", r.output(), want)
	}
	next := e.turn(`"input":[{"type":"function_call_output","call_id":"call_0001","output":"f's"}],"previous_response_id":"` + r.ID + `"`)
	if next.output() != "message Done." {
		t.Errorf("got\n%s", next.output())
	}
}

// TestListsThatExpire are made again when their time is up, and shared by turns until
// then.
func TestListsThatExpire(t *testing.T) {
	lists := 0
	s := hostile(t, func(w http.ResponseWriter, _ *http.Request, method string, id json.RawMessage) {
		lists++
		reply(w, id, `"result":{"ttlMs":60000,"tools":[{"name":"roll","inputSchema":{"type":"object"}}]}`)
	})
	e := newEnv(t, named(s.URL), modeltest.Text("1"), modeltest.Text("2"), modeltest.Text("3"), modeltest.Text("4"))
	first := e.turn(`"input":"Hi.",` + free)
	if got := e.turn(`"input":"Hi.",` + free).output(); got != "mcp_list_tools roll\nmessage 2" || lists != 1 {
		t.Errorf("another conversation: listed %d times\n%s", lists, got)
	}
	if got := e.turn(`"input":"Hi.","previous_response_id":"` + first.ID + `",` + free).output(); got != "message 3" || lists != 1 {
		t.Errorf("the next turn: listed %d times\n%s", lists, got)
	}
	e.wait(time.Minute)
	if got := e.turn(`"input":"Hi.","previous_response_id":"` + first.ID + `",` + free).output(); got != "mcp_list_tools roll\nmessage 4" || lists != 2 {
		t.Errorf("a minute later: listed %d times\n%s", lists, got)
	}
}

// TestDecisionsApprove asks a decision about each call: yes calls, anything else asks
// the caller.
func TestDecisionsApprove(t *testing.T) {
	s := newTools(t)
	var asked []*decisions.Request
	yes, failure := 0.9, error(nil)
	o := named(s.URL)
	o.Decide = func(_ context.Context, caller accounts.Caller, req *decisions.Request) (*decisions.Response, error) {
		if caller.Organization == "" {
			t.Error("nobody asks")
		}
		asked = append(asked, req)
		return &decisions.Response{Answers: []decisions.Answer{{Noul: yes, Abstained: req.AbstainAboveError > 0 && req.AbstainAboveError < 0.1}}}, failure
	}
	var answers []modeltest.Answer
	for range 6 {
		answers = append(answers, call("s__remember", `{"note":"a"}`), modeltest.Text("Done."))
	}
	e := newEnv(t, o, answers...)
	const made, waits = "mcp_list_tools remember roll\nmcp_call remember{\"note\":\"a\"} completed Remembered {\"note\":\"a\"}\nmessage Done.", "mcp_list_tools remember roll\nmcp_approval_request remember{\"note\":\"a\"}"
	for _, c := range []struct {
		bound string
		yes   float64
		err   error
		want  string
	}{
		{`"threshold":0.8`, 0.9, nil, made},
		{`"threshold":0.95`, 0.9, nil, waits},
		{`"error":0.2`, 0.9, nil, made},
		{`"error":0.2`, 0.4, nil, waits},
		{`"error":0.05`, 0.9, nil, waits},
		{`"threshold":0.8`, 0.9, errors.New("broken"), waits},
	} {
		yes, failure = c.yes, c.err
		got := e.turn(`"input":"Go.","tools":[{"type":"mcp","server_label":"s","require_approval":{"decision":{"question":{"type":"noul","instructions":"May it be called?"},` + c.bound + `}}}]`).output()
		if got != c.want {
			t.Errorf("%s, yes with %v, %v:\n%s", c.bound, c.yes, c.err, got)
		}
		if c.want == waits {
			e.script.Answers = e.script.Answers[1:] // of the text that nobody has asked for
		}
	}
	if got := string(asked[0].State); got != `{"arguments":{"note":"a"},"description":"Does remember.","read_only":false,"server":"s","tool":"remember"}` || asked[0].Questions[0].Instructions != "May it be called?" {
		t.Errorf("asked about %s", got)
	}
	for _, approval := range []string{`{"decision":{}}`, `{"decision":{"question":{"type":"noul","instructions":"x"}}}`, `{"decision":{"question":{"type":"noul","instructions":"x"},"threshold":0}}`,
		`{"decision":{"question":{"type":"choice","instructions":"x"},"threshold":0.5}}`, `{"always":{},"decision":{"question":{"type":"noul","instructions":"x"},"threshold":0.5}}`} {
		e.refused(`"input":"Go.","tools":[{"type":"mcp","server_label":"s","require_approval":`+approval+`}]`, "validation_error")
	}
}
