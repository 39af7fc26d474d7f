package console_test

import (
	"encoding/csv"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/console"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/responses"
)

// question is a form of the playground with one question.
func question(token string) url.Values {
	return url.Values{
		"token": {token}, "model": {"svc-snap-preview"}, "kind": {"text"}, "state": {"I was charged twice."},
		"name": {"team"}, "type": {"choice"}, "instructions": {"Which team?"}, "criteria": {"billing: Charges\r\nsales"},
	}
}

// TestDecideWithoutScripts holds that the playground works as plain forms.
func TestDecideWithoutScripts(t *testing.T) {
	d := open(t)
	form := question(d.signIn(d.key))
	status, page := d.post("/decide", form)
	for _, want := range []string{`<h2 dir="auto">team</h2>`, `<dt`, `billing`, `input tokens`, `curl http://`,
		html.EscapeString(`"criteria": {`), `urllib.request`, `await fetch(`, `package main`} {
		if status != http.StatusOK || !strings.Contains(page, want) {
			t.Errorf("%d, no %q in %s", status, want, page)
		}
	}
	form.Set("add", "1")
	if _, page = d.post("/decide", form); strings.Count(page, "<fieldset>") != 2 || strings.Contains(page, "input tokens") {
		t.Errorf("after adding a question: %s", page)
	}
	form.Del("add")
	form.Set("remove", "0")
	if _, page = d.post("/decide", form); strings.Contains(page, "<fieldset>") {
		t.Errorf("after removing the question: %s", page)
	}
}

