package httpapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/internal/admission"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// newLimited returns a key of a new organization with limits.
func newLimited(t testing.TB, a *API, requests, tokens int) (organization, key string) {
	t.Helper()
	o, err := a.service.CreateOrganization(t.Context(), accounts.NewOrganization{
		Name: "limited", Credits: accounts.Dollar, RequestsPerMinute: requests, TokensPerMinute: tokens,
	})
	check(t, err)
	k, err := a.service.CreateKey(t.Context(), accounts.NewKey{OrganizationID: o.ID})
	check(t, err)
	return o.ID, k.Secret
}

// limitHeaders returns the headers of an answer that are about limits.
func limitHeaders(w *httptest.ResponseRecorder) string {
	var lines []string
	for name, values := range w.Header() {
		if strings.HasPrefix(name, "X-Ratelimit-") || name == "Retry-After" {
			lines = append(lines, strings.ToLower(name)+": "+values[0])
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestLimitHeaders(t *testing.T) {
	a := newAdminAPI(t, svc.Options{}, Options{})
	_, key := newLimited(t, a, 2, 1000)
	_, free := newLimited(t, a, 0, 0)
	refused := func(shape string) string {
		return fmt.Sprintf(shape, "The organization's limit of 2 requests per minute is reached. Try again later.")
	}
	for _, c := range []struct {
		name, key, path string
		status          int
		headers, body   string
	}{
		{"no limit", free, "/v1/models/none", 404, "", ""},
		{"first", key, "/v1/models/none", 404, `x-ratelimit-limit-requests: 2
x-ratelimit-limit-tokens: 1000
x-ratelimit-remaining-requests: 1
x-ratelimit-remaining-tokens: 1000
x-ratelimit-reset-requests: 1m1s
x-ratelimit-reset-tokens: 0s`, ""},
		{"an invalid request counts", key, decisionsPath, 422, `x-ratelimit-limit-requests: 2
x-ratelimit-limit-tokens: 1000
x-ratelimit-remaining-requests: 0
x-ratelimit-remaining-tokens: 1000
x-ratelimit-reset-requests: 1m1s
x-ratelimit-reset-tokens: 0s`, ""},
		{"over the limit", key, "/v1/responses", 429, `retry-after: 61
x-ratelimit-limit-requests: 2
x-ratelimit-limit-tokens: 1000
x-ratelimit-remaining-requests: 0
x-ratelimit-remaining-tokens: 1000
x-ratelimit-reset-requests: 1m1s
x-ratelimit-reset-tokens: 0s`, refused(`{"error":{"message":"%s","type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"}}`)},
		{"over the limit in Decisions", key, decisionsPath, 429, `retry-after: 61
x-ratelimit-limit-requests: 2
x-ratelimit-limit-tokens: 1000
x-ratelimit-remaining-requests: 0
x-ratelimit-remaining-tokens: 1000
x-ratelimit-reset-requests: 1m1s
x-ratelimit-reset-tokens: 0s`, refused(`{"detail":{"error_type":"rate_limit_exceeded","message":"%s"}}`)},
	} {
		method := "POST"
		if strings.Contains(c.path, "models") {
			method = "GET"
		}
		w := send(a, c.key, method, c.path, "{}")
		if got := limitHeaders(w); w.Code != c.status || got != c.headers {
			t.Errorf("%s: got %d\n%s\nwant %d\n%s", c.name, w.Code, got, c.status, c.headers)
		}
		if c.body != "" && w.Body.String() != c.body {
			t.Errorf("%s: got %s, want %s", c.name, w.Body, c.body)
		}
	}
}

// TestTokenLimit uses up the tokens of a minute with one call of each kind.
func TestTokenLimit(t *testing.T) {
	for path, body := range generations() {
		t.Run(path, func(t *testing.T) {
			now := time.Unix(1_700_000_000, 0)
			a := newAdminAPI(t, svc.Options{Now: func() time.Time { return now }}, Options{})
			organization, key := newLimited(t, a, 0, 1)
			if w := send(a, key, "POST", path, body); w.Code != 200 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			w := send(a, key, "POST", path, body)
			if w.Code != 429 || !strings.Contains(w.Body.String(), `"rate_limit_exceeded"`) || w.Header().Get("Retry-After") == "" {
				t.Errorf("got %d %s %v", w.Code, w.Body, w.Header())
			}
			if w := send(a, key, "GET", "/v1/models", ""); w.Code != 200 {
				t.Errorf("what calls no model: got %d %s", w.Code, w.Body)
			}
			if w := send(a, adminKey, "POST", "/admin/v1/organizations/"+organization, `{"tokens_per_minute":0}`); w.Code != 200 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			if w := send(a, key, "POST", path, body); w.Code != 200 {
				t.Errorf("with the limit lifted: got %d %s", w.Code, w.Body)
			}
		})
	}
}

// generations are the routes that call a model, each with a body.
func generations() map[string]string {
	return map[string]string{
		decisionsPath:          asked(oneQuestion),
		"/v1/responses":        `{"model":"svc-preview","input":"Hi"}`,
		"/v1/chat/completions": `{"model":"svc-preview","messages":[{"role":"user","content":"Hi"}]}`,
		"/v1/completions":      `{"model":"svc-preview","prompt":"Hi"}`,
	}
}

// TestMaxRequests fills the slots of a process: an organization gets half of those
// that others leave, and who comes when all are taken is refused.
func TestMaxRequests(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	script := &modeltest.Script{Scores: func(context.Context, *model.ScoreRequest) (*model.Scores, error) {
		entered <- struct{}{}
		<-leave
		return &model.Scores{Probabilities: []float64{1, 0}, StateTokens: 1}, nil
	}}
	a := newAdminAPI(t, svc.Options{Backend: script}, Options{MaxRequests: 4})
	var running sync.WaitGroup
	hold := func(key string) {
		running.Go(func() {
			if w := send(a, key, "POST", decisionsPath, asked(oneQuestion)); w.Code != 200 {
				t.Errorf("a request within the limit: %d %s", w.Code, w.Body)
			}
		})
		<-entered
	}
	refused := func(key string, status int, kind, code, message string) {
		t.Helper()
		for path, want := range map[string]string{
			decisionsPath:   fmt.Sprintf(`{"detail":{"error_type":%q,"message":%q}}`, code, message),
			"/v1/responses": fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":null,"code":%q}}`, message, kind, code),
		} {
			w := send(a, key, "POST", path, "{}")
			if w.Code != status || w.Header().Get("Retry-After") != "1" || w.Body.String() != want {
				t.Errorf("%s: got %d %v %s", path, w.Code, w.Header(), w.Body)
			}
		}
	}
	_, greedy := newLimited(t, a, 0, 0)
	_, second := newLimited(t, a, 0, 0)
	_, third := newLimited(t, a, 0, 0)
	_, fourth := newLimited(t, a, 0, 0)
	hold(greedy)
	hold(greedy)
	refused(greedy, 429, "rate_limit_error", "rate_limit_exceeded", "The organization has too many requests at present. Try again.")
	hold(second)
	hold(third)
	refused(fourth, 503, "server_error", "service_unavailable", "The service has too many requests at present. Try again.")
	for path, key := range map[string]string{"/healthz": "", "/readyz": "", "/admin/v1/organizations": adminKey} {
		if w := send(a, key, "GET", path, ""); w.Code != 200 {
			t.Errorf("%s of a busy server: %d %s", path, w.Code, w.Body)
		}
	}
	close(leave)
	running.Wait()
	if w := send(a, greedy, "GET", "/v1/models", ""); w.Code != 200 {
		t.Errorf("afterwards: got %d %s", w.Code, w.Body)
	}
	a.holdsNothing(t)
}

// TestBudgetOfAKey spends the budget of a key with one request: the next is refused
// before a model is called, and that of another key is not.
func TestBudgetOfAKey(t *testing.T) {
	script := &modeltest.Script{Respond: func(*model.Request) modeltest.Answer {
		return modeltest.Text("Hi").WithUsage(model.Usage{InputTokens: 10, OutputTokens: 1})
	}}
	a := newAdminAPI(t, svc.Options{Backend: script}, Options{})
	id, other := newLimited(t, a, 0, 0)
	k, err := a.service.CreateKey(t.Context(), accounts.NewKey{OrganizationID: id, KeyLimits: accounts.KeyLimits{Budget: 1, BudgetPeriod: accounts.Day}})
	check(t, err)
	const body = `{"model":"svc-preview","messages":[{"role":"user","content":"Hi"}]}`
	if w := send(a, k.Secret, "POST", "/v1/chat/completions", body); w.Code != 200 {
		t.Fatal(w.Body)
	}
	const message = "The budget of this API key, 0.000001 dollars a day, is used up until 2023-11-15T00:00:00Z."
	for path, want := range map[string]string{
		"/v1/chat/completions": `{"error":{"message":"` + message + `","type":"insufficient_credits","param":null,"code":"budget_exceeded"}}`,
		decisionsPath:          `{"detail":{"error_type":"budget_exceeded","message":"` + message + `"}}`,
	} {
		if w := send(a, k.Secret, "POST", path, body); w.Code != 402 || w.Body.String() != want {
			t.Errorf("%s: got %d %s, want 402 %s", path, w.Code, w.Body, want)
		}
	}
	if n := len(script.Requests()); n != 1 {
		t.Errorf("the model was called %d times, want once", n)
	}
	if w := send(a, other, "POST", "/v1/chat/completions", body); w.Code != 200 {
		t.Errorf("another key: got %d %s", w.Code, w.Body)
	}
}

// TestConcurrentRequests has an organization with a limit of its own on requests
// at once, which stream or do not.
func TestConcurrentRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := &modeltest.Script{Respond: func(*model.Request) modeltest.Answer { return modeltest.Block(model.Started{}) }}
		a := newBareAPI(t, svc.Options{Backend: script, Now: time.Now}, Options{})
		id, key := newLimited(t, a, 0, 0)
		_, other := newLimited(t, a, 0, 0)
		if w := send(a, adminKey, "POST", "/admin/v1/organizations/"+id, `{"concurrent_requests":2}`); w.Code != 200 {
			t.Fatal(w.Body)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for _, body := range []string{streamed, strings.Replace(streamed, `"stream":true`, `"stream":false`, 1)} {
			running.Go(func() {
				defer func() { _ = recover() }() // the connection is aborted
				r := httptest.NewRequestWithContext(ctx, "POST", "/v1/chat/completions", strings.NewReader(body))
				r.Header.Set("Authorization", "Bearer "+key)
				a.ServeHTTP(httptest.NewRecorder(), r)
			})
		}
		Until(t, func() bool { return script.UnderWay() == 2 })
		w := send(a, key, "GET", "/v1/models", "")
		want := `{"error":{"message":"The organization's limit of 2 requests at once is reached. Try again.","type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"}}`
		if w.Code != 429 || w.Header().Get("Retry-After") != "1" || w.Body.String() != want {
			t.Errorf("a third request: got %d %v %s", w.Code, w.Header(), w.Body)
		}
		if w := send(a, other, "GET", "/v1/models", ""); w.Code != 200 {
			t.Errorf("another organization: got %d %s", w.Code, w.Body)
		}
		cancel()
		running.Wait()
		if w := send(a, key, "GET", "/v1/models", ""); w.Code != 200 {
			t.Errorf("afterwards: got %d %s", w.Code, w.Body)
		}
		a.holdsNothing(t)
	})
}

// holdsNothing checks that all calls have given back what they held.
func (a *API) holdsNothing(t *testing.T) {
	t.Helper()
	if u := a.admission.Usage(); u != (admission.Usage{}) {
		t.Errorf("%+v is still held", u)
	}
}

// TestStreamsHoldNoRequestSlots has more streams that wait for their model than
// there are slots for requests.
func TestStreamsHoldNoRequestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := &modeltest.Script{Respond: func(*model.Request) modeltest.Answer { return modeltest.Block(model.Started{}) }}
		a := newAdminAPI(t, svc.Options{Backend: script, Now: time.Now}, Options{MaxRequests: 2, MaxStreams: 8})
		_, key := newLimited(t, a, 0, 0)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		codes := make(chan int, 5)
		for n := range 5 {
			running.Go(func() {
				r := httptest.NewRequestWithContext(ctx, "POST", "/v1/chat/completions", strings.NewReader(streamed))
				r.Header.Set("Authorization", "Bearer "+key)
				w := httptest.NewRecorder()
				defer func() {
					_ = recover() // the connection of a stream that is cut is aborted
					codes <- w.Code
				}()
				a.ServeHTTP(w, r)
			})
			Until(t, func() bool { return script.UnderWay() == n+1 || len(codes) > 0 })
		}
		if code := <-codes; code != 429 {
			t.Errorf("the fifth stream of eight: got %d", code)
		}
		if w := send(a, key, "GET", "/v1/models", ""); w.Code != 200 {
			t.Errorf("beside the streams: got %d %s", w.Code, w.Body)
		}
		cancel()
		running.Wait()
		a.holdsNothing(t)
	})
}

