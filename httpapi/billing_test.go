package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/storage"
)

// TestBilling makes one call of each kind, and ones that fail, and reads what
// they cost: 0.20 dollars for a million input tokens, 0.05 for cached ones, 0.80
// for output and 0.20 for decisions.
func TestBilling(t *testing.T) {
	used := model.Usage{InputTokens: 1000, CachedTokens: 400, OutputTokens: 100, ReasoningTokens: 50}
	failure := fault.Upstreamf(errors.New("gone"), "The model server failed.")
	script := &modeltest.Script{
		Respond: func(req *model.Request) modeltest.Answer {
			text, _ := req.Messages[len(req.Messages)-1].Parts[0].(model.Text)
			switch text {
			case "fail":
				return modeltest.Answer{Err: failure}
			case "fail late":
				return modeltest.Answer{Events: []model.Event{model.TextDelta{Text: "a"}, model.Usage{InputTokens: 1000, OutputTokens: 1}}, Err: failure}
			}
			return modeltest.Answer{Events: []model.Event{model.TextDelta{Text: "Hello"}, used, model.Finish{Reason: model.Stop}}}
		},
		Scores: func(context.Context, *model.ScoreRequest) (*model.Scores, error) {
			return &model.Scores{Probabilities: []float64{0.25, 0.75}, StateTokens: 100, QuestionTokens: 10, OutputTokens: 1}, nil
		},
	}
	a := newAdminAPI(t, svc.Options{Backend: script}, Options{})
	o, err := a.service.CreateOrganization(t.Context(), accounts.NewOrganization{Name: "a", Credits: 1_000_000})
	check(t, err)
	k, err := a.service.CreateKey(t.Context(), accounts.NewKey{OrganizationID: o.ID})
	check(t, err)
	for _, c := range []struct {
		path, body string
		status     int
		cost       string // empty where nothing is charged
		record     string // of the usage, without IDs
	}{
		{decisionsPath, asked(oneQuestion), 200, "0.000022",
			`"endpoint":"decisions","model":"svc-snap-preview","object_id":null,"input_tokens":110,"cached_tokens":0,"output_tokens":0,"reasoning_tokens":0`},
		{"/v1/responses", `{"model":"svc-preview","input":"Hi"}`, 200, "0.00022",
			`"endpoint":"responses","model":"svc-preview","object_id":"ID","input_tokens":1000,"cached_tokens":400,"output_tokens":100,"reasoning_tokens":50`},
		{"/v1/chat/completions", `{"model":"svc-preview","messages":[{"role":"user","content":"Hi"}]}`, 200, "0.00022",
			`"endpoint":"chat.completions","model":"svc-preview","object_id":"ID","input_tokens":1000,"cached_tokens":400,"output_tokens":100,"reasoning_tokens":50`},
		{"/v1/chat/completions", `{"model":"svc-preview","messages":[{"role":"user","content":"fail"}]}`, 502, "", ""},
		{"/v1/chat/completions", `{"model":"svc-preview","messages":[{"role":"user","content":"fail late"}]}`, 502, "0.000201",
			`"endpoint":"chat.completions","model":"svc-preview","object_id":null,"input_tokens":1000,"cached_tokens":0,"output_tokens":1,"reasoning_tokens":0`},
		{"/v1/completions", `{"model":"svc-preview","prompt":"Hi"}`, 200, "0.00022",
			`"endpoint":"completions","model":"svc-preview","object_id":null,"input_tokens":1000,"cached_tokens":400,"output_tokens":100,"reasoning_tokens":50`},
		{"/v1/completions", `{"model":"svc-preview","prompt":"fail"}`, 502, "", ""},
		{"/v1/completions", `{"model":"svc-preview","prompt":"fail late"}`, 502, "0.000201",
			`"endpoint":"completions","model":"svc-preview","object_id":null,"input_tokens":1000,"cached_tokens":0,"output_tokens":1,"reasoning_tokens":0`},
		{"/v1/embeddings", `{"model":"svc-preview","input":["12345678","x"]}`, 200, "0.000001",
			`"endpoint":"embeddings","model":"svc-preview","object_id":null,"input_tokens":3,"cached_tokens":0,"output_tokens":0,"reasoning_tokens":0`},
		{"/v1/responses", `{`, 400, "", ""},
	} {
		before, err := a.service.Organization(t.Context(), o.ID)
		check(t, err)
		if w := send(a, k.Secret, "POST", c.path, c.body); w.Code != c.status {
			t.Errorf("%s %s: got %d %s", c.path, c.body, w.Code, w.Body)
		}
		after, err := a.service.Organization(t.Context(), o.ID)
		check(t, err)
		cost := before.Credits - after.Credits
		if c.cost == "" {
			if cost != 0 {
				t.Errorf("%s %s: was charged %s", c.path, c.body, cost)
			}
			continue
		}
		w := send(a, adminKey, "GET", "/admin/v1/organizations/"+o.ID+"/usage?order=desc&limit=1", "")
		got := w.Body.String()
		if _, id, ok := strings.Cut(got, `"object_id":"`); ok {
			id, _, _ = strings.Cut(id, `"`)
			got = strings.Replace(got, id, "ID", 1)
		}
		want := fmt.Sprintf(`"object":"usage","organization_id":%q,"api_key_id":%q,%s,"cost":%q,"created_at":1700000000}`, o.ID, k.ID, c.record, c.cost)
		if cost.String() != c.cost || !strings.Contains(got, want) {
			t.Errorf("%s %s: was charged %s, want %s\ngot  %s\nwant %s", c.path, c.body, cost, c.cost, got, want)
		}
	}
}

