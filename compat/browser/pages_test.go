package browser_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	if bars != 5 { // three teams, yes and no
		t.Errorf("%d bars are drawn, want 5", bars)
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
	v.seen("fieldset:nth-of-type(3)")
	v.fill("fieldset:nth-of-type(3) select[name=type]", "score")
	v.fill("fieldset:nth-of-type(3) [name=name]", "anger")
	v.fill("fieldset:nth-of-type(3) [name=instructions]", "How angry is the customer?")
	v.fill("fieldset:nth-of-type(3) textarea", "calm\nannoyed\nfurious")
	v.click(".actions button.primary")
	v.says(".answer h2", "anger")
	v.click("fieldset:nth-of-type(3) button[name=remove]")
	v.until(`!document.querySelector("fieldset:nth-of-type(3)")`)
	v.fill("[name=kind]", "json")
	v.fill("#state", "not JSON")
	v.click(".actions button.primary")
	v.says(".wrong", "not JSON")
	v.fill("#state", `{"mail": "I was charged twice"}`)
	v.click(".actions button.primary")
	v.says(".answer h2", "team")
	v.click(".snippets summary")
	for _, language := range []string{"curl", "Python", "JavaScript", "Go"} {
		v.says(".snippets h3", language)
	}
	v.says(".remembered a", "charged twice")
	v.click(".remembered li:first-child a")
	v.seen("#state")
	var state string
	v.do(chromedp.Value("#state", &state, chromedp.ByQuery))
	if want := `{"mail": "I was charged twice"}`; state != want {
		t.Errorf("the remembered state is %q, want %q", state, want)
	}
}

