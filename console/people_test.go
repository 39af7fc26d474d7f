package console_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/console"
	"github.com/seed-506d8e5d/svc/signon"
	"github.com/seed-506d8e5d/svc/signon/signontest"
)

// openWithSignOn starts a console where people sign in.
func openWithSignOn(t *testing.T) (*desk, *signontest.Provider) {
	t.Helper()
	service, err := svc.New(t.Context(), svc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { service.Close() })
	d := &desk{T: t, service: service, now: time.Now()}
	if d.key, err = service.Bootstrap(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return d.now }
	provider := signontest.Start(t)
	provider.Now = clock
	people, err := signon.New(signon.Options{
		Issuer: provider.URL(), ClientID: provider.ClientID, ClientSecret: provider.ClientSecret, Now: clock,
		Groups: []signon.Group{
			{Name: "readers", Organization: "org_default", Role: signon.Viewer},
			{Name: "staff", Organization: "org_default", Role: signon.Member},
			{Name: "leads", Organization: "org_default", Role: signon.Admin},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	d.console, err = console.New(service, console.Options{AdminKey: adminKey, SignOn: people, Logger: slog.New(slog.DiscardHandler), Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(d.console)
	t.Cleanup(server.Close)
	d.url = server.URL
	d.client = d.browser()
	return d, provider
}

// signInAs signs a person in and returns the token of the session.
func (d *desk) signInAs(p *signontest.Provider, subject string, groups ...string) string {
	d.Helper()
	p.Subject, p.Groups = subject, groups
	d.client = d.browser()
	status, page := d.get("/oidc?next=/usage")
	if status != http.StatusOK || !strings.Contains(page, `<a href="/console/usage">Go on</a>`) {
		d.Fatalf("signing in: %d %s", status, page)
	}
	status, page = d.get("/usage")
	m := tokenField.FindStringSubmatch(page)
	if status != http.StatusOK || m == nil {
		d.Fatalf("after signing in: %d %s", status, page)
	}
	return m[1]
}

func TestSignInAtAProvider(t *testing.T) {
	d, provider := openWithSignOn(t)
	if _, page := d.get("/signin?next=/files"); !strings.Contains(page, `href="/console/oidc?next=%2Ffiles"`) {
		t.Errorf("the sign-in has no link to the provider: %s", page)
	}
	d.signInAs(provider, "ada", "staff")
	if _, page := d.get("/usage"); !strings.Contains(page, "<span>ada@example.com, member</span>") {
		t.Errorf("the page does not say who is signed in: %s", page)
	}
}

// TestSignInsThatAreRefused has browsers come back in ways that must not sign in.
func TestSignInsThatAreRefused(t *testing.T) {
	d, provider := openWithSignOn(t)
	var callback string
	begin := func() {
		d.client = d.browser()
		d.client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
			if strings.HasPrefix(r.URL.Path, "/console/oidc/callback") {
				callback = "/oidc/callback?" + r.URL.RawQuery
				return http.ErrUseLastResponse
			}
			return nil
		}
		d.get("/oidc")
	}
	signedIn := func() bool {
		d.client.CheckRedirect = nil
		_, page := d.get("/usage")
		return strings.Contains(page, "Sign out")
	}
	for name, try := range map[string]func() (int, string){
		"another browser": func() (int, string) { d.client.Jar = d.browser().Jar; return d.get(callback) },
		"wrong state": func() (int, string) {
			return d.get(regexp.MustCompile(`state=[^&]+`).ReplaceAllString(callback, "state=wrong"))
		},
		"too late": func() (int, string) { d.now = d.now.Add(11 * time.Minute); return d.get(callback) },
		"unmapped group": func() (int, string) {
			provider.Groups = []string{"guests"}
			defer func() { provider.Groups = []string{"staff"} }()
			return d.get(callback)
		},
		"the provider is down": func() (int, string) {
			provider.Down = true
			defer func() { provider.Down = false }()
			return d.get(callback)
		},
	} {
		begin()
		if status, page := try(); status != http.StatusForbidden && status != http.StatusServiceUnavailable || signedIn() {
			t.Errorf("%s: %d %s", name, status, page)
		}
	}

	begin()
	jar := d.client.Jar
	flow := jar.Cookies(&url.URL{Scheme: "http", Host: strings.TrimPrefix(d.url, "http://"), Path: "/console/oidc"})
	if status, _ := d.get(callback); status != http.StatusOK || !signedIn() {
		t.Fatalf("the flow that the others were changed from: %d", status)
	}
	d.client = d.browser()
	d.client.Jar.SetCookies(&url.URL{Scheme: "http", Host: strings.TrimPrefix(d.url, "http://"), Path: "/console/oidc"}, flow)
	if status, _ := d.get(callback); status != http.StatusForbidden || signedIn() {
		t.Errorf("the same answer once more, with the cookie of its flow: %d", status)
	}
}

// TestRoles does with each role what the others may.
func TestRoles(t *testing.T) {
	d, provider := openWithSignOn(t)
	const decision = "svc-snap-preview"
	decide := url.Values{"model": {decision}, "state": {"I was charged twice."}, "name": {"angry"}, "type": {"noul"}, "instructions": {"Is the customer angry?"}}
	for group, may := range map[string][]string{
		"readers": {"read"},
		"staff":   {"read", "decide", "keys"},
		"leads":   {"read", "decide", "keys", "organization"},
	} {
		token := d.signInAs(provider, "user-of-"+group, group)
		status := map[string]int{}
		for _, path := range []string{"/decide", "/respond", "/files", "/conversations", "/responses", "/completions", "/usage"} {
			if code, _ := d.get(path); code != http.StatusOK {
				t.Errorf("%s reads %s: %d", group, path, code)
			}
		}
		status["read"] = http.StatusOK
		form := func(v url.Values) url.Values {
			v = url.Values(http.Header(v).Clone())
			v.Set("token", token)
			return v
		}
		status["decide"], _ = d.post("/decide", form(decide))
		status["keys"], _ = d.post("/keys", form(url.Values{"name": {"of " + group}}))
		status["organization"], _ = d.post("/organization", form(url.Values{"name": {"Ours"}}))
		for what, code := range status {
			if want := slices.Contains(may, what); (code == http.StatusOK) != want || !want && code != http.StatusForbidden {
				t.Errorf("%s: %s is %d", group, what, code)
			}
		}
		for _, path := range []string{"/admin/organizations", "/admin/keys", "/admin/audit", "/admin/organizations/org_default"} {
			if code, page := d.get(path); code != http.StatusOK || !strings.Contains(page, `name="key" type="password"`) {
				t.Errorf("%s: %s is %d, want the sign-in for the admin key", group, path, code)
			}
		}
	}
}

// TestOwnKeys holds that people see and revoke their own keys, that administrators
// revoke all of their organization, and that the audit log names them.
func TestOwnKeys(t *testing.T) {
	d, provider := openWithSignOn(t)
	made := regexp.MustCompile(`<code>(sk-svc-[^<]+)</code>`)
	revoke := regexp.MustCompile(`/console/keys/(key_[a-z0-9]+)/revoke`)

	token := d.signInAs(provider, "ada", "staff")
	_, page := d.post("/keys", url.Values{"token": {token}, "name": {"laptop"}})
	if made.FindStringSubmatch(page) == nil {
		t.Fatalf("no key: %s", page)
	}
	secret := made.FindStringSubmatch(page)[1]
	if _, err := d.service.Authenticate(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	id := revoke.FindStringSubmatch(page)[1]

	token = d.signInAs(provider, "bob", "staff")
	if _, page := d.get("/keys"); strings.Contains(page, id) {
		t.Error("a colleague sees the key")
	}
	if status, _ := d.post("/keys/"+id+"/revoke", url.Values{"token": {token}}); status != http.StatusNotFound {
		t.Errorf("a colleague revokes the key: %d", status)
	}
	token = d.signInAs(provider, "eve", "leads")
	if _, page := d.get("/organization"); !strings.Contains(page, id) || !strings.Contains(page, provider.URL()+"#ada") {
		t.Errorf("the administrator does not see whose key there is: %s", page)
	}
	if status, _ := d.post("/keys/"+id+"/revoke", url.Values{"token": {token}, "from": {"organization"}}); status != http.StatusOK {
		t.Errorf("the administrator revokes the key: %d", status)
	}
	if _, err := d.service.Authenticate(t.Context(), secret); err == nil {
		t.Error("the key still works")
	}
	log, err := d.service.AuditLog(t.Context(), svc.Page{Limit: 2, Desc: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"api_key.revoke console eve 127.0.0.1", "api_key.create console ada 127.0.0.1"} {
		if got := log.Items[i].Action + " " + log.Items[i].By; got != want {
			t.Errorf("the audit log has %q, want %q", got, want)
		}
	}
}

// TestASessionEndsWithItsToken holds for tokens shorter and longer than a session.
func TestASessionEndsWithItsToken(t *testing.T) {
	for lifetime, want := range map[time.Duration]time.Duration{10 * time.Minute: 10 * time.Minute, 24 * time.Hour: 12 * time.Hour} {
		d, provider := openWithSignOn(t)
		provider.Lifetime = lifetime
		d.signInAs(provider, "ada", "staff")
		begun := d.now
		d.now = begun.Add(want - time.Second)
		if _, page := d.get("/usage"); !strings.Contains(page, "Sign out") {
			t.Errorf("a token of %v: the session has ended before", lifetime)
		}
		d.now = begun.Add(want)
		if _, page := d.get("/usage"); strings.Contains(page, "Sign out") {
			t.Errorf("a token of %v: the session has not ended", lifetime)
		}
	}
}
