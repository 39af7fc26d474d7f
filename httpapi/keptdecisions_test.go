package httpapi

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"
	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// keptRequest asks a question of each type that can be labelled.
const keptRequest = `{"model":"svc-snap-preview","state":{"text":"Hi"},"store":true,"metadata":{"a":"b"},"questions":{` +
	`"urgent":{"type":"noul"},"topic":{"type":"choice","criteria":{"bug":null,"other":"all else"}},"mood":{"type":"score","criteria":["bad","good"]},"tags":{"type":"labels","criteria":{"x":null}}}}`

// TestKeptDecisions stores, reads, labels, lists and deletes decisions of both wires.
func TestKeptDecisions(t *testing.T) {
	is := is.New(t)
	a := newDecisionAPI(t, modeltest.New())
	call := func(method, path string) *httptest.ResponseRecorder { return send(a, a.key, method, path, "") }
	get := func(path string) gjson.Result { return gjson.Parse(call("GET", path).Body.String()) }

	answered := gjson.Parse(a.send("/v1/systemone", keptRequest).Body.String())
	id := answered.Get("id").Str
	is.True(strings.HasPrefix(id, "dec_"))
	kept := get("/v1/decisions/" + id)
	is.Equal(kept.Get("answers").Raw, answered.Get("answers").Raw)
	is.Equal(kept.Get("usage").Raw, answered.Get("usage").Raw)
	is.Equal(kept.Get("state").Raw, `{"text":"Hi"}`)
	is.Equal(kept.Get("object").Str+kept.Get("model").Str+kept.Get("labels").Raw+kept.Get("metadata").Raw, `decisionsvc-snap-preview{}{"a":"b"}`)
	is.Equal(kept.Get("questions.topic").Raw, `{"type":"choice","criteria":{"bug":null,"other":"all else"}}`)

	listed := gjson.Parse(a.send("/v1/decisions", `{"model":"svc-snap-preview","input":"Hi","store":true,"questions":[{"type":"predicate","name":"urgent","instructions":"?"},`+
		`{"type":"predicate","name":"urgent","instructions":"?"},{"type":"choice","instructions":"?","choices":[{"value":true},{"value":"x"}]}]}`).Body.String())
	second := listed.Get("id").Str
	names := get("/v1/decisions/" + second).Get("questions|@keys").Raw
	is.Equal(names, `["urgent","1","2"]`)

	// What is not asked to be stored is not.
	is.True(!gjson.Get(a.send("/v1/systemone", strings.Replace(keptRequest, `"store":true,`, "", 1)).Body.String(), "id").Exists())
	is.Equal(get("/v1/decisions").Get("data.#.id").Raw, `["`+second+`","`+id+`"]`)

	// Labels replace those of the questions that are named.
	label := func(body string) gjson.Result {
		return gjson.Parse(a.send("/v1/decisions/"+id+"/labels", `{"labels":`+body+`}`).Body.String())
	}
	is.Equal(label(`{"urgent":true,"topic":"bug","mood":1}`).Get("labels").Raw, `{"urgent":true,"topic":"bug","mood":1}`)
	is.Equal(label(`{"topic":"other","mood":null}`).Get("labels").Raw, `{"urgent":true,"topic":"other"}`)
	for body, message := range map[string]string{
		`{"nope":true}`:                 `The decision has no question "nope".`,
		`{"urgent":false,"topic":"no"}`: "labels.topic: must be the name of an option.",
		`{"mood":2}`:                    "labels.mood: must be the index of a level.",
		`{"tags":"x"}`:                  "A question of type labels takes no label; ask a noul question about each option.",
	} {
		w := a.send("/v1/decisions/"+id+"/labels", `{"labels":`+body+`}`)
		is.Equal(w.Code, 422)
		is.Equal(gjson.Get(w.Body.String(), "error.message").Str, message)
	}
	is.Equal(a.send("/v1/decisions/"+id+"/labels", `{"labels":{}}`).Code, 400)
	is.Equal(a.send("/v1/decisions/dec_none/labels", `{"labels":{"q":true}}`).Code, 404)
	is.Equal(get("/v1/decisions/"+id).Get("labels").Raw, `{"urgent":true,"topic":"other"}`) // refused ones changed nothing

	for query, want := range map[string]string{
		"labeled=true": `["` + id + `"]`, "labeled=false": `["` + second + `"]`, "question=topic": `["` + id + `"]`, "question=urgent&order=asc": `["` + id + `","` + second + `"]`,
		"model=other": "[]", "limit=1": `["` + second + `"]`, "after=" + second: `["` + id + `"]`, "labeled=true&after=" + id: "[]",
	} {
		is.Equal(get("/v1/decisions?"+query).Get("data.#.id").Raw, want) // query
	}
	is.Equal(call("GET", "/v1/decisions?labeled=x").Code, 400)

	is.Equal(call("DELETE", "/v1/decisions/"+id).Body.String(), `{"id":"`+id+`","object":"decision.deleted","deleted":true}`)
	is.Equal(call("GET", "/v1/decisions/"+id).Code, 404)
	is.Equal(call("DELETE", "/v1/decisions/"+id).Code, 404)
	is.Equal(get("/v1/decisions?labeled=true").Get("data").Raw, "[]")
}

