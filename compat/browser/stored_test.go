package browser_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestStored finds an object of every kind by its words and by its ID, looks at it,
// and deletes it. The response goes first: it goes with its conversation.
func TestStored(t *testing.T) {
	v := visit(t, start(t), desk)
	answerDialogs(v.ctx)
	prepare(v)
	for _, kind := range []struct{ list, pages, words, says string }{
		{"/log?kind=response", "/responses", "svc-preview", "The warehouse in Antwerp closes at eight."},
		{"/conversations", "/conversations", "conv_", ""}, // its words are those of its items, which are its own page's
		{"/log?kind=completion", "/completions", "SVC-preview", "When do you open?"},
		{"/files", "/files", "returns.txt", "Returns are accepted within 30 days."},
	} {
		v.open(strings.Replace(kind.list+"?", "?", "?q=nothing+has+these+words&", 1))
		v.until(`!document.querySelector("main tbody a")`)
		v.open(kind.list)
		var href string
		v.do(chromedp.Evaluate(`document.querySelector("main tbody a").getAttribute("href")`, &href))
		id := href[len("/console"+kind.pages+"/"):]
		if kind.says != "" {
			v.fill("#q", kind.words)
			v.submit(".search button")
			v.seen(fmt.Sprintf(`main a[href=%q]`, href))
		}
		v.fill("#q", id)
		v.submit(".search button")
		v.until(fmt.Sprintf(`location.pathname === %q`, href))
		v.says("main", kind.says)
		v.submit("button.danger")
		v.until(fmt.Sprintf(`!location.pathname.endsWith(%q) && !document.querySelector('main a[href=%q]')`, id, href))
		v.open(kind.pages + "/" + url.PathEscape(id))
		v.says(".wrong", "found")
	}
}
