package signon_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/signon"
	"github.com/seed-506d8e5d/svc/signon/signontest"
)

const (
	audience = "https://svc.example.com"
	redirect = "https://svc.example.com/console/oidc/callback"
)

// world is a provider, and svcd's side of it on a clock of the test.
type world struct {
	*is.I
	t        *testing.T
	provider *signontest.Provider
	signon   *signon.Provider
	now      time.Time
}

func start(t *testing.T) *world {
	t.Helper()
	w := &world{I: is.New(t), t: t, provider: signontest.Start(t), now: time.Unix(1_800_000_000, 0)}
	clock := func() time.Time { return w.now }
	w.provider.Now = clock
	var err error
	w.signon, err = signon.New(signon.Options{
		Issuer: w.provider.URL(), ClientID: "svc", ClientSecret: "a-client-secret", Audience: audience, Now: clock,
		Groups: []signon.Group{
			{Name: "staff", Organization: "org_a", Role: signon.Viewer},
			{Name: "leads", Organization: "org_a", Role: signon.Admin},
			{Name: "others", Organization: "org_b", Role: signon.Member},
		},
	})
	w.NoErr(err)
	return w
}

// browse goes to the provider as a browser does and returns what it comes back with.
func (w *world) browse(f signon.Flow) url.Values {
	w.t.Helper()
	address, err := w.signon.AuthorizationURL(w.t.Context(), f, redirect)
	w.NoErr(err)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(address)
	w.NoErr(err)
	defer resp.Body.Close()
	back, err := resp.Location()
	w.NoErr(err)
	w.True(strings.HasPrefix(back.String(), redirect))
	return back.Query()
}

// refused holds that an error is of a kind and code.
func (w *world) refused(err error, kind fault.Kind, code string) {
	w.t.Helper()
	e := fault.From(err)
	if err == nil || e.Kind != kind || e.Code != code {
		w.t.Errorf("the error is %v, want %v %s", err, kind, code)
	}
}

func TestSignIn(t *testing.T) {
	w := start(t)
	w.provider.Groups = []string{"unknown", "leads", "staff", "others"}
	flow := signon.NewFlow()
	person, err := w.signon.Exchange(t.Context(), flow, redirect, w.browse(flow))
	w.NoErr(err)
	w.Equal(person, signon.Person{
		Issuer: w.provider.URL(), Subject: "user-1", Name: "user-1@example.com",
		Organization: "org_a", Role: signon.Admin, Expires: w.now.Add(time.Hour),
	})
}

// TestSignInsAreRefused has everything go wrong that may between a browser, the
// provider and the server, one at a time.
func TestSignInsAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(claims map[string]any)
		query  func(url.Values)
		groups []string
		kind   fault.Kind
		code   string
	}{
		"alg none":          {change: func(c map[string]any) { c["alg"] = "none" }},
		"wrong audience":    {change: func(c map[string]any) { c["aud"] = "another-client" }},
		"wrong issuer":      {change: func(c map[string]any) { c["iss"] = "https://evil.example" }},
		"wrong nonce":       {change: func(c map[string]any) { c["nonce"] = "another" }},
		"no nonce":          {change: func(c map[string]any) { delete(c, "nonce") }},
		"expired":           {change: func(c map[string]any) { c["exp"] = 1_799_999_999 }},
		"no expiry":         {change: func(c map[string]any) { delete(c, "exp") }},
		"no subject":        {change: func(c map[string]any) { delete(c, "sub") }},
		"wrong state":       {query: func(q url.Values) { q.Set("state", "another") }},
		"no state":          {query: func(q url.Values) { q.Del("state") }},
		"wrong code":        {query: func(q url.Values) { q.Set("code", "another") }},
		"answer of another": {query: func(q url.Values) { q.Set("iss", "https://evil.example") }},
		"refused there":     {query: func(q url.Values) { q.Set("error", "access_denied") }},
		"unmapped group":    {groups: []string{"guests"}, kind: fault.Denied, code: fault.CodeInsufficientPermissions},
		"no group":          {groups: []string{}, kind: fault.Denied, code: fault.CodeInsufficientPermissions},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			w.provider.Change = tt.change
			if tt.groups != nil {
				w.provider.Groups = tt.groups
			}
			flow := signon.NewFlow()
			query := w.browse(flow)
			if tt.query != nil {
				tt.query(query)
			}
			_, err := w.signon.Exchange(t.Context(), flow, redirect, query)
			if tt.code == "" {
				tt.kind, tt.code = fault.Unauthenticated, fault.CodeInvalidToken
			}
			w.refused(err, tt.kind, tt.code)
		})
	}
}

