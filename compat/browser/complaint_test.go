package browser_test

import (
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"context"
	"strings"
)

// complaint is what an event says that is wrong with a page: an exception, or a
// file or script that the policy refuses. Statuses of pages are no complaints.
func complaint(event any) (string, bool) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		return e.ExceptionDetails.Error(), true
	case *log.EventEntryAdded:
		return e.Entry.Text, e.Entry.Level == log.LevelError && !strings.HasPrefix(e.Entry.Text, "Failed to load resource")
	}
	return "", false
}

// answerDialogs says yes to every question that a page asks.
func answerDialogs(ctx context.Context) {
	chromedp.ListenTarget(ctx, func(event any) {
		if _, ok := event.(*page.EventJavascriptDialogOpening); ok {
			go func() { _ = chromedp.Run(ctx, page.HandleJavaScriptDialog(true)) }() // ends with the browser
		}
	})
}