// hungUp is a connection whose client is gone, which its request's context does
// not know: so it is where the client sent a byte more than its request.
type hungUp struct {
	httptest.ResponseRecorder
	left int // writes until then
}

func (h *hungUp) Write(p []byte) (int, error) {
	if h.left--; h.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return h.ResponseRecorder.Write(p)
}

func TestAClientThatHangsUpPaysForWhatWasGenerated(t *testing.T) {
	for path, body := range map[string]string{
		"/v1/chat/completions": streamed,
		"/v1/completions":      `{"model":"svc-preview","stream":true,"prompt":"Hi"}`,
		"/v1/responses":        `{"model":"svc-preview","stream":true,"input":"Hi"}`,
	} {
		t.Run(path, func(t *testing.T) {
			a := newAdminAPI(t, svc.Options{Backend: modeltest.New(modeltest.Text("a", "b", "c"))}, Options{})
			organization, key := newLimited(t, a, 0, 0)
			r := httptest.NewRequest("POST", path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+key)
			func() {
				defer func() { _ = recover() }() // the connection is aborted
				a.ServeHTTP(&hungUp{ResponseRecorder: *httptest.NewRecorder(), left: 1}, r)
			}()
			used, err := a.service.Usage(t.Context(), organization, svc.Page{})
			check(t, err)
			if len(used.Items) != 1 || used.Items[0].Use.InputTokens != 11 || used.Items[0].Use.OutputTokens == 0 {
				t.Errorf("got %+v", used.Items)
			}
		})
	}
}

// full is a store that cannot be written for the moment.
type full struct {
	storage.Store
	now atomic.Bool
}

func (f *full) Healthy(context.Context) error {
	if f.now.Load() {
		return storage.ErrFull
	}
	return nil
}

func TestNoModelWorksForAStoreThatCannotBeWritten(t *testing.T) {
	store := &full{Store: NewStore(t)}
	script := &modeltest.Script{Respond: func(*model.Request) modeltest.Answer { return modeltest.Text("a") }}
	a := newAdminAPI(t, svc.Options{Backend: script, Store: store}, Options{})
	_, key := newLimited(t, a, 0, 0)
	store.now.Store(true)
	refused := func(method, path, key, body string) {
		t.Helper()
		w := send(a, key, method, path, body)
		if w.Code != 503 || !strings.Contains(w.Body.String(), `"storage_unavailable"`) || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s: got %d %s", path, w.Code, w.Body)
		}
	}
	for path, body := range generations() {
		refused("POST", path, key, body)
	}
	refused("GET", "/readyz", "", "")
	if n := len(script.Requests()) + len(script.ScoreCalls()); n > 0 {
		t.Errorf("the model was called %d times", n)
	}
	if w := send(a, key, "GET", "/v1/chat/completions", ""); w.Code != 200 {
		t.Errorf("reading: got %d %s", w.Code, w.Body)
	}
	store.now.Store(false)
	for path, body := range generations() {
		if w := send(a, key, "POST", path, body); w.Code != 200 {
			t.Errorf("%s, afterwards: got %d %s", path, w.Code, w.Body)
		}
	}
	if w := send(a, "", "GET", "/readyz", ""); w.Code != 200 {
		t.Errorf("afterwards: got %d %s", w.Code, w.Body)
	}
}
