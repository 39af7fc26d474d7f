package httpapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/webhooks"
)

// owner is an organization with one object of each kind. IDs are by the names of
// path parameters.
type owner struct {
	key string
	ids map[string]string
}

// secret is in everything that an owner stores.
const secret = "zebra-4711"

func newOwner(t *testing.T, a *API) owner {
	t.Helper()
	_, key := newLimited(t, a, 0, 0)
	o := owner{key: key, ids: map[string]string{"model...": "svc-preview"}}
	make := func(path, body string) map[string]any {
		t.Helper()
		w := send(a, key, "POST", path, body)
		var object map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &object); err != nil || w.Code != 200 {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		return object
	}
	o.ids["response_id"] = make("/v1/responses", `{"model":"svc-preview","input":"`+secret+`","store":true}`)["id"].(string)
	o.ids["completion_id"] = make("/v1/chat/completions",
		`{"model":"svc-preview","messages":[{"role":"user","content":"`+secret+`"}],"store":true,"metadata":{"a":"`+secret+`"}}`)["id"].(string)
	o.ids["conversation_id"] = make("/v1/conversations", `{"metadata":{"a":"`+secret+`"}}`)["id"].(string)
	items := make("/v1/conversations/"+o.ids["conversation_id"]+"/items", `{"items":[{"role":"user","content":"`+secret+`"}]}`)
	o.ids["item_id"] = items["first_id"].(string)
	rows := strings.TrimSuffix(strings.Repeat(`{"state":"`+secret+`","answer":true},`, 20), ",")
	o.ids["calibration_id"] = make("/v1/calibrations", `{"model":"svc-snap-preview","question":{"type":"noul","instructions":"`+secret+`"},"rows":[`+rows+`]}`)["id"].(string)
	o.ids["decision_id"] = make("/v1/systemone", `{"model":"svc-snap-preview","state":"`+secret+`","questions":{"q":{"type":"noul"}},"store":true}`)["id"].(string)
	make("/v1/decisions/"+o.ids["decision_id"]+"/labels", `{"labels":{"q":true}}`)
	upload := func(parts ...formPart) string {
		t.Helper()
		w := sendForm(a, key, form(parts...))
		var file struct{ ID string }
		if err := json.Unmarshal(w.Body.Bytes(), &file); err != nil || w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return file.ID
	}
	o.ids["file_id"] = upload(purpose, formPart{"file", "a.txt", "text/plain", secret})
	o.ids["lines"] = upload(formPart{name: "purpose", content: "batch"}, formPart{"file", "a.jsonl", "application/jsonl", "{}"})
	o.ids["batch_id"] = make("/v1/batches", newBatch(o.ids["lines"]))["id"].(string)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	o.ids["webhook_endpoint_id"] = make("/v1/webhook_endpoints", `{"name":"`+secret+`","url":"`+receiver.URL+`","event_types":["batch.completed"]}`)["id"].(string)
	o.ids["delivery_id"] = deliver(t, a, o)
	o.ids["vector_store_id"] = make("/v1/vector_stores", `{"name":"`+secret+`","metadata":{"a":"`+secret+`"}}`)["id"].(string)
	batch := make("/v1/vector_stores/"+o.ids["vector_store_id"]+"/file_batches", `{"file_ids":["`+o.ids["file_id"]+`"],"attributes":{"a":"`+secret+`"}}`)
	o.ids["file_batch_id"] = batch["id"].(string)
	path := "/v1/vector_stores/" + o.ids["vector_store_id"] + "/files/" + o.ids["file_id"]
	for strings.Contains(send(a, key, "GET", path, "").Body.String(), `"in_progress"`) {
		runtime.Gosched() // it is being indexed
	}
	return o
}

// deliver has an event posted to the owner's endpoint and returns the delivery's ID.
func deliver(t *testing.T, a *API, o owner) string {
	t.Helper()
	caller, err := a.service.Authenticate(t.Context(), o.key)
	check(t, err)
	p := a.service.Parts()
	check(t, p.Store.Update(t.Context(), caller.Namespace(), func(tx storage.Tx) error {
		return webhooks.Outbox{Now: p.Now, NewID: p.NewID}.Put(tx, "batch.completed", "batch_1")
	}))
	list, err := a.opts.Webhooks.Deliveries(t.Context(), caller, o.ids["webhook_endpoint_id"], svc.Page{})
	check(t, err)
	return list.Items[0].ID
}

