package signon

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"golang.org/x/oauth2"
)

const (
	freshFor   = 5 * time.Minute  // how long what a provider says of itself counts
	staleFor   = time.Hour        // and how long while the provider cannot be reached
	retryAfter = 10 * time.Second // between two tries to read it, whoever asks
	maxKeys    = 100
)

// loaded is what a provider says of itself.
type loaded struct {
	endpoint oauth2.Endpoint
	scopes   []string
	keys     []crypto.PublicKey
	read     time.Time // zero: never
}

// metadata is what was loaded last.
type metadata struct {
	mu    sync.Mutex
	last  loaded    // guarded by mu
	tried time.Time // when it was last asked for; guarded by mu
	err   error     // of the last try; guarded by mu
}

func (p *Provider) state() (m loaded, tried time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last, p.tried, p.err
}

// current returns what the provider says of itself. The error is Unavailable.
func (p *Provider) current(ctx context.Context) (loaded, error) {
	if m, _, _ := p.state(); p.o.Now().Sub(m.read) < freshFor {
		return m, nil
	}
	err := p.load(ctx, freshFor)
	m, _, _ := p.state()
	if p.o.Now().Sub(m.read) < staleFor {
		return m, nil
	}
	if err == nil {
		err = errors.New("it was not read for too long")
	}
	return loaded{}, unavailable(err)
}

// renewed reads the metadata anew, unless that was done a moment ago, and reports
// whether it is newer than before.
func (p *Provider) renewed(ctx context.Context, before loaded) (loaded, bool) {
	_ = p.load(ctx, retryAfter) // without new keys the old ones decide
	m, _, _ := p.state()
	return m, m.read.After(before.read)
}

// load reads the metadata where it is older than an age. Only one call reads, the
// others wait for it; after a failure nobody tries again for retryAfter.
func (p *Provider) load(ctx context.Context, age time.Duration) error {
	select {
	case p.loading <- struct{}{}:
		defer func() { <-p.loading }()
	case <-ctx.Done():
		return ctx.Err()
	}
	m, tried, err := p.state()
	now := p.o.Now()
	if now.Sub(m.read) < age {
		return nil
	}
	if now.Sub(tried) < retryAfter {
		return err
	}
	// What others wait for does not end with the request that happens to read it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	m, err = p.fetch(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tried, p.err = now, err
	if err == nil {
		m.read = now
		p.last = m
	}
	return err
}

func (p *Provider) fetch(ctx context.Context) (loaded, error) {
	discovered, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.o.Issuer)
	if err != nil {
		return loaded{}, err
	}
	var more struct {
		Keys   string   `json:"jwks_uri"`
		Scopes []string `json:"scopes_supported"`
	}
	if err := discovered.Claims(&more); err != nil {
		return loaded{}, err
	}
	m := loaded{endpoint: discovered.Endpoint(), scopes: []string{oidc.ScopeOpenID, "profile", "email"}}
	if slices.Contains(more.Scopes, "groups") {
		m.scopes = append(m.scopes, "groups") // others refuse a sign-in with a scope that they do not know
	}
	m.keys, err = p.fetchKeys(ctx, more.Keys)
	return m, err
}

// fetchKeys reads the public keys that sign tokens. Keys of other kinds are left out.
func (p *Provider) fetchKeys(ctx context.Context, url string) (keys []crypto.PublicKey, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("its keys at %s: %s", url, resp.Status)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&set); err != nil {
		return nil, fmt.Errorf("its keys at %s: %w", url, err)
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("its keys at %s: there are %d of them", url, len(set.Keys))
	}
	for _, raw := range set.Keys {
		var key jose.JSONWebKey
		if json.Unmarshal(raw, &key) != nil || key.Use == "enc" {
			continue
		}
		switch key.Key.(type) {
		case *rsa.PublicKey, *ecdsa.PublicKey, ed25519.PublicKey:
			keys = append(keys, key.Key)
		}
	}
	return keys, nil
}

// bounded is a transport whose answers end after maxAnswer bytes.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	transport := b.RoundTripper
	if transport == nil {
		transport = http.DefaultTransport
	}
	resp, err := transport.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	}
	return resp, err
}
