// Package signontest has an OpenID Connect provider for tests: [Start] serves
// discovery, keys, the authorization of one user, and tokens. What
// it issues can be made wrong in every way that a client must notice.
package signontest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Provider is the provider. Its fields may be changed between requests.
type Provider struct {
	ClientID, ClientSecret string
	Subject                string
	Groups                 []string
	Lifetime               time.Duration // of tokens
	Now                    func() time.Time

	// Change, where it is not nil, changes the claims of an ID token before it is signed.
	Change func(claims map[string]any)

	// Down makes every answer a 503.
	Down bool

	// Asks has the user agree on a page, by a link, instead of at once.
	Asks bool

	server *httptest.Server

	mu      sync.Mutex
	signing *rsa.PrivateKey // guarded by mu
	kid     int             // guarded by mu
	codes   map[string]url.Values
	reads   int // of the keys; guarded by mu
}

// Start starts a provider, which ends with the test.
func Start(t testing.TB) *Provider {
	t.Helper()
	p := &Provider{
		ClientID: "svc", ClientSecret: "a-client-secret", Subject: "user-1", Groups: []string{"staff"}, Lifetime: time.Hour, Now: time.Now,
		codes: map[string]url.Values{},
	}
	p.Rotate(t)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.Down {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(p.server.Close)
	return p
}

// URL is the issuer.
func (p *Provider) URL() string { return p.server.URL }

// Rotate replaces the key that signs tokens. The old one is published no more.
func (p *Provider) Rotate(t testing.TB) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.signing = key
	p.kid++
}

// Reads is how often the keys have been read.
func (p *Provider) Reads() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reads
}

// Claims are those of a token for an audience.
func (p *Provider) Claims(audience string) map[string]any {
	now := p.Now()
	return map[string]any{
		"iss": p.URL(), "sub": p.Subject, "aud": audience, "exp": now.Add(p.Lifetime).Unix(), "iat": now.Unix(),
		"groups": p.Groups, "email": p.Subject + "@example.com",
	}
}

// Sign returns a token with these claims, signed with RS256.
func (p *Provider) Sign(claims map[string]any) string {
	p.mu.Lock()
	key, kid := p.signing, p.kid
	p.mu.Unlock()
	text := encoded(map[string]any{"alg": "RS256", "typ": "JWT", "kid": strconv.Itoa(kid)}) + "." + encoded(claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		panic(err) // of a key that was just made
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// Unsigned returns a token with these claims whose header says that it has no
// signature.
func Unsigned(claims map[string]any) string {
	return encoded(map[string]any{"alg": "none", "typ": "JWT"}) + "." + encoded(claims) + "."
}

// PublicKey returns the public key as a text, such as one would be used as the secret
// of a symmetric signature.
func (p *Provider) PublicKey() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.signing.N.Bytes()
}

func encoded(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // of claims that a test wrote
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"issuer": p.URL(), "authorization_endpoint": p.URL() + "/authorize", "token_endpoint": p.URL() + "/token", "jwks_uri": p.URL() + "/keys",
		"scopes_supported": []string{"openid", "email", "profile", "groups"}, "response_types_supported": []string{"code"},
		"subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256"},
	})
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads++
	text := base64.RawURLEncoding.EncodeToString
	answer(w, http.StatusOK, map[string]any{"keys": []any{
		map[string]any{"kty": "oct", "k": "c2VjcmV0", "kid": "symmetric"},
		map[string]any{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": strconv.Itoa(p.kid), "n": text(p.signing.N.Bytes()), "e": text(big.NewInt(int64(p.signing.E)).Bytes())},
	}})
}

// authorize sends the browser back with a code at once.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if query.Get("client_id") != p.ClientID || query.Get("response_type") != "code" || query.Get("code_challenge_method") != "S256" {
		http.Error(w, "not a request of the authorization code flow with PKCE", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	p.mu.Lock()
	p.codes[code] = query
	p.mu.Unlock()
	back := query.Get("redirect_uri") + "?" + url.Values{"code": {code}, "state": {query.Get("state")}}.Encode()
	if p.Asks {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><title>Agree</title><main><a id="agree" href="%s">Agree</a></main>`, html.EscapeString(back))
		return
	}
	http.Redirect(w, r, back, http.StatusFound)
}

// token exchanges a code, once.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	code := r.PostFormValue("code")
	p.mu.Lock()
	asked, ok := p.codes[code]
	delete(p.codes, code)
	p.mu.Unlock()
	verifier := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	id, secret, _ := r.BasicAuth()
	switch {
	case id != p.ClientID || secret != p.ClientSecret:
		answer(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	case !ok, asked.Get("redirect_uri") != r.PostFormValue("redirect_uri"), base64.RawURLEncoding.EncodeToString(verifier[:]) != asked.Get("code_challenge"):
		answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	claims := p.Claims(p.ClientID)
	claims["nonce"] = asked.Get("nonce")
	if p.Change != nil {
		changed := maps.Clone(claims)
		p.Change(changed)
		claims = changed
	}
	token := p.Sign(claims)
	if claims["alg"] == "none" {
		token = Unsigned(claims)
	}
	answer(w, http.StatusOK, map[string]any{
		"access_token": "opaque", "token_type": "Bearer", "expires_in": int(p.Lifetime.Seconds()), "id_token": token,
	})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that has left needs no answer
}