func TestRespond(t *testing.T) {
	v := visit(t, start(t), desk)
	v.signIn(v.key)
	v.open("/respond")
	v.fill("#text", "The warehouse in Antwerp closes at eight.")
	v.click("#respond button.primary")
	v.says(".turnfoot", "completed")
	v.fill("#text", "When does the warehouse in Antwerp close?")
	v.click("#respond button.primary")
	v.says(".item.assistant pre", "The warehouse in Antwerp closes at eight.")
	// A branch from the first turn does not have the second.
	v.click(".turn:first-of-type .turnfoot a:last-of-type")
	v.seen("#respond")
	v.until(`document.querySelectorAll(".turn").length === 1`)
	v.fill("#text", "And when does it open?")
	v.click("#respond button.primary")
	v.until(`document.querySelectorAll(".turnfoot").length === 2`)
	v.open("/responses")
	v.says(".tree .depth1", "completed")
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
	v.says(".item.assistant pre", "Rain, 12 degrees")
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
	v.says(".item.assistant pre", "30 days")
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

func TestDeleteWhatIsStored(t *testing.T) {
	v := visit(t, start(t), desk)
	answerDialogs(v.ctx)
	v.signIn(v.key)
	v.open("/respond")
	v.fill("#text", "Hello")
	v.click("#respond button.primary")
	v.says(".turnfoot", "completed")
	for _, list := range []string{"/responses", "/conversations"} {
		v.open(list)
		v.click("main li a, tbody a")
		v.seen("button.danger")
		v.click("button.danger")
		v.says("main p", "There are no")
	}
}

func TestUsage(t *testing.T) {
	v := visit(t, start(t), desk)
	v.signIn(v.key)
	v.open("/usage")
	v.says("main", "Nothing was used yet")
	v.open("/decide")
	v.click(".actions button.primary")
	v.says(".answer h2", "team")
	v.open("/usage")
	v.says("td", "decisions")
	v.seen("svg.chart rect")
	v.click(".tabs a:nth-child(2)")
	v.says("svg.chart title", ": ")
	var csv string
	v.do(chromedp.Evaluate(`fetch("/console/usage.csv").then((r) => r.text())`, &csv, chromedp.EvalAsValue, awaited))
	if lines := strings.Split(strings.TrimSpace(csv), "\n"); len(lines) != 2 || !strings.HasPrefix(lines[0], "id,created_at,") {
		t.Errorf("the download is %q", csv)
	}
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
	v.says(".facts", "$12.5")
	v.fill("[name=amount]", "7.50")
	v.submit("form[action$=credits] button.primary")
	v.says(".facts", "$20")
	v.submit("form[action$=keys] button.primary")
	v.says(".secret pre", "sk-svc-")
	secret := v.text(".secret pre")
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

// hostile is what somebody may call anything.
const hostile = `<script>document.title="broken"</script><img src=x onerror=alert(1)>"'` + "\u202egpj.exe" + ` {{.}} ${1}`

// TestHostileTexts puts markup, scripts and writing from right to left wherever
// users' words are shown. The policy and the escaping keep them words; whatever
// a page does beyond that, visit complains of.
func TestHostileTexts(t *testing.T) {
	v := visit(t, start(t), desk)
	v.signIn(adminKey)
	v.click("details.card summary")
	v.fill("details [name=name]", hostile)
	v.click("details button.primary")
	v.says("h1", "gpj.exe")
	v.signIn(v.key)
	v.fill("#state", hostile+strings.Repeat("long ", 200_000))
	v.fill("fieldset:nth-of-type(1) [name=name]", hostile[:90])
	v.fill("fieldset:nth-of-type(1) textarea", hostile+"\nother")
	v.click(".actions button.primary")
	v.says(".answer h2", "<script>")
	path := filepath.Join(t.TempDir(), `<b onclick=x>"`+"\u202efdp.txt")
	if err := os.WriteFile(path, []byte(hostile), 0o600); err != nil {
		t.Fatal(err)
	}
	v.open("/files")
	v.do(chromedp.SetUploadFiles("input[type=file]", []string{path}, chromedp.ByQuery))
	v.click("form.card button.primary")
	v.says("td", "<b onclick")
	v.click("tbody a")
	v.says("pre.document", "<script>")
	v.open("/respond")
	v.fill("#text", hostile)
	v.click("#respond button.primary")
	v.says(".turnfoot", "completed")
	v.says(".item.user pre", "onerror=alert(1)")
	for _, page := range []string{"/responses", "/conversations", "/usage", "/admin/organizations", "/admin/audit"} {
		v.open(page)
	}
	var title string
	v.do(chromedp.Title(&title))
	if strings.Contains(title, "broken") {
		t.Error("a script of a user's ran")
	}
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

// TestKeyboardAndLandmarks goes by keys alone, and looks for what a screen reader
// goes by.
func TestKeyboardAndLandmarks(t *testing.T) {
	v := visit(t, start(t), desk)
	prepare(v)
	for _, page := range everyPage(v) {
		v.open(page.path)
		var bad []string
		v.do(chromedp.Evaluate(landmarks, &bad))
		for _, b := range bad {
			t.Errorf("%s: %s", page.path, b)
		}
	}
	v.open("/decide")
	v.do(chromedp.Focus("#state", chromedp.ByQuery), chromedp.KeyEvent("\t"))
	var focused string
	v.do(chromedp.Evaluate(`document.activeElement.name`, &focused))
	if focused != "name" {
		t.Errorf("a tab behind the state leads to %q, want the first question's name", focused)
	}
}

// landmarks lists what is missing of a page for who cannot see it.
const landmarks = `(() => {
  const bad = [];
  for (const tag of ["header", "main", "nav[aria-label]", "h1"]) if (!document.querySelector(tag)) bad.push("no " + tag);
  if (!document.documentElement.lang) bad.push("no language");
  for (const e of document.querySelectorAll("input:not([type=hidden]), select, textarea")) {
    if (!e.labels.length && !e.ariaLabel) bad.push("no label for " + e.outerHTML.slice(0, 100));
  }
  for (const e of document.querySelectorAll("button, a")) if (!e.textContent.trim()) bad.push("no name for " + e.outerHTML.slice(0, 100));
  for (const e of document.querySelectorAll("svg")) if (e.getAttribute("role") !== "img" || !e.getAttribute("aria-label")) bad.push("a picture without words");
  return bad;
})()`

// TestScreenshots writes a picture of every page at both widths, light and dark.
func TestScreenshots(t *testing.T) {
	if *shots == "" {
		t.Skip("makes pictures: go test -run Screenshots -shots DIR")
	}
	s := start(t)
	for _, width := range []int64{desk, telephone} {
		v := visit(t, s, width)
		prepare(v)
		for _, page := range everyPage(v) {
			v.open(page.path)
			if page.path == "/decide" {
				v.click(".actions button.primary")
				v.seen(".answer")
			}
			var picture []byte
			v.do(chromedp.FullScreenshot(&picture, 100))
			name := filepath.Join(*shots, fmt.Sprintf("%s-%d.png", page.name, width))
			if err := os.WriteFile(name, picture, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