// TestBodiesInFlight sends bodies that are large for the process.
func TestBodiesInFlight(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	script := &modeltest.Script{Respond: func(*model.Request) modeltest.Answer {
		entered <- struct{}{}
		<-leave
		return modeltest.Text("a")
	}, Count: func(*model.Request) (int, error) { return 1, nil }}
	a := newAdminAPI(t, svc.Options{Backend: script}, Options{MaxBodies: 900_000})
	_, key := newLimited(t, a, 0, 0)
	_, other := newLimited(t, a, 0, 0)
	large := `{"model":"svc-preview","store":false,"messages":[{"role":"user","content":"` + strings.Repeat("x", 200_000) + `"}]}`
	var running sync.WaitGroup
	for _, key := range []string{key, other} {
		running.Go(func() {
			if w := send(a, key, "POST", "/v1/chat/completions", large); w.Code != 200 {
				t.Errorf("got %d %s", w.Code, w.Body)
			}
		})
		<-entered
	}
	if w := send(a, key, "POST", "/v1/chat/completions", large); w.Code != 429 {
		t.Errorf("over the organization's third: got %d %s", w.Code, w.Body)
	}
	go func() { <-entered }()
	running.Go(func() {
		if w := send(a, key, "POST", "/v1/chat/completions", streamed); w.Code != 200 {
			t.Errorf("a small body: got %d %s", w.Code, w.Body)
		}
	})
	// A body whose length nobody has announced.
	r := httptest.NewRequest("POST", "/v1/chat/completions", io.MultiReader(strings.NewReader(large)))
	r.ContentLength = -1
	r.Header.Set("Authorization", "Bearer "+key)
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	if w.Code != 429 {
		t.Errorf("over the third, not announced: got %d %s", w.Code, w.Body)
	}
	close(leave)
	running.Wait()
	a.holdsNothing(t)
}

