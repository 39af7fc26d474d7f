package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/matryer/is"
	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/guard"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// judging is a script whose answers to questions are yes where the state has the word
// that the question asks for, and that fails where the state has the word FAIL.
func judging(answers ...modeltest.Answer) *modeltest.Script {
	script := modeltest.New(answers...)
	script.Decisions = func(_ context.Context, req *model.DecideRequest) (*model.Decision, error) {
		if strings.Contains(string(req.State), "FAIL") {
			return nil, errors.New("the judge is away")
		}
		d := &model.Decision{StateTokens: 10, QuestionTokens: len(req.Questions)}
		for _, q := range req.Questions {
			p := 0.01
			if strings.Contains(string(req.State), q.Instructions) {
				p = 0.99
			}
			d.Probabilities = append(d.Probabilities, []float64{p, 1 - p})
		}
		return d, nil
	}
	return script
}

// policy blocks where the state has a word.
func policy(stage guard.Stage, word string) guard.Policy {
	return guard.Policy{
		Stage: stage, Questions: []decisions.Question{{Name: "has_" + strings.ToLower(word), Type: decisions.Noul, Instructions: word}},
		Block: map[string]guard.Block{"has_" + strings.ToLower(word): {When: json.RawMessage("true"), Threshold: 0.7}},
	}
}

// generations is how often the model was asked to generate.
func (a *turns) generations() int { return len(a.script.Requests()) }

const blockedInput = `{"error":{"message":"The request was blocked by the policy \"secrets\", question \"has_secret\".","type":"invalid_request_error","param":null,"code":"policy_blocked","policy":"secrets","question":"has_secret"}}`

// TestABlockedInputCallsNoModel on any of the interfaces that generate, whether the
// answer is streamed, made in the background or neither.
func TestABlockedInputCallsNoModel(t *testing.T) {
	for name, c := range map[string]struct{ path, body, want string }{
		"chat":            {"/v1/chat/completions", `{"model":"svc-preview","messages":[{"role":"user","content":"a SECRET"}]}`, blockedInput},
		"chat stream":     {"/v1/chat/completions", `{"model":"svc-preview","stream":true,"messages":[{"role":"user","content":"a SECRET"}]}`, blockedInput},
		"response":        {"/v1/responses", `{"model":"svc-preview","input":"a SECRET"}`, blockedInput},
		"response stream": {"/v1/responses", `{"model":"svc-preview","stream":true,"input":"a SECRET"}`, blockedInput},
		"background":      {"/v1/responses", `{"model":"svc-preview","background":true,"input":"a SECRET"}`, blockedInput},
		"compaction":      {"/v1/responses/compact", `{"model":"svc-preview","input":"a SECRET"}`, blockedInput},
		"text":            {"/v1/completions", `{"model":"svc-preview","prompt":"a SECRET"}`, blockedInput},
		"message": {"/v1/messages", `{"model":"svc-preview","max_tokens":9,"messages":[{"role":"user","content":"a SECRET"}]}`,
			`{"type":"error","error":{"type":"invalid_request_error","message":"The request was blocked by the policy \"secrets\", question \"has_secret\".","details":{"error_code":"policy_blocked"}},"request_id":"req_test"}`},
		"message stream": {"/v1/messages", `{"model":"svc-preview","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"a SECRET"}]}`,
			`{"type":"error","error":{"type":"invalid_request_error","message":"The request was blocked by the policy \"secrets\", question \"has_secret\".","details":{"error_code":"policy_blocked"}},"request_id":"req_test"}`},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			a := newTurnsOver(t, judging(), options{policies: map[string]guard.Policy{"secrets": policy(guard.Input, "SECRET")}, defaults: []string{"secrets"}})
			got := a.do("POST", c.path, c.body)
			is.Equal(got.status, 400)
			is.Equal(got.body, c.want)
			is.Equal(got.header.Get("Svc-Policy"), "secrets=blocked")
			is.Equal(a.generations(), 0)
			is.Equal(gjson.Get(a.do("GET", "/v1/chat/completions", "").body, "data.#").Int(), int64(0)) // nothing is stored
		})
	}
}

