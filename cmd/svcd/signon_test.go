package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/signon/signontest"
)

const signOnConfig = `{"oidc":{"audience":"https://svc.example.com","groups_claim":"roles","groups":{
	"readers":{"organization":"org_default","role":"viewer"},
	"staff":{"organization":"org_default","role":"member"},
	"lost":{"organization":"org_gone","role":"admin"}}}}`

// signOnFlags returns the flags of a server with a provider.
func signOnFlags(t *testing.T, p *signontest.Provider) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "svcd.json")
	if err := os.WriteFile(file, []byte(signOnConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"-addr", "127.0.0.1:0", "-data", inMemory, "-config", file, "-oidc-issuer", p.URL(), "-oidc-client-id", p.ClientID, "-oidc-client-secret", p.ClientSecret}
}

// TestAccessTokens calls the interface with tokens of a provider, and in the console
// signs in there.
func TestAccessTokens(t *testing.T) {
	provider := signontest.Start(t)
	url, stop := start(t, empty, signOnFlags(t, provider)...)
	defer stop()
	token := func(audience string, roles ...string) string {
		claims := provider.Claims(audience)
		claims["roles"] = roles
		return provider.Sign(claims)
	}
	const ours = "https://svc.example.com"
	readOnly := `{"error":{"message":"Your role may only read.","type":"permission_error","param":null,"code":"insufficient_permissions"}}`
	invalid := `{"error":{"message":"The token is not valid here.","type":"authentication_error","param":null,"code":"invalid_token"}}`
	const decision = `{"model":"svc-snap-preview","state":"x","questions":{"a":{"type":"noul","instructions":"x?"}}}`
	for name, tt := range map[string]struct {
		token, method, path, body string
		status                    int
		want                      string
	}{
		"a viewer reads":             {token(ours, "readers"), "GET", "/v1/files", "", 200, `"object":"list"`},
		"a viewer does not decide":   {token(ours, "readers"), "POST", "/v1/decisions", decision, 403, readOnly},
		"a viewer does not delete":   {token(ours, "readers"), "DELETE", "/v1/files/file_1", "", 403, readOnly},
		"a member decides":           {token(ours, "staff"), "POST", "/v1/systemone", decision, 200, `"noul"`},
		"no group":                   {token(ours, "guests"), "GET", "/v1/files", "", 403, `"insufficient_permissions"`},
		"an organization that is no": {token(ours, "lost"), "GET", "/v1/files", "", 403, `"access_denied"`},
		"another audience":           {token("svc", "staff"), "GET", "/v1/files", "", 401, invalid},
		"alg none":                   {signontest.Unsigned(provider.Claims(ours)), "GET", "/v1/files", "", 401, invalid},
		"no token":                   {"nothing", "GET", "/v1/files", "", 401, `"invalid_api_key"`},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), tt.method, url+tt.path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+tt.token)
			req.Header.Set("Content-Type", "application/json")
			if status, body := answerTo(t, req); status != tt.status || !strings.Contains(body, tt.want) {
				t.Errorf("got %d %s, want %d %s", status, body, tt.status, tt.want)
			}
		})
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", url+"/v1/responses", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token(ours, "readers"))
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "websocket")
	if status, body := answerTo(t, req); status != 403 || body != readOnly {
		t.Errorf("a viewer over a WebSocket: %d %s", status, body)
	}
}

func TestSignOnFlags(t *testing.T) {
	provider := signontest.Start(t)
	whole := signOnFlags(t, provider)
	for want, flags := range map[string][]string{
		"-oidc-issuer needs the member oidc of -config": {"-oidc-issuer", "https://login.example.com", "-oidc-client-id", "svc"},
		"need -oidc-issuer (SVC_OIDC_ISSUER)":           whole[:6],
		"the issuer needs a client ID besides":          whole[:8],
	} {
		if _, _, err := run(t.Context(), flags...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", flags, err, want)
		}
	}
}
