package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// say is the body of a turn with a text; more is further fields.
func say(text string, more ...string) string {
	return `{"model":"svc-preview","input":` + quote(text) + strings.Join(append([]string{""}, more...), ",") + `}`
}

func after(id string) string        { return `"previous_response_id":` + quote(id) }
func in(conversation string) string { return `"conversation":` + quote(conversation) }
func outputs(items ...string) string {
	return `{"model":"svc-preview","input":[` + strings.Join(items, ",") + `]`
}
func output(callID, text string) string {
	return `{"type":"function_call_output","call_id":` + quote(callID) + `,"output":` + quote(text) + `}`
}

// numbered answers the n-th request, from 1, with "answer n".
func numbered() *modeltest.Script {
	var mu sync.Mutex
	n := 0
	return &modeltest.Script{Respond: func(*model.Request) modeltest.Answer {
		mu.Lock()
		defer mu.Unlock()
		n++
		return modeltest.Text(fmt.Sprint("answer ", n))
	}}
}

func TestStraightChains(t *testing.T) {
	a := newTurnsOver(t, numbered(), options{})
	first := a.turn(say("one", `"instructions":"Be brief."`))
	second := a.turn(say("two", after(first.ID)))
	third := a.turn(say("three", in(second.Conversation.ID), `"instructions":"Be long."`))
	a.turn(say("four", after(third.ID)))
	a.wantSent(0, `system "Be brief."`, `user "one"`)
	a.wantSent(1, `user "one"`, `assistant "answer 1"`, `user "two"`)
	a.wantSent(2, `system "Be long."`, `user "one"`, `assistant "answer 1"`, `user "two"`, `assistant "answer 2"`, `user "three"`)
	a.wantSent(3, `user "one"`, `assistant "answer 1"`, `user "two"`, `assistant "answer 2"`, `user "three"`, `assistant "answer 3"`, `user "four"`)
	if first.Conversation != third.Conversation {
		t.Errorf("conversations %v and %v", first.Conversation, third.Conversation)
	}
}

func TestBranches(t *testing.T) {
	a := newTurnsOver(t, numbered(), options{})
	root := a.turn(say("root"))
	left := a.turn(say("left", after(root.ID)))
	right := a.turn(say("right", after(root.ID)))
	a.turn(say("left again", after(left.ID)))
	a.turn(say("right again", after(right.ID)))
	a.turn(say("head", in(root.Conversation.ID)))
	start := []string{`user "root"`, `assistant "answer 1"`}
	a.wantSent(3, append(slices.Clone(start), `user "left"`, `assistant "answer 2"`, `user "left again"`)...)
	a.wantSent(4, append(slices.Clone(start), `user "right"`, `assistant "answer 3"`, `user "right again"`)...)
	a.wantSent(5, append(slices.Clone(start), `user "right"`, `assistant "answer 3"`, `user "right again"`, `assistant "answer 5"`, `user "head"`)...)
}

// racing returns an interface whose model answers the inputs "left" and
// "right" only when both are under way.
func racing(t *testing.T) *turns {
	var both sync.WaitGroup
	both.Add(2)
	return newTurnsOver(t, &modeltest.Script{Respond: func(req *model.Request) modeltest.Answer {
		text := fmt.Sprint(req.Messages[len(req.Messages)-1].Parts[0])
		answer := modeltest.Text("to " + text)
		if text == "left" || text == "right" {
			answer.Before = func(context.Context) error {
				both.Done()
				both.Wait()
				return nil
			}
		}
		return answer
	}}, options{})
}

func TestTurnsThatRaceBecomeBranches(t *testing.T) {
	a := racing(t)
	root := a.turn(say("root"))
	results := make([]response, 2)
	var group sync.WaitGroup
	for i, text := range []string{"left", "right"} {
		group.Go(func() { results[i] = a.turn(say(text, after(root.ID))) })
	}
	group.Wait()
	a.turn(say("more left", after(results[0].ID)))
	a.turn(say("more right", after(results[1].ID)))
	a.turn(say("head", in(root.Conversation.ID)))
	start := []string{`user "root"`, `assistant "to root"`}
	a.wantSent(3, append(slices.Clone(start), `user "left"`, `assistant "to left"`, `user "more left"`)...)
	a.wantSent(4, append(slices.Clone(start), `user "right"`, `assistant "to right"`, `user "more right"`)...)
	a.wantSent(5, append(slices.Clone(start), `user "right"`, `assistant "to right"`, `user "more right"`, `assistant "to more right"`, `user "head"`)...)
}

