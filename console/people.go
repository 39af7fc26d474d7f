package console

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/signon"
)

// errRole is the error for what a person's role does not include.
var errRole = &fault.Error{Kind: fault.Denied, Code: fault.CodeInsufficientPermissions, Message: "Your role does not include this."}

// callerOf returns who the session calls the service for.
func (c *Console) callerOf(v *request) (svc.Caller, error) {
	if v.session.Person != nil {
		return v.session.Person.Caller(v.ctx(), c.service.CallerFor)
	}
	return c.service.Authenticate(v.ctx(), v.session.Key)
}

// people registers an action for people who have signed in with a role. What it changes
// is theirs in the audit log.
func (c *Console) people(pattern string, role signon.Role, do action) {
	c.signedIn(pattern, func(v *request) error {
		switch {
		case v.session.Person == nil:
			return errNoPage
		case !v.session.Person.Role.Includes(role):
			return errRole
		}
		v.as = c.service.As(accounts.Actor{By: "console " + v.session.Person.Subject + " " + v.address()})
		return do(v)
	})
}

// flowTime is how long a sign-in at the provider may take.
const flowTime = 10 * time.Minute

// flow is a sign-in that was begun. It lives in a cookie of its own, which the browser
// sends when it comes back from the provider, as it does not that of the session.
type flow struct {
	signon.Flow
	Next string
	Ends int64 // Unix seconds
}

func (c *Console) flowCookie(v *request, value string, age time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: c.seal.cookie + "_flow", Value: value, Path: c.opts.Prefix + "/oidc", MaxAge: int(age.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: v.encrypted(),
	}
}

// redirectURL is where the provider sends the browser back to. The provider accepts
// only what it knows of svcd.
func (c *Console) redirectURL(v *request) string {
	scheme := "http"
	if v.encrypted() {
		scheme = "https"
	}
	return scheme + "://" + v.r.Host + c.opts.Prefix + "/oidc/callback"
}

// beginSignOn sends the browser to the provider.
func (c *Console) beginSignOn(v *request) error {
	f := flow{Flow: signon.NewFlow(), Next: clip(maxNext, v.r.FormValue("next")), Ends: c.opts.Now().Add(flowTime).Unix()}
	address, err := c.opts.SignOn.AuthorizationURL(v.ctx(), f.Flow, c.redirectURL(v))
	if err != nil {
		return err
	}
	value, err := c.seal.sealed(flowKind, f)
	if err != nil {
		return err
	}
	http.SetCookie(v.w, c.flowCookie(v, value, flowTime))
	http.Redirect(v.w, v.r, address, http.StatusSeeOther)
	return nil
}

const (
	flowKind = "svc_console_flow"
	maxNext  = 1024 // bytes of the path to go on to
)

// endSignOn begins the session of a browser that comes back. A flow ends once.
func (c *Console) endSignOn(v *request) error {
	var f flow
	cookie, err := v.r.Cookie(c.seal.cookie + "_flow")
	if err != nil || !c.seal.unseal(flowKind, cookie.Value, &f) || f.Ends <= c.opts.Now().Unix() || c.seal.out.has(f.State) {
		return c.signOnRefused(v, &fault.Error{Kind: fault.Unauthenticated, Message: "The sign-in took too long or was begun in another browser. Sign in again."})
	}
	http.SetCookie(v.w, c.flowCookie(v, "", -time.Second))
	c.seal.out.add(session{ID: f.State, Ends: f.Ends}, c.opts.Now())
	person, err := c.opts.SignOn.Exchange(v.ctx(), f.Flow, c.redirectURL(v), v.r.URL.Query())
	if err != nil {
		return c.signOnRefused(v, err)
	}
	s := newSession(c.opts.Now())
	s.Person, s.Ends = &person, min(s.Ends, person.Expires.Unix())
	if err := c.setCookie(v, s); err != nil {
		return err
	}
	next := "/"
	if isLocal(f.Next) {
		next = f.Next
	}
	// Browsers do not send the session's cookie where another site has led them, and a
	// redirect from here would be that: the page goes on by itself.
	v.w.Header().Set("Refresh", "0; url="+c.opts.Prefix+next)
	return v.render("signedon", "Signed in", next)
}

