package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/storage"
)

const path = "/v1/conversations"

// conversation creates a conversation with user messages.
func (a *turns) conversation(texts ...string) (id string) {
	a.t.Helper()
	items := make([]string, len(texts))
	for i, text := range texts {
		items[i] = `{"role":"user","content":` + quote(text) + `}`
	}
	var c struct{ ID string }
	decode(a.t, a.want(200, "POST", path, `{"items":[`+strings.Join(items, ",")+`]}`), &c)
	return c.ID
}

// listed is a page of items.
type listed struct {
	Object  string
	Data    []struct{ ID string }
	FirstID *string `json:"first_id"`
	LastID  *string `json:"last_id"`
	HasMore bool    `json:"has_more"`
}

// list returns a page of items: their IDs, and whether there are more.
func (a *turns) list(conversation, query string) (ids []string, more bool) {
	a.t.Helper()
	var l listed
	decode(a.t, a.want(200, "GET", path+"/"+conversation+"/items"+query, ""), &l)
	for _, item := range l.Data {
		ids = append(ids, item.ID)
	}
	if l.Object != "list" || len(ids) > 0 && (*l.FirstID != ids[0] || *l.LastID != ids[len(ids)-1]) || len(ids) == 0 && (l.FirstID != nil || l.LastID != nil) {
		a.t.Errorf("the envelope of %v is %+v", ids, l)
	}
	return ids, l.HasMore
}

func TestConversations(t *testing.T) {
	is := is.New(t)
	a := newTurns(t)
	created := `{"id":"conv_00001","object":"conversation","created_at":1700000000,"metadata":{}}`
	is.Equal(a.want(200, "POST", path, ""), created)
	is.Equal(a.want(200, "GET", path+"/conv_00001", ""), created)
	for _, body := range []string{"{}", "null", `{"metadata":null,"items":null}`, `{"metadata":{},"items":[]}`} {
		is.True(strings.HasSuffix(a.want(200, "POST", path, body), `,"object":"conversation","created_at":1700000000,"metadata":{}}`))
	}
	tagged := `{"id":"conv_00001","object":"conversation","created_at":1700000000,"metadata":{"a":"1 < 2","b":"2","c":"false"}}`
	is.Equal(a.want(200, "POST", path+"/conv_00001", `{"metadata":{"a":"1 < 2","b":2,"c":false}}`), tagged)
	is.Equal(a.want(200, "GET", path+"/conv_00001", ""), tagged)
	// The new tags replace all old ones.
	is.Equal(a.want(200, "POST", path+"/conv_00001", `{"metadata":{"d":""}}`),
		`{"id":"conv_00001","object":"conversation","created_at":1700000000,"metadata":{"d":""}}`)
	is.Equal(a.want(200, "POST", path+"/conv_00001", `{"metadata":{}}`), created)
	is.Equal(a.want(200, "POST", path+"/conv_00001", `{"metadata":null}`), created)
	is.Equal(a.want(200, "DELETE", path+"/conv_00001", ""), `{"id":"conv_00001","object":"conversation.deleted","deleted":true}`)
	a.want(404, "GET", path+"/conv_00001", "")
}

func TestConversationItems(t *testing.T) {
	is := is.New(t)
	a := newTurns(t)
	id := a.conversation("seed")
	item := `{"id":"msg_00003","type":"message","status":"completed","role":"user","content":[{"type":"input_text","text":"<one>"}]}`
	other := `{"id":"msg_00004","type":"message","status":"completed","role":"user","content":[{"type":"input_text","text":"two"},{"type":"input_text","text":""}]}`
	items := path + "/" + id + "/items"
	is.Equal(a.want(200, "POST", items, `{"items":[{"role":"user","content":"<one>"},
		{"type":"message","role":"user","content":[{"type":"input_text","text":"two"},{"type":"input_text","text":""}]}]}`),
		`{"object":"list","data":[`+item+`,`+other+`],"first_id":"msg_00003","last_id":"msg_00004","has_more":false}`)
	is.Equal(a.want(200, "GET", items+"/msg_00003", ""), item)
	is.Equal(a.want(200, "GET", items+"?limit=2", ""),
		`{"object":"list","data":[`+other+`,`+item+`],"first_id":"msg_00004","last_id":"msg_00003","has_more":true}`)
	is.Equal(a.want(200, "DELETE", items+"/msg_00003", ""), a.want(200, "GET", path+"/"+id, ""))
	ids, more := a.list(id, "")
	is.Equal(ids, []string{"msg_00004", "msg_00002"})
	is.True(!more)
	is.Equal(a.want(200, "GET", path+"/"+a.conversation()+"/items", ""), `{"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false}`)
}