// TestTurnsOfAConversationAreTakenInOrder holds the first of several turns, which
// the others wait for: each reads what the one before it said.
func TestTurnsOfAConversationAreTakenInOrder(t *testing.T) {
	reached, goOn := make(chan struct{}), make(chan struct{})
	var n atomic.Int32
	a := newTurnsOver(t, &modeltest.Script{Respond: func(*model.Request) modeltest.Answer {
		answer := modeltest.Text(fmt.Sprint("answer ", n.Add(1)))
		if n.Load() == 2 {
			answer.Before = func(context.Context) error {
				close(reached)
				<-goOn
				return nil
			}
		}
		return answer
	}}, options{})
	root := a.turn(say("root"))
	var group sync.WaitGroup
	group.Go(func() { a.turn(say("one", in(root.Conversation.ID))) })
	<-reached
	group.Go(func() { a.turn(say("two", in(root.Conversation.ID))) })
	beside := a.turn(say("beside", after(root.ID))) // waits for nobody
	close(goOn)
	group.Wait()
	a.turn(say("more", after(beside.ID)))
	start := []string{`user "root"`, `assistant "answer 1"`}
	a.wantSent(1, append(slices.Clone(start), `user "one"`)...)
	a.wantSent(2, append(slices.Clone(start), `user "beside"`)...)
	a.wantSent(3, append(slices.Clone(start), `user "one"`, `assistant "answer 2"`, `user "two"`)...)
	a.wantSent(4, append(slices.Clone(start), `user "beside"`, `assistant "answer 3"`, `user "more"`)...)
}

// TestATurnWaitsHalfAMinuteForTheOneBefore on a clock of its own.
func TestATurnWaitsHalfAMinuteForTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, goOn := make(chan struct{}), make(chan struct{})
		script := modeltest.New(modeltest.Text("zero"), modeltest.Text("one"), modeltest.Text("three"))
		script.Answers[1].Before = func(context.Context) error { close(asked); <-goOn; return nil }
		a := newTurnsOver(t, script, options{})
		conversation := a.turn(say("start")).Conversation.ID
		var group sync.WaitGroup
		group.Go(func() { a.turn(say("one", in(conversation))) })
		<-asked
		began := time.Now()
		a.wantError("POST", "/v1/responses", say("two", in(conversation)), 409, "invalid_request_error", "conversation_busy", "",
			`Another turn of the conversation "`+conversation+`" is still running. Try again when it has ended, or continue from a response.`)
		if waited := time.Since(began); waited < 30*time.Second || waited > 31*time.Second { // what a database takes comes on top
			t.Errorf("waited %v", waited)
		}
		close(goOn)
		group.Wait()
		a.turn(say("three", in(conversation)))
		a.wantSent(2, `user "start"`, `assistant "zero"`, `user "one"`, `assistant "one"`, `user "three"`)
	})
}

// TestItemsThatNoTurnHasReadStay adds an item while a turn runs that then moves
// the head of the conversation without it.
func TestItemsThatNoTurnHasReadStay(t *testing.T) {
	a := newTurnsOver(t, numbered(), options{})
	root := a.turn(say("root"))
	a.turn(say("one", after(root.ID)))
	items := "/v1/conversations/" + root.Conversation.ID + "/items"
	a.want(200, "POST", items, `{"items":[{"role":"user","content":"added"}]}`)
	a.turn(say("two", after(root.ID))) // the head goes there
	a.turn(say("three", in(root.Conversation.ID)))
	a.turn(say("four", in(root.Conversation.ID)))
	start := []string{`user "root"`, `assistant "answer 1"`}
	a.wantSent(2, append(slices.Clone(start), `user "two"`)...)
	want := append(slices.Clone(start), `user "two"`, `assistant "answer 3"`, `user "added"`, `user "three"`)
	a.wantSent(3, want...)
	a.wantSent(4, append(want, `assistant "answer 4"`, `user "four"`)...)
}

