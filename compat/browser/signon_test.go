package browser_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/seed-506d8e5d/svc/signon/signontest"
)

// TestSignOn signs in at a provider of another site, from where the browser comes back
// without the cookies that are for pages of the server alone.
func TestSignOn(t *testing.T) {
	provider := signontest.Start(t)
	provider.Asks = true
	file := filepath.Join(t.TempDir(), "svcd.json")
	if err := os.WriteFile(file, []byte(`{"oidc":{"groups":{"staff":{"organization":"org_default","role":"member"}}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, "-config", file, "-oidc-issuer", provider.URL(), "-oidc-client-id", provider.ClientID, "-oidc-client-secret", provider.ClientSecret)
	s.url = strings.Replace(s.url, "127.0.0.1", "localhost", 1) // another site than that of the provider
	v := visit(t, s, desk)
	v.open("/keys")
	v.click(`a[href*="/console/oidc"]`)
	v.do(chromedp.WaitVisible("#agree", chromedp.ByQuery))
	v.click("#agree")
	v.says("header .who", "user-1@example.com, member")
	v.says("h1", "My keys")
	v.fill("input[name=name]", "laptop")
	v.submit("main form button.primary")
	v.says(".secret code", "sk-svc-")
	*v.problems = slices.DeleteFunc(*v.problems, func(p string) bool { return strings.HasPrefix(p, "a request to "+provider.URL()) })
}