func TestItemsOfTurns(t *testing.T) {
	a := newTurns(t, modeltest.Events(streamed[3].answers[0].Events...), search(`["a"]`), modeltest.Text("Bye."))
	first := a.turn(say("Hi", `"tools":[`+weatherTool+`]`))
	a.turn(outputs(output(first.Output[1].CallID, "sun")) + `,"tools":[` + searchTool + `],` + after(first.ID) + `}`)
	is := is.New(t)
	is.Equal(a.want(200, "GET", path+"/"+first.Conversation.ID+"/items?order=asc", ""), `{"object":"list","data":[`+
		`{"id":"msg_00001","type":"message","status":"completed","role":"user","content":[{"type":"input_text","text":"Hi"}]},`+
		`{"id":"msg_00004","type":"message","status":"completed","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"Let me see.","annotations":[],"logprobs":[]}]},`+
		`{"id":"fc_00005","type":"function_call","status":"completed","call_id":"call_00006","name":"weather","arguments":"{\"city\":\"Bonn\"}"},`+
		`{"id":"ws_00009","type":"web_search_call","status":"completed","action":{"type":"search","queries":["a"],"query":"a"}},`+
		`{"id":"msg_00011","type":"message","status":"completed","role":"assistant","phase":"final_answer","content":[{"type":"output_text","text":"Bye.","annotations":[],"logprobs":[]}]}`+
		`],"first_id":"msg_00001","last_id":"msg_00011","has_more":false}`)
	// The output is attached to its call: neither an item nor a cursor.
	a.wantError("GET", path+"/"+first.Conversation.ID+"/items/fco_00007", "", 404, "invalid_request_error", "item_not_found", "", `No item found with id "fco_00007".`)
	a.wantInvalid("GET", path+"/"+first.Conversation.ID+"/items?after=fco_00007", "", "after", "after is not the ID of an item in this conversation.")
	is.Equal(a.want(200, "GET", "/v1/responses/resp_00008/input_items", ""),
		`{"object":"list","data":[{"id":"fco_00007","type":"function_call_output","status":"completed","call_id":"call_00006","output":"sun"}],`+
			`"first_id":"fco_00007","last_id":"fco_00007","has_more":false}`)
}

func TestPagesOfItems(t *testing.T) {
	a := newTurns(t)
	id := a.conversation("1", "2", "3", "4", "5", "6", "7")
	all, _ := a.list(id, "?order=asc")
	if len(all) != 7 {
		t.Fatalf("got %v", all)
	}
	reversed := slices.Clone(all)
	slices.Reverse(reversed)
	for limit := 1; limit <= 8; limit++ {
		for order, want := range map[string][]string{"asc": all, "desc": reversed} {
			var got []string
			for more := true; more; {
				query := fmt.Sprintf("?limit=%d&order=%s", limit, order)
				if len(got) > 0 {
					query += "&after=" + got[len(got)-1]
				}
				var page []string
				page, more = a.list(id, query)
				if len(page) != min(limit, 7-len(got)) {
					t.Fatalf("%s: a page of %d", query, len(page))
				}
				got = append(got, page...)
			}
			if !slices.Equal(got, want) {
				t.Errorf("limit %d, order %s: got %v, want %v", limit, order, got, want)
			}
		}
	}
}

// TestAListMayBeDeletedWhileItIsRead deletes every item that it has seen before
// it asks for those that follow.
func TestAListMayBeDeletedWhileItIsRead(t *testing.T) {
	for _, order := range []string{"asc", "desc"} {
		a := newTurns(t)
		id := a.conversation("1", "2", "3", "4", "5")
		all, _ := a.list(id, "?order="+order)
		var got []string
		query := "?limit=2&order=" + order
		for more := true; more; {
			var page []string
			page, more = a.list(id, query)
			for _, item := range page {
				a.want(200, "DELETE", path+"/"+id+"/items/"+item, "")
			}
			got = append(got, page...)
			query = "?limit=2&order=" + order + "&after=" + page[len(page)-1]
		}
		if !slices.Equal(got, all) {
			t.Errorf("%s: got %v, want %v", order, got, all)
		}
		if left, _ := a.list(id, ""); left != nil {
			t.Errorf("left %v", left)
		}
	}
}

