package console_test

import (
	"encoding/json"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/responses"
)

// caller is who the key of the desk belongs to.
func (d *desk) caller() svc.Caller {
	d.Helper()
	caller, err := d.service.Authenticate(d.Context(), d.key)
	if err != nil {
		d.Fatal(err)
	}
	return caller
}

// ask makes a response and returns its ID.
func (d *desk) ask(text string) string {
	d.Helper()
	r, err := d.service.CreateResponse(d.Context(), d.caller(), &responses.Request{Model: model.DefaultGenerator, Input: responses.Text(text)})
	if err != nil {
		d.Fatal(err)
	}
	return r.ID
}

// fragment loads the piece of a page that the script asks for.
func (d *desk) fragment(path string) string {
	d.Helper()
	r := httptest.NewRequestWithContext(d.Context(), "GET", d.url+"/console"+path, nil)
	r.Header.Set("X-Console-Fragment", "1")
	status, body := d.do(r)
	if status != http.StatusOK {
		d.Fatalf("%s: %d %s", path, status, body)
	}
	return body
}

var (
	headlines = regexp.MustCompile(`(?s)class="said".*?<a [^>]*>(.*?)</a>`)
	nextLink  = regexp.MustCompile(`<a href="/console([^"]+)" rel="next"`)
)

// asked are the headlines of a page of the log.
func asked(page string) (all []string) {
	for _, m := range headlines.FindAllStringSubmatch(page, -1) {
		all = append(all, html.UnescapeString(m[1]))
	}
	return all
}

// equal compares the headlines of a page.
func (d *desk) lists(path string, want ...string) string {
	d.Helper()
	status, page := d.get(path)
	if got := asked(page); status != http.StatusOK || strings.Join(got, "|") != strings.Join(want, "|") {
		d.Errorf("%s: %d lists %q, want %q", path, status, got, want)
	}
	return page
}

func TestTheLogHasEveryKindByTime(t *testing.T) {
	d := open(t)
	d.signIn(d.key)
	caller := d.caller()
	d.ask("How late is it?\nAnd where?")
	_, err := d.service.CompleteChat(t.Context(), caller, &chat.Request{Model: model.DefaultGenerator, Messages: []chat.Message{
		{Role: model.User, Content: []chat.Part{chat.Text("An earlier question")}}, {Role: model.User, Content: []chat.Part{chat.Text("When do you open?")}}}})
	if err != nil {
		t.Fatal(err)
	}
	store := true
	kept, err := d.service.Decide(t.Context(), caller, &decisions.Request{Model: model.DefaultDecider, State: json.RawMessage(`"The parcel is late."`), Store: &store,
		Questions: []decisions.Question{{Name: "late", Type: decisions.Noul, Instructions: "Is it late?"}}})
	if err != nil {
		t.Fatal(err)
	}
	page := d.lists("/log", "The parcel is late.", "When do you open?", "How late is it?")
	for _, want := range []string{"late: ", "svc-preview", "default", "$0.0000", `class="status completed"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the log does not say %q", want)
		}
	}
	d.lists("/log?kind=completion", "When do you open?")
	d.lists("/log?q=WHEN+do", "When do you open?")
	d.lists("/log?q=nobody+said+that")
	d.lists("/log?model="+model.DefaultDecider, "The parcel is late.")
	d.lists("/log?key="+caller.Key+"&kind=response", "How late is it?")
	d.lists("/log?key=key_other")
	d.lists("/log?status=failed")
	d.lists("/log?tokens=100000")
	d.lists("/log?cost=1")
	d.lists("/log?latency=600000")
	d.lists("/log?first=600000")
	d.lists("/log?to=2020-01-01")
	d.lists("/log?from=2020-01-01&to=2999-01-01", "The parcel is late.", "When do you open?", "How late is it?")
	d.lists("/log?from=2998-01-01T10:30")
	if _, page := d.get("/log?q=" + kept.ID); !strings.Contains(page, "<h1>Decision</h1>") || !strings.Contains(page, "Is it late?") {
		t.Errorf("the ID of a decision leads to %s", page)
	}
	for _, wrong := range []string{"/log?latency=soon", "/log?from=yesterday", "/log?cost=NaN", "/log?tokens=-1", "/log?latency=1e300"} {
		if status, _ := d.get(wrong); status != http.StatusBadRequest {
			t.Errorf("%s: %d", wrong, status)
		}
	}
}

// TestTheLogGoesOn reads a log of several pages and a search that takes several steps,
// each entry once.
func TestTheLogGoesOn(t *testing.T) {
	d := open(t)
	d.signIn(d.key)
	var want []string
	for i := range 120 {
		d.ask(fmt.Sprintf("question %d", i))
		want = append([]string{fmt.Sprintf("question %d", i)}, want...)
	}
	last := ""
	read := func(path string) (got []string) {
		_, page := d.get(path)
		for {
			got = append(got, asked(page)...)
			next := nextLink.FindStringSubmatch(page)
			if next == nil {
				last = page
				return got
			}
			page = d.fragment(html.UnescapeString(next[1]))
			if strings.Contains(page, "<html") {
				t.Fatal("the script gets the whole page")
			}
		}
	}
	if got := read("/log"); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("the pages together have %q", got)
	}
	if got := read("/log?q=question+1"); len(got) != 31 {
		t.Errorf("a search finds %q", got)
	}
	read("/log?q=question+119")
	if !strings.Contains(last, "Looked at 120 entries") {
		t.Error("the search does not say what it has looked at")
	}
}

func TestTheLiveTail(t *testing.T) {
	d := open(t)
	d.signIn(d.key)
	d.ask("The first")
	_, page := d.get("/log?live=1&kind=response")
	m := regexp.MustCompile(`data-load="/console([^"]+)" data-delay="2000"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("the page does not ask again: %s", page)
	}
	d.ask("The second")
	if got := asked(d.fragment(html.UnescapeString(m[1]))); strings.Join(got, "|") != "The second|The first" {
		t.Errorf("the tail shows %q", got)
	}
}

func TestTheLogSaysWhatFailed(t *testing.T) {
	script := modeltest.New(modeltest.Fail(&fault.Error{Kind: fault.Upstream, Code: "model_failed", Message: "The model broke off."}, model.TextDelta{Text: "Hel"}))
	d := openOn(t, script, slog.New(slog.DiscardHandler))
	d.signIn(d.key)
	events, err := d.service.StreamResponse(t.Context(), d.caller(), &responses.Request{Model: model.DefaultGenerator, Input: responses.Text("Will it work?")})
	if err != nil {
		t.Fatal(err)
	}
	for range events {
	}
	if page := d.lists("/log?status=failed", "Will it work?"); !strings.Contains(page, "The model broke off.") {
		t.Errorf("the log does not say why: %s", page)
	}
}