// TestABlockedOutputIsNowhere in no answer, not in what is stored, and not in a stream.
func TestABlockedOutputIsNowhere(t *testing.T) {
	policies := map[string]guard.Policy{"rude": policy(guard.Output, "RUDE")}
	for name, c := range map[string]struct {
		path, body string
		want       []string
	}{
		"chat": {"/v1/chat/completions", `{"model":"svc-preview","messages":[{"role":"user","content":"Hi"}]}`,
			[]string{`"content":null,"refusal":"The answer was blocked by a policy."}`, `"finish_reason":"content_filter"`}},
		"chat stream": {"/v1/chat/completions", `{"model":"svc-preview","stream":true,"messages":[{"role":"user","content":"Hi"}]}`,
			[]string{`"refusal":"The answer was blocked by a policy."`, `"finish_reason":"content_filter"`, "[DONE]"}},
		"response": {"/v1/responses", `{"model":"svc-preview","input":"Hi"}`,
			[]string{`"status":"incomplete"`, `"incomplete_details":{"reason":"content_filter"}`, `"output":[]`}},
		"response stream": {"/v1/responses", `{"model":"svc-preview","stream":true,"input":"Hi"}`,
			[]string{"event: response.incomplete\n", `"incomplete_details":{"reason":"content_filter"}`, `"output":[]`}},
		"text": {"/v1/completions", `{"model":"svc-preview","prompt":"Hi"}`, []string{`"text":""`, `"finish_reason":"content_filter"`}},
		"message": {"/v1/messages", `{"model":"svc-preview","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`,
			[]string{`"content":[]`, `"stop_reason":"refusal"`}},
		"message stream": {"/v1/messages", `{"model":"svc-preview","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"Hi"}]}`,
			[]string{`"stop_reason":"refusal"`, "message_stop"}},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			a := newTurnsOver(t, judging(modeltest.Text("You are ", "RUDE", ".")), options{policies: policies, defaults: []string{"rude"}})
			got := a.do("POST", c.path, c.body)
			is.Equal(got.status, 200)
			for _, want := range c.want {
				if !strings.Contains(got.body, want) {
					t.Errorf("the answer has no %s: %s", want, got.body)
				}
			}
			stored := got.body
			for _, id := range []string{gjson.Get(got.body, "id").Str} {
				switch {
				case strings.HasPrefix(id, "resp_"):
					stored += a.do("GET", "/v1/responses/"+id, "").body + a.do("GET", "/v1/responses/"+id+"?stream=true", "").body
				case strings.HasPrefix(id, "chatcmpl_"):
					stored += a.do("GET", "/v1/chat/completions/"+id, "").body
				}
			}
			is.True(!strings.Contains(stored, "RUDE"))
			is.True(!strings.Contains(stored, "You are"))
			is.Equal(a.generations(), 1)
			if !strings.Contains(name, "stream") {
				is.Equal(got.header.Get("Svc-Policy"), "rude=blocked")
			}
		})
	}
}

// TestABlockedTurnInTheBackground ends as incomplete, with nothing in its events, and
// nothing continues from it.
func TestABlockedTurnInTheBackground(t *testing.T) {
	is := is.New(t)
	a := newTurnsOver(t, judging(modeltest.Text("You are ", "RUDE", ".")), options{policies: map[string]guard.Policy{"rude": policy(guard.Output, "RUDE")}, defaults: []string{"rude"}})
	got := a.do("POST", "/v1/responses", `{"model":"svc-preview","background":true,"input":"Hi"}`)
	is.Equal(got.status, 200)
	id := gjson.Get(got.body, "id").Str
	events := a.do("GET", "/v1/responses/"+id+"?stream=true", "").body // until it has ended
	is.True(strings.Contains(events, "event: response.incomplete\n"))
	is.True(!strings.Contains(events, "RUDE") && !strings.Contains(events, "You are"))
	ended := a.do("GET", "/v1/responses/"+id, "").body
	is.Equal(gjson.Get(ended, "status").Str, "incomplete")
	is.Equal(gjson.Get(ended, "output.#").Int(), int64(0))
	next := a.do("POST", "/v1/responses", `{"model":"svc-preview","previous_response_id":"`+id+`","input":"Hi"}`)
	is.Equal(next.status, 400)
}