func TestWhoCannotPayIsRefusedBeforeTheBodyIsRead(t *testing.T) {
	a := newAdminAPI(t, svc.Options{}, Options{})
	o, err := a.service.CreateOrganization(t.Context(), accounts.NewOrganization{Name: "poor"})
	check(t, err)
	k, err := a.service.CreateKey(t.Context(), accounts.NewKey{OrganizationID: o.ID})
	check(t, err)
	for path := range generations() {
		r := httptest.NewRequest("POST", path, unread{t})
		r.Header.Set("Authorization", "Bearer "+k.Secret)
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		if w.Code != 402 {
			t.Errorf("%s: got %d %s", path, w.Code, w.Body)
		}
	}
}

// TestOverload has 500 clients ask ten times as often as their organization
// may, while another organization stays within its limit.
func TestOverload(t *testing.T) {
	const clients, each, limit, polite = 500, 20, 1000, 100
	// On a clock that stands, no limit fills up again while the test runs.
	now := time.Unix(1_700_000_000, 0)
	a := newBareAPI(t, svc.Options{Now: func() time.Time { return now }}, Options{MaxRequests: 2000})
	server := httptest.NewServer(a)
	defer server.Close()
	server.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = clients
	_, greedy := newLimited(t, a, limit, 0)
	_, modest := newLimited(t, a, polite, 0)

	var counts [600]atomic.Int64
	var ask func(key string) int
	ask = func(key string) int {
		r, _ := http.NewRequestWithContext(t.Context(), "POST", server.URL+decisionsPath, strings.NewReader(asked(oneQuestion)))
		r.Header.Set("Authorization", "Bearer "+key)
		resp, err := server.Client().Do(r)
		if err != nil {
			t.Error(err)
			return 0
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		if resp.StatusCode == 503 && testDatabase.url != "" { // nothing was counted: its key could not be looked up in time
			return ask(key)
		}
		return resp.StatusCode
	}
	before := liveMemory()
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for range each {
				counts[ask(greedy)].Add(1)
			}
		})
	}
	all.Go(func() {
		for range polite {
			if status := ask(modest); status != 200 {
				t.Errorf("within the limit: got %d", status)
			}
		}
	})
	all.Wait()
	if counts[200].Load() != limit || counts[429].Load() != clients*each-limit {
		for status := range counts {
			if n := counts[status].Load(); n > 0 {
				t.Errorf("%d answers have the status %d", n, status)
			}
		}
		t.Errorf("want %d with 200 and %d with 429", limit, clients*each-limit)
	}
	server.Client().CloseIdleConnections()
	if grown := liveMemory() - before; grown > 32<<20 {
		t.Errorf("%d bytes more are in use than before", grown)
	}
}

// liveMemory returns how many bytes of the heap are in use.
func liveMemory() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
