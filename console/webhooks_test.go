package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
)

// TestWebhookPages makes an endpoint, tests it, has a batch told to it, sends that
// again, replaces its secret and deletes it.
func TestWebhookPages(t *testing.T) {
	var status atomic.Int64
	status.Store(http.StatusTeapot)
	posted := make(chan string, 8)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(int(status.Load()))
		posted <- r.Header.Get("Webhook-Signature")
	}))
	defer endpoint.Close()
	d := open(t)
	token := d.signIn(d.key)
	post := func(path string, form url.Values) string {
		t.Helper()
		form.Set("token", token)
		code, page := d.post(path, form)
		if code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, code, page)
		}
		return page
	}
	page := post("/webhooks", url.Values{"name": {hostile}, "url": {endpoint.URL}, "event_types": {"batch.failed", "batch.completed"}})
	id := regexp.MustCompile(`whe_[A-Za-z0-9_-]+`).FindString(page)
	secret := regexp.MustCompile(`whsec_[A-Za-z0-9+/=]+`)
	first := secret.FindString(page)
	if id == "" || first == "" || strings.Contains(page, "<script>alert") {
		t.Fatal(page)
	}
	if page = post("/webhooks/"+id+"/test", url.Values{"event_type": {"batch.failed"}}); !strings.Contains(page, "The endpoint answered batch.failed with 418.") {
		t.Errorf("the test: %s", page)
	}
	<-posted
	d.ended(d.batch("{").ID)
	<-posted
	resend := regexp.MustCompile(`/console(/webhooks/[^"]*/resend)"`)
	for { // until the answer is stored
		if _, page = d.get("/webhooks/" + id); strings.Contains(page, `<td dir="auto">418</td><td class="number">1</td>`) {
			break
		}
	}
	if secret.MatchString(page) || !strings.Contains(page, `<span class="status pending">pending</span>`) {
		t.Errorf("the page: %s", page)
	}
	status.Store(http.StatusNoContent)
	post(resend.FindStringSubmatch(page)[1], url.Values{})
	<-posted
	for {
		if _, page = d.get("/webhooks/" + id); strings.Contains(page, `<span class="status delivered">delivered</span></td><td dir="auto">204</td>`) {
			break
		}
	}
	if page = post("/webhooks/"+id+"/rotate", url.Values{"keep": {"1"}}); secret.FindString(page) == first || secret.FindString(page) == "" {
		t.Errorf("the new secret: %s", page)
	}
	post("/webhooks/"+id+"/test", url.Values{"event_type": {"batch.failed"}})
	if signatures := <-posted; strings.Count(signatures, "v1,") != 2 {
		t.Errorf("got %s, want two signatures", signatures)
	}
	page = post("/webhooks/"+id, url.Values{"name": {"other"}, "url": {endpoint.URL}, "event_types": {"batch.completed"}})
	if !strings.Contains(page, "<h1>other</h1>") || strings.Count(page, " checked> batch.") != 1 {
		t.Errorf("changed: %s", page)
	}
	endpoint.Close()
	if page = post("/webhooks/"+id+"/test", url.Values{"event_type": {"batch.failed"}}); !strings.Contains(page, "The endpoint could not be reached") {
		t.Errorf("the test of nothing: %s", page)
	}
	for name, form := range map[string]url.Values{
		"no event":     {"name": {"x"}, "url": {endpoint.URL}},
		"private":      {"name": {"x"}, "url": {"https://10.0.0.1/"}, "event_types": {"batch.failed"}},
		"unknown test": {"event_type": {"x"}},
	} {
		path := "/webhooks"
		if name == "unknown test" {
			path = fmt.Sprintf("/webhooks/%s/test", id)
		}
		form.Set("token", token)
		if code, _ := d.post(path, form); code != http.StatusBadRequest {
			t.Errorf("%s: %d, want 400", name, code)
		}
	}
	if page = post("/webhooks/"+id+"/delete", url.Values{}); !strings.Contains(page, "There are none.") {
		t.Errorf("deleted: %s", page)
	}
}
