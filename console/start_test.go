package console_test

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestQuickStart holds that the key is shown to who asks for it with the token of the
// session, and at no address.
func TestQuickStart(t *testing.T) {
	d := open(t)
	token := d.signIn(d.key)
	status, page := d.get("/start")
	for _, want := range []string{"curl", "Python", "JavaScript", "Go", "codex", "Claude Code"} {
		if status != http.StatusOK || !strings.Contains(page, `aria-label="`+want+`"`) {
			t.Errorf("%d: nothing for %s", status, want)
		}
	}
	if strings.Contains(page, d.key) || !strings.Contains(page, "YOUR-API-KEY") {
		t.Error("the key is shown to who did not ask for it")
	}
	if status, page = d.post("/start", url.Values{}); status != http.StatusForbidden || strings.Contains(page, d.key) {
		t.Errorf("without the token: %d", status)
	}
	status, page = d.post("/start", url.Values{"token": {token}})
	text := html.UnescapeString(page)
	for _, want := range []string{"export SVC_API_KEY='" + d.key + "'", `OpenAI(base_url="` + d.url + `/v1", api_key="` + d.key + `")`, "ANTHROPIC_BASE_URL='" + d.url + "'", `wire_api = "responses"`} {
		if status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%d: no %q", status, want)
		}
	}
}