// TestAStreamIsHeldBackByWindows sends what was judged, and nothing of the window that
// was judged bad.
func TestAStreamIsHeldBackByWindows(t *testing.T) {
	is := is.New(t)
	piece := strings.Repeat("good ", 50) // 250 characters
	var pieces []string
	for range 6 {
		pieces = append(pieces, piece)
	}
	a := newTurnsOver(t, judging(modeltest.Text(append(pieces, "RUDE")...)), options{policies: map[string]guard.Policy{"rude": policy(guard.Output, "RUDE")}, defaults: []string{"rude"}})
	got := a.do("POST", "/v1/chat/completions", `{"model":"svc-preview","stream":true,"messages":[{"role":"user","content":"Hi"}]}`)
	is.Equal(strings.Count(got.body, "good "), 4*50) // one window
	is.True(!strings.Contains(got.body, "RUDE"))
	is.True(strings.Contains(got.body, `"finish_reason":"content_filter"`))
	is.Equal(got.header.Get("Svc-Policy"), "") // what is known at the start
	is.Equal(gjson.Get(a.do("GET", "/v1/chat/completions", "").body, "data.0.choices.0.message.content").Raw, "null")
}

// TestAPolicyThatCannotBeAsked is never one that passed.
func TestAPolicyThatCannotBeAsked(t *testing.T) {
	allow := policy(guard.Input, "SECRET")
	allow.OnFailure = guard.AllowRequest
	is := is.New(t)
	chat := `{"model":"svc-preview","messages":[{"role":"user","content":"FAIL"}]}`
	for stage, generated := range map[guard.Stage]int{guard.Input: 0, guard.Output: 1} {
		a := newTurnsOver(t, judging(modeltest.Text("Hi")), options{policies: map[string]guard.Policy{"p": policy(stage, "SECRET")}, defaults: []string{"p"}})
		got := a.do("POST", "/v1/chat/completions", chat)
		is.Equal(got.status, 503)
		is.Equal(got.body, `{"error":{"message":"The policy \"p\" could not be asked. Try again later.","type":"server_error","param":null,"code":"policy_unavailable","policy":"p"}}`)
		is.Equal(got.header.Get("Svc-Policy"), "p=failed")
		is.Equal(a.generations(), generated)
	}
	a := newTurnsOver(t, judging(modeltest.Text("Hi")), options{policies: map[string]guard.Policy{"p": allow}, defaults: []string{"p"}})
	got := a.do("POST", "/v1/chat/completions", chat)
	is.Equal(got.status, 200)
	is.Equal(got.header.Get("Svc-Policy"), "p=failed")
}

// TestPoliciesAddUp has the defaults, those of the organization and those of the
// request, all of which are asked in one decision for each stage.
func TestPoliciesAddUp(t *testing.T) {
	is := is.New(t)
	logged := policy(guard.Both, "ODD")
	logged.LogOnly = true
	a := newTurnsOver(t, judging(modeltest.Text("ODD")), options{
		policies: map[string]guard.Policy{"a": policy(guard.Both, "SECRET"), "b": policy(guard.Both, "RUDE"), "c": logged}, defaults: []string{"a"}})
	asked := 0
	decide := a.script.Decisions
	a.script.Decisions = func(ctx context.Context, req *model.DecideRequest) (*model.Decision, error) {
		asked++
		is.Equal(len(req.Questions), 3)
		return decide(ctx, req)
	}
	got := a.do("POST", "/v1/chat/completions", `{"model":"svc-preview","policies":["b","c","a"],"messages":[{"role":"user","content":"Hi"}]}`)
	is.Equal(got.status, 200)
	is.Equal(got.header.Get("Svc-Policy"), "a=passed,b=passed,c=logged")
	is.Equal(asked, 2)
	is.Equal(a.do("POST", "/v1/chat/completions", `{"model":"svc-preview","policies":["x"],"messages":[{"role":"user","content":"Hi"}]}`).body,
		`{"error":{"message":"policies[0] names the policy \"x\", which does not exist.","type":"invalid_request_error","param":"policies[0]","code":"validation_error"}}`)
}

