package browser_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// TestDropOnRespond drops two files on the form of a turn, looks at their states
// and at what a model will see, takes one away, and has the other asked about.
func TestDropOnRespond(t *testing.T) {
	v := visit(t, start(t), desk)
	v.signIn(v.key)
	v.open("/respond")
	v.drop("#text", written(t, "returns.md", "Returns are accepted within 30 days.\n"))
	v.says(".attachments .status", "processed")
	v.drop("#respond", written(t, "empty.pdf", "%PDF-1.4\nnothing that can be read"))
	v.until(`document.querySelectorAll(".attachments li").length === 2`)
	v.says(".attachments li:last-child .status", "error")
	v.says(".attachments li:last-child", "empty.pdf")
	v.click(".attachments li:last-child button")
	v.until(`document.querySelectorAll(".attachments li").length === 1`)
	v.click(".attachments summary")
	v.until(`document.querySelector(".attachments .document").checkVisibility()`)
	v.says(".attachments .document", "within 30 days")
	if *shots != "" {
		v.picture(place{name: "respond-file"}, desk)
	}
	v.fill("#text", "How many days do I have to return something?")
	v.click("#respond button.primary")
	v.says(".item.user .attached a", "file_")
	v.says(".item.assistant .md", "30 days")
}

// TestDropOnDecide drops a file on the form of a decision, which makes it the
// state, also of the form that comes back with the answer.
func TestDropOnDecide(t *testing.T) {
	v := visit(t, start(t), telephone)
	v.signIn(v.key)
	v.open("/decide")
	v.drop("#state", written(t, "complaint.txt", "The app shows errors and crashes.\n"))
	v.until(`document.querySelector("[name=kind]").value === "file" && document.querySelector("#file").value.startsWith("file_")`)
	v.says(".attachments .status", "processed")
	v.says(".attachments .document", "errors and crashes")
	v.click(".actions button.primary")
	v.says(".answer h2", "team")
	v.says(".answer .verdict strong", "technical")
	v.says(".attachments .document", "errors and crashes")
	if *shots != "" {
		v.click(".attachments summary")
		v.picture(place{name: "decide-file"}, telephone)
	}
	v.fill("#file", "file_of_somebody_else")
	v.until(`!document.querySelector(".attachments li")`)
	v.click(".actions button.primary")
	v.seen(".wrong")
}

// written makes a file on disk and returns its path.
func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// drop drops a file on an element, as a hand does that drags it in.
func (v visitor) drop(selector, path string) {
	v.Helper()
	var at struct{ X, Y float64 }
	v.do(chromedp.WaitVisible(selector, chromedp.ByQuery), chromedp.ScrollIntoView(selector, chromedp.ByQuery),
		chromedp.Evaluate(fmt.Sprintf(`(({x, y}) => ({x: x + 15, y: y + 15}))(document.querySelector(%q).getBoundingClientRect())`, selector), &at))
	data := &input.DragData{Items: []*input.DragDataItem{}, Files: []string{path}, DragOperationsMask: 1} // to copy
	for _, kind := range []input.DispatchDragEventType{input.DragEnter, input.DragOver, input.Drop} {
		v.do(chromedp.ActionFunc(func(ctx context.Context) error {
			return input.DispatchDragEvent(kind, at.X, at.Y, data).Do(ctx)
		}))
	}
}
