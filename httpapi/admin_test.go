package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/batches"
	"github.com/seed-506d8e5d/svc/vectorstores"
	"github.com/seed-506d8e5d/svc/webhooks"
)

const adminKey = "admin-secret"

// newAdminAPI returns the interface over an empty store, with a clock that
// stands still and IDs that count, those of each kind by themselves: an entry of the
// audit log takes another one where its transaction runs again. Zero options are
// completed.
func newAdminAPI(t testing.TB, options svc.Options, opts Options) *API {
	t.Helper()
	return Contract(t, newBareAPI(t, options, opts))
}

// newBareAPI is newAdminAPI without a look at each request.
func newBareAPI(t testing.TB, options svc.Options, opts Options) *API {
	t.Helper()
	var requests atomic.Int64
	var mu sync.Mutex
	made := map[string]int{}
	if options.Now == nil {
		options.Now = func() time.Time { return time.Unix(1_700_000_000, 0) }
	}
	options.NewID = func(prefix string) string {
		mu.Lock()
		defer mu.Unlock()
		made[prefix]++
		return fmt.Sprintf("%s_%04d", prefix, made[prefix])
	}
	options.Logger = slog.New(slog.DiscardHandler)
	if options.Store == nil {
		options.Store = NewStore(t)
	}
	service, err := svc.New(t.Context(), options)
	check(t, err)
	t.Cleanup(func() {
		check(t, errors.Join(opts.Webhooks.Close(), opts.VectorStores.Close(), service.Close(), options.Store.Close()))
	})
	opts.AdminKey = adminKey
	opts.Logger = options.Logger
	opts.NewRequestID = func() string { return fmt.Sprintf("req_%d", requests.Add(1)) }
	opts.Batches, opts.Webhooks = newBatches(service), newWebhooks(service)
	opts.VectorStores = newVectorStores(service)
	a := New(service, opts)
	a.guesses = rate.NewLimiter(rate.Inf, 0) // tests have no time to be slowed down
	return a
}

// newBatches returns what keeps batches and does not run them.
func newBatches(service *svc.Service) *batches.Service {
	p := service.Parts()
	return batches.New(batches.Options{Store: p.Store, Cluster: p.Cluster, Accounts: p.Accounts, Files: p.Files, Now: p.Now, NewID: p.NewID, Log: p.Log})
}

func newVectorStores(service *svc.Service) *vectorstores.Service {
	p := service.Parts()
	return vectorstores.New(vectorstores.Options{Store: p.Store, Cluster: p.Cluster, Accounts: p.Accounts, Files: p.Files, Now: p.Now, NewID: p.NewID, Log: p.Log})
}

// newWebhooks returns webhooks that reach a host which does not answer.
func newWebhooks(service *svc.Service) *webhooks.Service {
	p := service.Parts()
	return webhooks.New(webhooks.Options{
		Store: p.Store, Accounts: p.Accounts, Outbox: webhooks.Outbox{Now: p.Now, NewID: p.NewID}, Log: p.Log, Guard: webhooks.Guard([]string{"127.0.0.1"}),
	})
}

