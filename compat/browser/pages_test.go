package browser_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// The widths that the console is made for, in pixels.
const (
	desk      = 1280
	telephone = 390
)

// TestFirstStart is the way of a newcomer: the link that the terminal prints,
// one click, and the first judgment is drawn.
func TestFirstStart(t *testing.T) {
	v := visit(t, start(t), desk)
	v.do(chromedp.Navigate(v.link), chromedp.WaitVisible("#decide", chromedp.ByQuery))
	v.click(".actions button.primary")
	v.says(".answer .verdict strong", "billing")
	var bars int
	v.do(chromedp.Evaluate(`document.querySelectorAll(".answer svg rect.fill").length`, &bars))
	if bars != 8 { // three teams, yes and no, three levels
		t.Errorf("%d bars are drawn, want 8", bars)
	}
	v.do(chromedp.Navigate(v.link), chromedp.WaitVisible("main", chromedp.ByQuery))
	v.says(".wrong", "used already")
}

func TestSignInAndOut(t *testing.T) {
	s := start(t)
	v := visit(t, s, desk)
	v.open("/usage")
	v.says("h1", "Sign in")
	v.fill("#key", "sk-svc-wrong")
	v.click("form.card button.primary")
	v.seen(".wrong")
	v.fill("#key", s.key)
	v.click("form.card button.primary")
	v.says("h1", "Usage")
	v.click("[data-signout] button")
	v.says("h1", "Sign in")
	v.open("/decide")
	v.says("h1", "Sign in")
}

func TestDecide(t *testing.T) {
	v := visit(t, start(t), desk)
	v.signIn(v.key)
	v.click("button[name=add]")
	v.seen("fieldset:nth-of-type(4)")
	v.fill("fieldset:nth-of-type(4) select[name=type]", "score")
	v.fill("fieldset:nth-of-type(4) [name=name]", "anger")
	v.fill("fieldset:nth-of-type(4) [name=instructions]", "How angry is the customer?")
	v.fill("fieldset:nth-of-type(4) textarea", "calm\nannoyed\nfurious")
	v.click(".actions button.primary")
	v.says(".answer h2", "anger")
	v.click("fieldset:nth-of-type(4) button[name=remove]")
	v.until(`!document.querySelector("fieldset:nth-of-type(4)")`)
	v.fill("[name=kind]", "json")
	v.fill("#state", "not JSON")
	v.click(".actions button.primary")
	v.says(".wrong", "not JSON")
	v.fill("#state", `{"mail": "I was charged twice"}`)
	v.click(".actions button.primary")
	v.says(".answer h2", "team")
	v.showsPrograms(".snippets")
	v.says(".remembered a", "charged twice")
	v.click(".remembered li:first-child a")
	v.seen("#state")
	var state string
	v.do(chromedp.Value("#state", &state, chromedp.ByQuery))
	if want := `{"mail": "I was charged twice"}`; state != want {
		t.Errorf("the remembered state is %q, want %q", state, want)
	}
}

// showsPrograms opens what shows a request as programs, and looks for each language.
func (v visitor) showsPrograms(at string) {
	v.Helper()
	v.click(at + " summary")
	for _, language := range []string{"curl", "Python", "JavaScript", "Go"} {
		v.says(at+" h3", language)
	}
}

func TestRespond(t *testing.T) {
	v := visit(t, start(t), desk)
	v.signIn(v.key)
	v.open("/respond")
	v.fill("#text", "The warehouse in Antwerp closes at eight.")
	v.click("#respond button.primary")
	v.says(".turnfoot", "Regenerate")
	v.fill("#text", "When does the warehouse in Antwerp close?")
	v.click("#respond button.primary")
	v.says(".item.assistant .md", "The warehouse in Antwerp closes at eight.")
	// A branch from the first turn does not have the second.
	v.click(".turn:first-of-type .turnfoot a:last-of-type")
	v.seen("#respond")
	v.until(`document.querySelectorAll(".turn").length === 1`)
	v.fill("#text", "And when does it open?")
	v.click("#respond button.primary")
	v.until(`document.querySelectorAll(".turnfoot").length === 2`)
	v.click(`.turn:first-of-type a[href$="/program"]`)
	for _, language := range []string{"curl", "Python", "JavaScript", "Go"} {
		v.says(`section[aria-label="`+language+`"]`, "")
	}
	v.open("/respond")
	v.says(".remembered a", "And when does it open?")
	v.click(".remembered li:first-child a")
	v.until(`document.querySelectorAll(".turn").length === 2`)
	v.open("/log")
	v.says(".log tbody tr:first-child .said", "And when does it open?")
	v.says(".log tbody tr:first-child", "completed")
	v.open("/conversations")
	v.says("td", "conv_")
}

func TestRespondWithTools(t *testing.T) {
	v := visit(t, start(t), desk)
	v.signIn(v.key)
	v.open("/respond")
	v.fill("#text", "What is the weather in Ghent?")
	v.click("#respond details summary")
	v.fill("[name=tools]", `[{"type": "function", "name": "get_weather", "description": "The weather of a city", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}]`)
	v.click("#respond button.primary")
	v.says(".item.call h3", "get_weather")
	v.seen("[name=output]")
	v.fill("[name=output]", "Rain, 12 degrees")
	v.click("#respond button.primary")
	v.says(".item.assistant .md", "Rain, 12 degrees")
}

