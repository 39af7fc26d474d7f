package vectorstores_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const manual = `# Manual

## Opening hours

The museum opens at nine in the morning. It closes at six.

## Prices

| ticket | price |
|---|---|
| adult | 12.50 |
| child | 6.00 |
`

const emptyCounts = `{"in_progress":0,"completed":0,"failed":0,"cancelled":0,"total":0}`

// TestStoreOfAFile has the whole life of a store with one file.
func TestStoreOfAFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t)
		file := e.upload("manual.md", "text/markdown", manual)
		store := func(counts, status string, bytes int, name string) string {
			return fmt.Sprintf(`{"id":"vs_1","object":"vector_store","created_at":946684800,"name":"%s","description":"of texts","usage_bytes":%d,"file_counts":%s,"status":"%s",`+
				`"expires_after":null,"expires_at":null,"last_active_at":946684800,"metadata":{"a":"b"}}`, name, bytes, counts, status)
		}
		e.want(200, "POST", "/v1/vector_stores", `{"name":"one","description":"of texts","metadata":{"a":"b"}}`, store(emptyCounts, "completed", 0, "one"))
		inFile := func(status, attributes string, bytes int) string {
			return fmt.Sprintf(`{"id":"file_1","object":"vector_store.file","created_at":946684800,"vector_store_id":"vs_1","usage_bytes":%d,"status":"%s","last_error":null,"attributes":%s,`+
				`"chunking_strategy":{"type":"static","static":{"max_chunk_size_tokens":800,"chunk_overlap_tokens":400}}}`, bytes, status, attributes)
		}
		const files = "/v1/vector_stores/vs_1/files"
		e.want(200, "POST", files, `{"file_id":"`+file+`","attributes":{"year":2024,"draft":false,"author":"Ann"}}`, inFile("in_progress", `{"author":"Ann","draft":false,"year":2024}`, 0))
		synctest.Wait()
		const size = 405
		e.want(200, "GET", files+"/file_1", "", inFile("completed", `{"author":"Ann","draft":false,"year":2024}`, size))
		e.want(200, "GET", "/v1/vector_stores/vs_1", "", store(`{"in_progress":0,"completed":1,"failed":0,"cancelled":0,"total":1}`, "completed", size, "one"))
		e.want(200, "POST", "/v1/vector_stores/vs_1/search", `{"query":"When does the museum open?","max_num_results":1}`,
			`{"object":"vector_store.search_results.page","search_query":["When does the museum open?"],"ranker":"words","data":[{"file_id":"file_1","filename":"manual.md",`+
				`"score":0.1348779946565628,"attributes":{"author":"Ann","draft":false,"year":2024},"content":[{"type":"text","text":`+
				`"# Manual\n\n## Opening hours\n\nThe museum opens at nine in the morning. It closes at six.\n\n## Prices\n\n| ticket | price |\n|---|---|\n| adult | 12.50 |\n| child | 6.00 |"}]}],"has_more":false,"next_page":null}`)
		e.want(200, "POST", files+"/file_1", `{"attributes":{"year":2025}}`, inFile("completed", `{"year":2025}`, size))
		if got := e.search(`{"query":"museum","filters":{"type":"eq","key":"year","value":2025}}`); len(got) != 1 {
			t.Errorf("the new attributes: got %q", got)
		}
		if got := e.search(`{"query":"museum","filters":{"type":"eq","key":"year","value":2024}}`); len(got) != 0 {
			t.Errorf("the old attributes: got %q", got)
		}
		e.want(200, "GET", files+"/file_1/content", "", `{"object":"vector_store.file_content.page","data":[{"type":"text","text":`+
			`"# Manual\n\n## Opening hours\n\nThe museum opens at nine in the morning. It closes at six.\n\n## Prices\n\n| ticket | price |\n|---|---|\n| adult | 12.50 |\n| child | 6.00 |"}],"has_more":false,"next_page":null}`)
		e.want(200, "DELETE", files+"/file_1", "", `{"id":"file_1","object":"vector_store.file.deleted","deleted":true}`)
		if got := e.found("museum"); len(got) != 0 {
			t.Errorf("found in a store without files: %q", got)
		}
		e.want(200, "POST", "/v1/vector_stores/vs_1", `{"name":"two"}`, store(emptyCounts, "completed", 0, "two"))
		e.do(200, "GET", "/v1/files/"+file, "")
		e.want(200, "DELETE", "/v1/vector_stores/vs_1", "", `{"id":"vs_1","object":"vector_store.deleted","deleted":true}`)
		e.do(404, "GET", "/v1/vector_stores/vs_1", "")
		e.do(404, "POST", "/v1/vector_stores/vs_1/search", `{"query":"museum"}`)
		synctest.Wait()
		if keys := e.keys(); len(keys) > 0 {
			t.Errorf("left: %q", keys)
		}
	})
}

