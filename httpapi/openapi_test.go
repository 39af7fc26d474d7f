package httpapi

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc"
)

// TestOpenAPIHasEveryRoute compares the routes of the server with those of the
// document.
func TestOpenAPIHasEveryRoute(t *testing.T) {
	a := newAdminAPI(t, svc.Options{}, Options{Metrics: http.NotFoundHandler()})
	routes := map[string]bool{}
	for _, table := range a.tables() {
		for path, methods := range table {
			for method := range methods {
				routes[method+" "+strings.ReplaceAll(path, "...}", "}")] = true
			}
		}
	}
	described := map[string]bool{}
	for path, operations := range newContract().doc["paths"].(map[string]any) {
		for method := range operations.(map[string]any) {
			described[strings.ToUpper(method)+" "+path] = true
		}
	}
	if !maps.Equal(routes, described) {
		t.Errorf("the server has\n%q\nthe document has\n%q", slices.Sorted(maps.Keys(routes)), slices.Sorted(maps.Keys(described)))
	}
}

// TestEveryPostTakesAnIdempotencyKey, but those that change nothing when they come
// again, and the document says so.
func TestEveryPostTakesAnIdempotencyKey(t *testing.T) {
	a := newAdminAPI(t, svc.Options{}, Options{})
	o := newOwner(t, a)
	for _, table := range a.tables() {
		for path, methods := range table {
			if methods["POST"] == nil || strings.HasSuffix(path, "/cancel") {
				continue
			}
			body, kind, key := "{}", "application/json", o.key
			if path == "/v1/files" {
				kind, body = formType, form(formPart{"purpose", "", "", "assistants"}, formPart{"file", "a.txt", "text/plain", "x"})
			}
			if strings.HasPrefix(path, "/admin/") {
				key = adminKey
			}
			r := httptest.NewRequest("POST", path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+key)
			r.Header.Set("Content-Type", kind)
			r.Header.Set("Idempotency-Key", "not visible")
			w := httptest.NewRecorder()
			a.ServeHTTP(w, r)
			if w.Code != 400 && w.Code != 422 || !strings.Contains(w.Body.String(), "The Idempotency-Key must be") {
				t.Errorf("POST %s: %d %s", path, w.Code, w.Body)
			}
			parameters, _ := newContract().doc["paths"].(map[string]any)[path].(map[string]any)["post"].(map[string]any)["parameters"].([]any)
			described := slices.ContainsFunc(parameters, func(p any) bool {
				return p.(map[string]any)["$ref"] == "#/components/parameters/IdempotencyKey"
			})
			if !described {
				t.Errorf("openapi.json does not have the header for POST %s", path)
			}
		}
	}
}

