package console

import (
	"strings"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
)

func (c *Console) keysPage(v *visit) error {
	result, err := search(v, func(p svc.Page) (svc.List[accounts.APIKey], error) { return c.service.Keys(v.ctx(), "", p) },
		func(k accounts.APIKey) string { return k.ID },
		func(k accounts.APIKey, words string) bool {
			return has(words, k.ID, k.Name, k.Prefix, k.OrganizationID)
		})
	if err != nil {
		return err
	}
	return v.render("keys", "API keys", result)
}

// createKey makes a key and shows it, the only time. The page answers the form
// itself: a redirect would have to carry the key.
func (c *Console) createKey(v *visit) error {
	n := accounts.NewKey{OrganizationID: v.r.PostForm.Get("organization_id"), Name: v.r.PostForm.Get("name")}
	if models := strings.Fields(strings.ReplaceAll(v.r.PostForm.Get("models"), ",", " ")); len(models) > 0 {
		n.Models = models
	}
	key, err := c.service.CreateKey(v.ctx(), n)
	if err != nil {
		return err
	}
	return c.showOrganization(v, key.OrganizationID, &key)
}

func (c *Console) revokeKey(v *visit) error {
	if err := c.service.RevokeKey(v.ctx(), v.r.PathValue("id")); err != nil {
		return err
	}
	if id := v.r.PostForm.Get("organization_id"); id != "" && v.ours("/"+id) {
		return v.redirect("/admin/organizations/" + id)
	}
	return v.redirect("/admin/keys")
}
