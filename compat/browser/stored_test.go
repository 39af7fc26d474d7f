package browser_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestStored finds an object of every kind by its words and by its ID, looks at it,
// and deletes it. The response goes first: it goes with its conversation.
func TestStored(t *testing.T) {
	v := visit(t, start(t), desk)
	answerDialogs(v.ctx)
	prepare(v)
	for _, kind := range []struct{ list, words, says string }{
		{"/responses", "svc-preview", "The warehouse in Antwerp closes at eight."},
		{"/conversations", "conv_", ""}, // its words are those of its items, which are its own page's
		{"/completions", "SVC-preview", "When do you open?"},
		{"/files", "returns.txt", "Returns are accepted within 30 days."},
	} {
		v.open(kind.list + "?q=nothing+has+these+words")
		v.until(`!document.querySelector("main .tree a, main tbody a")`)
		v.open(kind.list)
		var href string
		v.do(chromedp.Evaluate(`document.querySelector("main .tree a, main tbody a").getAttribute("href")`, &href))
		id := href[len("/console"+kind.list+"/"):]
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
		v.until(fmt.Sprintf(`location.pathname === "/console%s" && !document.querySelector('main a[href=%q]')`, kind.list, href))
		v.open(kind.list + "/" + url.PathEscape(id))
		v.says(".wrong", "found")
	}
}
