package httpapi

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// requestLine is the first line of a request, sent as it stands to a server, and
// the whole answer that it must have, without the headers that net/http adds.
type requestLine struct{ line, want string }

// run sends the line, without an API key, over a connection of its own.
func (l requestLine) run(t *testing.T, server *httptest.Server) {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	check(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, l.line+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	check(t, err)
	method, _, _ := strings.Cut(l.line, " ")
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	check(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	check(t, err)
	if id := res.Header.Get("X-Request-Id"); !strings.HasPrefix(id, "req_") {
		t.Errorf("X-Request-Id: got %q, want an ID", id)
	}
	if kind := res.Header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("Content-Type: got %q, want application/json", kind)
	}
	got := res.Status[:3] + " " + string(body)
	if allow := res.Header.Get("Allow"); allow != "" {
		got = "Allow: " + allow + "\n" + got
	}
	if got != l.want {
		t.Errorf("\ngot  %s\nwant %s", got, l.want)
	}
}

func shapeAError(status, kind, code, message string) string {
	return status + ` {"error":{"message":"` + message + `","type":"` + kind + `","param":null,"code":"` + code + `"}}`
}

func shapeBError(status, kind, message string) string {
	return status + ` {"detail":{"error_type":"` + kind + `","message":"` + message + `"}}`
}

// TestEveryAnswer asks for what there is no route to, in every way that a server
// or a mux might answer by itself.
func TestEveryAnswer(t *testing.T) {
	server := httptest.NewUnstartedServer(newAdminAPI(t, svc.Options{}, Options{}))
	server.Config.DisableGeneralOptionsHandler = true
	server.Start()
	defer server.Close()
	noRoute := func(request string) string {
		return shapeAError("404", "invalid_request_error", "not_found", "There is no route "+request+".")
	}
	notAllowed := func(method, allow string) string {
		return "Allow: " + allow + "\n" + shapeAError("405", "invalid_request_error", "method_not_allowed",
			"The method "+method+" is not allowed here, only "+allow+".")
	}
	const keyless = "The API key is missing or invalid."
	for rule, l := range map[string]requestLine{
		"a route without a key":           {"POST " + chatPathOf, shapeAError("401", "authentication_error", "invalid_api_key", keyless)},
		"Decisions without a key":         {"POST /v1/systemone", shapeBError("401", "invalid_api_key", keyless)},
		"an escaped path is the same":     {"POST /v1/%73ystemone", shapeBError("401", "invalid_api_key", keyless)},
		"the query does not matter":       {"POST /v1/systemone?a=//b/../c", shapeBError("401", "invalid_api_key", keyless)},
		"the root":                        {"GET /", noRoute("GET /")},
		"no route":                        {"GET /v1/nothing", noRoute("GET /v1/nothing")},
		"a slash at the end":              {"GET " + chatPathOf + "/", noRoute("GET " + chatPathOf + "/")},
		"two slashes":                     {"POST //v1/chat/completions", noRoute("POST //v1/chat/completions")},
		"two slashes inside":              {"POST /v1//chat/completions", noRoute("POST /v1//chat/completions")},
		"dots":                            {"POST /v1/../v1/systemone", noRoute("POST /v1/../v1/systemone")},
		"an escaped slash":                {"POST /v1%2Fchat", noRoute("POST /v1/chat")},
		"below Decisions":                 {"POST /v1/systemone/x", shapeBError("404", "not_found", "There is no route POST /v1/systemone/x.")},
		"a server as a whole":             {"OPTIONS *", noRoute("OPTIONS *")},
		"a proxy":                         {"CONNECT example.com:443", noRoute("CONNECT ")},
		"a method":                        {"PUT " + chatPathOf, notAllowed("PUT", "GET, HEAD, POST")},
		"a method of one":                 {"DELETE /healthz", notAllowed("DELETE", "GET, HEAD")},
		"an unknown method":               {"BREW /v1/rerank", notAllowed("BREW", "POST")},
		"OPTIONS":                         {"OPTIONS /v1/rerank", notAllowed("OPTIONS", "POST")},
		"a method of Decisions":           {"GET /v1/systemone", "Allow: POST\n" + shapeBError("405", "method_not_allowed", "The method GET is not allowed here, only POST.")},
		"HEAD is GET without a body":      {"HEAD /healthz", "200 "},
		"HEAD where there is no GET":      {"HEAD /v1/rerank", "Allow: POST\n405 "},
		"health":                          {"GET /healthz", `200 {"status":"ok"}`},
		"readiness":                       {"GET /readyz", `200 {"status":"ok"}`},
		"administration without its key":  {"GET /admin/v1/organizations", shapeAError("401", "authentication_error", "invalid_api_key", "The admin key is missing or invalid.")},
		"an absolute address is its path": {"GET http://example.com/healthz", `200 {"status":"ok"}`},
	} {
		t.Run(rule, func(t *testing.T) { l.run(t, server) })
	}
}

const chatPathOf = "/v1/chat/completions"

// TestStarting asks a server whose service is not open yet.
func TestStarting(t *testing.T) {
	a := Starting(Options{Logger: slog.New(slog.DiscardHandler), NewRequestID: func() string { return "req_1" }})
	const shapeA = `{"error":{"message":"The service is not ready.","type":"server_error","param":null,"code":"service_unavailable"}}`
	for path, want := range map[string]exchange{
		"/healthz":    {status: 200, want: `{"status":"ok"}`},
		"/readyz":     {status: 503, want: shapeA},
		chatPathOf:    {status: 503, want: shapeA},
		decisionsPath: {status: 503, want: `{"detail":{"error_type":"service_unavailable","message":"The service is not ready."}}`},
	} {
		w := send(a, "", "GET", path, "")
		if w.Code != want.status || w.Body.String() != want.want || w.Header().Get("X-Request-Id") != "req_1" {
			t.Errorf("%s: got %d %s with the ID %q, want %d %s", path, w.Code, w.Body, w.Header().Get("X-Request-Id"), want.status, want.want)
		}
		if after := w.Header().Get("Retry-After"); (after == "1") != (want.status == 503) {
			t.Errorf("%s: Retry-After is %q", path, after)
		}
	}
}

func TestReadiness(t *testing.T) {
	a := newAdminAPI(t, svc.Options{}, Options{Ready: func() error { return errors.New("no model server") }})
	want := `{"error":{"message":"The service is not ready.","type":"server_error","param":null,"code":"service_unavailable"}}`
	if w := send(a, "", "GET", "/readyz", ""); w.Code != 503 || w.Body.String() != want {
		t.Errorf("got %d %s, want 503 %s", w.Code, w.Body, want)
	}
	if w := send(a, "", "GET", "/healthz", ""); w.Code != 200 {
		t.Errorf("healthz: got %d, want 200", w.Code)
	}
}

// TestModels reads the list with a key for every model and with one for one.
func TestModels(t *testing.T) {
	const created = 1_600_000_000
	script := &modeltest.Script{Infos: []model.Info{
		{ID: "a/b", Created: created, OwnedBy: "us", Generates: true},
		{ID: "c", Created: created, OwnedBy: "them", Decides: true},
	}}
	a := newAdminAPI(t, svc.Options{Backend: script}, Options{})
	organization, every := newLimited(t, a, 0, 0)
	one, err := a.service.CreateKey(t.Context(), accounts.NewKey{OrganizationID: organization, Models: []string{"c"}})
	check(t, err)
	const (
		first  = `{"id":"a/b","object":"model","created":1600000000,"owned_by":"us"}`
		second = `{"id":"c","object":"model","created":1600000000,"owned_by":"them"}`
	)
	missing := func(id string) string {
		return `{"error":{"message":"No model found with id \"` + id + `\".","type":"invalid_request_error","param":null,"code":"model_not_found"}}`
	}
	const (
		named1 = `{"name":"a/b","description":"Generates text.","release_date":"2020-09-13"}`
		named2 = `{"name":"c","description":"Decides: answers typed questions about a state with probabilities.","release_date":"2020-09-13"}`
	)
	for _, c := range []struct {
		key, path string
		status    int
		want      string
	}{
		{every, "/v1/models", 200, `{"object":"list","data":[` + first + `,` + second + `],"models":[` + named1 + `,` + named2 + `]}`},
		{one.Secret, "/v1/models", 200, `{"object":"list","data":[` + second + `],"models":[` + named2 + `]}`},
		{every, "/v1/models/a/b", 200, first},
		{every, "/v1/models/c", 200, second},
		{one.Secret, "/v1/models/c", 200, second},
		{one.Secret, "/v1/models/a/b", 404, missing("a/b")},
		{every, "/v1/models/d", 404, missing("d")},
		{every, "/v1/models/", 404, missing("")},
	} {
		if w := send(a, c.key, "GET", c.path, ""); w.Code != c.status || w.Body.String() != c.want {
			t.Errorf("%s\ngot  %d %s\nwant %d %s", c.path, w.Code, w.Body, c.status, c.want)
		}
	}
}

// unread is a body that must not be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

// TestBodyLimits sends bodies of the largest size and of one byte more, with and
// without a length in the head.
func TestBodyLimits(t *testing.T) {
	a := newAdminAPI(t, svc.Options{}, Options{})
	_, key := newLimited(t, a, 0, 0)
	post := func(path string, length int64, body io.Reader) (status int, answer string) {
		r := httptest.NewRequest("POST", path, body)
		r.ContentLength = length
		r.Header.Set("Authorization", "bEaReR "+key) // the scheme is in any case
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for _, c := range []struct {
		path, body string
		limit      int64
		status     int
		want       string
	}{
		{chatPathOf, `{"model":"svc-preview","messages":[{"role":"user","content":"Hi"}]}`, 16 << 20, 413,
			`{"error":{"message":"The request body is larger than 16 MiB.","type":"invalid_request_error","param":null,"code":"request_too_large"}}`},
		{decisionsPath, `{"model":"svc-snap-preview","state":"","questions":{"q":{"type":"noul","instructions":"i"}}}`, 13 << 20, 422,
			`{"detail":{"error_type":"validation_error","message":"The request body is larger than 13 MiB."}}`},
	} {
		largest := strings.Repeat(" ", int(c.limit)-len(c.body)) + c.body
		for _, length := range []int64{-1, c.limit} {
			if status, answer := post(c.path, length, strings.NewReader(largest)); status != 200 {
				t.Errorf("%s, the largest body with the length %d: got %d %s", c.path, length, status, answer)
			}
		}
		if status, answer := post(c.path, -1, strings.NewReader(" "+largest)); status != c.status || answer != c.want {
			t.Errorf("%s, a larger body\ngot  %d %s\nwant %d %s", c.path, status, answer, c.status, c.want)
		}
		if status, answer := post(c.path, c.limit+1, unread{t}); status != c.status || answer != c.want {
			t.Errorf("%s, a larger length\ngot  %d %s\nwant %d %s", c.path, status, answer, c.status, c.want)
		}
	}
}