func TestUnstoredTurnsReadHistoryAndLeaveNone(t *testing.T) {
	a := newTurnsOver(t, numbered(), options{})
	first := a.turn(say("one"))
	unstored := a.turn(say("two", after(first.ID), `"store":false`))
	a.turn(say("three", in(first.Conversation.ID)))
	a.wantSent(1, `user "one"`, `assistant "answer 1"`, `user "two"`)
	a.wantSent(2, `user "one"`, `assistant "answer 1"`, `user "three"`)
	is := is.New(t)
	is.Equal(unstored.Conversation, first.Conversation)
	a.wantError("POST", "/v1/responses", say("four", after(unstored.ID)), 404, "invalid_request_error", "response_not_found", "",
		`No response found with id "`+unstored.ID+`".`)
}

func TestAddedAndDeletedItems(t *testing.T) {
	a := newTurnsOver(t, numbered(), options{})
	var conversation struct{ ID string }
	decode(t, a.want(200, "POST", "/v1/conversations", `{"items":[{"role":"user","content":"seed"}]}`), &conversation)
	first := a.turn(say("one", in(conversation.ID)))
	items := "/v1/conversations/" + conversation.ID + "/items"
	a.want(200, "POST", items, `{"items":[{"role":"user","content":"added"},{"role":"user","content":[{"type":"input_text","text":"in"},{"type":"input_text","text":" parts"}]}]}`)
	second := a.turn(say("two", in(conversation.ID)))
	a.turn(say("beside", after(first.ID)))
	a.wantSent(0, `user "seed"`, `user "one"`)
	a.wantSent(1, `user "seed"`, `user "one"`, `assistant "answer 1"`, `user "added"`, `user "in" " parts"`, `user "two"`)
	a.wantSent(2, `user "seed"`, `user "one"`, `assistant "answer 1"`, `user "beside"`)

	a.want(200, "DELETE", items+"/"+first.Output[0].ID, "")
	a.turn(say("three", after(second.ID)))
	a.wantSent(3, `user "seed"`, `user "one"`, `user "added"`, `user "in" " parts"`, `user "two"`, `assistant "answer 2"`, `user "three"`)
}

func TestItemsAddedWhileATurnRunsComeBehindIt(t *testing.T) {
	reached, added := make(chan struct{}), make(chan struct{})
	script := modeltest.New(modeltest.Text("zero"), modeltest.Text("first"), modeltest.Text("second"), modeltest.Text("third"))
	script.Answers[1].Before = func(context.Context) error {
		close(reached)
		<-added
		return nil
	}
	a := newTurnsOver(t, script, options{})
	conversation := a.turn(say("start")).Conversation.ID
	items := "/v1/conversations/" + conversation + "/items"
	a.want(200, "POST", items, `{"items":[{"role":"user","content":"before"}]}`)
	var group sync.WaitGroup
	group.Go(func() { a.turn(say("one", in(conversation))) })
	<-reached
	a.want(200, "POST", items, `{"items":[{"role":"user","content":"meanwhile"}]}`)
	close(added)
	group.Wait()
	a.turn(say("two", in(conversation)))
	a.turn(say("three", in(conversation)))
	a.wantSent(2, `user "start"`, `assistant "zero"`, `user "before"`, `user "one"`, `assistant "first"`, `user "meanwhile"`, `user "two"`)
	a.wantSent(3, `user "start"`, `assistant "zero"`, `user "before"`, `user "one"`, `assistant "first"`, `user "meanwhile"`, `user "two"`,
		`assistant "second"`, `user "three"`)
}

func TestTurnsThatDieAreInNoHistory(t *testing.T) {
	broken := modeltest.Fail(fault.Upstreamf(errors.New("secret"), "The model server failed."), model.TextDelta{Text: "Half"}, modeltest.DefaultUsage)
	a := newTurns(t, modeltest.Text("fine"), broken, modeltest.Block(model.TextDelta{Text: "Ha"}), modeltest.Text("again"), modeltest.Text("new"))
	first := a.turn(say("one"))
	failed := a.turn(say("two", after(first.ID)))

	cancelled := a.leave("output_text.delta", say("three", in(first.Conversation.ID), `"stream":true`))
	a.turn(say("four", in(first.Conversation.ID)))
	a.wantSent(3, `user "one"`, `assistant "fine"`, `user "four"`)

	is := is.New(t)
	is.Equal(failed.Status, "failed")
	is.Equal(cancelled.Status, "cancelled")
	a.wantInvalid("POST", "/v1/responses", say("five", after(failed.ID)), "previous_response_id",
		`The response "`+failed.ID+`" did not complete: it cannot be continued from.`)
	var stored response
	decode(t, a.want(200, "GET", "/v1/responses/"+failed.ID, ""), &stored)
	is.Equal(stored, failed)
	is.Equal(stored.Output[0].Status, "incomplete")
	a.wantError("GET", "/v1/conversations/"+first.Conversation.ID+"/items/"+failed.Output[0].ID, "", 404,
		"invalid_request_error", "item_not_found", "", `No item found with id "`+failed.Output[0].ID+`".`)
	a.wantError("POST", "/v1/responses", outputs(`{"type":"item_reference","id":"`+failed.Output[0].ID+`"}`)+`}`, 404,
		"invalid_request_error", "item_not_found", "", `No item found with id "`+failed.Output[0].ID+`".`)
	// What was sent with it is shown with it, and goes with it.
	is.True(strings.Contains(a.want(200, "GET", "/v1/responses/"+failed.ID+"/input_items", ""), `"text":"two"`))
	a.want(200, "DELETE", "/v1/responses/"+failed.ID, "")
	a.want(404, "GET", "/v1/responses/"+failed.ID, "")
}