// signOnRefused shows the sign-in with the reason why a person has none.
func (c *Console) signOnRefused(v *request, err error) error {
	e := fault.From(err)
	if e.Kind != fault.Unauthenticated && e.Kind != fault.Denied {
		return err
	}
	c.opts.Logger.WarnContext(v.ctx(), "console: sign-in refused", "address", v.address(), "cause", cmp.Or[error](e.Err, e).Error())
	v.status = http.StatusForbidden
	return v.render("signin", "Sign in", c.signInForm(v, e.Message))
}

// ownKeys is the page of the keys that a person has made.
type ownKeys struct {
	Token   string
	Keys    []accounts.APIKey
	Created *accounts.APIKey // with its secret
}

const (
	ownKeysPage = 1000 // keys that are read at once
	mostOwnKeys = 100  // that are shown
)

func (c *Console) ownKeysPage(v *request) error { return c.showOwnKeys(v, nil) }

func (c *Console) showOwnKeys(v *request, created *accounts.APIKey) error {
	mine, err := c.keysOf(v.ctx(), *v.session.Person)
	if err != nil {
		return err
	}
	return v.render("ownkeys", "My keys", ownKeys{Token: v.session.Token, Keys: mine, Created: created})
}

// keysOf returns the newest keys that a person has made.
func (c *Console) keysOf(ctx context.Context, person signon.Person) (mine []accounts.APIKey, err error) {
	p := svc.Page{Limit: ownKeysPage, Desc: true}
	for {
		keys, err := c.service.Keys(ctx, person.Organization, p)
		if err != nil {
			return nil, err
		}
		for _, k := range keys.Items {
			if k.CreatedBy == person.ID() && len(mine) < mostOwnKeys {
				mine = append(mine, k)
			}
		}
		if !keys.HasMore || len(mine) == mostOwnKeys {
			return mine, nil
		}
		p.After = keys.Items[len(keys.Items)-1].ID
	}
}

// createOwnKey makes a key of the person's organization.
func (c *Console) createOwnKey(v *request) error {
	person := v.session.Person
	key, err := v.as.CreateKey(v.ctx(), accounts.NewKey{
		OrganizationID: person.Organization, Name: strings.TrimSpace(v.r.PostForm.Get("name")), CreatedBy: person.ID(),
	})
	if err != nil {
		return err
	}
	return c.showOwnKeys(v, &key)
}

// revokeOwnKey revokes a key that the person has made, or for an administrator any of
// the organization. Others do not exist.
func (c *Console) revokeOwnKey(v *request) error {
	person, id := v.session.Person, v.r.PathValue("id")
	key, err := c.service.Key(v.ctx(), id)
	if err != nil {
		return err
	}
	if key.OrganizationID != person.Organization || key.CreatedBy != person.ID() && !person.Role.Includes(signon.Admin) {
		return fault.Missing(accounts.CodeKeyNotFound, "API key", id)
	}
	if err := v.as.RevokeKey(v.ctx(), id); err != nil {
		return err
	}
	if v.r.PostForm.Get("from") == "organization" {
		return v.redirect("/organization")
	}
	return v.redirect("/keys")
}

func (c *Console) ownOrganizationPage(v *request) error {
	o, err := c.service.Organization(v.ctx(), v.caller.Organization)
	if err != nil {
		return err
	}
	keys, err := c.service.Keys(v.ctx(), o.ID, newest(v.r))
	if err != nil {
		return err
	}
	view := organizationView{Token: v.session.Token, Organization: o, Keys: keys.Items}
	if n := len(keys.Items); n > 0 {
		view.Next = nextPage(keys.HasMore, keys.Items[n-1].ID, "")
	}
	return v.render("ownorganization", o.Name, view)
}

// updateOwnOrganization changes what an organization may decide for itself: not its
// credits, its limits and its status.
func (c *Console) updateOwnOrganization(v *request) error {
	name, zero := v.r.PostForm.Get("name"), v.r.PostForm.Get("zero_data_retention") != ""
	kept, err := v.retention()
	if err != nil {
		return err
	}
	_, err = v.as.UpdateOrganization(v.ctx(), v.caller.Organization, accounts.OrganizationUpdate{
		Name: &name, ZeroDataRetention: &zero, Retention: &kept, UnknownFields: new(v.unknownFields()),
	})
	if err != nil {
		return err
	}
	return v.redirect("/organization")
}
