package console_test

import (
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/responses"
)

// echoing answers with what was said last.
func echoing() model.Backend {
	return &modeltest.Script{Respond: func(r *model.Request) modeltest.Answer {
		last := r.Messages[len(r.Messages)-1]
		return modeltest.Text("**You said** " + string(last.Parts[0].(model.Text)))
	}}
}

func TestAnAnswerIsMarkdown(t *testing.T) {
	d := openOn(t, echoing(), slog.New(slog.DiscardHandler))
	token := d.signIn(d.key)
	_, page := d.post("/respond", url.Values{"token": {token}, "model": {"svc-preview"}, "text": {"<b>this</b> [link](javascript:alert(1))"}})
	if !strings.Contains(page, `<p><strong>You said</strong> &lt;b&gt;this&lt;/b&gt; <span>link</span></p>`) || strings.Contains(page, "<b>this") {
		t.Errorf("the answer: %s", page)
	}
}

// TestEditAndRegenerate makes three branches of a conversation and finds the way between
// them.
func TestEditAndRegenerate(t *testing.T) {
	d := openOn(t, echoing(), slog.New(slog.DiscardHandler))
	token := d.signIn(d.key)
	say := func(text, previous string) (id, page string) {
		status, page := d.post("/respond", url.Values{"token": {token}, "model": {"svc-preview"}, "text": {text}, "previous": {previous}})
		if status != http.StatusOK {
			t.Fatalf("%d %s", status, page)
		}
		return field(page, "previous"), page
	}
	first, _ := say("The beginning", "")
	second, page := say("The middle", first)
	if strings.Contains(page, `class="switch"`) || strings.Contains(page, `class="tree"`) {
		t.Error("a straight conversation has a switcher")
	}
	_, page = d.get("/respond?edit=" + second)
	if field(page, "previous") != first || !strings.Contains(page, ">The middle</textarea>") || strings.Count(page, `class="turn"`) != 1 {
		t.Errorf("the form for an edit: %s", page)
	}
	third, page := say("Another middle", first)
	if !strings.Contains(page, "2 of 2") || !strings.Contains(page, `href="/console/respond?response=`+second+`" aria-label="The branch before"`) {
		t.Errorf("no way to the first branch: %s", page)
	}
	status, page := d.post("/responses/"+third+"/again", url.Values{"token": {token}})
	if status != http.StatusOK || !strings.Contains(page, "3 of 3") || !strings.Contains(page, "Another middle") {
		t.Errorf("once more: %d %s", status, page)
	}
	tree := regexp.MustCompile(`<li class="depth(\d)"><a href="[^"]+"( aria-current="true")? dir="auto">([^<]*)`).FindAllStringSubmatch(page, -1)
	var got []string
	for _, m := range tree {
		got = append(got, m[1]+html.UnescapeString(m[3]))
	}
	if strings.Join(got, "|") != "0The beginning|1The middle|1Another middle|1Another middle" {
		t.Errorf("the tree is %q", got)
	}
}

func TestAgainTakesNoOthersTurn(t *testing.T) {
	d := open(t)
	token := d.signIn(d.key)
	if status, _ := d.post("/responses/resp_none/again", url.Values{"token": {token}}); status != http.StatusNotFound {
		t.Errorf("%d", status)
	}
}

// TestThePromptOfATurn holds that the page of a turn shows what its model has read, with
// the instructions and what came before.
func TestThePromptOfATurn(t *testing.T) {
	d := openOn(t, echoing(), slog.New(slog.DiscardHandler))
	d.signIn(d.key)
	caller := d.caller()
	req := &responses.Request{Model: model.DefaultGenerator, Instructions: "Be <brief>.", Input: responses.Text("How late is it?"), Tools: []model.Tool{{Name: "clock", Description: "Tells the time"}}}
	first, err := d.service.CreateResponse(t.Context(), caller, req)
	if err != nil {
		t.Fatal(err)
	}
	again := *req
	again.PreviousResponseID, again.Input = first.ID, responses.Text("And now?")
	second, err := d.service.CreateResponse(t.Context(), caller, &again)
	if err != nil {
		t.Fatal(err)
	}
	_, page := d.get("/responses/" + second.ID)
	_, prompt, _ := strings.Cut(page, "The prompt as the model saw it")
	at := 0
	for _, want := range []string{"Be &lt;brief&gt;.", "How late is it?", "**You said** How late is it?", "And now?", "<code>clock</code> Tells the time"} {
		i := strings.Index(prompt[at:], want)
		if i < 0 {
			t.Fatalf("no %q behind what came before in %s", want, prompt)
		}
		at += i
	}
	for _, path := range []string{"/object", "/program"} {
		if status, body := d.get("/responses/" + second.ID + path); status != http.StatusOK || !strings.Contains(body, first.ID) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// TestThePromptSaysWhatWasLeftOut cuts a prompt that is over the window of its model.
func TestThePromptSaysWhatWasLeftOut(t *testing.T) {
	service, err := svc.New(t.Context(), svc.Options{Backend: &modeltest.Script{
		Infos:   []model.Info{{ID: model.DefaultGenerator, Generates: true, ContextWindow: 8000}},
		Respond: func(*model.Request) modeltest.Answer { return modeltest.Text("Yes.") },
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	caller, err := service.LocalCaller(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a few words more ", 800)
	previous := ""
	for range 3 {
		r, err := service.CreateResponse(t.Context(), caller, &responses.Request{Model: model.DefaultGenerator, Truncation: responses.TruncationAuto, PreviousResponseID: previous, Input: responses.Text(long)})
		if err != nil {
			t.Fatal(err)
		}
		previous = r.ID
	}
	r, err := service.Response(t.Context(), caller, previous)
	if err != nil {
		t.Fatal(err)
	}
	items, err := service.ResponsePrompt(t.Context(), caller, previous)
	if err != nil {
		t.Fatal(err)
	}
	left := 0
	for _, item := range items {
		if item.Fate == responses.Truncated {
			left++
		}
	}
	if left == 0 || left != r.Truncated || len(items) != 5 || items[0].Fate != responses.Truncated || items[4].Fate != responses.Shown || !items[4].New {
		t.Errorf("%d of %d items were left out, the response says %d", left, len(items), r.Truncated)
	}
}