// newBatch is the body that makes a batch of a file.
func newBatch(file string) string {
	return `{"input_file_id":"` + file + `","endpoint":"/v1/embeddings","completion_window":"24h","metadata":{"a":"` + secret + `"}}`
}

// path fills the parameters of a pattern with the owner's IDs.
func (o owner) path(t *testing.T, pattern string) string {
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		if !strings.HasPrefix(part, "{") {
			continue
		}
		id, ok := o.ids[strings.Trim(part, "{}")]
		if !ok {
			t.Fatalf("%s: the owner has no %s", pattern, part)
		}
		parts[i] = id
	}
	return strings.Join(parts, "/")
}

// foreign is what a request for the objects of another organization gets. A
// parameter's name in braces in the body stands for the owner's ID.
type foreign struct {
	body   string
	status int
}

// foreignRoutes says for each route of the interface what a stranger gets from
// it: 404, or 200 with nothing of the owner's.
var foreignRoutes = map[string]foreign{
	"GET /healthz": {"", 200},
	"GET /readyz":  {"", 200},

	"GET /openapi.json": {"", 200},
	"GET /docs":         {"", 200},

	"POST /v1/systemone":                        {"{}", 422},
	"POST /v1/systemone ":                       {`{"model":"svc-snap-preview","state":{"file_id":"{file_id}"},"questions":{"q":{"type":"noul"}}}`, 404},
	"POST /v1/systemone  ":                      {`{"model":"svc-snap-preview","state":{"conversation":"{conversation_id}"},"questions":{"q":{"type":"noul"}}}`, 404},
	"POST /v1/decisions":                        {"{}", 400},
	"GET /v1/decisions":                         {"", 200},
	"GET /v1/decisions/{decision_id}":           {"", 404},
	"DELETE /v1/decisions/{decision_id}":        {"", 404},
	"POST /v1/decisions/{decision_id}/labels":   {`{"labels":{"q":false}}`, 404},
	"POST /v1/rerank":                           {"{}", 400},
	"POST /v1/moderations":                      {"{}", 400},
	"POST /v1/embeddings":                       {"{}", 400},
	"POST /v1/completions":                      {"{}", 400},
	"POST /v1/calibrations":                     {`{"model":"svc-snap-preview","question":{"type":"noul"},"file_id":"{file_id}"}`, 404},
	"GET /v1/calibrations":                      {"", 200},
	"GET /v1/calibrations/{calibration_id}":     {"", 404},
	"DELETE /v1/calibrations/{calibration_id}":  {"", 404},
	"GET /v1/models":                            {"", 200},
	"GET /v1/models/{model...}":                 {"", 200},
	"GET /v1/responses":                         {"", 426}, // it is a WebSocket
	"POST /v1/responses":                        {`{"model":"svc-preview","input":"Hi","previous_response_id":"{response_id}"}`, 404},
	"POST /v1/responses ":                       {`{"model":"svc-preview","input":"Hi","conversation":"{conversation_id}"}`, 404},
	"POST /v1/responses  ":                      {`{"model":"svc-preview","input":"Hi","conversation":"{conversation_id}","stream":true}`, 404},
	"POST /v1/chat/completions":                 {`{"model":"svc-preview","messages":[]}`, 400},
	"GET /v1/chat/completions":                  {"", 200},
	"POST /v1/conversations":                    {"{}", 200},
	"POST /v1/chat/completions/{completion_id}": {`{"metadata":{}}`, 404},

	"POST /v1/responses/compact":                                 {`{"model":"svc-preview","previous_response_id":"{response_id}"}`, 404},
	"POST /v1/responses/input_tokens":                            {`{"model":"svc-preview","input":"Hi","previous_response_id":"{response_id}"}`, 404},
	"POST /v1/conversations/{conversation_id}":                   {`{"metadata":{}}`, 404},
	"POST /v1/conversations/{conversation_id}/items":             {`{"items":[{"role":"user","content":"Hi"}]}`, 404},
	"GET /v1/responses/{response_id}":                            {"", 404},
	"DELETE /v1/responses/{response_id}":                         {"", 404},
	"POST /v1/responses/{response_id}/cancel":                    {"", 404},
	"GET /v1/responses/{response_id}/input_items":                {"", 404},
	"GET /v1/chat/completions/{completion_id}":                   {"", 404},
	"DELETE /v1/chat/completions/{completion_id}":                {"", 404},
	"GET /v1/chat/completions/{completion_id}/messages":          {"", 404},
	"GET /v1/conversations/{conversation_id}":                    {"", 404},
	"DELETE /v1/conversations/{conversation_id}":                 {"", 404},
	"GET /v1/conversations/{conversation_id}/items":              {"", 404},
	"GET /v1/conversations/{conversation_id}/items/{item_id}":    {"", 404},
	"DELETE /v1/conversations/{conversation_id}/items/{item_id}": {"", 404},

	"POST /v1/responses   ":                                                            {`{"model":"svc-preview","input":[{"type":"input_file","file_id":"{file_id}"}]}`, 404},
	"POST /v1/chat/completions ":                                                       {`{"model":"svc-preview","messages":[{"role":"user","content":[{"type":"file","file_id":"{file_id}"}]}]}`, 404},
	"POST /v1/messages":                                                                {`{"model":"svc-preview","max_tokens":9,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"{file_id}"}}]}]}`, 404},
	"POST /v1/messages/count_tokens":                                                   {`{"model":"svc-preview","messages":[{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"{file_id}"}}]}]}`, 404},
	"POST /v1/batches":                                                                 {newBatch("{lines}"), 404},
	"GET /v1/batches":                                                                  {"", 200},
	"GET /v1/batches/{batch_id}":                                                       {"", 404},
	"GET /v1/webhook_event_types":                                                      {"", 200},
	"POST /v1/webhook_endpoints":                                                       {"{}", 400},
	"GET /v1/webhook_endpoints":                                                        {"", 200},
	"GET /v1/webhook_endpoints/{webhook_endpoint_id}":                                  {"", 404},
	"POST /v1/webhook_endpoints/{webhook_endpoint_id}":                                 {"{}", 404},
	"DELETE /v1/webhook_endpoints/{webhook_endpoint_id}":                               {"", 404},
	"POST /v1/webhook_endpoints/{webhook_endpoint_id}/rotate_secret":                   {"", 404},
	"POST /v1/webhook_endpoints/{webhook_endpoint_id}/test":                            {`{"event_type":"batch.completed"}`, 404},
	"GET /v1/webhook_endpoints/{webhook_endpoint_id}/deliveries":                       {"", 404},
	"POST /v1/webhook_endpoints/{webhook_endpoint_id}/deliveries/{delivery_id}/resend": {"", 404},
	"POST /v1/vector_stores":                                                           {`{"file_ids":["{file_id}"]}`, 404},
	"GET /v1/vector_stores":                                                            {"", 200},
	"GET /v1/vector_stores/{vector_store_id}":                                          {"", 404},
	"POST /v1/vector_stores/{vector_store_id}":                                         {"{}", 404},
	"DELETE /v1/vector_stores/{vector_store_id}":                                       {"", 404},
	"POST /v1/vector_stores/{vector_store_id}/search":                                  {`{"query":"zebra"}`, 404},
	"POST /v1/vector_stores/{vector_store_id}/files":                                   {`{"file_id":"{file_id}"}`, 404},
	"GET /v1/vector_stores/{vector_store_id}/files":                                    {"", 404},
	"GET /v1/vector_stores/{vector_store_id}/files/{file_id}":                          {"", 404},
	"POST /v1/vector_stores/{vector_store_id}/files/{file_id}":                         {`{"attributes":{}}`, 404},
	"DELETE /v1/vector_stores/{vector_store_id}/files/{file_id}":                       {"", 404},
	"GET /v1/vector_stores/{vector_store_id}/files/{file_id}/content":                  {"", 404},
	"POST /v1/vector_stores/{vector_store_id}/file_batches":                            {`{"file_ids":["{file_id}"]}`, 404},
	"GET /v1/vector_stores/{vector_store_id}/file_batches/{file_batch_id}":             {"", 404},
	"GET /v1/vector_stores/{vector_store_id}/file_batches/{file_batch_id}/files":       {"", 404},
	"POST /v1/vector_stores/{vector_store_id}/file_batches/{file_batch_id}/cancel":     {"", 404},
	"POST /v1/batches/{batch_id}/cancel":                                               {"", 404},
	"POST /v1/files":                                                                   {"", 400},
	"GET /v1/files":                                                                    {"", 200},
	"GET /v1/files/{file_id}":                                                          {"", 404},
	"DELETE /v1/files/{file_id}":                                                       {"", 404},
	"GET /v1/files/{file_id}/content":                                                  {"", 404},
}