// TestOpenAPIDescribesSuccess has every operation succeed once.
func TestOpenAPIDescribesSuccess(t *testing.T) {
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		w.WriteHeader(200)
	})
	a := newBareAPI(t, svc.Options{}, Options{Metrics: metrics})
	c := newContract()
	c.hold(t, a)
	o := newOwner(t, a)
	organization, err := a.service.Organizations(t.Context(), svc.Page{})
	check(t, err)
	keys, err := a.service.Keys(t.Context(), "", svc.Page{})
	check(t, err)
	pairs := []string{"{ORG}", organization.Items[0].ID, "{KEY}", keys.Items[0].ID}
	for name, id := range o.ids {
		pairs = append(pairs, "{"+name+"}", id)
	}
	ids := strings.NewReplacer(pairs...)
	for _, call := range []struct{ method, path, body string }{
		{"POST", "/v1/systemone", `{"model":"svc-snap-preview","state":"x","questions":{"a":{"type":"noul","instructions":"?"},
			"b":{"type":"choice","instructions":"?","criteria":{"x":null,"y":"z"}},"c":{"type":"score","instructions":"?","criteria":["low",{"very":"high"}]}}}`},
		{"POST", "/v1/decisions", `{"model":"svc-snap-preview","input":"x","questions":[{"type":"predicate","instructions":"?"},
			{"type":"choice","instructions":"?","choices":[{"value":"x"},{"value":true}]},{"type":"score","instructions":"?","levels":[{"label":"low"},{"label":"high"}]}]}`},
		{"GET", "/v1/decisions?limit=1&question=q&labeled=true&model=svc-snap-preview", ""},
		{"GET", "/v1/decisions/{decision_id}", ""},
		{"POST", "/v1/decisions/{decision_id}/labels", `{"labels":{"q":false}}`},
		{"DELETE", "/v1/decisions/{decision_id}", ""},
		{"POST", "/v1/rerank", `{"model":"svc-snap-preview","query":"x","documents":["x",{"text":"y"}],"return_documents":true}`},
		{"POST", "/v1/calibrations", `{"model":"svc-snap-preview","question":{"type":"noul"},"rows":[` + strings.TrimSuffix(strings.Repeat(`{"state":"x","answer":true},`, 20), ",") + `]}`},
		{"GET", "/v1/calibrations?limit=1", ""},
		{"GET", "/v1/calibrations/{calibration_id}", ""},
		{"DELETE", "/v1/calibrations/{calibration_id}", ""},
		{"GET", "/v1/models", ""},
		{"GET", "/v1/models/svc-preview", ""},
		{"POST", "/v1/responses", `{"model":"svc-preview","input":"Hi","stream":true,"tools":[{"type":"function","name":"f"}],"tool_choice":"required"}`},
		{"POST", "/v1/responses/input_tokens", `{"model":"svc-preview","input":[{"type":"input_text","text":"Hi"}]}`},
		{"GET", "/v1/responses/{response_id}", ""},
		{"GET", "/v1/responses/{response_id}?stream=true", ""},
		{"GET", "/v1/responses/{response_id}/input_items?limit=1&order=asc", ""},
		{"POST", "/v1/messages", `{"model":"svc-preview","max_tokens":99,"messages":[{"role":"user","content":"Hi"}],"stream":true}`},
		{"POST", "/v1/messages/count_tokens", `{"model":"svc-preview","messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}]}`},
		{"POST", "/v1/chat/completions", `{"model":"svc-preview","messages":[{"role":"user","content":"Hi"}],"stream":true,"stream_options":{"include_usage":true}}`},
		{"POST", "/v1/chat/completions", `{"model":"svc-preview","messages":[{"role":"user","content":"Hi"}],"tool_choice":"required","tools":[{"type":"function","function":{"name":"f"}}]}`},
		{"GET", "/v1/chat/completions?model=svc-preview&metadata[a]=zebra-4711", ""},
		{"GET", "/v1/chat/completions/{completion_id}", ""},
		{"POST", "/v1/chat/completions/{completion_id}", `{"metadata":{"n":1}}`},
		{"GET", "/v1/chat/completions/{completion_id}/messages", ""},
		{"POST", "/v1/completions", `{"model":"svc-preview","prompt":"Hi","stream":true,"stream_options":{"include_usage":true}}`},
		{"POST", "/v1/completions", `{"model":"svc-preview","prompt":["Hi"],"max_tokens":4}`},
		{"POST", "/v1/moderations", `{"model":"omni-moderation-latest","input":"x"}`},
		{"POST", "/v1/moderations", `{"input":[{"type":"text","text":"x"}]}`},
		{"POST", "/v1/embeddings", `{"model":"svc-preview","input":["x","y"],"dimensions":4}`},
		{"POST", "/v1/embeddings", `{"model":"svc-preview","input":"x","encoding_format":"base64"}`},
		{"POST", "/v1/conversations", ""},
		{"GET", "/v1/conversations/{conversation_id}", ""},
		{"POST", "/v1/conversations/{conversation_id}", `{"metadata":null}`},
		{"GET", "/v1/conversations/{conversation_id}/items?order=asc", ""},
		{"POST", "/v1/conversations/{conversation_id}/items", `{"items":[{"role":"user","content":[{"type":"input_text","text":"Hi"}]}]}`},
		{"GET", "/v1/conversations/{conversation_id}/items/{item_id}", ""},
		{"POST", "/v1/batches", newBatch("{lines}")},
		{"GET", "/v1/batches?limit=1", ""},
		{"GET", "/v1/batches/{batch_id}", ""},
		{"POST", "/v1/batches/{batch_id}/cancel", ""},
		{"GET", "/v1/webhook_event_types", ""},
		{"POST", "/v1/webhook_endpoints", `{"name":"a","url":"http://127.0.0.1:1/","event_types":["batch.failed"]}`},
		{"GET", "/v1/webhook_endpoints?limit=1", ""},
		{"GET", "/v1/webhook_endpoints/{webhook_endpoint_id}", ""},
		{"POST", "/v1/webhook_endpoints/{webhook_endpoint_id}", `{"name":"b"}`},
		{"POST", "/v1/webhook_endpoints/{webhook_endpoint_id}/rotate_secret", ""},
		{"POST", "/v1/webhook_endpoints/{webhook_endpoint_id}/test", `{"event_type":"batch.failed"}`},
		{"GET", "/v1/webhook_endpoints/{webhook_endpoint_id}/deliveries", ""},
		{"POST", "/v1/webhook_endpoints/{webhook_endpoint_id}/deliveries/{delivery_id}/resend", ""},
		{"DELETE", "/v1/webhook_endpoints/{webhook_endpoint_id}", ""},
		{"POST", "/v1/vector_stores", `{"name":"a","expires_after":{"anchor":"last_active_at","days":1}}`},
		{"GET", "/v1/vector_stores?limit=1", ""},
		{"GET", "/v1/vector_stores/{vector_store_id}", ""},
		{"POST", "/v1/vector_stores/{vector_store_id}", `{"name":"b","expires_after":null}`},
		{"POST", "/v1/vector_stores/{vector_store_id}/search", `{"query":["zebra","b"],"filters":{"type":"ne","key":"a","value":1},"ranking_options":{"score_threshold":0.1}}`},
		{"GET", "/v1/vector_stores/{vector_store_id}/files?filter=completed", ""},
		{"GET", "/v1/vector_stores/{vector_store_id}/files/{file_id}", ""},
		{"POST", "/v1/vector_stores/{vector_store_id}/files/{file_id}", `{"attributes":{"a":1,"b":true,"c":"d"}}`},
		{"GET", "/v1/vector_stores/{vector_store_id}/files/{file_id}/content", ""},
		{"GET", "/v1/vector_stores/{vector_store_id}/file_batches/{file_batch_id}", ""},
		{"GET", "/v1/vector_stores/{vector_store_id}/file_batches/{file_batch_id}/files", ""},
		{"POST", "/v1/vector_stores/{vector_store_id}/file_batches/{file_batch_id}/cancel", ""},
		{"POST", "/v1/vector_stores/{vector_store_id}/files", `{"file_id":"{file_id}","attributes":{"a":1},"chunking_strategy":{"type":"static","static":{"max_chunk_size_tokens":100,"chunk_overlap_tokens":50}}}`},
		{"POST", "/v1/vector_stores/{vector_store_id}/file_batches", `{"files":[{"file_id":"{file_id}"}]}`},
		{"DELETE", "/v1/vector_stores/{vector_store_id}/files/{file_id}", ""},
		{"DELETE", "/v1/vector_stores/{vector_store_id}", ""},
		{"GET", "/v1/files?purpose=assistants&limit=10000", ""},
		{"GET", "/v1/files/{file_id}", ""},
		{"GET", "/v1/files/{file_id}/content", ""},
		{"DELETE", "/v1/files/{file_id}", ""},
		{"DELETE", "/v1/conversations/{conversation_id}/items/{item_id}", ""},
		{"POST", "/v1/responses/compact", `{"model":"svc-preview","input":"Hi"}`},
		{"DELETE", "/v1/responses/{response_id}", ""},
		{"DELETE", "/v1/chat/completions/{completion_id}", ""},
		{"DELETE", "/v1/conversations/{conversation_id}", ""},
		{"GET", "/admin/v1/organizations", ""},
		{"POST", "/admin/v1/organizations", `{"name":"a","credits":1.5}`},
		{"GET", "/admin/v1/organizations/{ORG}", ""},
		{"POST", "/admin/v1/organizations/{ORG}", `{"name":"b","status":null,"retention":{"files_days":30}}`},
		{"POST", "/admin/v1/organizations/{ORG}/credits", `{"amount":"-0.000001"}`},
		{"GET", "/admin/v1/organizations/{ORG}/usage?limit=1000", ""},
		{"GET", "/admin/v1/api_keys?organization_id={ORG}", ""},
		{"POST", "/admin/v1/api_keys", `{"organization_id":"{ORG}","models":["m"]}`},
		{"GET", "/admin/v1/audit_log", ""},
		{"POST", "/admin/v1/api_keys/{KEY}", `{"budget":"1.5","budget_period":"day","requests_per_minute":10}`},
		{"DELETE", "/admin/v1/api_keys/{KEY}", ""},
		{"DELETE", "/admin/v1/organizations/{ORG}", ""},
		{"GET", "/admin/v1/backup", ""},
		{"GET", "/admin/v1/debug/pprof", ""},
		{"GET", "/admin/v1/debug/pprof/heap?debug=1", ""},
		{"GET", "/metrics", ""},
		{"GET", "/healthz", ""},
		{"GET", "/readyz", ""},
		{"GET", "/openapi.json", ""},
		{"GET", "/docs", ""},
	} {
		key := o.key
		if strings.HasPrefix(call.path, "/admin/") || call.path == "/metrics" {
			key = adminKey
		}
		path, body := ids.Replace(call.path), ids.Replace(call.body)
		if w := send(a, key, call.method, path, body); w.Code != 200 {
			t.Errorf("%s %s: %d %s", call.method, path, w.Code, w.Body)
		}
	}
	for _, table := range a.tables() {
		for path, methods := range table {
			for method := range methods {
				// Only what its client left behind has been cancelled, and a recorder is
				// no WebSocket.
				if !c.answered[method+" "+path] && !strings.HasSuffix(path, "/cancel") && method+" "+path != "GET "+socketPath {
					t.Errorf("%s %s has not succeeded", method, path)
				}
			}
		}
	}
}
