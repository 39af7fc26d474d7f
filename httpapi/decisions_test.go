package httpapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/storage"
)

// decisionAPI is the interface over a scripted model, with one key of each kind.
type decisionAPI struct {
	*API
	script *modeltest.Script
	broken *atomic.Bool // makes reading the store fail

	key        string // of an organization with credits
	limited    string // may only use the generation model
	poor       string // of an organization without credits
	orphan     string // of no organization
	suspended  string // of a suspended organization
	unassigned string // well-formed and unknown
}

// brokenStore is a store that cannot be read while broken is set.
type brokenStore struct {
	storage.Store
	broken atomic.Bool
}

func (s *brokenStore) View(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	if s.broken.Load() {
		return errors.New("the disk is on fire")
	}
	return s.Store.View(ctx, ns, fn)
}

func newDecisionAPI(t testing.TB, script *modeltest.Script) *decisionAPI {
	t.Helper()
	a := newDecisionAPIOver(t, script)
	a.script = script
	return a
}

// newDecisionAPIOver is newDecisionAPI for any backend.
func newDecisionAPIOver(t testing.TB, backend model.Backend) *decisionAPI {
	t.Helper()
	return newDecisionAPIIn(t, NewStore(t), backend)
}

// newDecisionAPIIn is newDecisionAPIOver with a store, which the test closes.
func newDecisionAPIIn(t testing.TB, in storage.Store, backend model.Backend) *decisionAPI {
	t.Helper()
	store := &brokenStore{Store: in}
	a := &decisionAPI{broken: &store.broken}
	a.makeKeys(t, store)
	service, err := svc.New(t.Context(), svc.Options{Store: store, Backend: backend, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(service.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	a.API = New(service, Options{Logger: slog.New(slog.DiscardHandler)})
	if _, measured := t.(*testing.B); !measured {
		a.API = Contract(t, a.API)
	}
	return a
}

// makeKeys administers a store before the service opens it.
func (a *decisionAPI) makeKeys(t testing.TB, store storage.Store) {
	t.Helper()
	ctx := t.Context()
	books, err := accounts.New(ctx, accounts.Options{Store: store})
	check(t, err)
	defer func() { check(t, books.Close()) }()
	organization := func(credits accounts.Micros) string {
		o, err := books.CreateOrganization(ctx, accounts.NewOrganization{Name: "test", Credits: credits})
		check(t, err)
		return o.ID
	}
	key := func(organization string, models ...string) string {
		k, err := books.CreateKey(ctx, accounts.NewKey{OrganizationID: organization, Models: models})
		check(t, err)
		return k.Secret
	}
	credits := accounts.Dollar
	if _, measured := t.(*testing.B); measured {
		credits *= 1_000_000
	}
	rich, closed := organization(credits), organization(accounts.Dollar)
	a.key = key(rich)
	a.limited = key(rich, model.DefaultGenerator)
	a.poor = key(organization(0))
	a.orphan = key("")
	a.suspended = key(closed)
	a.unassigned = a.key + "0"
	status := accounts.Suspended
	_, err = books.UpdateOrganization(ctx, closed, accounts.OrganizationUpdate{Status: &status})
	check(t, err)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// post sends a body to the decisions route.
func (a *decisionAPI) post(key string, body io.Reader) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, decisionsPath, body)
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

// asked returns a body with questions about the state "x".
func asked(questions string) string {
	return `{"model":"svc-snap-preview","state":"x","questions":` + questions + `}`
}

// shown returns a body with images.
func shown(images string) string {
	return `{"model":"svc-snap-preview","state":"x","questions":{"q":{"type":"noul","instructions":"?"}},"images":` + images + `}`
}

const oneQuestion = `{"q":{"type":"noul","instructions":"Is it?"}}`

// TestEscapesDoNotCount compares what a model reads of one request in two
// spellings: some clients escape all that is not ASCII.
func TestEscapesDoNotCount(t *testing.T) {
	a := newDecisionAPI(t, modeltest.New())
	for _, body := range []string{
		`{"model":"svc-snap-preview","state":{"é":["ü/","\n"]},"questions":{"q":{"type":"choice","instructions":["¿"],"criteria":{"ä":{"ö":"ß"},"b":"Ω"}}}}`,
		`{"model":"svc-snap-preview","state":{ "\u00e9": ["\u00fc\/","\u000a"]},"questions":{"q":{"type":"choice","instructions":["\u00bf"],"criteria":{"\u00e4":{"\u00f6": "\u00df"},"b":"\u03a9"}}}}`,
	} {
		if w := a.send("/v1/systemone", body); w.Code != 200 {
			t.Fatal(w.Code, w.Body)
		}
	}
	is := is.New(t)
	calls := a.script.ScoreCalls()
	is.Equal(calls[0].Request.State, []model.Part{model.Text("\"\"\"\n{\"é\":[\"ü/\",\"\\n\"]}\n\"\"\"\n\n")})
	is.Equal(calls[1].Request, calls[0].Request)
}

func TestDecisions(t *testing.T) {
	is := is.New(t)
	a := newDecisionAPI(t, &modeltest.Script{Scores: func(context.Context, *model.ScoreRequest) (*model.Scores, error) {
		return &model.Scores{Probabilities: []float64{0.25, 0.75}, StateTokens: 100, QuestionTokens: 10, OutputTokens: 1}, nil
	}})
	w := a.post(a.key, strings.NewReader(`{
		"model": "svc-snap-preview",
		"state": {"text": "x"},
		"questions": {
			"z":  {"type": "noul", "instructions": "Is it?", "criteria": {"true": "It is."}},
			"a":  {"type": "choice", "instructions": "Which?", "criteria": {"z & y": null, "a": ["b"]}},
			"10": {"type": "score", "instructions": "How much?", "criteria": ["little", {"very": "much"}]}
		},
		"images": null
	}`))
	is.Equal(w.Code, 200)
	is.Equal(w.Header().Get("Content-Type"), "application/json")
	is.Equal(w.Body.String(), `{"model":"svc-snap-preview","answers":{`+
		`"z":{"type":"noul","noul":0.25},`+
		`"a":{"type":"choice","choice":"a","probabilities":{"z & y":0.25,"a":0.75},"confidence":0.75},`+
		`"10":{"type":"score","score":0.75,"legend":{"0":"little","1":{"very":"much"}},"probabilities":{"0":0.25,"1":0.75},"confidence":0.75}},`+
		`"usage":{"input_tokens":130,"output_tokens":0}}`)
	is.Equal(a.script.ScoreCalls()[0].Request.State, []model.Part{model.Text("\"\"\"\n{\"text\":\"x\"}\n\"\"\"\n\n")})
}

func TestDecisionsShowImagesToTheModel(t *testing.T) {
	is := is.New(t)
	a := newDecisionAPI(t, &modeltest.Script{})
	data := onePixel(t)
	w := a.post(a.key, strings.NewReader(shown(`[{"mediaType":"image/png","base64":"`+base64.StdEncoding.EncodeToString(data)+`"}]`)))
	is.Equal(w.Code, 200)
	is.Equal(a.script.ScoreCalls()[0].Request.State[1], model.Image{MediaType: "image/png", Data: data, Width: 1, Height: 1})
}

func onePixel(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	check(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))))
	return b.Bytes()
}