// TestADeletedFileIsNotFound deletes files by themselves, out of their stores.
func TestADeletedFileIsNotFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t)
		files := e.filled("All whales are mammals.", "No whale is a fish.", "A shark is a fish.")
		if got := e.found("whale"); !slices.Equal(got, []string{"1.md", "2.md"}) {
			t.Fatalf("got %q", got)
		}
		e.do(200, "DELETE", "/v1/files/"+files[1], "")
		if got := e.found("whale"); !slices.Equal(got, []string{"1.md"}) {
			t.Errorf("after the deletion: got %q", got)
		}
		chunks := 0
		for _, key := range e.keys() {
			if strings.Contains(key, files[1]) {
				t.Errorf("left: %q", key)
			}
			if strings.HasPrefix(key, "s/c/") {
				chunks++
			}
		}
		if chunks != 2 {
			t.Errorf("the chunks of %d files are left, want those of 2", chunks)
		}
		if got := e.do(200, "GET", "/v1/vector_stores/vs_1", ""); !strings.Contains(got, `"completed":2,"failed":0,"cancelled":0,"total":2`) {
			t.Errorf("got %s", got)
		}
	})
}

// TestAProcessGoesOn ends a process before it has indexed files, and while it removes a
// store.
func TestAProcessGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t)
		file := e.upload("1.md", "text/markdown", strings.Repeat("A whale is a mammal. ", 2000))
		check(t, e.stores.Close()) // nothing is indexed any more
		e.do(200, "POST", "/v1/vector_stores", `{"file_ids":["`+file+`"]}`)
		e.do(200, "POST", "/v1/vector_stores", `{"file_ids":["`+file+`"]}`)
		e.do(200, "DELETE", "/v1/vector_stores/vs_2", "")
		synctest.Wait()
		if got := e.found("whale"); len(got) > 0 {
			t.Fatalf("got %q", got)
		}
		e.stop()
		e.start(&ids{made: map[string]int{"vsd": 10}})
		synctest.Wait()
		if got := e.found("whale"); len(got) != 10 {
			t.Errorf("got %d chunks", len(got))
		}
		for _, key := range e.keys() {
			if strings.Contains(key, "vs_2") || strings.HasPrefix(key, "s/q/") {
				t.Errorf("left: %q", key)
			}
		}
	})
}