func TestFiles(t *testing.T) {
	v := visit(t, start(t), desk)
	answerDialogs(v.ctx)
	v.signIn(v.key)
	path := filepath.Join(t.TempDir(), "returns.md")
	if err := os.WriteFile(path, []byte("Returns are accepted within 30 days.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	v.open("/files")
	v.do(chromedp.SetUploadFiles("input[type=file]", []string{path}, chromedp.ByQuery))
	v.click("form.card button.primary")
	v.says("td .status", "processed")
	v.click("tbody a")
	v.says("pre.document", "within 30 days")
	v.open("/respond")
	v.do(chromedp.SetUploadFiles("[data-upload=attachments]", []string{path}, chromedp.ByQuery))
	v.says("[data-attachments]", "returns.md")
	v.fill("#text", "How many days do I have to return something?")
	v.click("#respond button.primary")
	v.says(".item.assistant .md", "30 days")
	v.open("/decide")
	v.fill("[name=kind]", "file")
	v.do(chromedp.WaitVisible("#file", chromedp.ByQuery), chromedp.SetUploadFiles("[data-upload=file]", []string{path}, chromedp.ByQuery))
	v.until(`document.querySelector("#file").value.startsWith("file_")`)
	v.click(".actions button.primary")
	v.says(".answer h2", "team")
	v.open("/files")
	v.click("tbody a")
	v.seen("button.danger")
	v.click("button.danger")
	v.seen("form.card")
}

func TestUsage(t *testing.T) {
	v := visit(t, start(t), desk)
	v.signIn(v.key)
	v.open("/usage")
	v.says("main", "Nothing was used in")
	v.says("tr.credit", "Credits added")
	v.open("/decide")
	v.click(".actions button.primary")
	v.says(".answer h2", "team")
	v.open("/usage")
	v.says("td", "decisions")
	v.seen(".chart svg rect.day")
	v.submit(".tabs a:nth-child(2)")
	v.says(".chart title", ": ")
	v.says(".shares th", "svc-snap-preview")
	v.says(".shares th", "default") // the key
	for path, want := range map[string]string{"/usage.csv": "id,created_at,type,", "/usage/totals.csv": "day,by,name,"} {
		var csv string
		v.do(chromedp.Evaluate(`fetch("/console`+path+`").then((r) => r.text())`, &csv, chromedp.EvalAsValue, awaited))
		if lines := strings.Split(strings.TrimSpace(csv), "\n"); len(lines) < 3 || !strings.HasPrefix(lines[0], want) {
			t.Errorf("the download of %s is %q", path, csv)
		}
	}
	v.submit(".months a[rel=prev]")
	v.says("main", "Nothing was used in")
	v.submit(".months a[rel=next]")
	v.says(".shares th", "svc-snap-preview")
	v.signIn(adminKey)
	v.open("/admin/usage")
	v.says(".shares th a", "default")
	v.says(".shares td", "$1,000.00")
	v.submit(".shares th a")
	v.says("td", "decisions")
}

func TestAdministration(t *testing.T) {
	v := visit(t, start(t), desk)
	answerDialogs(v.ctx)
	v.signIn(adminKey)
	v.click("details.card summary")
	v.fill("details [name=name]", "Blue Team")
	v.fill("[name=credits]", "12.50")
	v.submit("details button.primary")
	v.says("h1", "Blue Team")
	v.says(".facts", "$12.50")
	v.fill("[name=concurrent_requests]", "3")
	v.submit("form.card button.primary")
	v.until(`document.querySelector("[name=concurrent_requests]").value === "3"`)
	v.fill("[name=amount]", "7.50")
	v.submit("form[action$=credits] button.primary")
	v.says(".facts", "$20")
	v.fill("form[action$=keys] [name=budget]", "2.5")
	v.submit("form[action$=keys] button.primary")
	v.says(".secret pre", "sk-svc-")
	secret := v.text(".secret pre")
	v.says("td", "$0.00 of $2.50 this month")
	v.do(chromedp.Evaluate(`void open(document.querySelector("tbody th a").href, "_self")`, nil))
	v.says(".facts", "Spent this month")
	v.fill("[name=name]", "night batch")
	v.fill("[name=budget]", "4")
	v.fill("[name=budget_period]", "day")
	v.submit("form.card button.primary")
	v.says("h1", "night batch")
	v.says(".facts", "of $4.00")
	v.submit(".facts a")
	other := visit(t, v.server, desk)
	other.signIn(secret)
	v.fill("[name=status]", "suspended")
	v.submit("form.card button.primary")
	v.until(`document.querySelector("[name=status]").value === "suspended" && !document.querySelector(".secret")`)
	other.open("/decide")
	other.says("h1", "Sign in")
	v.fill("[name=status]", "active")
	v.submit("form.card button.primary")
	v.seen("table button.danger")
	v.submit("table button.danger")
	v.says("p", "It has no keys")
	v.fill("[name=files_days]", "30")
	v.submit("form.card button.primary")
	v.until(`document.querySelector("[name=files_days]").value === "30"`)
	v.open("/admin/audit")
	v.says("td", "organization")
	v.says("td", "api_key.update")
	v.says("td", "console 127.0.0.1")
	for _, page := range []string{"/admin/keys", "/admin/system"} {
		v.open(page)
	}
	v.says("td", "svc-preview")
	v.open("/admin/organizations")
	v.submit("tbody tr:first-child a")
	v.seen("[name=confirmed]")
	v.fill("[name=confirmed]", v.text(".facts code"))
	v.submit("form[action$=delete] button.danger")
	v.says("h1", "Organizations")
	v.until(`document.querySelectorAll("tbody tr").length === 1`)
}

// TestNarrow holds every page to the width of a telephone: nothing is wider.
func TestNarrow(t *testing.T) {
	v := visit(t, start(t), telephone)
	prepare(v)
	for _, page := range everyPage(v) {
		v.open(page.path)
		var wide int
		v.do(chromedp.Evaluate(`document.documentElement.scrollWidth`, &wide))
		if wide > telephone {
			t.Errorf("%s is %d pixels wide, want at most %d", page.path, wide, telephone)
		}
	}
}

// TestScreenshots writes a picture of every page at both widths, light and dark.
func TestScreenshots(t *testing.T) {
	if *shots == "" {
		t.Skip("makes pictures: go test -run Screenshots -shots DIR")
	}
	if err := os.MkdirAll(*shots, 0o755); err != nil {
		t.Fatal(err)
	}
	s := start(t)
	for i, width := range []int64{desk, telephone} {
		v := visit(t, s, width)
		v.open("/signin")
		v.picture(place{name: "signin"}, width)
		prepare(v)
		if i == 0 {
			furnish(v)
		}
		for _, page := range everyPage(v) {
			v.open(page.path)
			switch page.path {
			case "/decide":
				v.click(".actions button.primary")
				v.seen(".answer")
			case "/respond":
				v.do(chromedp.Evaluate(`document.querySelector("#respond details").open = true`, nil))
			}
			v.picture(page, width)
		}
	}
}

// picture writes pictures of the page that is open.
func (v visitor) picture(page place, width int64) {
	v.Helper()
	v.do(chromedp.Evaluate(`scrollTo(0, 0)`, nil))
	for scheme, end := range map[string]string{"light": "", "dark": "-dark"} {
		var picture []byte
		v.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
			chromedp.FullScreenshot(&picture, 100))
		name := filepath.Join(*shots, fmt.Sprintf("%s-%d%s.png", page.name, width, end))
		if err := os.WriteFile(name, picture, 0o644); err != nil {
			v.Fatal(err)
		}
	}
	v.do(emulation.SetEmulatedMedia())
}

// furnish leaves what makes pictures tell something: a second organization, keys
// with budgets, credits, branches of a conversation.
func furnish(v visitor) {
	v.Helper()
	v.do(chromedp.Evaluate(`(async () => {
	  const admin = (path, body) => fetch("/admin/v1/" + path, {method: "POST", headers: {Authorization: "Bearer `+adminKey+`"}, body: JSON.stringify(body)}).then((r) => r.json());
	  const as = (key) => (path, body) => fetch("/v1/" + path, {method: "POST", headers: {Authorization: "Bearer " + key}, body: JSON.stringify(body)}).then((r) => r.json());
	  const org = await admin("organizations", {name: "Harbour Logistics", credits: "250", requests_per_minute: 600, concurrent_requests: 8});
	  const keys = [
	    (await admin("api_keys", {organization_id: "org_default", name: "production", budget: "0.01", budget_period: "day"})).key,
	    (await admin("api_keys", {organization_id: "org_default", name: "staging", models: ["svc-preview"]})).key,
	    (await admin("api_keys", {organization_id: org.id, name: "dispatch", budget: "20"})).key,
	  ];
	  await admin("organizations/org_default/credits", {amount: "-12.5"});
	  for (const [i, key] of keys.entries()) {
	    for (let n = 0; n <= 3 - i; n++) {
	      await as(key)("responses", {model: "svc-preview", input: "Summarize the tariff for pallets. ".repeat(40 * (n + 1))});
	      if (i !== 1) await as(key)("systemone", {model: "svc-snap-preview", state: "The parcel has not arrived. ".repeat(20), questions: {late: {type: "noul", instructions: "Is it late?"}}});
	    }
	  }
	  const first = await as(keys[0])("responses", {model: "svc-preview", input: "The warehouse in Antwerp closes at eight. It opens at nine."});
	  await as(keys[0])("responses", {model: "svc-preview", previous_response_id: first.id, input: "When does the warehouse open?"});
	  await as(keys[0])("responses", {model: "svc-preview", previous_response_id: first.id, input: "When does the warehouse close?"});
	})()`, nil, awaited))
}
