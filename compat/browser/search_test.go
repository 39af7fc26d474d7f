package browser_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"
)

// asking visits the playground of a server with a search service, where a question is
// written down that is to be searched for.
func asking(t *testing.T, web *httptest.Server) visitor {
	t.Cleanup(web.Close)
	v := visit(t, start(t, "-search", web.URL), desk)
	v.signIn(v.key)
	v.open("/respond")
	v.fill("#text", "When does the Scheldt bridge open?")
	v.click("[name=search]")
	return v
}

// TestRespondWithSearch has a turn search the web: what was searched for stands
// before the answer, which says what was found, on the page of the turn and on
// that of the stored response.
func TestRespondWithSearch(t *testing.T) {
	asked := make(chan string, 10)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.FormValue("q")
		_ = json.NewEncoder(w).Encode(map[string]any{"results": []map[string]string{{
			"title": "Opening of the Scheldt bridge", "url": "https://example.com/bridge", "content": "The Scheldt bridge opens on the 4th of May.",
		}}})
	}))
	v := asking(t, web)
	v.click("#respond button.primary")
	v.says(".turnfoot", "Regenerate")
	v.searched(<-asked)
	var again bool
	v.do(chromedp.Evaluate(`document.querySelector("[name=search]").checked`, &again))
	if !again {
		t.Error("the next turn would not search")
	}
	v.submit(".turnfoot a")
	v.searched("When does the Scheldt bridge open?")
}

// searched checks that a page shows a search, and after it the answer.
func (v visitor) searched(query string) {
	v.Helper()
	v.says(".item.search h3", "searched the web")
	v.says(".item.search p", query)
	v.says(".item.search details", "https://example.com/bridge")
	v.says(".item.search ~ .item.assistant .md", "4th of May")
}

// TestSearchThatFails has the search service refuse, which is what was found.
func TestSearchThatFails(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	v := asking(t, web)
	v.click("#respond button.primary")
	v.says(".item.search details", "failed")
	v.says(".turnfoot", "Regenerate")
}