// TestFilesThatCannotBeIndexed has files fail.
func TestFilesThatCannotBeIndexed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t)
		e.do(200, "POST", "/v1/vector_stores", "")
		broken := e.upload("a.pdf", "application/pdf", "no PDF at all")
		good := e.upload("a.txt", "text/plain", "good")
		e.do(404, "POST", "/v1/vector_stores/vs_1/files", `{"file_id":"file_none"}`)
		e.do(400, "POST", "/v1/vector_stores/vs_1/files", `{"file_id":"`+good+`","attributes":{"a":[1]}}`)
		e.do(400, "POST", "/v1/vector_stores/vs_1/files", `{"file_id":"`+good+`","chunking_strategy":{"type":"static","static":{"max_chunk_size_tokens":100,"chunk_overlap_tokens":51}}}`)
		e.want(200, "POST", "/v1/vector_stores/vs_1/file_batches", `{"file_ids":["`+broken+`","`+good+`"]}`,
			`{"id":"vsfb_1","object":"vector_store.files_batch","created_at":946684800,"vector_store_id":"vs_1","status":"in_progress","file_counts":{"in_progress":2,"completed":0,"failed":0,"cancelled":0,"total":2}}`)
		time.Sleep(time.Second)
		synctest.Wait()
		e.want(200, "GET", "/v1/vector_stores/vs_1/file_batches/vsfb_1", "",
			`{"id":"vsfb_1","object":"vector_store.files_batch","created_at":946684800,"vector_store_id":"vs_1","status":"completed","file_counts":{"in_progress":0,"completed":1,"failed":1,"cancelled":0,"total":2}}`)
		if got := e.do(200, "GET", "/v1/vector_stores/vs_1/file_batches/vsfb_1/files?filter=failed", ""); !strings.Contains(got,
			`"status":"failed","last_error":{"code":"invalid_file","message":"The file could not be read. It is not of the type that it was sent with."}`) {
			t.Errorf("got %s", got)
		}
	})
}

// TestCancelledBatch cancels a batch before its files are indexed.
func TestCancelledBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t)
		e.do(200, "POST", "/v1/vector_stores", "")
		check(t, e.stores.Close())
		one, two := e.upload("1.txt", "text/plain", "whale"), e.upload("2.txt", "text/plain", "whale")
		e.do(200, "POST", "/v1/vector_stores/vs_1/file_batches", `{"file_ids":["`+one+`","`+two+`"]}`)
		e.do(200, "DELETE", "/v1/vector_stores/vs_1/files/"+two, "")
		e.want(200, "POST", "/v1/vector_stores/vs_1/file_batches/vsfb_1/cancel", "",
			`{"id":"vsfb_1","object":"vector_store.files_batch","created_at":946684800,"vector_store_id":"vs_1","status":"cancelled","file_counts":{"in_progress":0,"completed":0,"failed":0,"cancelled":2,"total":2}}`)
		e.stop()
		e.start(&ids{made: map[string]int{"vsd": 10}})
		synctest.Wait()
		if got := e.found("whale"); len(got) > 0 {
			t.Errorf("got %q", got)
		}
		if got := e.do(200, "GET", "/v1/vector_stores/vs_1/files", ""); !strings.Contains(got, `"status":"cancelled"`) || strings.Contains(got, two) {
			t.Errorf("got %s", got)
		}
	})
}

// TestExpiry has a store expire after it was used last.
func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t)
		e.filled("A whale.")
		e.do(200, "POST", "/v1/vector_stores/vs_1", `{"expires_after":{"anchor":"last_active_at","days":1}}`)
		const half = 13 * time.Hour
		time.Sleep(half)
		if got := e.found("whale"); len(got) != 1 {
			t.Fatalf("got %q", got)
		}
		time.Sleep(half)
		synctest.Wait()
		if got := e.do(200, "GET", "/v1/vector_stores/vs_1", ""); !strings.Contains(got, `"status":"completed"`) {
			t.Errorf("used half a day ago: %s", got)
		}
		time.Sleep(half)
		e.want(400, "POST", "/v1/vector_stores/vs_1/search", `{"query":"whale"}`,
			`{"error":{"message":"The vector store \"vs_1\" has expired.","type":"invalid_request_error","param":null,"code":"vector_store_expired"}}`)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := e.do(200, "GET", "/v1/vector_stores/vs_1", ""); !strings.Contains(got, `"status":"expired"`) || !strings.Contains(got, emptyCounts) {
			t.Errorf("got %s", got)
		}
		if keys := e.keys(); !slices.Equal(keys, []string{"s/m/vs_1"}) {
			t.Errorf("left: %q", keys)
		}
	})
}

// TestPhrases has quotation marks ask for what stands between them.
func TestPhrases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t)
		e.filled("The order of the day is a long day of order.", "Order day, order day.", "Of the day: the order.")
		for query, want := range map[string][]string{
			`"order of the day"`: {"1.md"},
			`"the   ORDER"`:      {"1.md", "3.md"},
			`"day of reckoning"`: {"1.md", "2.md", "3.md"}, // nowhere
		} {
			got := e.found(query)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: got %q, want %q", query, got, want)
			}
		}
	})
}

