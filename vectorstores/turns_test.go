package vectorstores_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// searchFor is a call of the tool that searches files.
func searchFor(query string) modeltest.Answer {
	return modeltest.Calls(model.ToolCall{ID: "1", Name: "file_search", Arguments: `{"queries":["` + query + `"]}`})
}

const searchTool = `"tools":[{"type":"file_search","vector_store_ids":["vs_1"]}]`

// toolOutput returns the text of the last message of the last request.
func (e *env) toolOutput() string {
	requests := e.script.Requests()
	messages := requests[len(requests)-1].Messages
	return string(messages[len(messages)-1].Parts[0].(model.Text))
}

// TestTurnThatSearchesFiles has the whole stream of a turn that cites two files.
func TestTurnThatSearchesFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t, searchFor("mammals fish"), modeltest.Text("Whales are mammals", " [", "1", "]", ". Sharks", " are not [2][9].", " `x [1]`"))
		e.filled("All whales are mammals. Mammals breathe [2].", "A shark is a fish.")
		stream := e.do(200, "POST", "/v1/responses", `{"model":"svc-preview","input":"?","stream":true,"include":["file_search_call.results"],`+searchTool+`}`)
		var got []string
		for line := range strings.SplitSeq(stream, "\n") {
			if data, ok := strings.CutPrefix(line, "data: "); ok && !strings.Contains(data, `"response":{`) && data != "[DONE]" {
				got = append(got, regexp.MustCompile(`,"score":0\.[0-9]+`).ReplaceAllString(data, ""))
			}
		}
		const found = `[{"file_id":"file_1","filename":"1.md","text":"All whales are mammals. Mammals breathe [2].","attributes":{}},{"file_id":"file_2","filename":"2.md","text":"A shark is a fish.","attributes":{}}]`
		const one, two = `{"type":"file_citation","file_id":"file_1","filename":"1.md","index":18}`, `{"type":"file_citation","file_id":"file_2","filename":"2.md","index":34}`
		const text = "Whales are mammals. Sharks are not. `x [1]`"
		delta := func(n, text string) string {
			return `{"type":"response.output_text.delta","sequence_number":` + n + `,"item_id":"msg_2","output_index":1,"content_index":0,"delta":"` + text + `","logprobs":[]}`
		}
		cited := func(n, index, annotation string) string {
			return `{"type":"response.output_text.annotation.added","sequence_number":` + n + `,"item_id":"msg_2","output_index":1,"content_index":0,"annotation":` + annotation + `,"annotation_index":` + index + `}`
		}
		part := `{"type":"output_text","text":"` + text + `","annotations":[` + one + `,` + two + `],"logprobs":[]}`
		want := []string{
			`{"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"fs_1","type":"file_search_call","status":"in_progress","queries":[],"results":null}}`,
			`{"type":"response.file_search_call.in_progress","sequence_number":3,"item_id":"fs_1","output_index":0}`,
			`{"type":"response.file_search_call.searching","sequence_number":4,"item_id":"fs_1","output_index":0}`,
			`{"type":"response.file_search_call.completed","sequence_number":5,"item_id":"fs_1","output_index":0}`,
			`{"type":"response.output_item.done","sequence_number":6,"output_index":0,"item":{"id":"fs_1","type":"file_search_call","status":"completed","queries":["mammals fish"],"results":` + found + `}}`,
			`{"type":"response.output_item.added","sequence_number":7,"output_index":1,"item":{"id":"msg_2","type":"message","status":"in_progress","role":"assistant","content":[]}}`,
			`{"type":"response.content_part.added","sequence_number":8,"item_id":"msg_2","output_index":1,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}`,
			delta("9", "Whales are mammals"), cited("10", "0", one), delta("11", ". Sharks"), delta("12", " are not"), cited("13", "1", two), delta("14", "."), delta("15", " `x [1]`"),
			`{"type":"response.output_text.done","sequence_number":16,"item_id":"msg_2","output_index":1,"content_index":0,"text":"` + text + `","logprobs":[]}`,
			`{"type":"response.content_part.done","sequence_number":17,"item_id":"msg_2","output_index":1,"content_index":0,"part":` + part + `}`,
			`{"type":"response.output_item.done","sequence_number":18,"output_index":1,"item":{"id":"msg_2","type":"message","status":"completed","role":"assistant","phase":"final_answer","content":[` + part + `]}}`,
		}
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				t.Fatalf("event %d: got\n%s\nwant\n%s", i, strings.Join(got[min(i, len(got)):], "\n"), strings.Join(want[min(i, len(want)):], "\n"))
			}
		}
		if got, want := e.toolOutput(), "[1] From the file \"1.md\":\n\"\"\"\nAll whales are mammals. Mammals breathe (2).\n\"\"\"\n\n[2] From the file \"2.md\":\n\"\"\"\nA shark is a fish.\n\"\"\""; got != want {
			t.Errorf("the model read\n%s\nwant\n%s", got, want)
		}
		stored := e.do(200, "GET", "/v1/responses/resp_1", "")
		for _, want := range []string{part, found[:30], `{"type":"file_search","filters":null,"max_num_results":20,"ranking_options":{"ranker":"auto","score_threshold":0},"vector_store_ids":["vs_1"]}`} {
			if !strings.Contains(stored, want) {
				t.Errorf("the stored response has no %s: %s", want, stored)
			}
		}
	})
}