func TestCodesAreUsedOnceAndByTheirBrowserAlone(t *testing.T) {
	w := start(t)
	flow := signon.NewFlow()
	query := w.browse(flow)
	_, err := w.signon.Exchange(t.Context(), flow, redirect, query)
	w.NoErr(err)
	_, err = w.signon.Exchange(t.Context(), flow, redirect, query)
	w.refused(err, fault.Unauthenticated, fault.CodeInvalidToken)

	stolen := w.browse(flow)
	other := signon.NewFlow()
	stolen.Set("state", other.State) // in the browser of the thief, without the verifier
	_, err = w.signon.Exchange(t.Context(), other, redirect, stolen)
	w.refused(err, fault.Unauthenticated, fault.CodeInvalidToken)
}

func TestAccessTokens(t *testing.T) {
	w := start(t)
	w.provider.Groups = []string{"others"}
	person, err := w.signon.Verify(t.Context(), w.provider.Sign(w.provider.Claims(audience)))
	w.NoErr(err)
	w.Equal(person.Organization, "org_b")
	w.Equal(person.Role, signon.Member)

	for name, token := range map[string]func(c map[string]any) string{
		"alg none":       signontest.Unsigned,
		"wrong audience": func(c map[string]any) string { c["aud"] = "svc"; return w.provider.Sign(c) },
		"wrong issuer":   func(c map[string]any) string { c["iss"] = "https://evil.example"; return w.provider.Sign(c) },
		"expired":        func(c map[string]any) string { c["exp"] = w.now.Add(-time.Second).Unix(); return w.provider.Sign(c) },
		"expires now":    func(c map[string]any) string { c["exp"] = w.now.Unix(); return w.provider.Sign(c) },
		"not yet":        func(c map[string]any) string { c["nbf"] = w.now.Add(time.Hour).Unix(); return w.provider.Sign(c) },
		"HS256 with the public key": func(c map[string]any) string {
			header, payload := jwtPart(map[string]any{"alg": "HS256"}), jwtPart(c)
			mac := hmac.New(sha256.New, w.provider.PublicKey())
			mac.Write([]byte(header + "." + payload))
			return header + "." + payload + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
		},
		"changed": func(c map[string]any) string {
			parts := strings.Split(w.provider.Sign(c), ".")
			c["groups"] = []string{"leads"}
			return parts[0] + "." + jwtPart(c) + "." + parts[2]
		},
		"empty":    func(map[string]any) string { return "" },
		"too long": func(map[string]any) string { return "eyJ" + strings.Repeat("a", 20_000) + ".." },
	} {
		_, err := w.signon.Verify(t.Context(), token(w.provider.Claims(audience)))
		if e := fault.From(err); err == nil || e.Kind != fault.Unauthenticated || e.Code != fault.CodeInvalidToken {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func jwtPart(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// TestKeysThatAreRotated has the provider take its key back: tokens of the new one
// are good at once, those of the old one for five minutes at the most.
func TestKeysThatAreRotated(t *testing.T) {
	w := start(t)
	old := w.provider.Sign(w.provider.Claims(audience))
	_, err := w.signon.Verify(t.Context(), old)
	w.NoErr(err)
	w.provider.Rotate(t)
	w.now = w.now.Add(time.Minute)
	_, err = w.signon.Verify(t.Context(), w.provider.Sign(w.provider.Claims(audience)))
	w.NoErr(err)
	_, err = w.signon.Verify(t.Context(), old)
	w.refused(err, fault.Unauthenticated, fault.CodeInvalidToken)

	w.provider.Rotate(t)
	w.now = w.now.Add(5 * time.Minute)
	_, err = w.signon.Verify(t.Context(), w.provider.Sign(w.provider.Claims(audience)))
	w.NoErr(err)
}

// TestWrongTokensDoNotReachTheProvider sends a hundred that nobody signed.
func TestWrongTokensDoNotReachTheProvider(t *testing.T) {
	w := start(t)
	other := signontest.Start(t)
	claims := w.provider.Claims(audience)
	for range 100 {
		_, err := w.signon.Verify(t.Context(), other.Sign(claims))
		w.refused(err, fault.Unauthenticated, fault.CodeInvalidToken)
	}
	w.Equal(w.provider.Reads(), 1)
	w.now = w.now.Add(11 * time.Second)
	for range 100 {
		_, err := w.signon.Verify(t.Context(), other.Sign(claims))
		w.refused(err, fault.Unauthenticated, fault.CodeInvalidToken)
	}
	w.Equal(w.provider.Reads(), 2)
}

// TestAProviderThatIsDown is an outage: nobody signs in who was not known, and
// tokens of known keys are good for an hour.
func TestAProviderThatIsDown(t *testing.T) {
	w := start(t)
	w.provider.Down = true
	_, err := w.signon.AuthorizationURL(t.Context(), signon.NewFlow(), redirect)
	w.refused(err, fault.Unavailable, fault.CodeUnavailable)
	w.provider.Down = false
	w.now = w.now.Add(11 * time.Second)
	_, err = w.signon.Verify(t.Context(), w.provider.Sign(w.provider.Claims(audience)))
	w.NoErr(err)
	w.provider.Down = true
	w.now = w.now.Add(59 * time.Minute)
	_, err = w.signon.Verify(t.Context(), w.provider.Sign(w.provider.Claims(audience)))
	w.NoErr(err)
	w.now = w.now.Add(2 * time.Minute)
	_, err = w.signon.Verify(t.Context(), w.provider.Sign(w.provider.Claims(audience)))
	w.refused(err, fault.Unavailable, fault.CodeUnavailable)
}

func TestOptions(t *testing.T) {
	is := is.New(t)
	groups := []signon.Group{{Name: "staff", Organization: "org_a", Role: signon.Viewer}}
	for _, o := range []signon.Options{
		{},
		{Issuer: "login.example.com", ClientID: "svc", Groups: groups},
		{Issuer: "https://login.example.com", Groups: groups},
		{Issuer: "https://login.example.com", ClientID: "svc"},
		{Issuer: "https://login.example.com", ClientID: "svc", Groups: []signon.Group{{Name: "staff", Organization: "org_a", Role: "owner"}}},
		{Issuer: "https://login.example.com", ClientID: "svc", Groups: []signon.Group{{Name: "staff", Role: signon.Admin}}},
	} {
		_, err := signon.New(o)
		is.True(err != nil)
	}
}

// FuzzVerify sends tokens of any form.
func FuzzVerify(f *testing.F) {
	provider := signontest.Start(f)
	p, err := signon.New(signon.Options{
		Issuer: provider.URL(), ClientID: "svc", Audience: audience, Groups: []signon.Group{{Name: "staff", Organization: "org_a", Role: signon.Admin}},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	f.Add(signontest.Unsigned(provider.Claims(audience)))
	f.Add(`{"payload":"e30","signatures":[]}`)
	f.Fuzz(func(t *testing.T, token string) {
		if _, err := p.Verify(t.Context(), token); err == nil {
			t.Errorf("%q is accepted", token)
		}
	})
}
