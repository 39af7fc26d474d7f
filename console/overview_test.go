package console_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/responses"
)

func TestTheOverviewCounts(t *testing.T) {
	script := &modeltest.Script{Respond: func(r *model.Request) modeltest.Answer {
		if strings.Contains(string(r.Messages[0].Parts[0].(model.Text)), "fail") {
			return modeltest.Fail(&fault.Error{Kind: fault.Upstream, Code: "model_failed", Message: "The model broke off."}, model.TextDelta{Text: "Hel"})
		}
		return modeltest.Text("Yes.").WithUsage(model.Usage{InputTokens: 100, CachedTokens: 50, OutputTokens: 10})
	}}
	d := openOn(t, script, slog.New(slog.DiscardHandler))
	d.signIn(d.key)
	if _, page := d.get("/overview"); !strings.Contains(page, "Of 0 stored entries") || !strings.Contains(page, "Nothing runs.") {
		t.Errorf("without entries: %s", page)
	}
	caller := d.caller()
	for _, text := range []string{"one", "two", "fail", "fail", "fail"} {
		events, err := d.service.StreamResponse(t.Context(), caller, &responses.Request{Model: model.DefaultGenerator, Input: responses.Text(text)})
		if err != nil {
			t.Fatal(err)
		}
		for range events {
		}
	}
	budget, period := accounts.Dollar, accounts.Month
	if _, err := d.service.UpdateKey(t.Context(), caller.Key, accounts.KeyUpdate{Budget: &budget, BudgetPeriod: &period}); err != nil {
		t.Fatal(err)
	}
	status, page := d.get("/overview?span=week")
	for _, want := range []string{
		"Of 5 stored entries", "<span>Requests</span> <strong>5</strong>", "<strong>3 <small>60.0 %</small></strong>", "3 of 5 requests failed",
		"By model", "svc-preview", "By key", `<div class="charts">`, "Requests, errors in red over 7 days: 5 requests, 3 errors; at most 5",
		"<h2>Budgets</h2>", "of the period",
	} {
		if status != http.StatusOK || !strings.Contains(page, want) {
			t.Errorf("%d: no %q", status, want)
		}
	}
	if status, page := d.get("/overview?span=nothing"); status != http.StatusOK || !strings.Contains(page, `aria-label="In 24 hours"`) {
		t.Errorf("an unknown span: %d", status)
	}
}

// TestWhatRunsNow shows a turn that is being made, and cancels it from the overview.
func TestWhatRunsNow(t *testing.T) {
	d := openOn(t, modeltest.New(modeltest.Block(model.TextDelta{Text: "Well, "})), slog.New(slog.DiscardHandler))
	token := d.signIn(d.key)
	stream := d.send(token, "Will this <ever> end?")
	id := d.begun(stream)
	if _, page := d.get("/overview"); !strings.Contains(page, "Will this &lt;ever&gt; end?") || !strings.Contains(page, "/responses/"+id+"/cancel") {
		t.Errorf("the overview does not show what runs: %s", page)
	}
	if got := d.fragment("/overview"); !strings.Contains(got, id) || strings.Contains(got, "charts") {
		t.Errorf("the piece that is asked for again: %s", got)
	}
	if status, _ := d.post("/responses/"+id+"/cancel", url.Values{"token": {token}}); status != http.StatusOK {
		t.Errorf("cancelling: %d", status)
	}
	if _, err := io.ReadAll(stream); err != nil {
		t.Fatal(err)
	}
	if got := d.fragment("/overview"); !strings.Contains(got, "Nothing runs.") {
		t.Errorf("after it: %s", got)
	}
	d.now = d.now.Add(48 * time.Hour)
	d.signIn(d.key)
	if _, page := d.get("/overview"); !strings.Contains(page, "Of 0 stored entries") {
		t.Error("the overview counts what was before its time")
	}
}