// send sends a request with a bearer key and returns the answer.
func send(a http.Handler, key, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

// exchange is a request and the whole answer that it must have. KEY and PREFIX
// in the answer stand for a fresh API key and how it begins, audit_1, audit_2 and so on for
// the IDs of entries of the audit log, in the order in which they stand there.
type exchange struct {
	name, method, path, body string
	status                   int
	want                     string
}

var (
	keyPattern    = regexp.MustCompile(`"key":"sk-svc-[A-Za-z0-9_-]{43}"`)
	auditPattern  = regexp.MustCompile(`audit_[0-9]+`)
	prefixPattern = regexp.MustCompile(`"prefix":"sk-svc-[A-Za-z0-9_-]{4,5}"`)
)

func (x exchange) run(t *testing.T, a http.Handler, key string) {
	t.Helper()
	w := send(a, key, x.method, x.path, x.body)
	got := keyPattern.ReplaceAllString(w.Body.String(), `"key":"KEY"`)
	got = prefixPattern.ReplaceAllString(got, `"prefix":"PREFIX"`)
	audits := map[string]string{}
	got = auditPattern.ReplaceAllStringFunc(got, func(id string) string {
		if audits[id] == "" {
			audits[id] = fmt.Sprint("audit_", len(audits)+1)
		}
		return audits[id]
	})
	if w.Code != x.status || got != x.want {
		t.Errorf("%s: %s %s\ngot  %d %s\nwant %d %s", x.name, x.method, x.path, w.Code, got, x.status, x.want)
	}
}

// acme is the organization of the transcript with a status and credits.
func acme(name, status, credits string, requests int) string {
	return fmt.Sprintf(`{"id":"org_0001","object":"organization","name":%q,"status":%q,"zero_data_retention":true,"credits":%q,`+
		`"requests_per_minute":%d,"tokens_per_minute":1000,"created_at":1700000000}`, name, status, credits, requests)
}

func list(first, last string, more bool, data ...string) string {
	quoted := func(id string) string {
		if id == "" {
			return "null"
		}
		return `"` + id + `"`
	}
	return fmt.Sprintf(`{"object":"list","data":[%s],"first_id":%s,"last_id":%s,"has_more":%v}`,
		strings.Join(data, ","), quoted(first), quoted(last), more)
}

func audit(id, action, subject, change string) string {
	return fmt.Sprintf(`{"id":%q,"object":"audit_entry","action":%q,"subject":%q,"change":%s,"by":"api 192.0.2.1","created_at":1700000000}`, id, action, subject, change)
}

func TestAdmin(t *testing.T) {
	a := newAdminAPI(t, svc.Options{}, Options{})
	plain := `{"id":"org_0002","object":"organization","name":"Plain","status":"active","zero_data_retention":false,"credits":"0",` +
		`"requests_per_minute":0,"tokens_per_minute":0,"created_at":1700000000}`
	key := `{"id":"key_0001","object":"api_key","organization_id":"org_0001","name":"ci","models":["svc-preview"],` +
		`"prefix":"PREFIX","created_at":1700000000,"last_used_at":null`
	orphan := `{"id":"key_0002","object":"api_key","organization_id":null,"name":"","models":null,` +
		`"prefix":"PREFIX","created_at":1700000000,"last_used_at":null`
	for _, x := range []exchange{
		{"create", "POST", "/admin/v1/organizations",
			`{"name":"Acme","credits":"12.5","zero_data_retention":true,"requests_per_minute":60,"tokens_per_minute":1000}`,
			200, acme("Acme", "active", "12.5", 60)},
		{"create with a name alone", "POST", "/admin/v1/organizations", `{"name":"Plain","credits":null}`, 200, plain},
		{"list", "GET", "/admin/v1/organizations", "", 200, list("org_0001", "org_0002", false, acme("Acme", "active", "12.5", 60), plain)},
		{"list one", "GET", "/admin/v1/organizations?limit=1", "", 200, list("org_0001", "org_0001", true, acme("Acme", "active", "12.5", 60))},
		{"list the next", "GET", "/admin/v1/organizations?limit=1&after=org_0001", "", 200, list("org_0002", "org_0002", false, plain)},
		{"list newest first", "GET", "/admin/v1/organizations?limit=1&order=desc", "", 200, list("org_0002", "org_0002", true, plain)},
		{"get", "GET", "/admin/v1/organizations/org_0001", "", 200, acme("Acme", "active", "12.5", 60)},
		{"update", "POST", "/admin/v1/organizations/org_0001", `{"name":"Acme Inc","status":"suspended","requests_per_minute":0}`,
			200, acme("Acme Inc", "suspended", "12.5", 0)},
		{"update nothing", "POST", "/admin/v1/organizations/org_0001", `{"name":null}`, 200, acme("Acme Inc", "suspended", "12.5", 0)},
		{"add credits", "POST", "/admin/v1/organizations/org_0001/credits", `{"amount":"0.25"}`, 200, acme("Acme Inc", "suspended", "12.75", 0)},
		{"take credits", "POST", "/admin/v1/organizations/org_0001/credits", `{"amount":-2.75}`, 200, acme("Acme Inc", "suspended", "10", 0)},
		{"no usage", "GET", "/admin/v1/organizations/org_0001/usage", "", 200, list("", "", false)},
		{"create key", "POST", "/admin/v1/api_keys", `{"organization_id":"org_0001","name":"ci","models":["svc-preview"]}`, 200, key + `,"key":"KEY"}`},
		{"create orphan", "POST", "/admin/v1/api_keys", `{"organization_id":null,"models":null}`, 200, orphan + `,"key":"KEY"}`},
		{"list keys", "GET", "/admin/v1/api_keys?limit=2", "", 200, list("key_0001", "key_0002", false, key+"}", orphan+"}")},
		{"list keys of one", "GET", "/admin/v1/api_keys?organization_id=org_0001", "", 200, list("key_0001", "key_0001", false, key+"}")},
		{"revoke", "DELETE", "/admin/v1/api_keys/key_0002", "", 200, `{"id":"key_0002","object":"api_key.deleted","deleted":true}`},
		{"revoke again", "DELETE", "/admin/v1/api_keys/key_0002", "", 404,
			`{"error":{"message":"No API key found with id \"key_0002\".","type":"invalid_request_error","param":null,"code":"api_key_not_found"}}`},
		{"no keys", "GET", "/admin/v1/api_keys?organization_id=org_0002", "", 200, list("", "", false)},
		{"audit log", "GET", "/admin/v1/audit_log?order=desc&limit=2", "", 200, list("audit_1", "audit_2", true,
			audit("audit_1", "api_key.revoke", "key_0002", "null"),
			audit("audit_2", "api_key.create", "key_0002", `{"organization_id":"","name":"","models":null}`))},
		{"limit a key", "POST", "/admin/v1/api_keys/key_0001", `{"requests_per_minute":5,"budget":"2.5"}`, 200,
			key + `,"requests_per_minute":5,"budget":"2.5","budget_period":"month","budget_spent":"0"}`},
		{"limit nothing", "POST", "/admin/v1/api_keys/key_0001", `{"requests_per_minute":0,"budget":0,"budget_period":null}`, 200, key + "}"},
		{"limit none", "POST", "/admin/v1/api_keys/key_0099", `{}`, 404,
			`{"error":{"message":"No API key found with id \"key_0099\".","type":"invalid_request_error","param":null,"code":"api_key_not_found"}}`},
		{"a budget for a year", "POST", "/admin/v1/api_keys/key_0001", `{"budget":1,"budget_period":"year"}`, 400,
			`{"error":{"message":"budget_period must be \"day\" or \"month\".","type":"invalid_request_error","param":"budget_period","code":"validation_error"}}`},
		{"retention", "POST", "/admin/v1/organizations/org_0002", `{"retention":{"files_days":30,"responses_days":null}}`, 200,
			strings.Replace(plain, `"created_at"`, `"retention":{"files_days":30},"created_at"`, 1)},
		{"retention is no number of days", "POST", "/admin/v1/organizations/org_0002", `{"retention":{"files_days":-1}}`, 400,
			`{"error":{"message":"retention.files_days must be 0 to 36500.","type":"invalid_request_error","param":"retention.files_days","code":"validation_error"}}`},
		{"concurrent requests", "POST", "/admin/v1/organizations/org_0002", `{"concurrent_requests":7,"retention":{}}`, 200,
			strings.Replace(plain, `"created_at"`, `"concurrent_requests":7,"created_at"`, 1)},
		{"delete", "DELETE", "/admin/v1/organizations/org_0002", "", 200, `{"id":"org_0002","object":"organization.deleted","deleted":true}`},
		{"delete again", "DELETE", "/admin/v1/organizations/org_0002", "", 404,
			`{"error":{"message":"No organization found with id \"org_0002\".","type":"invalid_request_error","param":null,"code":"organization_not_found"}}`},
	} {
		x.run(t, a, adminKey)
	}
}

func TestAdminRefusals(t *testing.T) {
	a := newAdminAPI(t, svc.Options{}, Options{})
	send(a, adminKey, "POST", "/admin/v1/organizations", `{"name":"Acme"}`)
	const organizations, one, keys = "/admin/v1/organizations", "/admin/v1/organizations/org_0001", "/admin/v1/api_keys"
	const money = ` must be a decimal number of US dollars with at most 6 digits after the point, such as \"12.50\".`
	missing := `No organization found with id \"org_none\".`
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		code, param, message     string
	}{
		{"no body", "POST", organizations, "", 400, "validation_error", "", "The request body is empty; it must be JSON."},
		{"an array", "POST", organizations, "[]", 400, "validation_error", "", "The request body must be an object."},
		{"no name", "POST", organizations, "{}", 400, "validation_error", "name", "name must be 1 to 256 bytes of text."},
		{"name a number", "POST", organizations, `{"name":1}`, 400, "validation_error", "name", "name must be a string."},
		{"credits a boolean", "POST", organizations, `{"name":"a","credits":true}`, 400, "validation_error", "credits", "credits" + money},
		{"credits of too many digits", "POST", organizations, `{"name":"a","credits":0.0000001}`, 400, "validation_error", "credits", "credits" + money},
		{"retention a string", "POST", organizations, `{"name":"a","zero_data_retention":"yes"}`, 400, "validation_error", "zero_data_retention", "zero_data_retention must be a boolean."},
		{"half a request", "POST", organizations, `{"name":"a","requests_per_minute":0.5}`, 400, "validation_error", "requests_per_minute", "requests_per_minute must be an integer."},
		{"negative limit", "POST", organizations, `{"name":"a","tokens_per_minute":-1}`, 400, "validation_error", "tokens_per_minute", "tokens_per_minute must be at least 0."},
		{"get none", "GET", organizations + "/org_none", "", 404, "organization_not_found", "", missing},
		{"update none", "POST", organizations + "/org_none", "{}", 404, "organization_not_found", "", missing},
		{"unknown status", "POST", one, `{"status":"asleep"}`, 400, "validation_error", "status", `status must be \"active\" or \"suspended\".`},
		{"status a list", "POST", one, `{"status":[]}`, 400, "validation_error", "status", "status must be a string."},
		{"no amount", "POST", one + "/credits", `{}`, 400, "validation_error", "amount", "amount is required."},
		{"amount of nothing", "POST", one + "/credits", `{"amount":0}`, 400, "validation_error", "amount", "amount must not be 0 and at most 1000000000 dollars."},
		{"credits for none", "POST", organizations + "/org_none/credits", `{"amount":1}`, 404, "organization_not_found", "", missing},
		{"usage of none", "GET", organizations + "/org_none/usage", "", 404, "organization_not_found", "", missing},
		{"usage after nothing", "GET", one + "/usage?after=use_1", "", 400, "validation_error", "after", "after is not the ID of a usage record of this organization."},
		{"page of nothing", "GET", organizations + "?limit=0", "", 400, "validation_error", "limit", "limit must be between 1 and 1000."},
		{"page too long", "GET", "/admin/v1/audit_log?limit=1001", "", 400, "validation_error", "limit", "limit must be between 1 and 1000."},
		{"no order", "GET", keys + "?order=up", "", 400, "validation_error", "order", "order must be asc or desc."},
		{"key for none", "POST", keys, `{"organization_id":"org_none"}`, 404, "organization_not_found", "", missing},
		{"models a string", "POST", keys, `{"models":"svc-preview"}`, 400, "validation_error", "models", "models must be an array."},
		{"no models", "POST", keys, `{"models":[]}`, 400, "validation_error", "models", "models must be null or name 1 to 1000 models."},
		{"model a number", "POST", keys, `{"models":["a",2]}`, 400, "validation_error", "models[1]", "models[1] must be a string."},
		{"put", "PUT", organizations, "{}", 405, "method_not_allowed", "", "The method PUT is not allowed here, only GET, HEAD, POST."},
	} {
		t.Run(c.name, func(t *testing.T) {
			param := "null"
			if c.param != "" {
				param = `"` + c.param + `"`
			}
			exchange{c.name, c.method, c.path, c.body, c.status, fmt.Sprintf(
				`{"error":{"message":"%s","type":"invalid_request_error","param":%s,"code":%q}}`, c.message, param, c.code)}.run(t, a, adminKey)
		})
	}
}