// TestWhatPoliciesSee judges outputs of tools and the text of documents only where the
// policy sees them.
func TestWhatPoliciesSee(t *testing.T) {
	const messages = `[{"role":"system","content":"S"},{"role":"user","content":"old"},{"role":"assistant","content":"WORD1","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
		`{"role":"tool","tool_call_id":"c","content":"WORD2"},{"role":"user","content":[{"type":"text","text":"now"},{"type":"file","filename":"a.txt","mime_type":"text/plain","file_data":"V09SRDM="}]}]`
	for sees, word := range map[guard.Sight]string{guard.History: "WORD1", guard.Tools: "WORD2", guard.Files: "WORD3"} {
		for _, seen := range []bool{true, false} {
			is := is.New(t)
			p := policy(guard.Input, word)
			if seen {
				p.Sees = []guard.Sight{sees}
			}
			a := newTurnsOver(t, judging(modeltest.Text("Hi")), options{policies: map[string]guard.Policy{"p": p}})
			got := a.do("POST", "/v1/chat/completions", `{"model":"svc-preview","policies":["p"],"messages":`+messages+`}`)
			is.Equal(got.status, map[bool]int{true: 400, false: 200}[seen])
		}
	}
}

// TestSearchResultsAreJudged before the model reads them, where the policy sees tools.
func TestSearchResultsAreJudged(t *testing.T) {
	is := is.New(t)
	p := policy(guard.Input, "INJECTED")
	p.Sees = []guard.Sight{guard.Tools}
	a := newTurnsOver(t, judging(modeltest.Calls(model.ToolCall{ID: "c", Name: "web_search", Arguments: `{"queries":["INJECTED"]}`}), modeltest.Text("Hi")),
		options{search: echoSearch{}, policies: map[string]guard.Policy{"p": p}, defaults: []string{"p"}})
	got := a.do("POST", "/v1/responses", `{"model":"svc-preview","input":"Hi","tools":[{"type":"web_search"}]}`)
	is.Equal(gjson.Get(got.body, "status").Str, "failed")
	is.Equal(gjson.Get(got.body, "error.code").Str, "policy_blocked")
	is.Equal(a.generations(), 1)
}

// TestFalseBlocksComeFromLabels has a policy whose threshold is that of a calibration:
// it blocks by the raw probability, and where the calibration does not hold any more the
// policy has failed.
func TestFalseBlocksComeFromLabels(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	store := httpapi.NewStore(t)
	t.Cleanup(func() { must(t, store.Close()) })
	var moved atomic.Bool // another model is behind the name
	script := modeltest.New(modeltest.Text("Hi"), modeltest.Text("Hi"), modeltest.Text("Hi"))
	script.Decisions = func(_ context.Context, req *model.DecideRequest) (*model.Decision, error) {
		n := gjson.GetBytes(req.State, "user").Float() // what is asked about says its own score
		p := n / 1000
		if moved.Load() {
			p = 1 - p
		}
		return &model.Decision{Probabilities: [][]float64{{p, 1 - p}}, StateTokens: 1, QuestionTokens: 1}, nil
	}
	p := guard.Policy{Stage: guard.Input, Questions: []decisions.Question{{Name: "bad", Type: decisions.Noul, Instructions: "Is it bad?"}},
		Block: map[string]guard.Block{"bad": {When: json.RawMessage("true"), FalseBlocks: 0.1}}}
	open := func(policies map[string]guard.Policy) (*svc.Service, error) {
		return svc.New(ctx, svc.Options{Store: store, Backend: script, Policies: policies, Logger: slog.New(slog.DiscardHandler)})
	}
	service, err := open(nil)
	is.NoErr(err)
	caller, err := service.LocalCaller(ctx) // of the organization default
	is.NoErr(err)
	calibrate := func(rows int) {
		n := &decisions.NewCalibration{Model: model.DefaultDecider, Question: p.Questions[0], Asked: json.RawMessage(`{"type":"noul"}`)}
		for i := range rows { // good ones have scores up to 0.5, bad ones above
			score := 1 + i*499/rows
			if i%2 == 0 {
				score += 500
			}
			n.Rows = append(n.Rows, decisions.LabelledRow{State: json.RawMessage(fmt.Sprintf(`{"user":"%d"}`, score)), Answer: json.RawMessage(strconv.FormatBool(i%2 == 0))})
		}
		_, err := service.Calibrate(ctx, caller, n)
		is.NoErr(err)
	}
	refused := func(want string) {
		is.NoErr(service.Close())
		_, err := open(map[string]guard.Policy{"p": p})
		is.True(err != nil)
		is.Equal(err.Error(), want)
		service, err = open(nil)
		is.NoErr(err)
	}
	refused(`policies.p.block.bad.false_blocks: the organization "org_default" has no calibration of the question for the model "svc-snap-preview"; make one from labels, or give a threshold.`)
	calibrate(40)
	refused(`policies.p.block.bad.false_blocks: the calibration ` + latest(t, service, caller) + ` has 20 rows that are not to be blocked, but a rate of 0.1 takes 40; label more.`)
	calibrate(400)
	is.NoErr(service.Close())
	service, err = open(map[string]guard.Policy{"p": p})
	is.NoErr(err)
	defer service.Close()
	ask := func(score string) error {
		_, err := service.CompleteChat(ctx, caller, &chat.Request{Model: model.DefaultGenerator, Policies: []string{"p"},
			Messages: []chat.Message{{Role: model.User, Content: []chat.Part{chat.Text(score)}}}})
		return err
	}
	if err := ask("200"); err != nil {
		r, _ := errors.AsType[*guard.Refusal](err)
		t.Fatal(r.Probability, r.Threshold)
	}
	err = ask("600")
	refusal, ok := errors.AsType[*guard.Refusal](err)
	is.True(ok)
	is.Equal(refusal.Question, "bad")
	is.Equal(refusal.Probability, 0.6)
	is.True(refusal.Threshold > 0.4 && refusal.Threshold < 0.5)
	log, err := service.AuditLog(ctx, svc.Page{Limit: 10, Desc: true})
	is.NoErr(err)
	is.Equal(log.Items[0].Action, accounts.ActionBlock)
	is.True(strings.HasPrefix(string(log.Items[0].Change), `{"policy":"p","question":"bad","stage":"input","probability":0.6,"threshold":0.4`))

	is.NoErr(service.Close())
	moved.Store(true)
	service, err = open(map[string]guard.Policy{"p": p}) // which looks at the model anew
	is.NoErr(err)
	is.Equal(fault.From(ask("200")).Code, fault.CodePolicyUnavailable)
}

// latest returns the ID of the newest calibration.
func latest(t *testing.T, service *svc.Service, caller svc.Caller) string {
	t.Helper()
	list, err := service.Calibrations(t.Context(), caller, svc.Page{Limit: 1, Desc: true})
	must(t, err)
	return list.Items[0].ID
}

// TestVerdictsAreKept with the decision that they follow from, where the organization
// stores decisions.
func TestVerdictsAreKept(t *testing.T) {
	is := is.New(t)
	a := newTurnsOver(t, judging(), options{policies: map[string]guard.Policy{"secrets": policy(guard.Input, "SECRET")}, defaults: []string{"secrets"}, storeDecisions: true})
	is.Equal(a.do("POST", "/v1/chat/completions", `{"model":"svc-preview","messages":[{"role":"user","content":"a SECRET"}]}`).status, 400)
	kept := gjson.Get(a.do("GET", "/v1/decisions", "").body, "data.0")
	is.Equal(kept.Get("metadata").Raw, `{"policy:secrets":"blocked","stage":"input"}`)
	is.Equal(kept.Get("state").Raw, `{"user":"a SECRET"}`)
	is.Equal(kept.Get("questions.has_secret.type").Str, "noul")
}

// TestOrganizationsHavePolicies that exist.
func TestOrganizationsHavePolicies(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	script := judging(modeltest.Text("Hi"))
	service, err := svc.New(ctx, svc.Options{Backend: script, Policies: map[string]guard.Policy{"secrets": policy(guard.Input, "SECRET")}, Logger: slog.New(slog.DiscardHandler)})
	is.NoErr(err)
	defer service.Close()
	_, err = service.CreateOrganization(ctx, accounts.NewOrganization{Name: "a", Policies: []string{"x"}})
	is.Equal(fault.From(err).Param, "policies[0]")
	o, err := service.CreateOrganization(ctx, accounts.NewOrganization{Name: "a", Credits: accounts.Dollar, Policies: []string{"secrets"}})
	is.NoErr(err)
	caller, err := service.CallerFor(ctx, o.ID)
	is.NoErr(err)
	ask := func() error {
		_, err := service.CompleteChat(ctx, caller, &chat.Request{Model: model.DefaultGenerator, Messages: []chat.Message{{Role: model.User, Content: []chat.Part{chat.Text("SECRET")}}}})
		return err
	}
	is.Equal(fault.From(ask()).Code, fault.CodePolicyBlocked)
	_, err = service.UpdateOrganization(ctx, o.ID, accounts.OrganizationUpdate{Policies: &[]string{}})
	is.NoErr(err)
	caller, err = service.CallerFor(ctx, o.ID)
	is.NoErr(err)
	is.NoErr(ask())
	caller.Policies = []string{"gone"} // the configuration has it no more
	is.Equal(fault.From(ask()).Code, fault.CodePolicyUnavailable)
}
