package console

import (
	"strconv"
	"strings"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
)

func (c *Console) organizationsPage(v *request) error {
	if id := strings.TrimSpace(v.r.FormValue("q")); strings.HasPrefix(id, "org_") {
		return v.redirect("/admin/organizations/" + id)
	}
	result, err := search(v, func(p svc.Page) (svc.List[accounts.Organization], error) { return c.service.Organizations(v.ctx(), p) },
		func(o accounts.Organization) string { return o.ID },
		func(o accounts.Organization, words string) bool { return has(words, o.Name, string(o.Status)) })
	if err != nil {
		return err
	}
	return v.render("organizations", "Organizations", result)
}

// organizationView is an organization with its keys.
type organizationView struct {
	Token        string
	Organization accounts.Organization
	Keys         []accounts.APIKey
	Next         string
	Created      *accounts.APIKey // a key that was just made, with its secret
	NewLimits    accounts.KeyLimits
}

func (c *Console) organizationPage(v *request) error {
	return c.showOrganization(v, v.r.PathValue("id"), nil)
}

func (c *Console) showOrganization(v *request, id string, created *accounts.APIKey) error {
	o, err := c.service.Organization(v.ctx(), id)
	if err != nil {
		return err
	}
	keys, err := c.service.Keys(v.ctx(), id, newest(v.r))
	if err != nil {
		return err
	}
	view := organizationView{Token: v.session.Token, Organization: o, Keys: keys.Items, Created: created}
	if n := len(keys.Items); n > 0 {
		view.Next = nextPage(keys.HasMore, keys.Items[n-1].ID, "")
	}
	return v.render("organization", o.Name, view)
}

func (c *Console) createOrganization(v *request) error {
	n := accounts.NewOrganization{Name: v.r.PostForm.Get("name"), ZeroDataRetention: v.r.PostForm.Get("zero_data_retention") != "", UnknownFields: v.unknownFields()}
	var err error
	if text := v.r.PostForm.Get("credits"); text != "" {
		if n.Credits, err = accounts.ParseDollars(text); err != nil {
			return err
		}
	}
	if n.RequestsPerMinute, err = v.number("requests_per_minute"); err != nil {
		return err
	}
	if n.TokensPerMinute, err = v.number("tokens_per_minute"); err != nil {
		return err
	}
	if n.ConcurrentRequests, err = v.number("concurrent_requests"); err != nil {
		return err
	}
	o, err := v.as.CreateOrganization(v.ctx(), n)
	if err != nil {
		return err
	}
	return v.redirect("/admin/organizations/" + o.ID)
}

// unknownFields reads the box that has fields refused that the interface does not have.
func (v *request) unknownFields() accounts.UnknownFields {
	if v.r.PostForm.Get("refuse_unknown_fields") != "" {
		return accounts.RefuseUnknown
	}
	return accounts.IgnoreUnknown
}

// number reads a whole number of a form; an empty field is 0.
func (v *request) number(field string) (int, error) {
	text := strings.TrimSpace(v.r.PostForm.Get(field))
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, &fault.Error{Kind: fault.Invalid, Param: field, Message: "Limits and days must be whole numbers; 0 is none."}
	}
	return n, nil
}

func (c *Console) updateOrganization(v *request) error {
	name, status := v.r.PostForm.Get("name"), accounts.Status(v.r.PostForm.Get("status"))
	zero := v.r.PostForm.Get("zero_data_retention") != ""
	requests, err := v.number("requests_per_minute")
	if err != nil {
		return err
	}
	tokens, err := v.number("tokens_per_minute")
	if err != nil {
		return err
	}
	concurrent, err := v.number("concurrent_requests")
	if err != nil {
		return err
	}
	kept, err := v.retention()
	if err != nil {
		return err
	}
	id := v.r.PathValue("id")
	_, err = v.as.UpdateOrganization(v.ctx(), id, accounts.OrganizationUpdate{
		Name: &name, Status: &status, ZeroDataRetention: &zero, RequestsPerMinute: &requests, TokensPerMinute: &tokens, Retention: &kept,
		ConcurrentRequests: &concurrent, UnknownFields: new(v.unknownFields()),
	})
	if err != nil {
		return err
	}
	return v.redirect("/admin/organizations/" + id)
}

func (c *Console) addCredits(v *request) error {
	amount, err := accounts.ParseDollars(strings.TrimSpace(v.r.PostForm.Get("amount")))
	if err != nil {
		return err
	}
	id := v.r.PathValue("id")
	if _, err := v.as.AddCredits(v.ctx(), id, amount); err != nil {
		return err
	}
	return v.redirect("/admin/organizations/" + id)
}

// retention reads for how many days things are kept.
func (v *request) retention() (r accounts.Retention, err error) {
	for field, days := range map[string]*int{
		"completions_days": &r.Completions, "responses_days": &r.Responses, "conversations_days": &r.Conversations, "files_days": &r.Files, "decisions_days": &r.Decisions,
	} {
		if *days, err = v.number(field); err != nil {
			return r, err
		}
	}
	return r, nil
}

// deleteOrganization asks for the ID: a click alone must not remove what many
// have stored.
func (c *Console) deleteOrganization(v *request) error {
	id := v.r.PathValue("id")
	if strings.TrimSpace(v.r.PostForm.Get("confirmed")) != id {
		return &fault.Error{Kind: fault.Invalid, Message: "To delete an organization, write its ID."}
	}
	if err := v.as.DeleteOrganization(v.ctx(), id); err != nil {
		return err
	}
	return v.redirect("/admin/organizations")
}
