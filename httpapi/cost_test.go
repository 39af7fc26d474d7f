//go:build !race

package httpapi

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

const (
	worstSize = 15 << 20 // of bodies for one route: about as large as it takes
	anySize   = 2 << 20  // of those that every route is sent
)

// fill returns head, as many repetitions of piece as make a body of the worst size,
// and tail.
func fill(head, piece, tail string) string { return repeat(worstSize, head, piece, tail) }

func repeat(size int, head, piece, tail string) string {
	return head + strings.Repeat(piece, size/len(piece)) + tail
}

// anyRoute are bodies that cost much wherever they are sent: many small values,
// many names, depth, and text that is shorter than it is written.
func anyRoute(size int) map[string]string {
	var names strings.Builder
	for i := range size / 12 {
		fmt.Fprintf(&names, `"%07d":0,`, i)
	}
	return map[string]string{
		"empty objects": repeat(size, `{"x":[`, `{},`, `{}]}`),
		"empty arrays":  repeat(size, `{"input":[`, `[],`, `[]]}`),
		"numbers":       repeat(size, `{"messages":[`, `0,`, `0]}`),
		"names":         `{` + names.String() + `"x":0}`,
		"depth":         repeat(size, ``, `{"a":`, ``),
		"escapes":       repeat(size, `{"model":"`, `\u0001`, `"}`),
	}
}

// worst are bodies that cost much on one route.
func worst() map[string]map[string]string {
	const message = `{"role":"user","content":"a"},`
	const part = `{"type":"text","text":"a"},`
	blocks := `{"role":"user","content":[` + strings.Repeat(part, 999) + part[:len(part)-1] + `]}`
	const tool = `{"type":"function","function":{"name":"a","parameters":{}}},`
	return map[string]map[string]string{
		"/v1/chat/completions": {
			"messages": fill(`{"model":"svc-preview","messages":[`, message, message[:len(message)-1]+`]}`),
			"parts":    fill(`{"model":"svc-preview","messages":[{"role":"user","content":[`, part, part[:len(part)-1]+`]}]}`),
			"tools":    fill(`{"model":"svc-preview","messages":[`+message[:len(message)-1]+`],"tools":[`, tool, tool[:len(tool)-1]+`]}`),
			"blocks":   fill(`{"model":"svc-preview","messages":[`, blocks+`,`, blocks+`]}`),
			"stops":    fill(`{"model":"svc-preview","messages":[`+message[:len(message)-1]+`],"stop":[`, `"a",`, `"a"]}`),
		},
		messagesPath: {
			"messages": fill(`{"model":"svc-preview","max_tokens":9,"messages":[`, message, message[:len(message)-1]+`]}`),
			"blocks":   fill(`{"model":"svc-preview","max_tokens":9,"messages":[`, blocks+`,`, blocks+`]}`),
			"tools":    fill(`{"model":"svc-preview","max_tokens":9,"messages":[`+message[:len(message)-1]+`],"tools":[`, `{"name":"a"},`, `{"name":"a"}]}`),
		},
		"/v1/messages/count_tokens": {"blocks": fill(`{"model":"svc-preview","messages":[`, blocks+`,`, blocks+`]}`)},
		socketPath: {
			"items":  fill(`{"model":"svc-preview","input":[`, message, message[:len(message)-1]+`]}`),
			"schema": fill(`{"model":"svc-preview","input":"a","text":{"format":{"type":"json_schema","name":"s","schema":{"type":"object","required":[`, `"a",`, `"a"]}}}}`),
			"enum":   fill(`{"model":"svc-preview","input":"a","text":{"format":{"type":"json_schema","name":"s","schema":{"type":"object","enum":[`, `0,`, `0]}}}}`),
		},
		"/v1/responses/input_tokens": {"items": fill(`{"model":"svc-preview","input":[`, message, message[:len(message)-1]+`]}`)},
		"/v1/responses/compact":      {"items": fill(`{"model":"svc-preview","input":[`, message, message[:len(message)-1]+`]}`)},
		"/v1/moderations":            {"inputs": `{"input":["` + strings.Repeat(`a","`, 31) + `a"]}`},
		"/v1/embeddings":             {"inputs": fill(`{"model":"svc-preview","input":[`, `"a",`, `"a"]}`)},
		"/v1/rerank":                 {"documents": fill(`{"model":"svc-snap-preview","query":"a","documents":[`, `"a",`, `"a"]}`)},
		"/v1/conversations":          {"items": fill(`{"items":[`, message, message[:len(message)-1]+`]}`)},
		"/v1/completions":            {"prompts": fill(`{"model":"svc-preview","prompt":[`, `"a",`, `"a"]}`)},
		decisionsPath: {
			"questions": `{"model":"svc-snap-preview","state":"a","questions":{` + decisionQuestions(worstSize/64) + `}}`,
		},
		"/v1/calibrations": {"examples": fill(`{"model":"svc-snap-preview","examples":[`, `{"state":"a","label":"a"},`, `{"state":"a","label":"a"}]}`)},
	}
}

func decisionQuestions(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, `"q%d":{"type":"noul","instructions":"Is it?"},`, i)
	}
	return strings.TrimSuffix(all.String(), ",")
}

// TestWhatARequestCostsIsBounded sends each route that takes a body the bodies that
// cost most, and counts what is allocated until it is answered: at most ten times
// the body and 64 MiB, whether it is refused or not.
func TestWhatARequestCostsIsBounded(t *testing.T) {
	const times, more = 10, 64 << 20
	a := newBareAPI(t, svc.Options{Backend: modeltest.New()}, Options{})
	_, key := newLimited(t, a, 0, 0)
	own, everywhere := worst(), anyRoute(anySize)
	maps.Copy(own["/v1/chat/completions"], anyRoute(worstSize))
	for _, table := range a.tables() {
		for path, methods := range table {
			if methods["POST"] == nil || path == "/v1/files" { // which TestUploads… hold to a few buffers
				continue
			}
			bodies := maps.Clone(everywhere)
			for name, body := range own[path] {
				bodies[name] = body
			}
			delete(own, path)
			bearer := key
			if strings.HasPrefix(path, "/admin/") {
				bearer = adminKey
			}
			for name, body := range bodies {
				got := allocated(func() {
					w := httptest.NewRecorder()
					r := httptest.NewRequest("POST", strings.NewReplacer("{", "", "}", "").Replace(path), strings.NewReader(body))
					r.Header.Set("Authorization", "Bearer "+bearer)
					a.ServeHTTP(w, r)
				})
				if limit := uint64(times*len(body) + more); got > limit {
					t.Errorf("%s, %s: %d MiB were allocated for a body of %.1f MiB, want at most %d", path, name, got>>20, float64(len(body))/(1<<20), limit>>20)
				}
			}
		}
	}
	for path := range own {
		t.Errorf("there is no route %s", path)
	}
}

// allocated returns how many bytes were allocated while do ran.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
