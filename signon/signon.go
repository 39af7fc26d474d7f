// Package signon signs people in at an OpenID Connect provider, and verifies the
// access tokens that the provider gives to programs.
//
// [New] makes a [Provider]. A browser is sent to [Provider.AuthorizationURL] with the
// secrets of a [Flow]; what it brings back, [Provider.Exchange] turns into a [Person]:
// the authorization code flow with PKCE. [Provider.Verify] does the same for a token
// that a program sends with a request. Groups of the provider say which organization
// a person belongs to and what the person may do there.
//
// The provider is asked for its addresses and keys when they are first needed, and
// again every five minutes, so that svcd starts without it and a key that the provider
// takes back is refused soon. Every error is a *fault.Error.
package signon

import (
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
)

// Role is what a person may do in an organization. Each role includes those before it.
type Role string

// The roles.
const (
	Viewer Role = "viewer" // reads
	Member Role = "member" // also calls models, stores, labels and makes API keys of its own
	Admin  Role = "admin"  // also administers the organization
)

// Roles are all roles, from the least to the most.
var Roles = []Role{Viewer, Member, Admin}

// Includes reports whether the role may do what another may.
func (r Role) Includes(other Role) bool {
	return slices.Index(Roles, r) >= slices.Index(Roles, other) && slices.Contains(Roles, other)
}

// Group gives the people in a group of the provider a role in an organization.
type Group struct {
	Name         string // as the provider writes it in its tokens
	Organization string // org_… ID
	Role         Role
}

// Options are what a Provider is made of. Issuer, ClientID and Groups are required.
type Options struct {
	Issuer       string // URL, exactly as the provider's tokens have it
	ClientID     string
	ClientSecret string // empty for a public client

	// Audience is what access tokens must have been issued for; empty accepts none.
	Audience string

	// GroupsClaim is the claim that lists a person's groups; empty is "groups".
	GroupsClaim string

	// Groups are the groups that mean something. A person in several of them belongs to
	// the organization of the first, in this order, with the most of the roles there.
	Groups []Group

	HTTP *http.Client     // nil: one with a timeout of ten seconds
	Now  func() time.Time // nil: time.Now
}

// Person is who has signed in.
type Person struct {
	Issuer       string
	Subject      string // unique at the issuer, and never another person's
	Name         string // to show; the person may have chosen it
	Organization string
	Role         Role
	Expires      time.Time // of the token
}

// ID names the person among those of all issuers.
func (p Person) ID() string { return p.Issuer + "#" + p.Subject }

// Caller returns the caller that the person is, with [accounts.Service.CallerFor] or
// what stands for it. The error is Denied where the person's organization is suspended
// or does not exist.
func (p Person) Caller(ctx context.Context, callerFor func(ctx context.Context, organization string) (accounts.Caller, error)) (accounts.Caller, error) {
	caller, err := callerFor(ctx, p.Organization)
	if fault.Is(err, fault.NotFound) {
		err = &fault.Error{Kind: fault.Denied, Code: accounts.CodeAccessDenied, Message: "The organization of your group does not exist.", Err: err}
	}
	caller.ReadOnly = !p.Role.Includes(Member)
	return caller, err
}

// Provider is an OpenID Connect provider. It is safe for concurrent use and holds
// nothing to be closed.
type Provider struct {
	o      Options
	client *http.Client

	loading chan struct{} // capacity 1: who holds it reads the metadata
	metadata
}

const (
	requestTimeout = 10 * time.Second
	maxAnswer      = 1 << 20 // bytes of an answer of the provider
	maxToken       = 16 << 10
	maxSubject     = 255 // as the specification has it
	maxName        = 200
)