// TestAdminKey asks every route of the administration with keys that are none.
func TestAdminKey(t *testing.T) {
	a := newAdminAPI(t, svc.Options{}, Options{})
	user, err := a.service.Bootstrap(t.Context(), "")
	check(t, err)
	without := New(a.service, Options{Logger: a.opts.Logger})
	const refused = `{"error":{"message":"The admin key is missing or invalid.","type":"authentication_error","param":null,"code":"invalid_api_key"}}`
	for path, methods := range a.adminRoutes() {
		for method := range methods {
			for _, key := range []string{"", "wrong", adminKey + "x", adminKey[1:], user} {
				exchange{"with the key " + key, method, path, "{}", 401, refused}.run(t, a, key)
			}
			exchange{"without an admin key", method, path, "{}", 404, fmt.Sprintf(
				`{"error":{"message":"There is no route %s %s.","type":"invalid_request_error","param":null,"code":"not_found"}}`, method, path)}.run(t, without, "")
		}
	}
	if w := send(a, adminKey, "GET", "/v1/models", ""); w.Code != 401 {
		t.Errorf("the admin key is an API key: %d %s", w.Code, w.Body)
	}
}

// TestAdminTakesEffectAtOnce does what an administrator does between two
// requests of a key.
func TestAdminTakesEffectAtOnce(t *testing.T) {
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		code                     string
	}{
		{"suspended", "POST", "/admin/v1/organizations/org_default", `{"status":"suspended"}`, 403, "org_suspended"},
		{"revoked", "DELETE", "/admin/v1/api_keys/key_0001", "", 401, "invalid_api_key"},
		{"emptied", "POST", "/admin/v1/organizations/org_default/credits", `{"amount":"-1000"}`, 402, "insufficient_credits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAdminAPI(t, svc.Options{}, Options{})
			key, err := a.service.Bootstrap(t.Context(), "")
			check(t, err)
			page, err := a.service.Keys(t.Context(), "", svc.Page{})
			check(t, err)
			path := strings.Replace(c.path, "key_0001", page.Items[0].ID, 1)
			routes := generations()
			for route, body := range routes {
				if w := send(a, key, "POST", route, body); w.Code != 200 {
					t.Fatalf("before: %s: %d %s", route, w.Code, w.Body)
				}
			}
			if w := send(a, adminKey, c.method, path, c.body); w.Code != 200 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			for route, body := range routes {
				w := send(a, key, "POST", route, body)
				if w.Code != c.status || !strings.Contains(w.Body.String(), `"`+c.code+`"`) {
					t.Errorf("%s: got %d %s, want %d %s", route, w.Code, w.Body, c.status, c.code)
				}
			}
		})
	}
}