func TestDecisionsInvalid(t *testing.T) {
	a := newDecisionAPI(t, &modeltest.Script{})
	pixel := base64.StdEncoding.EncodeToString(onePixel(t))
	good := `{"mediaType":"image/png","base64":"` + pixel + `"}`
	for _, c := range []struct{ name, body, message string }{
		{"no body", ``, "The request body is empty; it must be JSON."},
		{"no JSON", `{`, "The request body is not valid JSON: a name in double quotes must begin here (byte 1)."},
		{"no object", `[]`, "The request body must be an object"},
		{"no model", `{"state":"x","questions":` + oneQuestion + `}`, "model: is required"},
		{"model a number", `{"model":7,"state":"x","questions":` + oneQuestion + `}`, "model: must be a string"},
		{"unknown model", `{"model":"other","state":"x","questions":` + oneQuestion + `}`, `model: \"other\" is not a decision model`},
		{"generation model", `{"model":"svc-preview","state":"x","questions":` + oneQuestion + `}`, `model: \"svc-preview\" is not a decision model`},
		{"no state", `{"model":"svc-snap-preview","questions":` + oneQuestion + `}`, "state: is required"},
		{"state a number", `{"model":"svc-snap-preview","state":7,"questions":` + oneQuestion + `}`, "state: must be a string, an object or an array"},

		{"no questions", `{"model":"svc-snap-preview","state":"x"}`, "questions: must have 1 to 16 questions"},
		{"questions an array", asked(`[]`), "questions: must be an object"},
		{"17 questions", asked(manyQuestions(17)), "questions: must have 1 to 16 questions"},
		{"question a string", asked(`{"q":"Is it?"}`), "questions/q: must be an object"},
		{"no type", asked(`{"q":{"instructions":"Is it?"}}`), "questions/q: must have required property 'type'"},
		{"type a number", asked(`{"q":{"type":1}}`), "questions/q/type: must be a string"},
		{"unknown type", asked(`{"q":{"type":"bool"}}`), "questions/q/type: must be one of noul, choice, score"},
		{"state null", `{"model":"svc-snap-preview","state":null,"questions":` + oneQuestion + `}`, "state: is required"},
		{"instructions a number", asked(`{"q":{"type":"noul","instructions":7}}`), "questions/q/instructions: must be a string, an object, an array or null"},
		{"long name", asked(`{"` + strings.Repeat("n", 101) + `":{"type":"noul","instructions":"?"}}`),
			"questions/" + strings.Repeat("n", 101) + ": the name must have at most 100 characters"},
		{"choice without criteria", asked(`{"q":{"type":"choice","instructions":"?"}}`), "questions/q: must have required property 'criteria'"},
		{"score without criteria", asked(`{"q":{"type":"score","instructions":"?"}}`), "questions/q: must have required property 'criteria'"},
		{"one option", asked(`{"q":{"type":"choice","instructions":"?","criteria":{"a":null}}}`), "questions/q/criteria: must have 2 to 255 options"},
		{"option a number", asked(`{"q":{"type":"choice","instructions":"?","criteria":{"a":null,"b":1}}}`), "questions/q/criteria/b: must be a string, an object, an array or null"},
		{"one level", asked(`{"q":{"type":"score","instructions":"?","criteria":["a"]}}`), "questions/q/criteria: must have 2 to 10 levels"},
		{"level a number", asked(`{"q":{"type":"score","instructions":"?","criteria":["a",1]}}`), "questions/q/criteria/1: must be a string, an object, an array or null"},
		{"noul of another name", asked(`{"q":{"type":"noul","instructions":"?","criteria":{"yes":"a"}}}`), "questions/q/criteria/yes: must be one of true, false"},

		{"images an object", shown(`{}`), "images: must be an array"},
		{"image a URL", shown(`["https://example.com/a.png"]`), "images/0: must be an object"},
		{"image an URL object", shown(`[{"mediaType":"image/png","base64":"https://example.com/a.png"}]`), "images/0: base64 must be the bytes of the image, not a URL"},
		{"image a data URL", shown(`[{"mediaType":"image/png","base64":"data:image/png;base64,` + pixel + `"}]`), "images/0: base64 must be the bytes alone, without a data: prefix"},
		{"image null", shown(`[null]`), "images/0: must have required property 'mediaType'"},
		{"base64 a list", shown(`[` + good + `,{"mediaType":"image/png","base64":[]}]`), "images/1: base64 must be a string"},
		{"not base64", shown(`[{"mediaType":"image/png","base64":"*"}]`), "images/0: base64 cannot be decoded"},
		{"another format", shown(`[{"mediaType":"image/jpeg","base64":"` + pixel + `"}]`), "images/0: the bytes do not match the mediaType image/jpeg"},
		{"video", shown(`[{"mediaType":"video/mp4","base64":"` + pixel + `"}]`), "images/0: mediaType must be one of image/png, image/jpeg, image/webp"},
		{"five images", shown(`[` + strings.Repeat(good+",", 4) + good + `]`), "images/4: there may be at most 4 images"},
		{"large image", shown(`[{"mediaType":"image/png","base64":"` + base64.StdEncoding.EncodeToString(make([]byte, 4<<20+1)) + `"}]`),
			"images/0: the image must have at most 4194304 bytes, has 4194305"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := a.post(a.key, strings.NewReader(c.body))
			want := `{"detail":{"error_type":"validation_error","message":"` + c.message + `"}}`
			if w.Code != 422 || w.Body.String() != want {
				t.Errorf("got  %d %s\nwant 422 %s", w.Code, w.Body, want)
			}
		})
	}
	if calls := len(a.script.ScoreCalls()); calls > 0 {
		t.Errorf("%d calls of the model", calls)
	}
}