// TestForeignObjects asks every route for the objects of another organization,
// and with keys that are none.
func TestForeignObjects(t *testing.T) {
	a := newAdminAPI(t, svc.Options{}, Options{})
	victim, stranger := newOwner(t, a), newOwner(t, a)
	routes := map[string]bool{}
	for _, table := range a.tables() {
		for path, methods := range table {
			for method := range methods {
				routes[method+" "+path] = strings.HasPrefix(path, "/v1/")
			}
		}
	}
	maps.DeleteFunc(routes, func(route string, _ bool) bool { return strings.Contains(route, " /admin/") }) // see TestAdminKey
	for route, authenticated := range routes {
		if _, ok := foreignRoutes[route]; !ok {
			t.Errorf("%s is not in the table", route)
		}
		if !authenticated {
			continue
		}
		method, pattern, _ := strings.Cut(route, " ")
		for _, key := range []string{"", "sk-svc-unknown", adminKey, victim.key + "x"} {
			if w := send(a, key, method, victim.path(t, pattern), "{}"); w.Code != 401 {
				t.Errorf("%s with the key %q: got %d %s", route, key, w.Code, w.Body)
			}
		}
	}
	before := victim.view(t, a)
	for route, want := range foreignRoutes {
		method, pattern, _ := strings.Cut(strings.TrimSpace(route), " ")
		if !routes[method+" "+pattern] && want.status == 404 {
			t.Errorf("%s is in the table, but not a route", route)
		}
		body := want.body
		for name, id := range victim.ids {
			body = strings.ReplaceAll(body, "{"+name+"}", id)
		}
		w := send(a, stranger.key, method, victim.path(t, pattern), body)
		answer := w.Body.String()
		if w.Code != want.status {
			t.Errorf("%s: got %d %s, want %d", route, w.Code, answer, want.status)
		}
		if want.status == 404 && strings.Contains(answer, secret) {
			t.Errorf("%s: got the owner's data: %s", route, answer)
		}
		for _, name := range []string{"response_id", "conversation_id", "item_id", "completion_id", "file_id", "batch_id", "webhook_endpoint_id", "vector_store_id"} {
			if want.status == 200 && strings.Contains(answer, victim.ids[name]) {
				t.Errorf("%s: got the owner's %s: %s", route, name, answer)
			}
		}
	}
	// A mixed path: the stranger's own conversation with the owner's item.
	mixed := "/v1/conversations/" + stranger.ids["conversation_id"] + "/items/" + victim.ids["item_id"]
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		if w := send(a, stranger.key, method, mixed, ""); w.Code != 404 {
			t.Errorf("%s %s: got %d %s", method, mixed, w.Code, w.Body)
		}
	}
	if after := victim.view(t, a); after != before {
		t.Errorf("the owner's objects have changed:\n%s\nto\n%s", before, after)
	}
}

// view returns what the owner gets from the routes that read.
func (o owner) view(t *testing.T, a *API) string {
	t.Helper()
	var b strings.Builder
	for _, pattern := range []string{"/v1/responses/{response_id}", "/v1/responses/{response_id}/input_items",
		"/v1/chat/completions/{completion_id}", "/v1/chat/completions/{completion_id}/messages", "/v1/conversations/{conversation_id}",
		"/v1/conversations/{conversation_id}/items/{item_id}", "/v1/files/{file_id}", "/v1/files/{file_id}/content", "/v1/batches/{batch_id}", "/v1/webhook_endpoints/{webhook_endpoint_id}",
		"/v1/vector_stores/{vector_store_id}", "/v1/vector_stores/{vector_store_id}/files", "/v1/vector_stores/{vector_store_id}/file_batches/{file_batch_id}"} {
		w := send(a, o.key, "GET", o.path(t, pattern), "")
		if w.Code != 200 {
			t.Errorf("%s: the owner got %d %s", pattern, w.Code, w.Body)
		}
		b.WriteString(w.Body.String() + "\n")
	}
	return b.String()
}