// TestWrongAdminKeysAreSlowedDown guesses, beside who has the right key.
func TestWrongAdminKeysAreSlowedDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		a := newAdminAPI(t, svc.Options{Now: time.Now}, Options{})
		a.opts.Logger, a.guesses = slog.New(slog.NewTextHandler(&log, nil)), rate.NewLimiter(1, guesses)
		start := time.Now()
		for range guesses + 3 {
			if w := send(a, "a guess", "GET", "/admin/v1/organizations", ""); w.Code != 401 {
				t.Errorf("got %d %s", w.Code, w.Body)
			}
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("%d guesses took %v", guesses+3, took)
		}
		if n := strings.Count(log.String(), `level=WARN msg="wrong admin key"`); n != guesses+3 || strings.Contains(log.String(), "a guess") {
			t.Errorf("%d warnings: %s", n, &log)
		}
		codes := make(chan int, 20)
		for range cap(codes) {
			go func() { codes <- send(a, "a guess", "GET", "/admin/v1/organizations", "").Code }()
		}
		synctest.Wait()
		before := time.Now()
		if w := send(a, adminKey, "GET", "/admin/v1/organizations", ""); w.Code != 200 || time.Since(before) > 0 {
			t.Errorf("the right key: got %d after %v", w.Code, time.Since(before))
		}
		for range cap(codes) {
			if code := <-codes; code != 401 {
				t.Errorf("got %d", code)
			}
		}
		if took := time.Since(before); took != guessWait {
			t.Errorf("twenty guesses at once took %v", took)
		}
	})
}

// TestAdministrationRefusesUnknownFields with what they may have been meant for.
func TestAdministrationRefusesUnknownFields(t *testing.T) {
	a := newAdminAPI(t, svc.Options{}, Options{})
	for _, c := range []struct{ path, body, message string }{
		{"/admin/v1/api_keys", `{"organization":"x"}`, "organization is not a field; did you mean organization_id?"},
		{"/admin/v1/organizations", `{"name":"x","credit":1}`, "credit is not a field; did you mean credits?"},
		{"/admin/v1/organizations", `{"name":"x","retention":{"file_days":1}}`, "retention.file_days is not a field; did you mean files_days?"},
		{"/admin/v1/organizations", `{"name":"x","zzzzz":1}`, "zzzzz is not a field; there are name, "},
	} {
		w := send(a, adminKey, "POST", c.path, c.body)
		if w.Code != 400 || !strings.Contains(w.Body.String(), c.message) {
			t.Errorf("%s %s: %d %s", c.path, c.body, w.Code, w.Body)
		}
	}
}
