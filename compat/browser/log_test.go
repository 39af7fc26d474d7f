package browser_test

import (
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestLog searches the log, and sees what happens while the live tail is on.
func TestLog(t *testing.T) {
	v := visit(t, start(t), desk)
	prepare(v)
	v.open("/log")
	v.says(".log .said", "The warehouse in Antwerp")
	v.fill("#q", "do you open")
	v.submit(".search button")
	v.until(`document.querySelectorAll(".log .said").length === 1`)
	v.says(".goes", "that is all")
	v.open("/log?live=1")
	v.do(chromedp.Evaluate(`fetch("/v1/responses", {method: "POST", headers: {Authorization: "Bearer `+v.key+`"}, body: JSON.stringify({model: "svc-preview", input: "Something new"})}).then((r) => r.status)`, nil, awaited))
	v.says(".log .said", "Something new")
}

// TestBranches edits a turn and goes back to the branch that it stands beside.
func TestBranches(t *testing.T) {
	v := visit(t, start(t), desk)
	v.signIn(v.key)
	v.open("/respond")
	for i, text := range []string{"The warehouse in Antwerp closes at eight.", "When does the warehouse close?"} {
		v.fill("#text", text)
		v.click("#respond button.primary")
		v.until([]string{`document.querySelectorAll(".turnfoot").length === 1`, `document.querySelectorAll(".turnfoot").length === 2`}[i])
	}
	v.click(".turn:last-child a[href*='edit=']")
	v.until(`document.querySelector("#text").value === "When does the warehouse close?"`)
	v.fill("#text", "Where is the warehouse?")
	v.do(chromedp.Focus("#text", chromedp.ByQuery), chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(input.ModifierCtrl)))
	v.until(`document.querySelector(".switch")?.textContent.includes("2 of 2")`)
	v.click(".switch a")
	v.until(`document.querySelector(".switch")?.textContent.includes("1 of 2")`)
	v.says(".item.user pre", "When does the warehouse close?")
	v.fill("#text", "A draft")
	v.open("/log")
	v.do(chromedp.Evaluate(`history.back()`, nil))
	v.until(`document.querySelector("#text")?.value === "A draft"`)
}