// New returns a Provider. It asks nobody; the error says which option is wrong.
func New(o Options) (*Provider, error) {
	issuer, err := url.Parse(o.Issuer)
	if err != nil || issuer.Host == "" || issuer.Scheme != "https" && issuer.Scheme != "http" {
		return nil, fmt.Errorf("signon: the issuer %q is not a URL such as https://login.example.com", o.Issuer)
	}
	if o.ClientID == "" {
		return nil, errors.New("signon: the issuer needs a client ID besides")
	}
	if len(o.Groups) == 0 {
		return nil, errors.New(`signon: no group of the provider is given an organization and a role, so that nobody could sign in`)
	}
	for _, g := range o.Groups {
		if g.Name == "" || g.Organization == "" || !slices.Contains(Roles, g.Role) {
			return nil, fmt.Errorf("signon: the group %q needs an organization and a role, which is admin, member or viewer", g.Name)
		}
	}
	if o.GroupsClaim == "" {
		o.GroupsClaim = "groups"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	client := http.Client{Timeout: requestTimeout}
	if o.HTTP != nil {
		client = *o.HTTP
	}
	client.Transport = bounded{client.Transport}
	return &Provider{o: o, client: &client, loading: make(chan struct{}, 1)}, nil
}

// Flow is what one sign-in must bring back. It belongs to the browser that began it.
type Flow struct {
	State    string
	Nonce    string
	Verifier string // of PKCE
}

// NewFlow returns the secrets of a sign-in.
func NewFlow() Flow {
	return Flow{State: oauth2.GenerateVerifier(), Nonce: oauth2.GenerateVerifier(), Verifier: oauth2.GenerateVerifier()}
}

// AuthorizationURL is where a browser signs in. It comes back to redirect, which the
// provider knows, with the query that Exchange takes. The error is Unavailable.
func (p *Provider) AuthorizationURL(ctx context.Context, f Flow, redirect string) (string, error) {
	m, err := p.current(ctx)
	if err != nil {
		return "", err
	}
	return p.oauth(m, redirect).AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)), nil
}

func (p *Provider) oauth(m loaded, redirect string) *oauth2.Config {
	return &oauth2.Config{ClientID: p.o.ClientID, ClientSecret: p.o.ClientSecret, Endpoint: m.endpoint, RedirectURL: redirect, Scopes: m.scopes}
}