// TestSearchesThatAreRefused has what is out of bounds.
func TestSearchesThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t)
		e.filled("A whale.")
		deep := `{"type":"eq","key":"a","value":1}`
		for range 40 {
			deep = `{"type":"and","filters":[` + deep + `]}`
		}
		for body, message := range map[string]string{
			`{"query":""}`:                                                                    "query must not be empty or longer than 16384 bytes.",
			`{"query":[]}`:                                                                    "query must be a string or an array of 1 to 16 strings.",
			`{"query":"a","max_num_results":0}`:                                               "max_num_results must be between 1 and 50.",
			`{"query":"a","max_num_results":51}`:                                              "max_num_results must be between 1 and 50.",
			`{"query":"a","ranking_options":{"score_threshold":2}}`:                           "score_threshold must be between 0 and 1.",
			`{"query":"a","ranking_options":{"ranker":"x"}}`:                                  "ranking_options.ranker must be one of none, auto, default-2024-11-15.",
			`{"query":"a","filters":` + deep + `}`:                                            "filters must not be nested more than 32 deep.",
			`{"query":"a","filters":{"type":"eq","key":"a","value":null}}`:                    "filters.value must be a string, a number or a boolean.",
			`{"query":"a","filters":{"type":"in","key":"a","value":1}}`:                       "filters.value must be an array of strings, numbers or booleans.",
			`{"query":"a","filters":{"type":"like","key":"a","value":"b"}}`:                   "filters.type must be one of eq, ne, gt, gte, lt, lte, in, nin, and, or.",
			`{"query":"a","filters":{"type":"or","filters":[{"type":"and"}]}}`:                "filters.filters.filters must have a filter.",
			`{"query":"` + strings.Repeat("a", 16<<10+1) + `"}`:                               "query must not be empty or longer than 16384 bytes.",
			`{"query":["a","b","c","d","e","f","g","h","i","j","k","l","m","n","o","p","q"]}`: "query must be a string or an array of 1 to 16 strings.",
		} {
			if got := e.do(400, "POST", "/v1/vector_stores/vs_1/search", body); !strings.Contains(got, message) {
				t.Errorf("%.100s: got %s, want %s", body, got, message)
			}
		}
	})
}

// TestFilters has every comparison.
func TestFilters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t)
		files := e.filled("whale one", "whale two", "whale three")
		for i, attributes := range []string{`{"n":1,"s":"b","t":true}`, `{"n":2.5,"s":"c"}`, `null`} {
			e.do(200, "POST", "/v1/vector_stores/vs_1/files/"+files[i], `{"attributes":`+attributes+`}`)
		}
		for filter, want := range map[string]string{
			`{"type":"eq","key":"n","value":1}`:          "1",
			`{"type":"eq","key":"n","value":"1"}`:        "",
			`{"type":"ne","key":"n","value":1}`:          "23",
			`{"type":"gt","key":"n","value":1}`:          "2",
			`{"type":"gte","key":"n","value":1}`:         "12",
			`{"type":"lt","key":"n","value":2.5}`:        "1",
			`{"type":"lte","key":"s","value":"b"}`:       "1",
			`{"type":"lt","key":"n","value":"z"}`:        "",
			`{"type":"in","key":"s","value":["a","c"]}`:  "2",
			`{"type":"nin","key":"s","value":["a","c"]}`: "13",
			`{"type":"eq","key":"t","value":true}`:       "1",
			`{"type":"and","filters":[{"type":"gt","key":"n","value":0},{"type":"eq","key":"s","value":"c"}]}`: "2",
			`{"type":"or","filters":[{"type":"eq","key":"n","value":1},{"type":"eq","key":"s","value":"c"}]}`:  "12",
		} {
			names := e.search(`{"query":"whale","filters":` + filter + `}`)
			slices.Sort(names)
			if got := strings.ReplaceAll(strings.Join(names, ""), ".md", ""); got != want {
				t.Errorf("%s: got %q, want %q", filter, got, want)
			}
		}
	})
}

