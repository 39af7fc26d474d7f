package httpapi

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model/builtin"
)

func TestEveryRouteBelongsToAnInterface(t *testing.T) {
	a := newBareAPI(t, svc.Options{}, Options{Metrics: http.NotFoundHandler()})
	for _, table := range a.tables() {
		for path := range table {
			if interfaceOf(path) == "" {
				t.Errorf("%s is in no interface: add its first part to places", path)
			}
		}
	}
}

// TestMounting serves two interfaces under a prefix of a program that has routes
// and users of its own.
func TestMounting(t *testing.T) {
	is := is.New(t)
	service, err := svc.New(t.Context(), svc.Options{Backend: builtin.New(), Accounting: svc.NoAccounting, Logger: slog.New(slog.DiscardHandler)})
	is.NoErr(err)
	defer service.Close()
	_, err = service.CreateOrganization(t.Context(), accounts.NewOrganization{ID: "acme", Name: "Acme"})
	is.NoErr(err)
	_, err = service.CreateOrganization(t.Context(), accounts.NewOrganization{ID: "acme", Name: "Acme"})
	is.True(fault.Is(err, fault.Conflict))
	_, err = service.CreateOrganization(t.Context(), accounts.NewOrganization{ID: "system", Name: "Acme"})
	is.True(fault.Is(err, fault.Invalid))

	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("the program's own")) })
	mux.Handle("/ai/", http.StripPrefix("/ai", New(service, Options{
		Logger: slog.New(slog.DiscardHandler), AdminKey: "admin-key-admin-key", Only: []Interface{Decisions, Conversations},
		Authenticate: func(r *http.Request) (svc.Caller, error) {
			cookie, err := r.Cookie("user")
			if err != nil {
				return svc.Caller{}, &svc.Error{Kind: fault.Unauthenticated, Code: "signed_out", Message: "Sign in first."}
			}
			if cookie.Value == "nobody" {
				return svc.Caller{}, nil
			}
			return service.CallerFor(r.Context(), cookie.Value)
		},
	})))
	ask := func(user, method, path, body string) (int, string) {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		if user != "" {
			r.AddCookie(&http.Cookie{Name: "user", Value: user})
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	decision := `{"model":"svc-snap-preview","state":"x","questions":{"a":{"type":"noul","instructions":"x?"}}}`
	for _, c := range []struct {
		user, method, path, body string
		status                   int
		want                     string
	}{
		{"", "GET", "/", "", 200, "the program's own"},
		{"", "POST", "/v1/systemone", decision, 200, "the program's own"},
		{"acme", "POST", "/ai/v1/systemone", decision, 200, `"noul"`},
		{"", "POST", "/ai/v1/systemone", decision, 401, `{"detail":{"error_type":"signed_out","message":"Sign in first."}}`},
		{"stranger", "POST", "/ai/v1/systemone", decision, 404, `"organization_not_found"`},
		{"nobody", "POST", "/ai/v1/systemone", decision, 403, `"access_denied"`},
		{"acme", "POST", "/ai/v1/conversations", `{}`, 200, `"conv_`},
		{"acme", "POST", "/ai/v1/chat/completions", `{}`, 404, `"not_found"`},
		{"acme", "GET", "/ai/healthz", "", 404, `"not_found"`},
		{"acme", "GET", "/ai/openapi.json", "", 404, `"not_found"`},
		{"acme", "GET", "/ai/admin/v1/organizations", "", 404, `"not_found"`},
		{"acme", "GET", "/ai/v1/systemone", "", 405, `"method_not_allowed"`},
		{"acme", "GET", "/ai/", "", 404, `"not_found"`},
	} {
		status, body := ask(c.user, c.method, c.path, c.body)
		if status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s %s as %q: got %d %s, want %d %s", c.method, c.path, c.user, status, body, c.status, c.want)
		}
	}
}

// TestAForeignOrganizationIsRefused has an authentication that names the
// service's own namespace.
func TestAForeignOrganizationIsRefused(t *testing.T) {
	a := newBareAPI(t, svc.Options{}, Options{Authenticate: func(*http.Request) (svc.Caller, error) {
		return svc.Caller{Organization: "system"}, nil
	}})
	if w := send(a, "", "GET", "/v1/files", ""); w.Code != 403 {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// TestTheDescriptionIsOfWhatIsServed mounts the handler in three places: a client that
// joins the address of the server and a path of the description reaches the route.
func TestTheDescriptionIsOfWhatIsServed(t *testing.T) {
	for prefix, only := range map[string][]Interface{"": nil, "/ai": nil, "/a%20b/c": {OpenAPI, Models}} {
		unescaped, err := url.PathUnescape(prefix)
		if err != nil {
			t.Fatal(err)
		}
		api := newBareAPI(t, svc.Options{}, Options{Only: only})
		get := func(path string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			http.StripPrefix(unescaped, api).ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			return w
		}
		var document struct {
			Servers []struct{ URL string }
			Paths   map[string]json.RawMessage
		}
		if err := json.Unmarshal(get(prefix+"/openapi.json?x=y").Body.Bytes(), &document); err != nil {
			t.Fatal(err)
		}
		if w := get(strings.TrimSuffix(document.Servers[0].URL, "/") + "/v1/models"); w.Code != 401 {
			t.Errorf("%q: the server is %q, where the models are %d", prefix, document.Servers[0].URL, w.Code)
		}
		for path := range document.Paths {
			if only != nil && !slices.Contains(only, interfaceOf(path)) {
				t.Errorf("%q: %s is described and not served", prefix, path)
			}
		}
		if len(document.Paths) < len(only) {
			t.Errorf("%q: only %d paths are described", prefix, len(document.Paths))
		}
	}
}

func TestAnInterfaceThatDoesNotExistIsLogged(t *testing.T) {
	for _, c := range []struct {
		only []Interface
		want string
	}{
		{nil, ""},
		{[]Interface{Chat, Admin}, ""}, // of the administration nothing is served without its key
		{[]Interface{Chat, "chats"}, `level=ERROR msg="httpapi: Options.Only names an interface that does not exist, for which nothing is served" interface=chats` + "\n"},
	} {
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		New(nil, Options{Logger: logger, Only: c.only})
		if got := log.String(); got != c.want {
			t.Errorf("%v: got %q, want %q", c.only, got, c.want)
		}
	}
}