func TestInvalidConversations(t *testing.T) {
	a := newTurns(t)
	id := a.conversation("seed")
	other := a.conversation("other")
	foreign := a.as("other").conversation("foreign")
	user := `{"role":"user","content":"x"}`
	items := path + "/" + id + "/items"
	for _, to := range []string{path, items} {
		for _, c := range []struct{ items, param, message string }{
			{`{}`, "items", "items must be an array."},
			{`["x"]`, "items[0]", "items[0] must be an object."},
			{`[` + repeated(21, user) + `]`, "items", "items must have at most 20 elements."},
			{`[{"content":"x"}]`, "items[0].role", `items[0].role must be "user"; others are written by responses with this conversation, or are taken where the server is configured with conversation_items any.`},
			{`[` + user + `,{"role":"assistant","content":"x"}]`, "items[1].role", `items[1].role must be "user"; others are written by responses with this conversation, or are taken where the server is configured with conversation_items any.`},
			{`[{"type":"function_call","role":"user"}]`, "items[0].type", `items[0].type must be "message"; others are written by responses with this conversation, or are taken where the server is configured with conversation_items any.`},
			{`[{"role":"user"}]`, "items[0].content", "items[0].content must be a string or an array of text parts."},
			{`[{"role":"user","content":[]}]`, "items[0].content", "items[0].content must have at least one part."},
			{`[{"role":"user","content":[{"type":"input_file","file_id":"file_1"}]}]`, "items[0].content[0].type", `items[0].content[0].type must be "input_text": only text is accepted here.`},
			{`[{"role":"user","content":[{"type":"input_text"}]}]`, "items[0].content[0].text", "items[0].content[0].text is required."},
		} {
			a.wantInvalid("POST", to, `{"items":`+c.items+`}`, c.param, c.message)
		}
	}
	a.wantInvalid("POST", items, `{}`, "items", "items must have at least one element.")
	a.wantInvalid("POST", items, `{"items":[]}`, "items", "items must have at least one element.")
	for _, to := range []string{path, path + "/" + id} {
		a.wantInvalid("POST", to, `{"metadata":[]}`, "metadata", "metadata must be an object.")
		a.wantInvalid("POST", to, `{"metadata":{"a":{}}}`, "metadata.a", "metadata.a must be a string.")
		a.wantInvalid("POST", to, `{"metadata":`+tags(17)+`}`, "metadata", "metadata must have at most 16 keys; it has 17.")
	}
	a.wantInvalid("POST", path+"/"+id, `{}`, "metadata", "metadata is required.")
	for query, c := range map[string][2]string{
		"limit=0":                                {"limit", "limit must be between 1 and 100."},
		"limit=101":                              {"limit", "limit must be between 1 and 100."},
		"limit=-1":                               {"limit", "limit must be between 1 and 100."},
		"limit=x":                                {"limit", "limit must be an integer."},
		"order=up":                               {"order", "order must be asc or desc."},
		"after=x":                                {"after", "after is not the ID of an item in this conversation."},
		"after=" + first(a, other):               {"after", "after is not the ID of an item in this conversation."},
		"after=" + first(a.as("other"), foreign): {"after", "after is not the ID of an item in this conversation."},
		"after=" + strings.Repeat("x", 1000):     {"after", "after is not the ID of an object in this list."},
	} {
		a.wantInvalid("GET", items+"?"+query, "", c[0], c[1])
	}
	a.list(id, "?limit=100")
	a.conversation(strings.Split(strings.Repeat("x", 20), "")...)

	missing := func(what, id string) string { return fmt.Sprintf("No %s found with id %q.", what, id) }
	for unknown, shown := range map[string]string{
		foreign: foreign, "conv_x": "conv_x", "a%2Fb": "a/b", "%00": "\x00", strings.Repeat("x", 1000): strings.Repeat("x", 128),
	} {
		to := path + "/" + unknown
		for _, request := range [][3]string{
			{"GET", to, ""}, {"POST", to, `{"metadata":{}}`}, {"DELETE", to, ""}, {"GET", to + "/items", ""},
			{"POST", to + "/items", `{"items":[` + user + `]}`}, {"GET", to + "/items/x", ""}, {"DELETE", to + "/items/x", ""},
		} {
			a.wantError(request[0], request[1], request[2], 404, "invalid_request_error", "conversation_not_found", "", missing("conversation", shown))
		}
	}
	for _, item := range []string{"msg_x", first(a, other), first(a.as("other"), foreign), strings.Repeat("x", 128)} {
		for _, method := range []string{"GET", "DELETE"} {
			a.wantError(method, items+"/"+item, "", 404, "invalid_request_error", "item_not_found", "", missing("item", item))
		}
	}
	long := strings.Repeat("x", 1000)
	a.wantError("GET", items+"/"+long, "", 404, "invalid_request_error", "item_not_found", "", missing("item", long[:128]))
}

