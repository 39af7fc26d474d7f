package console_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/batches"
	"github.com/seed-506d8e5d/svc/console"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/responses"
	"github.com/seed-506d8e5d/svc/webhooks"
)

const adminKey = "an-admin-key-for-tests"

// desk is a console over a service of its own, and a browser without scripts.
type desk struct {
	*testing.T
	service *svc.Service
	console *console.Console
	batches *batches.Service
	url     string
	client  *http.Client
	key     string
	now     time.Time
}

// open starts a console on a service in memory with the built-in model.
func open(t *testing.T) *desk {
	t.Helper()
	return openOn(t, nil, slog.New(slog.DiscardHandler))
}

// openOn starts a console on a service in memory over a model, nil for the
// built-in one.
func openOn(t *testing.T, backend model.Backend, log *slog.Logger) *desk {
	t.Helper()
	service, err := svc.New(t.Context(), svc.Options{Backend: backend})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { service.Close() })
	d := &desk{T: t, service: service, now: time.Now()}
	if d.key, err = service.Bootstrap(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	p := service.Parts()
	hooks := webhooks.New(webhooks.Options{Store: p.Store, Accounts: p.Accounts, Log: p.Log, Guard: webhooks.Guard([]string{"127.0.0.1"})})
	lines := batches.New(batches.Options{
		Store: p.Store, Cluster: p.Cluster, Accounts: p.Accounts, Files: p.Files, Now: p.Now, NewID: p.NewID, Log: p.Log, Ended: webhooks.Outbox{}.Put,
		Model: func(context.Context, svc.Caller, string) error { return nil },
	})
	lines.Start(httpapi.New(service, httpapi.Options{Logger: log}).Answer)
	t.Cleanup(func() {
		if err := errors.Join(lines.Close(), hooks.Close()); err != nil {
			t.Error(err)
		}
	})
	d.batches = lines
	d.console, err = console.New(service, console.Options{
		AdminKey: adminKey, Logger: log, Now: func() time.Time { return d.now }, Batches: lines, Webhooks: hooks,
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(d.console)
	t.Cleanup(server.Close)
	d.url = server.URL
	d.client = d.browser()
	return d
}

// browser returns a client with cookies of its own.
func (d *desk) browser() *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		d.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

// get loads a page and returns its status and body.
func (d *desk) get(path string) (int, string) {
	d.Helper()
	return d.do(httptest.NewRequestWithContext(d.Context(), "GET", d.url+"/console"+path, nil))
}

// post sends a form.
func (d *desk) post(path string, form url.Values) (int, string) {
	d.Helper()
	req := httptest.NewRequestWithContext(d.Context(), "POST", d.url+"/console"+path, strings.NewReader(form.Encode()))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return d.do(req)
}

func (d *desk) do(req *http.Request) (int, string) {
	d.Helper()
	req.RequestURI = ""
	res, err := d.client.Do(req)
	if err != nil {
		d.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		d.Fatal(err)
	}
	return res.StatusCode, string(body)
}

var tokenField = regexp.MustCompile(`name="token" value="([^"]+)"`)

// signIn signs in and returns the token of the session.
func (d *desk) signIn(key string) string {
	d.Helper()
	form := url.Values{"key": {key}}
	if _, page := d.get("/signin"); tokenField.MatchString(page) {
		form.Set("token", tokenField.FindStringSubmatch(page)[1])
	}
	status, page := d.post("/signin", form)
	m := tokenField.FindStringSubmatch(page)
	if status != http.StatusOK || m == nil {
		d.Fatalf("signing in: %d %s", status, page)
	}
	return m[1]
}

func TestEveryAnswerHasThePolicy(t *testing.T) {
	d := open(t)
	for _, path := range []string{"/signin", "/static/console.js", "/nowhere"} {
		res, err := http.Get(d.url + "/console" + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		want := "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
		if got := res.Header.Get("Content-Security-Policy"); got != want {
			t.Errorf("%s: the policy is %q, want %q", path, got, want)
		}
		if got := res.Header.Get("X-Content-Type-Options"); got != "nosniff" {
			t.Errorf("%s: X-Content-Type-Options is %q", path, got)
		}
	}
}

func TestPagesHaveNoInlineScriptsOrStyles(t *testing.T) {
	d := open(t)
	d.signIn(adminKey)
	d.signIn(d.key)
	inline := regexp.MustCompile(`<script(>| [^s])|<style| style=| on[a-z]+="`)
	for _, path := range pages {
		status, page := d.get(path)
		if status != http.StatusOK || inline.MatchString(page) {
			t.Errorf("%s: %d, inline: %q", path, status, inline.FindString(page))
		}
	}
}

var pages = []string{"/decide", "/respond", "/files", "/conversations", "/start", "/evaluate", "/overview", "/overview?span=month", "/log", "/log?q=words&latency=1", "/labels", "/labels?question=q&labels=missing", "/calibrations", "/batches", "/webhooks", "/usage",
	"/admin/organizations", "/admin/organizations/org_default", "/admin/organizations/org_default/usage", "/admin/usage", "/admin/keys", "/admin/audit", "/admin/system"}

func TestWithoutASession(t *testing.T) {
	d := open(t)
	d.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, path := range pages {
		if status, _ := d.get(path); status != http.StatusSeeOther {
			t.Errorf("%s: %d, want 303 to the sign-in", path, status)
		}
	}
	if status, _ := d.post("/admin/keys", nil); status != http.StatusUnauthorized {
		t.Errorf("a change: %d, want 401", status)
	}
}

// TestAnAPIKeyIsNoAdmin holds that the pages of the administration need the
// admin key, and that those of organizations need one of theirs.
func TestAnAPIKeyIsNoAdmin(t *testing.T) {
	d := open(t)
	d.client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == "/console/signin" {
			return http.ErrUseLastResponse
		}
		return nil
	}
	token := d.signIn(d.key)
	for _, path := range []string{"/admin/organizations", "/admin/audit"} {
		if status, _ := d.get(path); status != http.StatusSeeOther {
			t.Errorf("%s: %d, want 303 to the sign-in", path, status)
		}
	}
	if status, _ := d.post("/admin/organizations", url.Values{"token": {token}, "name": {"mine"}}); status != http.StatusUnauthorized {
		t.Errorf("creating an organization: %d, want 401", status)
	}
}

func TestTheCookie(t *testing.T) {
	d := open(t)
	res, err := http.PostForm(d.url+"/console/signin", url.Values{"key": {d.key}})
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	res, err = (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).
		PostForm(d.url+"/console/signin", url.Values{"key": {d.key}})
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	cookies := res.Cookies()
	if len(cookies) != 1 {
		t.Fatalf("%d cookies, want 1", len(cookies))
	}
	c := cookies[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/console" || c.Secure {
		t.Errorf("the cookie is %v", c)
	}
	if strings.Contains(c.Value, d.key) {
		t.Error("the cookie shows the key")
	}
	if left := time.Until(c.Expires); left < 11*time.Hour || left > 12*time.Hour {
		t.Errorf("the cookie lasts %v, want 12 hours", left)
	}
	// A cookie that was changed by a bit is nobody's.
	for _, value := range []string{c.Value[1:], "A" + c.Value, strings.Repeat("A", len(c.Value)), ""} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", d.url+"/console/decide", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.AddCookie(&http.Cookie{Name: c.Name, Value: value})
		res, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusSeeOther {
			t.Errorf("a forged cookie: %d, want 303", res.StatusCode)
		}
	}
}

func TestASessionEnds(t *testing.T) {
	for name, end := range map[string]func(*desk, string){
		"after 12 hours": func(d *desk, _ string) { d.now = d.now.Add(12*time.Hour + time.Second) },
		"with a copy of the cookie, at the sign-out": func(d *desk, token string) {
			u, _ := url.Parse(d.url + "/console/")
			kept := d.client.Jar.Cookies(u)
			d.post("/signout", url.Values{"token": {token}})
			d.client.Jar.SetCookies(u, kept)
		},
		"with its key": func(d *desk, _ string) {
			keys, err := d.service.Keys(d.Context(), "", svc.Page{})
			if err != nil {
				d.Fatal(err)
			}
			if err := d.service.RevokeKey(d.Context(), keys.Items[0].ID); err != nil {
				d.Fatal(err)
			}
		},
		"with its organization": func(d *desk, _ string) {
			suspended := accounts.Suspended
			if _, err := d.service.UpdateOrganization(d.Context(), svc.DefaultOrganization, accounts.OrganizationUpdate{Status: &suspended}); err != nil {
				d.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			token := d.signIn(d.key)
			if _, page := d.get("/decide"); !strings.Contains(page, "<h1>Decide</h1>") {
				t.Fatal("not signed in")
			}
			end(d, token)
			if _, page := d.get("/decide"); !strings.Contains(page, "<h1>Sign in</h1>") {
				t.Errorf("still signed in: %s", page)
			}
		})
	}
}

func TestAChangeNeedsTheToken(t *testing.T) {
	d := open(t)
	token := d.signIn(adminKey)
	for _, wrong := range []string{"", "x", token + "x"} {
		if status, _ := d.post("/admin/organizations", url.Values{"token": {wrong}, "name": {"forged"}}); status != http.StatusForbidden {
			t.Errorf("token %q: %d, want 403", wrong, status)
		}
	}
	if status, page := d.post("/admin/organizations", url.Values{"token": {token}, "name": {"ours"}}); status != http.StatusOK || !strings.Contains(page, "<h1>ours</h1>") {
		t.Errorf("with the token: %d %s", status, page)
	}
	found, err := d.service.Organizations(context.Background(), svc.Page{})
	if err != nil || len(found.Items) != 2 {
		t.Errorf("%d organizations, %v, want 2", len(found.Items), err)
	}
}

func TestAChangeFromAnotherSiteIsRefused(t *testing.T) {
	d := open(t)
	token := d.signIn(d.key)
	req := httptest.NewRequestWithContext(t.Context(), "POST", d.url+"/console/decide", strings.NewReader(url.Values{"token": {token}}.Encode()))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	if status, _ := d.do(req); status != http.StatusForbidden {
		t.Errorf("%d, want 403", status)
	}
}

func TestALinkSignsInOnceAndForTenMinutes(t *testing.T) {
	d := open(t)
	link := strings.TrimPrefix(d.console.Link(d.key), "/console")
	if status, page := d.get(link); status != http.StatusOK || !strings.Contains(page, "<h1>Decide</h1>") {
		t.Errorf("the first use: %d %s", status, page)
	}
	d.client = d.browser()
	if status, _ := d.get(link); status != http.StatusGone {
		t.Errorf("the second use: %d, want 410", status)
	}
	late := strings.TrimPrefix(d.console.Link(d.key), "/console")
	d.now = d.now.Add(10*time.Minute + time.Second)
	if status, _ := d.get(late); status != http.StatusGone {
		t.Errorf("after ten minutes: %d, want 410", status)
	}
}

func TestWhereTheSignInLeads(t *testing.T) {
	d := open(t)
	d.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for next, want := range map[string]string{
		"/usage?measure=tokens": "/console/usage?measure=tokens",
		"//evil.example":        "/console/",
		`/\evil.example`:        "/console/",
		"/..//x":                "/console/",
		"/%2e%2e/x":             "/console/",
		"/usage/../../x":        "/console/",
		"/./x":                  "/console/",
		"https://evil.example":  "/console/",
		"":                      "/console/",
	} {
		d.client.Jar = d.browser().Jar
		req := httptest.NewRequestWithContext(t.Context(), "POST", d.url+"/console/signin", strings.NewReader(url.Values{"key": {d.key}, "next": {next}}.Encode()))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.RequestURI = ""
		res, err := d.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if got := res.Header.Get("Location"); got != want {
			t.Errorf("next %q leads to %q, want %q", next, got, want)
		}
	}
}

func TestOptions(t *testing.T) {
	service, err := svc.New(t.Context(), svc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	for name, o := range map[string]console.Options{
		"a prefix without a slash":     {Prefix: "console"},
		"a prefix with one at the end": {Prefix: "/console/"},
		"a short secret":               {Secret: []byte("short")},
	} {
		if _, err := console.New(service, o); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	// Two replicas with one secret know each other's sessions.
	secret := []byte(strings.Repeat("s", 32))
	key, err := service.Bootstrap(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	first, err := console.New(service, console.Options{Prefix: "/ui", Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	second, err := console.New(service, console.Options{Prefix: "/ui", Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	first.ServeHTTP(w, httptest.NewRequest("GET", first.Link(key), nil))
	r := httptest.NewRequest("GET", "/ui/decide", nil)
	r.AddCookie(w.Result().Cookies()[0])
	w = httptest.NewRecorder()
	second.ServeHTTP(w, r)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `href="/ui/usage"`) {
		t.Errorf("on the other replica: %d %s", w.Code, w.Body)
	}
}

// TestSize holds that all that the console adds to the program stays small.
func TestSize(t *testing.T) {
	var size, script int64
	for _, dir := range []string{"static", "templates"} {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			info, err := file.Info()
			if err != nil {
				t.Fatal(err)
			}
			if size += info.Size(); strings.HasSuffix(file.Name(), ".js") {
				script += info.Size()
			}
		}
	}
	if script > 30_000 {
		t.Errorf("the script is %d bytes, want at most 30,000", script)
	}
	if size == 0 || size > 300_000 {
		t.Errorf("scripts, styles and templates are %d bytes, want at most 300,000", size)
	}
}

// TestNoRouteTakesAChangeWithoutTheToken sends every change of the console in
// every encoding of forms, without the session's token and with a wrong one.
func TestNoRouteTakesAChangeWithoutTheToken(t *testing.T) {
	source, err := os.ReadFile("console.go")
	if err != nil {
		t.Fatal(err)
	}
	routes := regexp.MustCompile(`"POST (/[^"]+)"`).FindAllSubmatch(source, -1)
	if len(routes) < 10 {
		t.Fatalf("only %d changes were found", len(routes))
	}
	d := open(t)
	for _, route := range routes {
		path := regexp.MustCompile(`\{[^}]+\}`).ReplaceAllString(string(route[1]), "org_default")
		if path == "/signin" {
			continue // there is no session yet whose token it could carry
		}
		d.client = d.browser()
		d.signIn(adminKey)
		d.signIn(d.key)
		for _, contentType := range []string{"application/x-www-form-urlencoded", "multipart/form-data; boundary=b", "multipart/form-data", "multipart/mixed; boundary=b", "text/plain", ""} {
			for _, token := range []string{"", "forged"} {
				body := url.Values{"token": {token}, "name": {"x"}}.Encode()
				if strings.Contains(contentType, "boundary") {
					body = "--b\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\n" + token + "\r\n--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nx\r\n--b--\r\n"
				}
				req := httptest.NewRequestWithContext(t.Context(), "POST", d.url+"/console"+path, strings.NewReader(body))
				req.Header.Set("Content-Type", contentType)
				if token != "" {
					req.Header.Set("X-Console-Token", token)
				}
				status, _ := d.do(req)
				refused := status == http.StatusForbidden || path == "/files" && status == http.StatusBadRequest // no files in it
				if !refused {
					t.Errorf("POST %s as %q with token %q: %d, want 403", path, contentType, token, status)
				}
			}
		}
	}
	keys, err := d.service.Keys(t.Context(), "", svc.Page{})
	if err != nil || len(keys.Items) != 1 {
		t.Errorf("%d keys are left, %v, want 1", len(keys.Items), err)
	}
}

// TestTwoServersOnOneHost signs in to two servers whose addresses differ in the
// port alone, as somebody does who compares two of them.
func TestTwoServersOnOneHost(t *testing.T) {
	first, second := open(t), open(t)
	second.client = first.client
	first.signIn(first.key)
	second.signIn(second.key)
	for i, d := range []*desk{first, second} {
		if _, page := d.get("/decide"); !strings.Contains(page, "<h1>Decide</h1>") {
			t.Errorf("server %d has lost its session: %s", i+1, page)
		}
	}
}

// TestPagesStaySmall holds that no page has 100 KB of HTML, however long the texts are
// and however many.
func TestPagesStaySmall(t *testing.T) {
	d := open(t)
	d.signIn(d.key)
	long := strings.Repeat(`"<&' `, 4000)
	previous := ""
	for range 30 {
		r, err := d.service.CreateResponse(t.Context(), d.caller(), &responses.Request{Model: model.DefaultGenerator, Instructions: long[:2000], PreviousResponseID: previous, Input: responses.Text(long)})
		if err != nil {
			t.Fatal(err)
		}
		previous = r.ID
	}
	r, err := d.service.Response(t.Context(), d.caller(), previous)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(pages, "/responses/"+r.ID, "/respond?response="+r.ID, "/respond?edit="+r.ID, "/conversations/"+r.Conversation) {
		if _, page := d.get(path); len(page) > 100<<10 {
			t.Logf("%s has %d KB", path, len(page)>>10)
			t.Fail()
		}
	}
}