func TestACancelledTurnIsStored(t *testing.T) {
	a := newTurns(t, modeltest.Block(model.TextDelta{Text: "Ha"}, modeltest.DefaultUsage, model.TextDelta{Text: "!"}))
	r := a.leave(`"delta":"!"`, say("Hi", `"stream":true`))
	is := is.New(t)
	is.Equal(r.Status, "cancelled")
	is.Equal(*r.Error, struct{ Code, Message string }{"request_canceled", "The request was cancelled."})
	is.Equal(r.Output[0].Content[0].Text, "Ha!")
	is.Equal(r.Output[0].Status, "incomplete")
	is.Equal(r.Usage.OutputTokens, modeltest.DefaultUsage.OutputTokens)
	is.Equal(a.charges(), []string{"resp_00003 11+7"})
	is.Equal(a.want(200, "POST", "/v1/responses/resp_00003/cancel", ""), a.want(200, "GET", "/v1/responses/resp_00003", ""))
}

func TestADeletedResponseChangesNoHistory(t *testing.T) {
	a := newTurnsOver(t, numbered(), options{})
	first := a.turn(say("one"))
	second := a.turn(say("two", after(first.ID)))
	is := is.New(t)
	is.Equal(a.want(200, "DELETE", "/v1/responses/"+first.ID, ""), `{"id":"`+first.ID+`","object":"response.deleted","deleted":true}`)
	for _, request := range [][2]string{
		{"GET", "/v1/responses/" + first.ID}, {"DELETE", "/v1/responses/" + first.ID},
		{"GET", "/v1/responses/" + first.ID + "?stream=true"},
		{"GET", "/v1/responses/" + first.ID + "/input_items"}, {"POST", "/v1/responses/" + first.ID + "/cancel"},
	} {
		a.wantError(request[0], request[1], "", 404, "invalid_request_error", "response_not_found", "", `No response found with id "`+first.ID+`".`)
	}
	a.wantError("POST", "/v1/responses", say("x", after(first.ID)), 404, "invalid_request_error", "response_not_found", "",
		`No response found with id "`+first.ID+`".`)
	a.turn(say("three", after(second.ID)))
	a.wantSent(2, `user "one"`, `assistant "answer 1"`, `user "two"`, `assistant "answer 2"`, `user "three"`)
}

