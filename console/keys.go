package console

import (
	"cmp"
	"strings"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
)

func (c *Console) keysPage(v *request) error {
	if id := strings.TrimSpace(v.r.FormValue("q")); strings.HasPrefix(id, "key_") {
		return v.redirect("/admin/keys/" + id)
	}
	result, err := search(v, func(p svc.Page) (svc.List[accounts.APIKey], error) { return c.service.Keys(v.ctx(), "", p) },
		func(k accounts.APIKey) string { return k.ID },
		func(k accounts.APIKey, words string) bool {
			return has(words, k.ID, k.Name, k.Prefix, k.OrganizationID)
		})
	if err != nil {
		return err
	}
	view := keysView{list: result, Names: map[string]string{}}
	for i := range result.Items {
		if err := c.nameOrganization(v, view.Names, result.Items[i].OrganizationID); err != nil {
			return err
		}
	}
	return v.render("keys", "API keys", view)
}

// keysView is a page of keys with the names of their organizations by ID.
type keysView struct {
	list[accounts.APIKey]
	Names map[string]string
}

// nameOrganization puts what people call an organization among the names.
func (c *Console) nameOrganization(v *request, names map[string]string, id string) error {
	if id == "" || names[id] != "" {
		return nil
	}
	o, err := c.service.Organization(v.ctx(), id)
	if err != nil && !fault.Is(err, fault.NotFound) { // it was deleted meanwhile
		return err
	}
	names[id] = cmp.Or(o.Name, id)
	return nil
}

// keyView is a key with its limits.
type keyView struct {
	Token        string
	Key          accounts.APIKey
	Organization string  // its name
	Part         float64 // of its budget that is spent, 0 to 1
}

// during is the present period, in words.
func during(p accounts.Period) string {
	if p == accounts.Day {
		return "today"
	}
	return "this month"
}

func (c *Console) keyPage(v *request) error {
	key, err := c.service.Key(v.ctx(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	names := map[string]string{}
	if err := c.nameOrganization(v, names, key.OrganizationID); err != nil {
		return err
	}
	view := keyView{Token: v.session.Token, Key: key, Organization: names[key.OrganizationID]}
	if key.Budget > 0 {
		view.Part = min(max(float64(key.Spent)/float64(key.Budget), 0), 1)
	}
	title := key.Name
	if title == "" {
		title = "API key"
	}
	return v.render("key", title, view)
}

// createKey makes a key and shows it, the only time. The page answers the form
// itself: a redirect would have to carry the key.
func (c *Console) createKey(v *request) error {
	n := accounts.NewKey{OrganizationID: v.r.PostForm.Get("organization_id"), Name: v.r.PostForm.Get("name"), UnknownFields: v.unknownFields()}
	if models := strings.Fields(strings.ReplaceAll(v.r.PostForm.Get("models"), ",", " ")); len(models) > 0 {
		n.Models = models
	}
	var err error
	if n.KeyLimits, err = v.keyLimits(); err != nil {
		return err
	}
	key, err := v.as.CreateKey(v.ctx(), n)
	if err != nil {
		return err
	}
	return c.showOrganization(v, key.OrganizationID, &key)
}

func (c *Console) updateKey(v *request) error {
	limits, err := v.keyLimits()
	if err != nil {
		return err
	}
	id, name := v.r.PathValue("id"), v.r.PostForm.Get("name")
	_, err = v.as.UpdateKey(v.ctx(), id, accounts.KeyUpdate{
		Name: &name, RequestsPerMinute: &limits.RequestsPerMinute, TokensPerMinute: &limits.TokensPerMinute,
		Budget: &limits.Budget, BudgetPeriod: &limits.BudgetPeriod, UnknownFields: new(v.unknownFields()),
	})
	if err != nil {
		return err
	}
	return v.redirect("/admin/keys/" + id)
}

// keyLimits reads the limits of a key; empty fields are none.
func (v *request) keyLimits() (l accounts.KeyLimits, err error) {
	if l.RequestsPerMinute, err = v.number("requests_per_minute"); err != nil {
		return l, err
	}
	if l.TokensPerMinute, err = v.number("tokens_per_minute"); err != nil {
		return l, err
	}
	if text := strings.TrimSpace(v.r.PostForm.Get("budget")); text != "" {
		if l.Budget, err = accounts.ParseDollars(text); err != nil {
			return l, err
		}
	}
	l.BudgetPeriod = accounts.Period(v.r.PostForm.Get("budget_period"))
	return l, nil
}

func (c *Console) revokeKey(v *request) error {
	if err := v.as.RevokeKey(v.ctx(), v.r.PathValue("id")); err != nil {
		return err
	}
	if id := v.r.PostForm.Get("organization_id"); id != "" && isLocal("/"+id) {
		return v.redirect("/admin/organizations/" + id)
	}
	return v.redirect("/admin/keys")
}