// Exchange ends a sign-in with the query that the browser came back with. The error
// is Unauthenticated where the sign-in is not the one that was begun or the provider
// refused it, Denied where no group of the person means anything, and Unavailable.
func (p *Provider) Exchange(ctx context.Context, f Flow, redirect string, query url.Values) (Person, error) {
	if f.State == "" || query.Get("state") != f.State {
		return Person{}, refused("The sign-in was not begun in this browser. Sign in again.", errors.New("the state is not that of the flow"))
	}
	if issuer := query.Get("iss"); issuer != "" && issuer != p.o.Issuer {
		return Person{}, refused("The answer is not from the provider of this server.", fmt.Errorf("the answer is from the issuer %q", issuer))
	}
	if reason := query.Get("error"); reason != "" {
		return Person{}, refused("The provider did not sign you in.", fmt.Errorf("%s: %s", reason, query.Get("error_description")))
	}
	m, err := p.current(ctx)
	if err != nil {
		return Person{}, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	token, err := p.oauth(m, redirect).Exchange(ctx, query.Get("code"), oauth2.VerifierOption(f.Verifier))
	if answered, ok := errors.AsType[*oauth2.RetrieveError](err); ok && answered.Response.StatusCode < http.StatusInternalServerError {
		return Person{}, refused("The provider did not accept the sign-in. Sign in again.", err)
	}
	if err != nil {
		return Person{}, unavailable(err)
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := p.verify(ctx, raw, p.o.ClientID)
	if err != nil {
		return Person{}, err
	}
	if id.Nonce != f.Nonce {
		return Person{}, refused("The sign-in was not begun in this browser. Sign in again.", errors.New("the nonce is not that of the flow"))
	}
	return p.person(id)
}

// Grants reports whether a group still gives a person's role, as it did when the person
// signed in.
func (p *Provider) Grants(person Person) bool {
	return person.Issuer == p.o.Issuer && slices.ContainsFunc(p.o.Groups, func(g Group) bool {
		return g.Organization == person.Organization && g.Role == person.Role
	})
}

// IsToken reports whether a bearer has the form of a signed token, which no API key
// has that the service makes.
func IsToken(bearer string) bool {
	return strings.HasPrefix(bearer, "eyJ") && strings.Count(bearer, ".") == 2
}

// Verify returns whose access token it is. The error is Unauthenticated
// (invalid_token) for one that is not the issuer's, was issued for another audience or
// has expired, Denied where no group of the person means anything, and Unavailable
// where the provider cannot be asked for its keys.
func (p *Provider) Verify(ctx context.Context, token string) (Person, error) {
	if p.o.Audience == "" {
		return Person{}, invalidToken(errors.New("no audience is configured, so that access tokens are not accepted"))
	}
	id, err := p.verify(ctx, token, p.o.Audience)
	if err != nil {
		return Person{}, err
	}
	return p.person(id)
}

// algorithms are the signatures that are accepted: those with a key that the provider
// alone has.
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}

// verify checks a token. One whose signature none of the known keys made is checked
// again with keys that are read anew.
func (p *Provider) verify(ctx context.Context, token, audience string) (*oidc.IDToken, error) {
	if len(token) == 0 || len(token) > maxToken {
		return nil, invalidToken(fmt.Errorf("it has %d bytes", len(token)))
	}
	m, err := p.current(ctx)
	if err != nil {
		return nil, err
	}
	id, err := p.check(ctx, token, audience, m.keys)
	expired := false
	if err != nil {
		_, expired = errors.AsType[*oidc.TokenExpiredError](err)
	}
	if err != nil && !expired {
		if m, again := p.renewed(ctx, m); again {
			id, err = p.check(ctx, token, audience, m.keys)
		}
	}
	switch {
	case err == nil && !id.Expiry.After(p.o.Now()), expired:
		return nil, &fault.Error{Kind: fault.Unauthenticated, Code: fault.CodeInvalidToken, Message: "The token has expired.", Err: err}
	case err != nil:
		return nil, invalidToken(err)
	}
	return id, nil
}

func (p *Provider) check(ctx context.Context, token, audience string, keys []crypto.PublicKey) (*oidc.IDToken, error) {
	config := &oidc.Config{ClientID: audience, SupportedSigningAlgs: algorithms, Now: p.o.Now}
	return oidc.NewVerifier(p.o.Issuer, &oidc.StaticKeySet{PublicKeys: keys}, config).Verify(ctx, token)
}

// person returns whom a verified token is about.
func (p *Provider) person(id *oidc.IDToken) (Person, error) {
	var claims map[string]json.RawMessage
	if err := id.Claims(&claims); err != nil {
		return Person{}, invalidToken(err)
	}
	if id.Subject == "" || len(id.Subject) > maxSubject {
		return Person{}, invalidToken(errors.New("it has no subject"))
	}
	person := Person{Issuer: p.o.Issuer, Subject: id.Subject, Name: shownName(claims, id.Subject), Expires: id.Expiry}
	groups := texts(claims[p.o.GroupsClaim])
	for _, g := range p.o.Groups {
		if !slices.Contains(groups, g.Name) || person.Organization != "" && person.Organization != g.Organization {
			continue
		}
		person.Organization = g.Organization
		if !person.Role.Includes(g.Role) {
			person.Role = g.Role
		}
	}
	if person.Organization == "" {
		return Person{}, &fault.Error{Kind: fault.Denied, Code: fault.CodeInsufficientPermissions, Message: "None of your groups may use this service.",
			Err: fmt.Errorf("the subject %q has the groups %q in the claim %q", id.Subject, groups, p.o.GroupsClaim)}
	}
	return person, nil
}

// shownName is the best that a token has to call a person.
func shownName(claims map[string]json.RawMessage, subject string) string {
	for _, claim := range []string{"email", "preferred_username", "name"} {
		if found := texts(claims[claim]); len(found) > 0 && found[0] != "" {
			return strings.ToValidUTF8(found[0][:min(len(found[0]), maxName)], "")
		}
	}
	return subject
}

// texts returns the texts of a claim that is a text or a list of them. A claim of
// another form has none.
func texts(claim json.RawMessage) []string {
	var many []string
	if json.Unmarshal(claim, &many) == nil {
		return many
	}
	var one string
	if json.Unmarshal(claim, &one) == nil {
		return []string{one}
	}
	return nil
}

func refused(message string, cause error) error {
	return &fault.Error{Kind: fault.Unauthenticated, Code: fault.CodeInvalidToken, Message: message, Err: cause}
}

func invalidToken(cause error) error { return refused("The token is not valid here.", cause) }

func unavailable(cause error) error {
	return &fault.Error{Kind: fault.Unavailable, Code: fault.CodeUnavailable, Message: "The sign-on provider cannot be reached. Try again.", RetryAfter: retryAfter, Err: cause}
}