func TestOutputsStandBehindTheirCalls(t *testing.T) {
	a := newTurns(t,
		modeltest.Events(model.TextDelta{Text: "Wait."},
			model.ToolCallStart{ID: "same", Name: "weather"}, model.ToolCallDelta{Arguments: `{"n":1}`},
			model.ToolCallStart{ID: "same", Name: "weather"}, model.ToolCallDelta{Arguments: `{"n":2}`},
			modeltest.DefaultUsage, model.Finish{Reason: model.ToolCalls}),
		modeltest.Text("Sun and rain."), modeltest.Text("Bye."))
	first := a.turn(say("Weather?", `"tools":[`+weatherTool+`]`))
	one, two := first.Output[1].CallID, first.Output[2].CallID
	items := "/v1/conversations/" + first.Conversation.ID + "/items"
	a.want(200, "POST", items, `{"items":[{"role":"user","content":"Hurry."}]}`)
	// In another order, and with a message before them.
	second := a.turn(outputs(`{"role":"user","content":"Here."}`, output(two, "rain"), output(one, "sun")) + `,` + in(first.Conversation.ID) + `}`)
	a.turn(say("Thanks.", after(second.ID)))
	calls := fmt.Sprintf(`assistant "Wait." %s=weather({"n":1}) %s=weather({"n":2})`, one, two)
	a.wantSent(1, `user "Weather?"`, calls, `tool `+one+` "sun"`, `tool `+two+` "rain"`, `user "Hurry."`, `user "Here."`)
	a.wantSent(2, `user "Weather?"`, calls, `tool `+one+` "sun"`, `tool `+two+` "rain"`, `user "Hurry."`, `user "Here."`,
		`assistant "Sun and rain."`, `user "Thanks."`)
	is := is.New(t)
	is.Equal(len(a.script.Requests()[1].Tools), 0) // tools are not inherited

	// With a call go its outputs.
	a.want(200, "DELETE", items+"/"+first.Output[1].ID, "")
	a.script.Answers = append(a.script.Answers, modeltest.Text("Done."))
	a.turn(say("And?", after(second.ID)))
	a.wantSent(3, `user "Weather?"`, fmt.Sprintf(`assistant "Wait." %s=weather({"n":2})`, two), `tool `+two+` "rain"`, `user "Hurry."`, `user "Here."`,
		`assistant "Sun and rain."`, `user "And?"`)
	var input struct{ Data []struct{ Type string } }
	decode(t, a.want(200, "GET", "/v1/responses/"+second.ID+"/input_items?order=asc", ""), &input)
	is.Equal(input.Data, []struct{ Type string }{{"message"}, {"function_call_output"}})
}

func TestACallOfTheHistoryMayBeSentBack(t *testing.T) {
	a := newTurns(t, call("weather", `{"n":1}`), modeltest.Text("Sun."))
	first := a.turn(say("Weather?", `"tools":[`+weatherTool+`]`))
	id := first.Output[0].CallID
	a.turn(outputs(`{"type":"function_call","id":"`+first.Output[0].ID+`","call_id":"`+id+`","name":"weather","arguments":"{\"n\":1}"}`, output(id, "sun")) + `,` + after(first.ID) + `}`)
	a.wantSent(1, `user "Weather?"`, `assistant `+id+`=weather({"n":1})`, `tool `+id+` "sun"`)
	a.wantInvalid("POST", "/v1/responses", outputs(output(id, "sun"), output(id, "rain"))+`,`+after(first.ID)+`}`, "input",
		`No function call is waiting for an output with the call_id "`+id+`": it is not one of the response that is continued from, or it has been answered.`)
	a.wantInvalid("POST", "/v1/responses", say("Never mind.", after(first.ID)), "input",
		`The function call with the call_id "`+id+`" has no output; send one for every call of the response that is continued from.`)
}

// TestMessagesOfDifferentTurnsStayApart has a turn end where a call could join
// its last message.
func TestMessagesOfDifferentTurnsStayApart(t *testing.T) {
	a := newTurns(t, modeltest.Events(modeltest.DefaultUsage, stop), modeltest.Text("Yes."))
	first := a.turn(outputs(`{"role":"user","content":"a"}`, `{"role":"assistant","phase":"commentary","content":"b"}`) + `}`)
	a.turn(outputs(`{"type":"function_call","call_id":"x","name":"f","arguments":"{}"}`, output("x", "y")) + `,` + after(first.ID) + `}`)
	a.wantSent(0, `user "a"`, `assistant "b"`)
	a.wantSent(1, `user "a"`, `assistant "b"`, `assistant x=f({})`, `tool x "y"`)
}

// TestHistoriesThatClientsKeepReadAlike sends back an answer without the phase
// of its message.
func TestHistoriesThatClientsKeepReadAlike(t *testing.T) {
	a := newTurns(t, modeltest.Text("Sun."), modeltest.Text("Bye."))
	first := a.turn(outputs(`{"role":"user","content":"Weather?"}`, `{"role":"assistant","content":"Wait."}`,
		`{"type":"function_call","call_id":"x","name":"weather","arguments":"{}"}`, output("x", "sun")) + `}`)
	a.turn(say("Thanks.", after(first.ID)))
	asked := []string{`user "Weather?"`, `assistant "Wait." x=weather({})`, `tool x "sun"`}
	a.wantSent(0, asked...)
	a.wantSent(1, append(asked, `assistant "Sun."`, `user "Thanks."`)...)
}