// first returns the first item of a conversation.
func first(a *turns, conversation string) string {
	ids, _ := a.list(conversation, "")
	return ids[0]
}

func TestADeletedConversationTakesEverythingAlong(t *testing.T) {
	a := newTurns(t, call("weather", "{}"), modeltest.Text("Yes."), modeltest.Fail(fmt.Errorf("secret"), streamed[0].answers[0].Events[0]))
	one := a.turn(say("one", `"tools":[`+weatherTool+`]`))
	two := a.turn(outputs(output(one.Output[0].CallID, "sun")) + `,` + after(one.ID) + `}`)
	three := a.turn(say("three", after(two.ID)))
	to := path + "/" + one.Conversation.ID
	all, _ := a.list(one.Conversation.ID, "")
	for _, item := range all[1:] { // also turns that have no items left
		a.want(200, "DELETE", to+"/items/"+item, "")
	}
	a.want(200, "DELETE", to, "")
	for _, r := range []response{one, two, three} {
		a.wantError("GET", "/v1/responses/"+r.ID, "", 404, "invalid_request_error", "response_not_found", "", `No response found with id "`+r.ID+`".`)
	}
	a.want(404, "DELETE", to, "")
	a.want(404, "GET", to+"/items", "")
	a.wantError("POST", "/v1/responses", input(`[{"type":"item_reference","id":"`+all[0]+`"}]`), 404, "invalid_request_error", "item_not_found", "",
		`No item found with id "`+all[0]+`".`)
	for _, e := range httpapi.Stored(t, a.store, storage.Namespace(a.orgs["rich"]), "v/") {
		t.Errorf("left %q", e.Key)
	}
}

func TestATurnWhoseConversationIsDeletedMeanwhileFailsAndIsBilled(t *testing.T) {
	a := newTurns(t, modeltest.Text("Yes."))
	id := a.conversation()
	a.script.Answers[0].Before = func(context.Context) error {
		a.want(200, "DELETE", path+"/"+id, "")
		return nil
	}
	r := a.turn(say("Hi", in(id)))
	is := is.New(t)
	is.Equal(r.Status, "failed")
	is.True(!r.Store)
	is.Equal(*r.Error, struct{ Code, Message string }{"conversation_not_found", `No conversation found with id "` + id + `".`})
	a.want(404, "GET", "/v1/responses/"+r.ID, "")
	is.Equal(a.charges(), []string{r.ID + " 11+7"})
}

// TestAStartFinishesDeletions starts a service on a store where another one was
// ended in the middle of a deletion.
func TestAStartFinishesDeletions(t *testing.T) {
	synctest.Test(t, startFinishesDeletions)
}

func startFinishesDeletions(t *testing.T) {
	a := newTurns(t, modeltest.Text("Yes."))
	r := a.turn(say("Hi"))
	ns := storage.Namespace(a.orgs["rich"])
	must(t, a.store.Update(t.Context(), ns, func(tx storage.Tx) error {
		return errors.Join(tx.Delete([]byte("v/c/"+r.Conversation.ID)), tx.Delete([]byte("v/h/"+r.Conversation.ID)),
			tx.Set([]byte("v/d/"+r.Conversation.ID), nil))
	}))
	must(t, a.store.Update(t.Context(), "system", func(tx storage.Tx) error { return tx.Set([]byte("w/dead/"+a.orgs["rich"]), nil) }))
	service, err := svc.New(t.Context(), svc.Options{Store: a.store, Backend: a.script})
	must(t, err)
	synctest.Wait() // for what the start does in the background
	time.Sleep(time.Minute)
	must(t, service.Close())
	for _, e := range httpapi.Stored(t, a.store, ns, "v/") {
		t.Errorf("left %q", e.Key)
	}
}