// TestTheNextTurnOfASearch repeats what the model has read and written, numbers further
// passages behind those, and can cite both.
func TestTheNextTurnOfASearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t, searchFor("whales"), modeltest.Text("Mammals [1]."), searchFor("sharks"), modeltest.Text("Fish [2], not [1]."))
		e.filled("All whales are mammals.", "A shark is a fish.")
		e.do(200, "POST", "/v1/responses", `{"model":"svc-preview","input":"Whales?",`+searchTool+`}`)
		second := e.do(200, "POST", "/v1/responses", `{"model":"svc-preview","input":"Sharks?","previous_response_id":"resp_1",`+searchTool+`}`)
		if !strings.Contains(second, `"text":"Fish, not.","annotations":[{"type":"file_citation","file_id":"file_2","filename":"2.md","index":4},{"type":"file_citation","file_id":"file_1","filename":"1.md","index":9}]`) {
			t.Errorf("got %s", second)
		}
		requests := e.script.Requests()
		first, next := requests[1].Messages, requests[2].Messages
		said := append(first[:len(first):len(first)], model.TextMessage(model.Assistant, "Mammals [1]."), model.TextMessage(model.User, "Sharks?"))
		if got, want := toJSON(t, next), toJSON(t, said); got != want {
			t.Errorf("the second turn began with\n%s\nwant\n%s", got, want)
		}
		if got := e.toolOutput(); !strings.HasPrefix(got, `[2] From the file "2.md"`) {
			t.Errorf("the model read %s", got)
		}
		if got := e.do(200, "GET", "/v1/responses/resp_1", ""); !strings.Contains(got, `"queries":["whales"],"results":null`) {
			t.Errorf("results that were not asked for: %s", got)
		}
	})
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	check(t, err)
	return string(data)
}

// TestTurnsWithoutCitations has what must stay as the model wrote it.
func TestTurnsWithoutCitations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t, modeltest.Text("[1] and [2]"), searchFor("whales"), modeltest.Text(`{"a": [1]}`), searchFor("nothing that is there"), modeltest.Text("No [1]."))
		e.filled("All whales are mammals.")
		for _, test := range [][2]string{
			{`{"model":"svc-preview","input":"?",` + searchTool + `}`, `"text":"[1] and [2]","annotations":[]`},
			{`{"model":"svc-preview","input":"?","text":{"format":{"type":"json_object"}},` + searchTool + `}`, `"text":"{\"a\": [1]}","annotations":[]`},
			{`{"model":"svc-preview","input":"?",` + searchTool + `}`, `"text":"No [1].","annotations":[]`},
		} {
			if got := e.do(200, "POST", "/v1/responses", test[0]); !strings.Contains(got, test[1]) {
				t.Errorf("%s: got %s", test[0], got)
			}
		}
	})
}

// TestSearchToolsThatAreRefused refuses before a stream begins.
func TestSearchToolsThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t)
		e.do(200, "POST", "/v1/vector_stores", "")
		for tool, test := range map[string]struct {
			status  int
			message string
		}{
			`{"type":"file_search"}`:                                                                                {400, "tools[0].vector_store_ids is required."},
			`{"type":"file_search","vector_store_ids":[]}`:                                                          {400, "vector_store_ids must have 1 to 10 vector stores."},
			`{"type":"file_search","vector_store_ids":["vs_none"]}`:                                                 {404, `No vector store found with id \"vs_none\".`},
			`{"type":"file_search","vector_store_ids":["vs_1"],"max_num_results":51}`:                               {400, "max_num_results must be between 1 and 50."},
			`{"type":"file_search","vector_store_ids":["vs_1"],"filters":{"type":"x"}}`:                             {400, "filters.type must be one of"},
			`{"type":"file_search","vector_store_ids":["vs_1"],"ranking_options":{"ranker":"x"}}`:                   {400, "ranking_options.ranker must be one of"},
			`{"type":"file_search","vector_store_ids":["vs_1"]},{"type":"file_search","vector_store_ids":["vs_1"]}`: {400, "tools[1] is a second tool of type file_search"},
			`{"type":"file_search","vector_store_ids":["vs_1"]},{"type":"function","name":"file_search"}`:           {400, "which another tool is called, too."},
		} {
			got := e.do(test.status, "POST", "/v1/responses", `{"model":"svc-preview","input":"?","stream":true,"tools":[`+tool+`]}`)
			if !strings.Contains(got, test.message) {
				t.Errorf("%s: got %s, want %s", tool, got, test.message)
			}
		}
	})
}
