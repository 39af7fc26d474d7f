package browser_test

import (
	"strings"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// awaited makes an evaluation wait for the promise that it returns.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// prepare signs in with both keys and leaves something of everything.
func prepare(v visitor) {
	v.Helper()
	v.signIn(adminKey)
	v.signIn(v.key)
	v.do(chromedp.Evaluate(`Promise.all([
	  fetch("/v1/responses", {method: "POST", headers: {Authorization: "Bearer `+v.key+`"}, body: JSON.stringify({model: "svc-preview", input: "The warehouse in Antwerp closes at eight. It opens at nine."})}),
	  fetch("/v1/chat/completions", {method: "POST", headers: {Authorization: "Bearer `+v.key+`"}, body: JSON.stringify({model: "svc-preview", store: true, messages: [{role: "user", content: "When do you open?"}]})}),
	  fetch("/v1/systemone", {method: "POST", headers: {Authorization: "Bearer `+v.key+`"}, body: JSON.stringify({model: "svc-snap-preview", store: true, state: "I was charged twice.", questions: {unhappy: {type: "noul", instructions: "Is the customer unhappy?"}}})}),
	]).then((all) => all.map((one) => one.status).join())`, nil, awaited))
	v.do(chromedp.Evaluate(`(() => {
	  const form = new FormData();
	  form.append("purpose", "assistants");
	  form.append("file", new File(["Returns are accepted within 30 days."], "returns.txt", {type: "text/plain"}));
	  return fetch("/v1/files", {method: "POST", headers: {Authorization: "Bearer `+v.key+`"}, body: form}).then((r) => r.status);
	})()`, nil, awaited))
}

// place is a page of the console.
type place struct{ name, path string }

// everyPage lists every page, those of single objects with the newest.
func everyPage(v visitor) []place {
	v.Helper()
	pages := []place{
		{"decide", "/decide"}, {"respond", "/respond"}, {"files", "/files"}, {"conversations", "/conversations"},
		{"start", "/start"}, {"evaluate", "/evaluate"}, {"overview", "/overview"}, {"log", "/log"}, {"log-search", "/log?q=warehouse&latency=1"}, {"usage", "/usage"}, {"calibrations", "/calibrations"}, {"labels", "/labels"}, {"batches", "/batches"}, {"webhooks", "/webhooks"},
		{"organizations", "/admin/organizations"}, {"all-usage", "/admin/usage"}, {"keys", "/admin/keys"}, {"audit", "/admin/audit"}, {"system", "/admin/system"},
	}
	for _, list := range []place{{"file", "/files"}, {"conversation", "/conversations"}, {"response", "/log?kind=response"},
		{"completion", "/log?kind=completion"}, {"decision", "/log?kind=decision"}, {"organization", "/admin/organizations"}, {"key", "/admin/keys"}} {
		v.open(list.path)
		var href string
		v.do(chromedp.Evaluate(`document.querySelector("main li a, main tbody a")?.getAttribute("href") ?? ""`, &href))
		if href == "" {
			continue // there is none
		}
		path := strings.TrimPrefix(href, "/console")
		pages = append(pages, place{list.name, path})
		if list.name == "organization" {
			pages = append(pages, place{"organization-usage", path + "/usage"})
		}
		if list.name == "response" {
			pages = append(pages, place{"respond-continued", "/respond?response=" + strings.TrimPrefix(path, "/responses/")})
		}
	}
	return pages
}
