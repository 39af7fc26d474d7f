package main

import (
	"errors"
	"net/http"
	"strings"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/signon"
)

// signOn decodes what a configuration says of the provider where people sign in.
func signOn(n *jsonin.Node) (o signon.Options) {
	if n.Absent() {
		return o
	}
	only(n, "audience", "groups_claim", "groups")
	o.Audience, o.GroupsClaim = n.Field("audience").Text(), n.Field("groups_claim").Text()
	for f := range n.Field("groups").Fields() {
		only(f, "organization", "role")
		g := signon.Group{Name: f.Name(), Organization: f.Field("organization").Text(), Role: signon.Role(f.Field("role").Text())}
		if g.Organization == "" {
			f.Fail("must have an organization, the ID of one")
		}
		if !g.Role.Includes(signon.Viewer) {
			f.Field("role").Fail("must be admin, member or viewer")
		}
		o.Groups = append(o.Groups, g)
	}
	if len(o.Groups) == 0 {
		n.Fail("must have groups, as nobody else can sign in")
	}
	return o
}

// checkSignOn returns what is wrong with the options of the sign-on, if anything.
func (c config) checkSignOn() error {
	if c.oidc.issuer == "" {
		if c.oidc.clientID != "" || c.oidc.clientSecret != "" || len(c.models.signOn.Groups) > 0 {
			return errors.New("-oidc-client-id, -oidc-client-secret and the member oidc of -config need -oidc-issuer (SVC_OIDC_ISSUER)")
		}
		return nil
	}
	if len(c.models.signOn.Groups) == 0 {
		return errors.New(`-oidc-issuer needs the member oidc of -config, which gives groups of the provider an organization and a role: {"oidc": {"groups": {"staff": {"organization": "org_default", "role": "member"}}}}`)
	}
	_, err := c.signOn()
	return err
}

// signOn makes the provider where people sign in; nil where there is none.
func (c config) signOn() (*signon.Provider, error) {
	if c.oidc.issuer == "" {
		return nil, nil
	}
	o := c.models.signOn
	o.Issuer, o.ClientID, o.ClientSecret = c.oidc.issuer, c.oidc.clientID, c.oidc.clientSecret
	p, err := signon.New(o)
	if err != nil {
		return nil, errors.New("-oidc-issuer: " + strings.TrimPrefix(err.Error(), "signon: "))
	}
	return p, nil
}

// authenticate takes access tokens of the provider besides API keys; nil takes API
// keys alone.
func authenticate(service *svc.Service, people *signon.Provider) func(*http.Request) (svc.Caller, error) {
	if people == nil {
		return nil
	}
	return func(r *http.Request) (svc.Caller, error) {
		key := httpapi.APIKey(r)
		if !signon.IsToken(key) {
			return service.Authenticate(r.Context(), key)
		}
		person, err := people.Verify(r.Context(), key)
		if err != nil {
			return svc.Caller{}, err
		}
		return person.Caller(r.Context(), service.CallerFor)
	}
}