// TestStoreDecisions stores by the default of the organization or the key, unless the
// request says otherwise or nothing may be stored.
func TestStoreDecisions(t *testing.T) {
	is := is.New(t)
	a := newDecisionAPI(t, modeltest.New())
	caller, err := a.service.Authenticate(t.Context(), a.key)
	is.NoErr(err)
	stored := func(store string) bool {
		body := `{"model":"svc-snap-preview","state":"Hi",` + store + `"questions":{"q":{"type":"noul"}}}`
		return gjson.Get(a.send("/v1/systemone", body).Body.String(), "id").Exists()
	}
	set := func(u accounts.OrganizationUpdate) {
		_, err := a.service.UpdateOrganization(t.Context(), caller.Organization, u)
		is.NoErr(err)
	}
	is.True(!stored(""))
	_, err = a.service.UpdateKey(t.Context(), caller.Key, accounts.KeyUpdate{StoreDecisions: new(true)})
	is.NoErr(err)
	is.True(stored(""))
	is.True(!stored(`"store":false,`))
	_, err = a.service.UpdateKey(t.Context(), caller.Key, accounts.KeyUpdate{StoreDecisions: new(false)})
	is.NoErr(err)
	set(accounts.OrganizationUpdate{StoreDecisions: new(true)})
	is.True(stored(""))
	set(accounts.OrganizationUpdate{ZeroDataRetention: new(true)})
	is.True(!stored(""))
	is.True(!stored(`"store":true,`))
}

// TestCalibrationFromLabels makes a calibration of the labelled decisions that asked the
// question as the newest did.
func TestCalibrationFromLabels(t *testing.T) {
	is := is.New(t)
	a := newDecisionAPI(t, modeltest.New())
	add := func(state, question, label string) {
		id := gjson.Get(a.send("/v1/systemone", `{"model":"svc-snap-preview","state":"`+state+`","store":true,"questions":{"urgent":`+question+`}}`).Body.String(), "id").Str
		if label != "" {
			is.Equal(a.send("/v1/decisions/"+id+"/labels", `{"labels":{"urgent":`+label+`}}`).Code, 200)
		}
	}
	const asked = `{"type":"noul","instructions":"Is it urgent?"}`
	add("another form", `{"type":"noul","criteria":{"true":"yes"}}`, "true")
	add("not labelled", asked, "")
	for range 19 {
		add("x", asked, "true")
	}
	const from = `{"model":"svc-snap-preview","question":"urgent","from":"decisions"}`
	w := a.send("/v1/calibrations", from)
	is.Equal(w.Code, 422)
	is.Equal(gjson.Get(w.Body.String(), "error.message").Str, `19 stored decisions have a label of the question "urgent", but a calibration takes at least 20; label more of them.`)
	add("y", asked, "false")
	made := gjson.Parse(a.send("/v1/calibrations", from).Body.String())
	is.Equal(made.Get("rows").Int(), int64(20))
	is.Equal(made.Get("question").Raw, asked)
	answer := a.send("/v1/systemone", `{"model":"svc-snap-preview","state":"z","questions":{"other":`+asked+`}}`)
	is.Equal(gjson.Get(answer.Body.String(), "answers.other.calibration").Str, made.Get("id").Str)

	for body, message := range map[string]string{
		`"question":"urgent"`:                           "rows is required, or file_id or from in its place.",
		`"question":"urgent","file_id":"file_1"`:        "question must be an object, or with from the name of a question.",
		`"question":{"type":"noul"},"from":"decisions"`: "question must be an object, or with from the name of a question.",
		`"question":"urgent","from":"files"`:            "from must be decisions.",
	} {
		w := a.send("/v1/calibrations", `{"model":"svc-snap-preview",`+body+`}`)
		is.Equal(w.Code, 400)
		is.Equal(gjson.Get(w.Body.String(), "error.message").Str, message)
	}
}
