package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/client"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/embeddings"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/responses"
	"github.com/seed-506d8e5d/svc/storage/backup"
)

// open returns a client of a server over a scripted model, and its service.
func open(t *testing.T, script *modeltest.Script) (*client.Client, *svc.Service) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	service, err := svc.New(t.Context(), svc.Options{Backend: script, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	key, err := service.Bootstrap(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(httpapi.New(service, httpapi.Options{Logger: quiet}))
	t.Cleanup(func() {
		server.Close()
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	c := client.New(server.URL, key)
	c.Retries = -1
	return c, service
}

// here are the methods of svc.Service with a caller that a client does not have: for
// those who serve, and what the interface has no operation for.
var here = map[string]string{
	"Admit": "the server's", "Afford": "the server's", "Once": "the server's", "StageFile": "for handlers of uploads",
	"Branches": "no operation", "PreviewCalibration": "no operation", "ResponsePrompt": "no operation", "RunningResponses": "no operation",
	"FileText": "no operation", "Responses": "no operation", "Conversations": "no operation", "LabelledRows": "for handlers of calibrations", "LabelledDecisions": "for handlers of calibrations",
	"Guard": "for handlers of requests", "CountChatTokens": "for handlers of Messages", "OpenThought": "for handlers of Messages", "SealThought": "for handlers of Messages",
}

// TestMethodsAreThoseOfTheService holds the client to the service's methods.
func TestMethodsAreThoseOfTheService(t *testing.T) {
	service, remote := reflect.TypeFor[*svc.Service](), reflect.TypeFor[*client.Client]()
	caller := reflect.TypeFor[svc.Caller]()
	for m := range service.Methods() {
		takes := false
		for i := range m.Type.NumIn() {
			takes = takes || m.Type.In(i) == caller
		}
		if !takes || here[m.Name] != "" {
			continue
		}
		got, ok := remote.MethodByName(m.Name)
		if !ok {
			t.Errorf("the client has no method %s", m.Name)
			continue
		}
		want, have := m.Type.String(), got.Type.String()
		if strings.Replace(want, "*svc.Service", "*client.Client", 1) != have {
			t.Errorf("%s is %s, want %s", m.Name, have, want)
		}
	}
}

// TestAdministrationIsThatOfTheService administers a server and compares with what its
// service says.
func TestAdministrationIsThatOfTheService(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	quiet := slog.New(slog.DiscardHandler)
	service, err := svc.New(ctx, svc.Options{Logger: quiet})
	is.NoErr(err)
	defer service.Close()
	server := httptest.NewServer(httpapi.New(service, httpapi.Options{Logger: quiet, AdminKey: "admin-key-of-the-test"}))
	defer server.Close()
	c := client.New(server.URL, "admin-key-of-the-test")

	_, err = c.CreateOrganization(ctx, accounts.NewOrganization{ID: "mine", Name: "A"})
	is.True(fault.Is(err, fault.Invalid)) // the interface has no IDs of the caller's
	o, err := c.CreateOrganization(ctx, accounts.NewOrganization{Name: "A", Credits: 12_500_000, Retention: accounts.Retention{Files: 7}})
	is.NoErr(err)
	want, err := service.Organization(ctx, o.ID)
	is.NoErr(err)
	is.Equal(o, want)
	suspended := accounts.Suspended
	o, err = c.UpdateOrganization(ctx, o.ID, accounts.OrganizationUpdate{Status: &suspended, RequestsPerMinute: new(5)})
	is.NoErr(err)
	is.Equal(o.Status, suspended)
	is.Equal(o.RequestsPerMinute, 5)
	o, replayed, err := c.AddCreditsOnce(ctx, o.ID, accounts.Dollar, "once")
	is.NoErr(err)
	is.True(!replayed)
	o, replayed, err = c.AddCreditsOnce(ctx, o.ID, accounts.Dollar, "once")
	is.NoErr(err)
	is.True(replayed)
	o, err = c.AddCredits(ctx, o.ID, -accounts.Dollar/2)
	is.NoErr(err)
	is.Equal(o.Credits, accounts.Micros(13_000_000))

	k, err := c.CreateKey(ctx, accounts.NewKey{OrganizationID: o.ID, Models: []string{"m"}, KeyLimits: accounts.KeyLimits{Budget: accounts.Dollar}})
	is.NoErr(err)
	is.True(k.Secret != "")
	_, err = c.UpdateKey(ctx, k.ID, accounts.KeyUpdate{Name: new("k"), Budget: new(accounts.Micros(0))})
	is.NoErr(err)
	keys, err := c.Keys(ctx, o.ID, client.Page{Limit: 5})
	is.NoErr(err)
	theirs, err := service.Keys(ctx, o.ID, client.Page{Limit: 5})
	is.NoErr(err)
	is.Equal(keys, theirs)
	usage, err := c.Usage(ctx, o.ID, client.Page{Desc: true})
	is.NoErr(err)
	is.Equal(len(usage.Items), 0)
	log, err := c.AuditLog(ctx, client.Page{Desc: true, Limit: 2})
	is.NoErr(err)
	logged, err := service.AuditLog(ctx, client.Page{Desc: true, Limit: 2})
	is.NoErr(err)
	is.Equal(log, logged)

	is.NoErr(c.RevokeKey(ctx, k.ID))
	is.NoErr(c.DeleteOrganization(ctx, o.ID))
	_, err = c.Organization(ctx, o.ID)
	is.True(fault.Is(err, fault.NotFound))
	rest, err := c.Organizations(ctx, client.Page{})
	is.NoErr(err)
	is.Equal(len(rest.Items), 0)
	var saved bytes.Buffer
	is.NoErr(c.Backup(ctx, &saved))
	_, err = backup.NewReader(&saved)
	is.NoErr(err)
}

func script() *modeltest.Script {
	return &modeltest.Script{
		Respond: func(req *model.Request) modeltest.Answer {
			text := fmt.Sprint(req.Messages[len(req.Messages)-1].Parts)
			switch {
			case strings.Contains(text, "call"):
				return modeltest.Calls(model.ToolCall{ID: "1", Name: "f", Arguments: `{"a":1}`}, model.ToolCall{ID: "2", Name: "f", Arguments: `{}`})
			case strings.Contains(text, "break"):
				return modeltest.Answer{Events: []model.Event{model.TextDelta{Text: "Half"}, modeltest.DefaultUsage}, Err: fault.Upstreamf(nil, "The model broke.")}
			case strings.Contains(text, "refuse"):
				return modeltest.Fail(&fault.Error{Kind: fault.TooLarge, Code: "too_odd", Message: "That is too odd."})
			}
			return modeltest.Text("A ", "<b>", " é", ".")
		},
		Scores: func(_ context.Context, req *model.ScoreRequest) (*model.Scores, error) {
			p := make([]float64, len(req.Options))
			for i := range p {
				p[i] = float64(i+1) / float64(len(p)*(len(p)+1)/2)
			}
			return &model.Scores{Probabilities: p, StateTokens: 5, QuestionTokens: 2}, nil
		},
	}
}

var tools = []model.Tool{{Name: "f", Description: "F.", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`)}}

func text(s string) []conversations.Item { return responses.Text(s) }

// TestAnswersAreThoseOfTheService asks both the same and compares.
func TestAnswersAreThoseOfTheService(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	c, service := open(t, script())
	local, err := service.LocalCaller(ctx)
	is.NoErr(err)

	decision := &decisions.Request{Model: model.DefaultDecider, State: []byte(`{"a":"b"}`), Questions: []decisions.Question{
		{Name: "z", Type: decisions.Choice, Instructions: "?", Criteria: []byte(`{"y":"Y","x":null,"w":"W"}`)},
		{Name: "n", Type: decisions.Noul, Instructions: "?"},
		{Name: "a", Type: decisions.Score, Criteria: []byte(`["low",{"v":1},null]`)},
	}}
	want, err := service.Decide(ctx, local, decision)
	is.NoErr(err)
	got, err := c.Decide(ctx, client.Caller{}, decision)
	is.NoErr(err)
	is.Equal(want, got)

	prompt := &chat.TextRequest{Model: model.DefaultGenerator, Prompt: "Once", Stop: []string{"."}, Sampling: model.Sampling{Seed: new(7)}}
	whole, err := service.CompleteText(ctx, local, prompt)
	is.NoErr(err)
	continued, err := c.CompleteText(ctx, client.Caller{}, prompt)
	is.NoErr(err)
	is.True(strings.HasPrefix(continued.ID, "cmpl_"))
	is.Equal(continued.Content, whole.Content)
	is.Equal(continued.Usage, whole.Usage)
	pieces, err := c.StreamText(ctx, client.Caller{}, prompt)
	is.NoErr(err)
	var piecewise strings.Builder
	for chunk, err := range pieces {
		is.NoErr(err)
		piecewise.WriteString(chunk.Text)
		if chunk.FinishReason != "" {
			is.Equal(chunk.Usage, whole.Usage)
		}
	}
	is.Equal(piecewise.String(), *whole.Content)

	wanted := &embeddings.Request{Model: model.DefaultGenerator, Texts: []string{"a", "bb"}, Dimensions: 2}
	vectors, err := service.Embed(ctx, local, wanted)
	is.NoErr(err)
	remote, err := c.Embed(ctx, client.Caller{}, wanted)
	is.NoErr(err)
	is.Equal(remote, vectors)

	request := &responses.Request{Model: model.DefaultGenerator, Input: text("Hi"), Instructions: "Be brief.", Metadata: map[string]string{"a": "b"}, Tools: tools}
	for _, say := range []string{"Hi", "call"} {
		request.Input = text(say)
		here, err := service.CreateResponse(ctx, local, request)
		is.NoErr(err)
		there, err := c.CreateResponse(ctx, client.Caller{}, request)
		is.NoErr(err)
		is.Equal(there.OutputText(), here.OutputText())
		is.Equal(there.Usage, here.Usage)
		is.Equal(len(there.Output), len(here.Output))
		is.Equal(there.Echo.Metadata, here.Echo.Metadata)
		read, err := c.Response(ctx, client.Caller{}, there.ID)
		is.NoErr(err)
		is.Equal(read, there)

		events, err := c.StreamResponse(ctx, client.Caller{}, request)
		is.NoErr(err)
		var types []responses.EventType
		var last responses.Event
		var streamed strings.Builder
		for e, err := range events {
			is.NoErr(err)
			if types, last = append(types, e.Type), e; e.Type == responses.EventTextDelta {
				streamed.WriteString(e.Text)
			}
		}
		is.Equal(last.Response.OutputText(), here.OutputText())
		is.Equal(streamed.String(), here.OutputText())
		var types2 []responses.EventType
		events, err = service.StreamResponse(ctx, local, request)
		is.NoErr(err)
		for e, err := range events {
			is.NoErr(err)
			types2 = append(types2, e.Type)
		}
		is.Equal(types, types2)
	}

	completion := &chat.Request{Model: model.DefaultGenerator, Tools: tools}
	for _, say := range []string{"Hi", "call"} {
		completion.Messages = []chat.Message{{Role: model.User, Content: []chat.Part{
			chat.Text(say), chat.File{Name: "a.txt", MIMEType: "text/plain", Data: []byte("b")}, chat.Text("!"),
		}}, {Role: model.User, Content: []chat.Part{chat.Text(say)}}}
		here, err := service.CompleteChat(ctx, local, completion)
		is.NoErr(err)
		there, err := c.CompleteChat(ctx, client.Caller{}, completion)
		is.NoErr(err)
		read, err := c.ChatCompletion(ctx, client.Caller{}, there.ID)
		is.NoErr(err)
		is.Equal(read, there)
		said, err := c.ChatMessages(ctx, client.Caller{}, there.ID, client.Page{Limit: 1})
		is.NoErr(err)
		is.Equal(said.HasMore, len(completion.Messages) > 1)
		is.Equal(said.Items[0].Message, completion.Messages[0])
		there.ID, there.Created = here.ID, here.Created
		is.Equal(there, here)

		collect := func(chunks func(func(chat.Chunk, error) bool), err error) (list []chat.Chunk) {
			is.NoErr(err)
			for chunk, err := range chunks {
				is.NoErr(err)
				chunk.ID, chunk.Created = "", 0
				list = append(list, chunk)
			}
			return list
		}
		is.Equal(collect(c.StreamChat(ctx, client.Caller{}, completion)), collect(service.StreamChat(ctx, local, completion)))
	}
}

// TestErrorsAreThoseOfTheService has each kind of failure.
func TestErrorsAreThoseOfTheService(t *testing.T) {
	ctx := t.Context()
	c, service := open(t, script())
	local, err := service.LocalCaller(ctx)
	if err != nil {
		t.Fatal(err)
	}
	same := func(name string, there, here error) {
		t.Helper()
		a, b := fault.From(there), fault.From(here)
		if here == nil || a.Kind != b.Kind || a.Code != b.Code || a.Message != b.Message || a.Param != b.Param {
			t.Errorf("%s: got %+v, want %+v", name, a, b)
		}
	}
	request := func(say string) *responses.Request {
		return &responses.Request{Model: model.DefaultGenerator, Input: text(say)}
	}
	for _, say := range []string{"refuse", "break"} {
		_, here := service.CreateResponse(ctx, local, request(say))
		_, there := c.CreateResponse(ctx, client.Caller{}, request(say))
		same(say, there, here)
		_, failed := errors.AsType[*responses.TurnError](there)
		if failed != (say == "break") {
			t.Errorf("%s: got %v", say, there)
		}
	}
	_, here := service.Response(ctx, local, "resp_none")
	_, there := c.Response(ctx, client.Caller{}, "resp_none")
	same("no response", there, here)
	_, here = service.CompleteChat(ctx, local, &chat.Request{Model: model.DefaultGenerator})
	_, there = c.CompleteChat(ctx, client.Caller{}, &chat.Request{Model: model.DefaultGenerator})
	same("no messages", there, here)
	_, here = service.Decide(ctx, local, &decisions.Request{Model: "none"})
	_, there = c.Decide(ctx, client.Caller{}, &decisions.Request{Model: "none"})
	if !fault.Is(here, fault.Invalid) || !fault.Is(there, fault.Invalid) {
		t.Errorf("no such model: got %v, want %v", there, here)
	}
	events, err := c.StreamResponse(ctx, client.Caller{}, request("break"))
	if err != nil {
		t.Fatal(err)
	}
	for _, err = range events {
	}
	if e, ok := errors.AsType[*responses.TurnError](err); !ok || e.Response.OutputText() != "Half" {
		t.Errorf("got %v", err)
	}
}

func TestConversationsAndFiles(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	c, _ := open(t, script())
	var nobody client.Caller
	conversation, err := c.CreateConversation(ctx, nobody, map[string]string{"a": "b"}, text("One"))
	is.NoErr(err)
	added, err := c.AddConversationItems(ctx, nobody, conversation.ID, text("Two"))
	is.NoErr(err)
	list, err := c.ConversationItems(ctx, nobody, conversation.ID, client.Page{})
	is.NoErr(err)
	is.Equal(len(list.Items), 2)
	is.Equal(list.Items[1], added[0])
	item, err := c.ConversationItem(ctx, nobody, conversation.ID, added[0].ItemID())
	is.NoErr(err)
	is.Equal(item, added[0])
	again, err := c.DeleteConversationItem(ctx, nobody, conversation.ID, added[0].ItemID())
	is.NoErr(err)
	is.Equal(again, conversation)
	is.NoErr(c.DeleteConversation(ctx, nobody, conversation.ID))
	_, err = c.Conversation(ctx, nobody, conversation.ID)
	is.True(fault.Is(err, fault.NotFound))

	file, err := c.UploadFile(ctx, nobody, files.Upload{Filename: `a"b.txt`, MIMEType: "text/plain", Content: strings.NewReader("text"), Purpose: files.Purpose})
	is.NoErr(err)
	is.Equal(file.Filename, `a"b.txt`)
	read, content, err := c.FileContent(ctx, nobody, file.ID)
	is.NoErr(err)
	data, err := io.ReadAll(content)
	is.NoErr(err)
	is.Equal(string(data), "text")
	is.Equal(read, file)
	all, err := c.Files(ctx, nobody, files.Purpose, client.Page{Limit: 1})
	is.NoErr(err)
	is.Equal(all.Items, []files.File{file})
	is.NoErr(c.DeleteFile(ctx, nobody, file.ID))
	models, err := c.Models(ctx, nobody)
	is.NoErr(err)
	is.Equal(len(models), 2)
	found, err := c.Model(ctx, nobody, models[1].ID)
	is.NoErr(err)
	is.Equal(found, models[1])
	_, err = c.Model(ctx, nobody, "none/such")
	is.True(fault.Is(err, fault.NotFound))
	is.NoErr(c.Ready(ctx))
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestRetries has a server that is well again at the third attempt.
func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var attempts atomic.Int32
		keys := map[string]bool{}
		answer := func(r *http.Request, first func() (*http.Response, error)) (*http.Response, error) {
			keys[r.Header.Get("Idempotency-Key")] = true
			if n := attempts.Add(1); n < 3 {
				return first()
			}
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(`{"id":"conv_1"}`))}, nil
		}
		status := func(code int, after string) func() (*http.Response, error) {
			return func() (*http.Response, error) {
				return &http.Response{StatusCode: code, Header: http.Header{"Retry-After": {after}}, Body: io.NopCloser(strings.NewReader(`{"error":{"message":"m","code":"c"}}`))}, nil
			}
		}
		for name, tt := range map[string]struct {
			first    func() (*http.Response, error)
			attempts int32
			least    time.Duration
			kind     fault.Kind
		}{
			"busy":             {status(429, "3"), 3, 6 * time.Second, 0},
			"broken":           {status(500, ""), 3, time.Second, 0},
			"unreachable":      {func() (*http.Response, error) { return nil, errors.New("refused") }, 3, time.Second, 0},
			"wrong":            {status(400, ""), 1, 0, fault.Invalid},
			"busy for an hour": {status(503, "3600"), 1, 0, fault.Unavailable},
		} {
			attempts.Store(0)
			clear(keys)
			c := client.New("http://server.test", "key")
			c.HTTP = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) { return answer(r, tt.first) })}
			start := time.Now()
			_, err := c.CreateConversation(t.Context(), client.Caller{}, nil, nil)
			if (err == nil) != (tt.kind == 0) || err != nil && fault.From(err).Kind != tt.kind {
				t.Errorf("%s: got %v", name, err)
			}
			if got := attempts.Load(); got != tt.attempts || time.Since(start) < tt.least || len(keys) != 1 {
				t.Errorf("%s: %d attempts in %s with %d keys", name, got, time.Since(start), len(keys))
			}
		}
	})
}

// TestRefusedDecisions has the errors of /v1/systemone, where 400 is for what the model
// cannot take and 422 for what is invalid.
func TestRefusedDecisions(t *testing.T) {
	for status, want := range map[int]*fault.Error{
		400: {Kind: fault.Rejected, Code: "too_odd", Message: "Too odd."},
		422: {Kind: fault.Invalid, Code: "validation_error", Message: "Wrong."},
	} {
		c := client.New("http://server.test", "key")
		c.HTTP = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			body := fmt.Sprintf(`{"detail":{"error_type":%q,"message":%q}}`, want.Code, want.Message)
			return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body))}, nil
		})}
		if err := c.Do(t.Context(), "POST", "/v1/systemone", map[string]string{}, nil); !reflect.DeepEqual(err, error(want)) {
			t.Errorf("%d: got %#v, want %#v", status, err, want)
		}
	}
}
