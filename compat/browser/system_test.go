package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// modelServer is a model server that says one thing to everybody.
func modelServer(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Good morning."}}]}`+"\n\n",
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}`+"\n\n",
			"data: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s
}

// TestSystemWithOneServer shows the server that -upstream names.
func TestSystemWithOneServer(t *testing.T) {
	well := modelServer(t)
	v := visit(t, start(t, "-upstream", well.URL+"/v1", "-upstream-model", "small"), desk)
	v.signIn(v.key)
	v.ask("svc-preview")
	v.says(".item.assistant .md", "Good morning.")
	v.signIn(adminKey)
	v.open("/admin/system")
	if row := v.serverRow(well.URL); row.Health != "healthy" || row.Requests == "0" || row.Errors != "0" || row.FirstToken == "" {
		t.Errorf("the server is shown as %+v", row)
	}
}

// TestSystemWithServers shows two servers, one of which fails.
func TestSystemWithServers(t *testing.T) {
	well := modelServer(t)
	ailing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "out of memory", http.StatusInternalServerError)
	}))
	t.Cleanup(ailing.Close)
	config := written(t, "servers.json", `{
	  "servers": {"well": {"url": "`+well.URL+`/v1"}, "ailing": {"url": "`+ailing.URL+`/v1"}},
	  "models": [
	    {"id": "svc-preview", "generates": true, "context_window": 8000, "targets": [{"server": "well", "model": "small"}]},
	    {"id": "broken", "generates": true, "context_window": 8000, "targets": [{"server": "ailing", "model": "large"}]}
	  ]
	}`)
	v := visit(t, start(t, "-config", config), telephone)
	v.signIn(v.key)
	v.ask("svc-preview")
	v.says(".item.assistant .md", "Good morning.")
	v.ask("broken")
	v.seen(".wrong")
	v.signIn(adminKey)
	v.open("/admin/system")
	if row := v.serverRow(well.URL); row.Health != "healthy" || row.Requests == "0" || row.Errors != "0" || row.FirstToken == "" {
		t.Errorf("the server that is well is shown as %+v", row)
	}
	if row := v.serverRow(ailing.URL); row.Health != "ailing" || row.Errors == "0" || row.FirstToken != "" {
		t.Errorf("the server that fails is shown as %+v", row)
	}
	v.says("td", "broken")
}

// ask sends a message to a model.
func (v visitor) ask(model string) {
	v.Helper()
	v.open("/respond")
	v.fill("#text", "Hello")
	v.fill("[name=model]", model)
	v.click("#respond button.primary")
}

// serverRow is what the page says of a model server.
func (v visitor) serverRow(url string) (row struct{ Kind, Health, FirstToken, Requests, Errors string }) {
	v.Helper()
	v.says("td", url)
	v.do(chromedp.Evaluate(fmt.Sprintf(`(() => {
	  const cells = [...document.querySelectorAll("tr")].find((row) => row.textContent.includes(%q)).cells;
	  const [, Kind, Health, FirstToken, Requests, Errors] = [...cells].map((cell) => cell.textContent.trim());
	  return {Kind, Health, FirstToken, Requests, Errors};
	})()`, url), &row))
	return row
}
