package browser_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// hostile is what somebody may call anything.
const hostile = `<script>window.broken=true</script><img src=x onerror="window.broken=true">"'` + "\u202egpj.exe" + ` {{.}} ${1} </textarea></title><svg onload=window.broken=true>`

// TestHostileTexts puts markup, scripts, writing from right to left, and very long
// words wherever users' words are shown, and opens every page on a telephone. The
// policy and the escaping keep them words; whatever a page does beyond that, visit
// complains of.
func TestHostileTexts(t *testing.T) {
	v := visit(t, start(t), telephone)
	v.signIn(adminKey)
	v.click("details.card summary")
	v.fill("details [name=name]", hostile)
	v.submit("details button.primary")
	v.says("h1", "gpj.exe")
	v.signIn(v.key)
	v.do(chromedp.Evaluate(`(async () => {
	  const hostile = `+quoted(hostile)+`, word = "x".repeat(200), tags = {[hostile.slice(0, 60)]: hostile, [word.slice(0, 60)]: word};
	  const post = (path, body, key = "`+v.key+`") => fetch(path, {method: "POST", headers: {Authorization: "Bearer " + key}, body: JSON.stringify(body)})
	    .then((r) => r.ok ? r.json() : r.text().then((text) => { throw new Error(text); }));
	  await post("/admin/v1/api_keys", {organization_id: "org_default", name: hostile, budget: 1, models: [hostile.slice(0, 100), word]}, "`+adminKey+`");
	  await post("/admin/v1/api_keys", {organization_id: "org_default", name: word}, "`+adminKey+`");
	  await post("/v1/chat/completions", {model: "svc-preview", store: true, metadata: tags, messages: [{role: "user", content: hostile + word}, {role: "user", content: "long ".repeat(200000)}]});
	  await post("/v1/conversations", {metadata: tags, items: [{role: "user", content: hostile}, {role: "user", content: word + "y".repeat(1 << 20)}]});
	  const all = await post("/v1/responses", {model: "svc-preview", metadata: tags, instructions: hostile, input: hostile + word + "z".repeat(1 << 20)});
	  await post("/v1/responses", {model: "svc-preview", previous_response_id: all.id, input: hostile, tool_choice: "required",
	    tools: [{type: "function", name: "f", description: hostile, parameters: {type: "object", properties: {[hostile]: {type: "string"}}, required: [hostile]}}]});
	})()`, nil, awaited))
	path := filepath.Join(t.TempDir(), `<b onclick=x>"`+"\u202efdp"+strings.Repeat("w", 150)+`.txt`)
	if err := os.WriteFile(path, []byte(hostile+strings.Repeat("w", 1<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	v.open("/files")
	v.do(chromedp.SetUploadFiles("input[type=file]", []string{path}, chromedp.ByQuery))
	v.submit("form.card button.primary")
	v.says("td", "<b onclick")
	v.open("/respond")
	v.fill("#text", hostile)
	v.click("#respond button.primary")
	v.says(".item.user pre", "onload=window.broken")
	v.open("/decide")
	v.fill("#state", hostile+strings.Repeat("long ", 200_000))
	v.fill("fieldset:nth-of-type(1) [name=name]", hostile[:90])
	v.fill("fieldset:nth-of-type(1) textarea", hostile+"\nother: "+hostile)
	v.click(".actions button.primary")
	v.says(".answer h2", "<script>")
	v.unharmed("a decision")
	for _, page := range everyPage(v) {
		v.open(page.path)
		v.unharmed(page.path)
	}
	v.open("/conversations?q=" + "%3Cscript%3Ewindow.broken%3Dtrue%3C%2Fscript%3E")
	v.unharmed("a search")
}

// unharmed checks that no text of a user's became a script, an element, or a page
// that is wider than the screen.
func (v visitor) unharmed(where string) {
	v.Helper()
	var broken bool
	var wide int
	v.do(chromedp.Evaluate(`window.broken === true || document.querySelector("img, svg[onload], main script") !== null`, &broken),
		chromedp.Evaluate(`document.documentElement.scrollWidth`, &wide))
	if broken {
		v.Errorf("%s: a user's text became markup", where)
	}
	if wide > telephone {
		v.Errorf("%s is %d pixels wide, want at most %d", where, wide, telephone)
	}
}