// TestLargeFile has more chunks than a transaction writes, and removes them in pieces.
func TestLargeFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t)
		var b strings.Builder
		for i := range 60_000 {
			fmt.Fprintf(&b, "Part number A-%06d is in stock. ", i)
		}
		file := e.upload("parts.txt", "text/plain", b.String()+strings.Repeat("x", 1<<20))
		e.do(200, "POST", "/v1/vector_stores", "")
		e.do(200, "POST", "/v1/vector_stores/vs_1/files", `{"file_id":"`+file+`","chunking_strategy":{"type":"static","static":{"max_chunk_size_tokens":100,"chunk_overlap_tokens":0}}}`)
		synctest.Wait()
		got := e.do(200, "POST", "/v1/vector_stores/vs_1/search", `{"query":"A-023456","max_num_results":1}`)
		if !strings.Contains(got, "A-023456") {
			t.Errorf("got %s", got)
		}
		e.do(200, "DELETE", "/v1/files/"+file, "")
		if got := e.found("A-023456"); len(got) > 0 {
			t.Errorf("got %q", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if keys := e.keys(); len(keys) != 1 {
			t.Errorf("left: %d, such as %q", len(keys), keys[:min(3, len(keys))])
		}
	})
}

// TestSearchesAtOnce searches many times at once while files come and go: nothing is found
// after it was deleted.
func TestSearchesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t)
		files := e.filled("whale stays", "whale goes", "whale stays, too")
		var searching sync.WaitGroup
		for range 20 {
			searching.Go(func() {
				for range 20 {
					if got := e.found("whale"); len(got) < 2 {
						t.Errorf("got %q", got)
					}
				}
			})
		}
		for i := range 10 {
			id := e.upload(fmt.Sprintf("more%d.md", i), "text/markdown", "a further whale")
			e.do(200, "POST", "/v1/vector_stores/vs_1/files", `{"file_id":"`+id+`"}`)
		}
		e.do(200, "DELETE", "/v1/files/"+files[1], "")
		for range 5 {
			if got := e.found("whale"); slices.Contains(got, "2.md") {
				t.Errorf("found after its deletion: %q", got)
			}
		}
		searching.Wait()
		synctest.Wait()
		if got := e.search(`{"query":"whale","max_num_results":50}`); len(got) != 12 {
			t.Errorf("got %q", got)
		}
	})
}

// TestListsBefore reads lists backwards: the page that ends in front of an object.
func TestListsBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t)
		for range 5 {
			e.do(200, "POST", "/v1/vector_stores", `{}`)
		}
		listed := func(query string) string {
			t.Helper()
			var list struct {
				Data []struct {
					ID string `json:"id"`
				} `json:"data"`
				HasMore bool `json:"has_more"`
			}
			check(t, json.Unmarshal([]byte(e.do(200, "GET", "/v1/vector_stores?"+query, "")), &list))
			return fmt.Sprint(list.Data, list.HasMore)
		}
		for query, want := range map[string]string{
			"limit=2&before=vs_2":           "[{vs_4} {vs_3}] true",
			"limit=2&before=vs_4":           "[{vs_5}] false",
			"limit=2&before=vs_5":           "[] false",
			"limit=2&before=vs_4&order=asc": "[{vs_2} {vs_3}] true",
			"limit=2&after=vs_4":            "[{vs_3} {vs_2}] true",
		} {
			if got := listed(query); got != want {
				t.Errorf("%s: got %s, want %s", query, got, want)
			}
		}
		for query, want := range map[string]string{
			"before=vs_1&after=vs_2": "before cannot be used together with after.",
			"before=file_1":          "before is not the ID of an object in this list.",
		} {
			if got := e.do(400, "GET", "/v1/vector_stores?"+query, ""); !strings.Contains(got, want) {
				t.Errorf("%s: got %s", query, got)
			}
		}
	})
}
