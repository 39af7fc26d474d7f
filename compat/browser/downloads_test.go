package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestDownloads follows every link to a table of usage.
func TestDownloads(t *testing.T) {
	v := visit(t, start(t), desk)
	prepare(v)
	for page, want := range map[string]string{
		"/usage":                                 "day,by,name id,created_at,type",
		"/admin/usage":                           "day,by,name",
		"/admin/organizations/org_default/usage": "day,by,name id,created_at,type",
	} {
		v.open(page)
		var begin string
		v.do(chromedp.Evaluate(`Promise.all([...document.querySelectorAll(".downloads a[download]")].map((a) => fetch(a.href).then((r) => r.text())))
		  .then((all) => all.map((csv) => csv.trim().split("\n").length > 2 ? csv.split(",").slice(0, 3).join() : csv).join(" "))`, &begin, awaited))
		if begin != want {
			t.Errorf("the tables of %s begin with %q, want %q", page, begin, want)
		}
	}
}