func TestTextBehindCallsIsNotTheAnswer(t *testing.T) {
	a := newTurns(t, modeltest.Events(model.ToolCallStart{ID: "x", Name: "weather"}, model.ToolCallDelta{Arguments: "{}"},
		model.TextDelta{Text: "Hold on."}, modeltest.DefaultUsage, model.Finish{Reason: model.ToolCalls}))
	r := a.turn(say("Weather?", `"tools":[`+weatherTool+`]`))
	is := is.New(t)
	is.Equal(r.Output[1].Content[0].Text, "Hold on.")
	is.Equal(r.Output[1].Phase, "commentary")
}

// TestCallIDsOfClientsMayRepeat has a client that makes up the same call ID in
// every turn.
func TestCallIDsOfClientsMayRepeat(t *testing.T) {
	a := newTurnsOver(t, numbered(), options{})
	made := func(n string) string {
		return `{"type":"function_call","call_id":"x","name":"weather","arguments":"{}","id":"fc_mine"},` + output("x", n)
	}
	first := a.turn(outputs(`{"role":"user","content":"Go"}`, made("1"), made("2")) + `}`)
	second := a.turn(outputs(made("3")) + `,` + after(first.ID) + `}`)
	a.turn(say("Next", after(second.ID)))
	calls := func(n string) []string { return []string{`assistant x=weather({})`, `tool x "` + n + `"`} }
	want := slices.Concat([]string{`user "Go"`}, calls("1"), calls("2"), []string{`assistant "answer 1"`}, calls("3"))
	a.wantSent(1, want...)
	a.wantSent(2, append(want, `assistant "answer 2"`, `user "Next"`)...)
}

func TestACallThatWasCutIsLeftOut(t *testing.T) {
	cut := modeltest.Calls(model.ToolCall{ID: "a", Name: "weather", Arguments: `{}`}, model.ToolCall{ID: "b", Name: "weather", Arguments: `{"ci`}).WithFinish(model.Length)
	a := newTurns(t, cut, modeltest.Text("Fine."))
	first := a.turn(say("Weather?", `"tools":[`+weatherTool+`]`))
	is := is.New(t)
	is.Equal(first.IncompleteDetails.Reason, "max_output_tokens")
	is.Equal([]string{first.Output[0].Status, first.Output[1].Status}, []string{"completed", "incomplete"})
	whole, half := first.Output[0].CallID, first.Output[1].CallID
	a.wantInvalid("POST", "/v1/responses", outputs(output(whole, "sun"), output(half, "rain"))+`,`+after(first.ID)+`}`, "input",
		`No function call is waiting for an output with the call_id "`+half+`": it is not one of the response that is continued from, or it has been answered.`)
	a.turn(outputs(output(whole, "sun")) + `,` + after(first.ID) + `}`)
	a.wantSent(1, `user "Weather?"`, `assistant `+whole+`=weather({})`, `tool `+whole+` "sun"`)
}

func TestSearchesAreReplayed(t *testing.T) {
	a := newTurns(t, search(`["one"]`), modeltest.Text("Found."), modeltest.Text("Again."))
	first := a.turn(say("Look", `"tools":[`+searchTool+`]`))
	a.turn(say("More", after(first.ID)))
	results := "Results for \"one\":\n1. About one\nhttps://example.com/\nAll of <b>it</b>.\n"
	searched := []string{`user "Look"`, `assistant call_00005=web_search({"queries":["one"]})`, `tool call_00005 ` + fmt.Sprintf("%q", results)}
	a.wantSent(1, searched...)
	a.wantSent(2, append(searched, `assistant "Found."`, `user "More"`)...)

	// The loop of a client that keeps the items itself.
	a.script.Answers = append(a.script.Answers, modeltest.Text("Once more."))
	a.turn(outputs(`{"role":"user","content":"Look"}`, `{"type":"web_search_call","id":"`+first.Output[0].ID+`","status":"completed","action":{}}`,
		`{"type":"web_search_call","id":"ws_unknown"}`, `{"type":"reasoning","id":"rs_1","summary":[]}`,
		`{"type":"item_reference","id":"`+first.Output[1].ID+`"}`, `{"type":"item_reference","id":"`+first.Output[1].ID+`"}`) + `}`)
	a.wantSent(3, append(searched, `assistant "Found."`)...)
	// What the history has is not repeated.
	a.script.Answers = append(a.script.Answers, modeltest.Text("Good."))
	a.turn(outputs(`{"type":"item_reference","id":"`+first.Output[0].ID+`"}`, `{"type":"item_reference","id":"`+first.Output[1].ID+`"}`,
		`{"role":"user","content":"More"}`) + `,` + after(first.ID) + `}`)
	a.wantSent(4, append(searched, `assistant "Found."`, `user "More"`)...)
}