// TestARequestFillsTheForm holds that what a browser remembers comes back as it
// was, whatever is in it.
func TestARequestFillsTheForm(t *testing.T) {
	d := open(t)
	d.signIn(d.key)
	for name, test := range map[string]struct{ request, want string }{
		"choice":     {`{"model": "m", "state": "a \"text\"", "questions": {"q": {"type": "choice", "instructions": "i", "criteria": {"z: x": null, "a": "b"}}}}`, "z: x\na: b"},
		"levels":     {`{"state": {"a": 1}, "questions": {"q": {"type": "score", "criteria": ["low", "high"]}}}`, "low\nhigh"},
		"no options": {`{"state": [], "questions": {"q": {"type": "noul"}}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			status, page := d.get("/decide?request=" + url.QueryEscape(test.request))
			if want := `dir="auto">` + html.EscapeString(test.want) + `</textarea></label>`; status != http.StatusOK || !strings.Contains(page, want) {
				t.Errorf("%d, no %q in %s", status, want, page)
			}
		})
	}
	for _, broken := range []string{"x", `{"questions": []}`, `{"questions": {"q": 1}}`, `{"questions": {"q": {"criteria": 1}}}`, `{"questions": {"q"`} {
		if status, _ := d.get("/decide?request=" + url.QueryEscape(broken)); status != http.StatusBadRequest {
			t.Errorf("%s: %d, want 400", broken, status)
		}
	}
}

func TestRespondWithoutScripts(t *testing.T) {
	d := open(t)
	token := d.signIn(d.key)
	status, page := d.post("/respond", url.Values{"token": {token}, "model": {"svc-preview"}, "text": {"The shop opens at nine."}})
	if status != http.StatusOK || !strings.Contains(page, "The shop opens at nine.") || !strings.Contains(page, "turnfoot") {
		t.Fatalf("%d %s", status, page)
	}
	previous := field(page, "previous")
	_, page = d.post("/respond", url.Values{"token": {token}, "model": {"svc-preview"}, "text": {"When does the shop open?"}, "previous": {previous}})
	if strings.Count(page, `class="turn"`) != 2 {
		t.Errorf("the second turn: %s", page)
	}
	if _, page = d.get("/responses/" + field(page, "previous") + "/program"); !strings.Contains(page, html.EscapeString(`"previous_response_id": "`+previous)) {
		t.Errorf("the second turn as a program: %s", page)
	}
	for name, form := range map[string]url.Values{
		"nothing said": {"model": {"svc-preview"}},
		"tools":        {"model": {"svc-preview"}, "text": {"x"}, "tools": {"{}"}},
		"other tools":  {"model": {"svc-preview"}, "text": {"x"}, "tools": {`[{"type": "mcp"}]`}},
	} {
		form.Set("token", token)
		if status, _ := d.post("/respond", form); status != http.StatusBadRequest {
			t.Errorf("%s: %d, want 400", name, status)
		}
	}
}

// field is the value of a hidden field.
func field(page, name string) string {
	_, rest, _ := strings.Cut(page, `name="`+name+`" value="`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

const hostile = `<script>alert(1)</script>"'&{{.}}` + "\u202e"

func TestHostileWordsAreWords(t *testing.T) {
	d := open(t)
	token := d.signIn(d.key)
	caller, err := d.service.Authenticate(t.Context(), d.key)
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.service.UploadFile(t.Context(), caller, files.Upload{Filename: strings.ReplaceAll(hostile, "/", "") + ".txt", MIMEType: "text/plain", Content: strings.NewReader(hostile), Purpose: files.Purpose})
	if err != nil {
		t.Fatal(err)
	}
	conversation, err := d.service.CreateConversation(t.Context(), caller, map[string]string{hostile: hostile}, nil)
	if err != nil {
		t.Fatal(err)
	}
	form := question(token)
	form.Set("name", hostile)
	form.Set("criteria", hostile+"\nother")
	_, answered := d.post("/decide", form)
	_, said := d.post("/respond", url.Values{"token": {token}, "model": {"svc-preview"}, "text": {hostile}})
	shown := []string{answered, said}
	for _, path := range []string{"/files", "/files/" + f.ID, "/conversations", "/conversations/" + conversation.ID, "/files?q=" + url.QueryEscape(hostile)} {
		_, page := d.get(path)
		shown = append(shown, page)
	}
	for _, page := range shown {
		if strings.Contains(page, "<script>alert") || !strings.Contains(page, "&lt;script&gt;alert") {
			t.Errorf("not escaped: %s", page)
		}
	}
}

// TestNobodyElsesObjects holds that the pages show what the key's organization
// has, and nothing of another.
func TestNobodyElsesObjects(t *testing.T) {
	d := open(t)
	d.signIn(adminKey)
	token := d.signIn(d.key)
	_, page := d.post("/respond", url.Values{"token": {token}, "model": {"svc-preview"}, "text": {"Ours alone"}})
	mine := field(page, "previous")
	kept, batch := d.decided("Ours alone")[0], d.batch("{}").ID
	_, page = d.post("/webhooks", url.Values{"token": {token}, "name": {"Ours alone"}, "url": {"http://127.0.0.1/"}, "event_types": {"batch.failed"}})
	hook := regexp.MustCompile(`whe_[A-Za-z0-9_-]+`).FindString(page)
	_, page = d.post("/admin/organizations", url.Values{"token": {token}, "name": {"other"}, "credits": {"1"}})
	_, page = d.post("/admin/keys", url.Values{"token": {token}, "organization_id": {"org_" + strings.Split(strings.Split(page, "<code>org_")[1], "<")[0]}})
	key := strings.Split(strings.Split(page, "<pre><code>")[1], "<")[0]
	d.client = d.browser()
	d.signIn(key)
	for _, path := range []string{"/responses/" + mine, "/respond?response=" + mine, "/conversations/x", "/files/x", "/completions/x",
		"/labels/" + kept, "/batches/" + batch, "/batches/" + batch + "/state", "/webhooks/" + hook} {
		if status, page := d.get(path); status != http.StatusNotFound || strings.Contains(page, "Ours alone") {
			t.Errorf("%s: %d, want 404", path, status)
		}
	}
	token = d.signIn(key)
	for _, path := range []string{"/labels/" + kept, "/batches/" + batch + "/cancel", "/webhooks/" + hook, "/webhooks/" + hook + "/rotate", "/webhooks/" + hook + "/test", "/webhooks/" + hook + "/delete", "/webhooks/" + hook + "/deliveries/x/resend"} {
		form := url.Values{"token": {token}, "name": {"team"}, "answer": {"null"}, "url": {"http://127.0.0.1/"}, "event_types": {"batch.failed"}, "event_type": {"batch.failed"}}
		if status, page := d.post(path, form); status != http.StatusNotFound {
			t.Errorf("%s: %d, want 404: %s", path, status, page)
		}
	}
	for _, path := range []string{"/log", "/labels", "/labels?question=team&labels=missing", "/batches", "/webhooks"} {
		if _, page := d.get(path); strings.Contains(page, mine) || strings.Contains(page, kept) || strings.Contains(page, batch) || strings.Contains(page, hook) {
			t.Errorf("%s has another organization's objects", path)
		}
	}
}

func TestUsageAsCSV(t *testing.T) {
	d := open(t)
	form := question(d.signIn(d.key))
	for range 3 {
		d.post("/decide", form)
	}
	rows := d.table("/usage.csv")
	if len(rows) != 5 { // the header, the first credits, three calls
		t.Errorf("%d rows: %v", len(rows), rows)
	}
	if got := fmt.Sprint(rows[0]); got != "[id created_at type endpoint model key input_tokens cached_tokens output_tokens amount_usd object by]" {
		t.Errorf("the header is %s", got)
	}
	if got := strings.Join([]string{rows[1][2], rows[1][9], rows[2][2], rows[2][9][:5]}, " "); got != "credit 1000 charge -0.00" {
		t.Errorf("the ledger begins with %s", got)
	}
	month := time.Now().UTC().Format("2006-01")
	rows = d.table("/usage/totals.csv?month=" + month)
	if got := fmt.Sprint(rows[0]); got != "[day by name requests input_tokens cached_tokens output_tokens cost_usd]" {
		t.Errorf("the header of the totals is %s", got)
	}
	if len(rows) != 4 || strings.Join([]string{rows[1][1], rows[1][3], rows[2][1], rows[2][2], rows[3][1]}, " ") != "day 3 model svc-snap-preview key" {
		t.Errorf("the totals are %v", rows)
	}
	for _, measure := range []string{"cost", "tokens", "requests"} {
		if _, page := d.get("/usage?measure=" + measure); !strings.Contains(page, `aria-label="`+measure+" by day in "+time.Now().UTC().Format("January 2006")+": ") {
			t.Errorf("no chart of %s in %s", measure, page)
		}
	}
	if _, page := d.get("/usage?month=2020-02"); !strings.Contains(page, "Nothing was used in February 2020") {
		t.Errorf("a month without calls: %s", page)
	}
	if status, _ := d.get("/usage?month=2020"); status != http.StatusBadRequest {
		t.Errorf("no month: %d", status)
	}
}

// table downloads a table.
func (d *desk) table(path string) [][]string {
	d.Helper()
	status, body := d.get(path)
	rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	if err != nil || status != http.StatusOK || len(rows) < 2 {
		d.Fatalf("%s: %d, %v: %s", path, status, err, body)
	}
	return rows
}

// TestASearchIsBounded holds that a search looks at no more than it says, and
// goes on where it ended.
func TestASearchIsBounded(t *testing.T) {
	d := open(t)
	d.signIn(d.key)
	caller, err := d.service.Authenticate(t.Context(), d.key)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1100 {
		tags := map[string]string{"n": fmt.Sprint(i)}
		if i == 0 {
			tags["wanted"] = "yes"
		}
		if _, err := d.service.CreateConversation(t.Context(), caller, tags, nil); err != nil {
			t.Fatal(err)
		}
	}
	_, page := d.get("/conversations?q=wanted")
	_, next, found := strings.Cut(page, `<p class="more"><a href="?`)
	if strings.Contains(page, "wanted=yes") || !found {
		t.Fatalf("the first 1,000: %s", page)
	}
	next, _, _ = strings.Cut(next, `"`)
	if _, page = d.get("/conversations?" + html.UnescapeString(next)); !strings.Contains(page, "wanted=yes") {
		t.Errorf("the rest: %s", page)
	}
	if _, page = d.get("/conversations"); strings.Count(page, "<tr>") != 51 {
		t.Errorf("a page has %d rows, want 50 and the header", strings.Count(page, "<tr>"))
	}
}

func TestWrongKeysAreSlowedDown(t *testing.T) {
	d := open(t)
	try := func(key string) time.Duration {
		began := time.Now()
		if status, page := d.post("/signin", url.Values{"key": {key}}); status != http.StatusUnauthorized && key != d.key {
			t.Fatalf("%d %s", status, page)
		}
		return time.Since(began)
	}
	for range 3 {
		try("wrong")
	}
	// The next one waits half a second: a bound from below, which no load breaks.
	if took := try("wrong"); took < 500*time.Millisecond {
		t.Errorf("the fourth wrong key was answered in %v", took)
	}
	d.now = d.now.Add(11 * time.Minute)
	if status, _ := d.post("/signin", url.Values{"key": {d.key}}); status != http.StatusOK {
		t.Errorf("the right key later: %d", status)
	}
}

// BenchmarkPages loads the first page of responses beside few and many that are
// stored: what a page costs must not grow with them.
func BenchmarkPages(b *testing.B) {
	for _, stored := range []int{100, 20_000} {
		service, handler, cookie := filled(b, stored)
		for _, path := range []string{"/log", "/conversations", "/usage"} {
			b.Run(fmt.Sprintf("%s/%d", path, stored), func(b *testing.B) {
				for b.Loop() {
					r := httptest.NewRequest("GET", "/console"+path, nil)
					r.AddCookie(cookie)
					w := httptest.NewRecorder()
					if handler.ServeHTTP(w, r); w.Code != http.StatusOK {
						b.Fatal(w.Code, w.Body)
					}
				}
			})
		}
		if err := service.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// filled is a console over a service with that many responses, and the cookie of
// a session.
func filled(b *testing.B, stored int) (*svc.Service, http.Handler, *http.Cookie) {
	b.Helper()
	service, err := svc.New(b.Context(), svc.Options{})
	if err != nil {
		b.Fatal(err)
	}
	key, err := service.Bootstrap(b.Context(), "")
	if err != nil {
		b.Fatal(err)
	}
	caller, err := service.Authenticate(b.Context(), key)
	if err != nil {
		b.Fatal(err)
	}
	for range stored {
		if _, err := service.CreateResponse(b.Context(), caller, &responses.Request{Model: model.DefaultGenerator, Input: responses.Text("Hello")}); err != nil {
			b.Fatal(err)
		}
	}
	pages, err := console.New(service, console.Options{})
	if err != nil {
		b.Fatal(err)
	}
	w := httptest.NewRecorder()
	pages.ServeHTTP(w, httptest.NewRequest("GET", pages.Link(key), nil))
	return service, pages, w.Result().Cookies()[0]
}

func TestDeletingAnOrganizationTakesItsID(t *testing.T) {
	d := open(t)
	token := d.signIn(adminKey)
	if status, _ := d.post("/admin/organizations/org_default/delete", url.Values{"token": {token}, "confirmed": {"default"}}); status != http.StatusBadRequest {
		t.Errorf("without its ID: %d, want 400", status)
	}
	if status, page := d.post("/admin/organizations/org_default/delete", url.Values{"token": {token}, "confirmed": {"org_default"}}); status != http.StatusOK || !strings.Contains(page, "There are none") {
		t.Errorf("with its ID: %d %s", status, page)
	}
}

func TestDecideSaysWhatIsMissing(t *testing.T) {
	d := open(t)
	token := d.signIn(d.key)
	for name, test := range map[string]struct {
		field, value, want string
	}{
		"no state":    {"state", " \n", "There is nothing to decide about yet: fill in the state."},
		"no question": {"name", "", "Nothing is asked yet: add a question."},
		"no file":     {"kind", "file", "There is nothing to decide about yet: upload a file or give the ID of one."},
	} {
		form := question(token)
		if form.Set(test.field, test.value); test.field == "name" {
			form.Del("name")
		}
		_, page := d.post("/decide", form)
		if !strings.Contains(page, test.want) || strings.Contains(page, "input tokens") {
			t.Errorf("%s: no %q in %s", name, test.want, page)
		}
	}
	form := question(token)
	form.Set("type", "noul")
	form.Set("instructions", " ")
	form.Set("criteria", "")
	want := html.EscapeString(`The question "team" asks nothing yet: fill in what is asked.`)
	if _, page := d.post("/decide", form); !strings.Contains(page, want) || strings.Contains(page, "input tokens") {
		t.Errorf("no %q in %s", want, page)
	}
}

// TestNoLinkIsBroken follows every link of every page of a new installation.
func TestNoLinkIsBroken(t *testing.T) {
	d := open(t)
	d.signIn(adminKey)
	d.signIn(d.key)
	link := regexp.MustCompile(` href="([^"#]+)`)
	seen := map[string]bool{}
	for _, page := range pages {
		_, body := d.get(page)
		for _, found := range link.FindAllStringSubmatch(body, -1) {
			base, err := url.Parse(d.url + "/console" + page)
			if err != nil {
				t.Fatal(err)
			}
			to, err := base.Parse(html.UnescapeString(found[1]))
			if err != nil {
				t.Errorf("%s has the link %q: %v", page, found[1], err)
				continue
			}
			path := strings.TrimPrefix(to.String(), d.url+"/console")
			if seen[path] {
				continue
			}
			seen[path] = true
			if status, _ := d.get(path); status != http.StatusOK {
				t.Errorf("%s leads to %s, which answers %d", page, path, status)
			}
		}
	}
}