func manyQuestions(n int) string {
	var members []string
	for i := range n {
		members = append(members, fmt.Sprintf(`"q%d":{"type":"noul","instructions":"?"}`, i))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func TestDecisionsErrors(t *testing.T) {
	for _, c := range []struct {
		name       string
		key        func(*decisionAPI) string
		fail       error // of the model
		status     int
		retryAfter string
		detail     string
	}{
		{"no key", func(*decisionAPI) string { return "" }, nil,
			401, "", `{"error_type":"invalid_api_key","message":"The API key is missing or invalid."}`},
		{"unknown key", func(a *decisionAPI) string { return a.unassigned }, nil,
			401, "", `{"error_type":"invalid_api_key","message":"The API key is missing or invalid."}`},
		{"no credits", func(a *decisionAPI) string { return a.poor }, nil,
			402, "", `{"error_type":"insufficient_credits","message":"The organization has no credits left."}`},
		{"model not allowed", func(a *decisionAPI) string { return a.limited }, nil,
			403, "", `{"error_type":"model_access_denied","message":"This API key may not use the model \"svc-snap-preview\"."}`},
		{"no organization", func(a *decisionAPI) string { return a.orphan }, nil,
			403, "", `{"error_type":"access_denied","message":"The API key does not belong to an organization."}`},
		{"suspended", func(a *decisionAPI) string { return a.suspended }, nil,
			403, "", `{"error_type":"org_suspended","message":"The organization is suspended."}`},
		{"key lookup fails", func(a *decisionAPI) string { a.broken.Store(true); return a.key }, nil,
			503, "1", `{"error_type":"authorization_failed","message":"The API key could not be looked up. Try again."}`},
		{"model rejects", good, &fault.Error{Kind: fault.Rejected, Code: "model_rejected", Message: "No."},
			400, "", `{"error_type":"model_rejected","message":"No."}`},
		{"rate limit", good, &fault.Error{Kind: fault.RateLimited, Code: "rate_limit_exceeded", Message: "Slow down.", RetryAfter: 1500 * time.Millisecond},
			429, "2", `{"error_type":"rate_limit_exceeded","message":"Slow down."}`},
		{"defect", good, errors.New("nil map"),
			500, "", `{"error_type":"internal_error","message":"An internal error occurred."}`},
		{"model server fails", good, fault.Upstreamf(errors.New("refused"), "The model failed."),
			502, "", `{"error_type":"model_error","message":"The model failed."}`},
		{"model unavailable", good, &fault.Error{Kind: fault.Unavailable, Code: fault.CodeUnavailable, Message: "Later."},
			503, "", `{"error_type":"service_unavailable","message":"Later."}`},
		{"model too slow", good, context.DeadlineExceeded,
			503, "", `{"error_type":"service_unavailable","message":"The request took too long."}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			script := &modeltest.Script{}
			if c.fail != nil {
				script.Scores = func(context.Context, *model.ScoreRequest) (*model.Scores, error) { return nil, c.fail }
			}
			a := newDecisionAPI(t, script)
			w := a.post(c.key(a), strings.NewReader(asked(oneQuestion)))
			is.Equal(w.Code, c.status)
			is.Equal(w.Header().Get("Content-Type"), "application/json")
			is.Equal(w.Header().Get("Retry-After"), c.retryAfter)
			is.Equal(w.Body.String(), `{"detail":`+c.detail+`}`)
			if c.fail == nil {
				is.Equal(len(script.ScoreCalls()), 0)
			}
		})
	}
}

func good(a *decisionAPI) string { return a.key }

func TestDecisionsContextWindow(t *testing.T) {
	is := is.New(t)
	a := newDecisionAPI(t, &modeltest.Script{Count: func(*model.Request) (int, error) { return 390145, nil }})
	state := strings.Repeat("x", model.DefaultContextWindow)
	w := a.post(a.key, strings.NewReader(`{"model":"svc-snap-preview","state":"`+state+`","questions":`+oneQuestion+`}`))
	is.Equal(w.Code, 400)
	is.Equal(w.Body.String(), `{"detail":{"error_type":"context_length_exceeded","message":"The request has 390145 tokens, images included, `+
		`but at most 390144 of the 393216 in the model's context window may be used."}}`)
	is.Equal(len(a.script.ScoreCalls()), 0)
}

func TestDecisionsOnlyPOST(t *testing.T) {
	is := is.New(t)
	a := newDecisionAPI(t, &modeltest.Script{})
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, decisionsPath, nil))
	is.Equal(w.Code, 405)
	is.Equal(w.Header().Get("Allow"), "POST")
	is.Equal(w.Body.String(), `{"detail":{"error_type":"method_not_allowed","message":"The method GET is not allowed here, only POST."}}`)
}

func FuzzDecodeDecision(f *testing.F) {
	f.Add([]byte(asked(oneQuestion)))
	f.Add([]byte(shown(`[{"mediaType":"image/png","base64":"AAAA"},7,null]`)))
	f.Add([]byte(asked(`{"":{"type":"choice","criteria":{"a":null,"b":{"c":[]}}},"q":[]}`)))
	f.Fuzz(func(t *testing.T, body []byte) {
		root, err := jsonin.Parse(body, jsonin.Slashes)
		if err != nil {
			return
		}
		w := &wire.DecisionRequest{}
		wire.Decode(root, w)
		req := convert.FromDecisionRequest(w)
		if err := root.Err(); err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Fatalf("%+v", err)
			}
			return
		}
		names := make(map[string]bool)
		for _, q := range req.Questions {
			names[q.Name] = true
		}
		if len(names) != len(req.Questions) {
			t.Fatalf("%d names for %d questions", len(names), len(req.Questions))
		}
	})
}