// TestSearchSources asks for the pages that searches found, with include.
func TestSearchSources(t *testing.T) {
	const include = `"include":["web_search_call.action.sources"]`
	a := newTurns(t)
	for rule, c := range map[string]struct{ queries, include, action string }{
		"each once":            {`["one","two"]`, include, `{"type":"search","queries":["one","two"],"query":"one","sources":[{"type":"url","url":"https://example.com/"}]}`},
		"of a failure":         {`["broken"]`, include, `{"type":"search","queries":["broken"],"query":"broken","sources":[]}`},
		"where one has failed": {`["broken","one"]`, include, `{"type":"search","queries":["broken","one"],"query":"broken","sources":[{"type":"url","url":"https://example.com/"}]}`},
		"of a search not run":  {`[]`, include, `{"type":"search","queries":[],"query":"","sources":[]}`},
		"where nobody asks":    {`["one"]`, `"include":["file_search_call.results"]`, `{"type":"search","queries":["one"],"query":"one"}`},
	} {
		t.Run(rule, func(t *testing.T) {
			a.script.Answers = append(a.script.Answers, search(c.queries), modeltest.Text("Found."))
			r := a.turn(say("Look", c.include, `"tools":[`+searchTool+`]`))
			want := `{"id":"` + r.Output[0].ID + `","type":"web_search_call","status":"completed","action":` + c.action + `}`
			for _, path := range []string{
				"/v1/responses/" + r.ID,
				"/v1/responses/" + r.ID + "?stream=true",
				"/v1/conversations/" + r.Conversation.ID + "/items/" + r.Output[0].ID,
			} {
				if got := a.do("GET", path, ""); !strings.Contains(got.body, want) {
					t.Errorf("%s: got %s, want %s", path, got.body, want)
				}
			}
		})
	}
}

// TestEachTurnBeginsWithTheOneBefore is the property that keeps the prefix
// caches of model servers working: what the model is sent for a turn begins
// with what it was sent for the turn before it.
func TestEachTurnBeginsWithTheOneBefore(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { eachTurnBeginsWithTheOneBefore(t, seed) })
	}
}

func eachTurnBeginsWithTheOneBefore(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 2))
	a := newTurns(t)
	var previous response
	var asked []string // by the last round of the turn before
	for n := range 6 {
		answers := randomAnswers(r)
		answers[len(answers)-1].Err = nil
		if last := &answers[len(answers)-1]; len(last.Events) == 0 || !ends(last.Events[len(last.Events)-1]) {
			last.Events = append(last.Events, modeltest.DefaultUsage, stop)
		}
		a.script.Answers = append(slices.Clip(a.script.Answers[:len(a.script.Requests())]), answers...)
		current := a.turn(nextBody(n, previous, r))
		requests := a.script.Requests()
		now := lines(requests[len(requests)-1].Messages)
		if len(now) < len(asked) || !slices.Equal(now[:len(asked)], asked) {
			t.Fatalf("turn %d:\nfirst %q\nthen  %q", n, asked, now)
		}
		previous, asked = current, now
	}
}

func ends(e model.Event) bool {
	_, ok := e.(model.Finish)
	return ok
}

// nextBody continues from a response: it answers its calls, or says something.
func nextBody(n int, previous response, r *rand.Rand) string {
	items := []string{}
	for _, item := range previous.Output {
		if item.Type == "function_call" && item.Status == "completed" {
			items = append(items, output(item.CallID, fmt.Sprint("output ", n)))
		}
	}
	if len(items) == 0 || r.IntN(2) == 0 {
		items = append(items, `{"role":"user","content":"turn `+fmt.Sprint(n)+`"}`)
	}
	if r.IntN(3) == 0 {
		items = append(items, `{"type":"function_call","call_id":"c","name":"weather","arguments":"{}"}`, output("c", "mine"))
	}
	body := outputs(items...) + `,"tools":[` + searchTool + `,` + weatherTool + `]`
	switch {
	case previous.ID == "":
		return body + `}`
	case r.IntN(2) == 0:
		return body + `,` + after(previous.ID) + `}`
	}
	return body + `,` + in(previous.Conversation.ID) + `}`
}
