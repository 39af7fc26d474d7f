package console

import (
	"fmt"
	"net/url"
	"slices"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/webhooks"
)

// webhookRoutes are the pages of webhook endpoints, where there are any.
func (c *Console) webhookRoutes() {
	if c.opts.Webhooks == nil {
		return
	}
	c.signedIn("GET /webhooks", c.webhooksPage)
	c.signedIn("POST /webhooks", c.createWebhook)
	c.signedIn("GET /webhooks/{id}", c.webhookPage)
	c.signedIn("POST /webhooks/{id}", c.updateWebhook)
	c.signedIn("POST /webhooks/{id}/rotate", c.rotateWebhook)
	c.signedIn("POST /webhooks/{id}/test", c.testWebhook)
	c.signedIn("POST /webhooks/{id}/delete", c.deleteWebhook)
	c.signedIn("POST /webhooks/{id}/deliveries/{delivery}/resend", c.resendWebhook)
}

// webhooksView is the list of endpoints and the form for another one.
type webhooksView struct {
	list[webhooks.Endpoint]
	EventTypes []eventType
}

// eventType is an event and whether an endpoint is told of it.
type eventType struct {
	Name   string
	Chosen bool
}

func eventTypes(chosen []string) []eventType {
	var all []eventType
	for _, name := range webhooks.EventTypes {
		all = append(all, eventType{name, slices.Contains(chosen, name)})
	}
	return all
}

func (c *Console) webhooksPage(v *request) error {
	found, err := c.opts.Webhooks.Endpoints(v.ctx(), v.caller, newest(v.r))
	if err != nil {
		return err
	}
	view := webhooksView{list[webhooks.Endpoint]{Token: v.session.Token, Items: found.Items}, eventTypes(webhooks.EventTypes)}
	if n := len(found.Items); n > 0 {
		view.Next = nextPage(found.HasMore, found.Items[n-1].ID, "")
	}
	return v.render("webhooks", "Webhooks", view)
}

// webhookView is an endpoint with its deliveries.
type webhookView struct {
	webhooks.Endpoint
	Token      string
	EventTypes []eventType
	Deliveries []webhooks.Delivery
	Next       string
	Tested     string // what came of a test
}

// showWebhook shows an endpoint: with its secret where it has just been made, and with
// what came of a test.
func (c *Console) showWebhook(v *request, e webhooks.Endpoint, tested string) error {
	found, err := c.opts.Webhooks.Deliveries(v.ctx(), v.caller, e.ID, newest(v.r))
	if err != nil {
		return err
	}
	view := webhookView{Endpoint: e, Token: v.session.Token, EventTypes: eventTypes(e.EventTypes), Deliveries: found.Items, Tested: tested}
	if n := len(found.Items); n > 0 {
		view.Next = nextPage(found.HasMore, found.Items[n-1].ID, "")
	}
	return v.render("webhook", e.Name, view)
}

func (c *Console) webhookPage(v *request) error {
	e, err := c.opts.Webhooks.Endpoint(v.ctx(), v.caller, v.r.PathValue("id"))
	if err != nil {
		return err
	}
	return c.showWebhook(v, e, "")
}

// createWebhook makes an endpoint and shows its secret, the only time. The page answers
// the form itself: a redirect would have to carry the secret.
func (c *Console) createWebhook(v *request) error {
	form := v.r.PostForm
	e, err := c.opts.Webhooks.CreateEndpoint(v.ctx(), v.caller, webhooks.NewEndpoint{Name: form.Get("name"), URL: form.Get("url"), EventTypes: form["event_types"]})
	if err != nil {
		return err
	}
	return c.showWebhook(v, e, "")
}

func (c *Console) updateWebhook(v *request) error {
	form := v.r.PostForm
	id, name, address := v.r.PathValue("id"), form.Get("name"), form.Get("url")
	u := webhooks.EndpointUpdate{Name: &name, URL: &address, EventTypes: append([]string{}, form["event_types"]...)}
	if _, err := c.opts.Webhooks.UpdateEndpoint(v.ctx(), v.caller, id, u); err != nil {
		return err
	}
	return v.redirect("/webhooks/" + url.PathEscape(id))
}

func (c *Console) rotateWebhook(v *request) error {
	e, err := c.opts.Webhooks.RotateSecret(v.ctx(), v.caller, v.r.PathValue("id"), v.r.PostForm.Get("keep") != "")
	if err != nil {
		return err
	}
	return c.showWebhook(v, e, "")
}

func (c *Console) testWebhook(v *request) error {
	e, err := c.opts.Webhooks.Endpoint(v.ctx(), v.caller, v.r.PathValue("id"))
	if err != nil {
		return err
	}
	kind := v.r.PostForm.Get("event_type")
	code, err := c.opts.Webhooks.Test(v.ctx(), v.caller, e.ID, kind)
	switch {
	case fault.Is(err, fault.Upstream):
		return c.showWebhook(v, e, fault.From(err).Message)
	case err != nil:
		return err
	}
	return c.showWebhook(v, e, fmt.Sprintf("The endpoint answered %s with %d.", kind, code))
}

func (c *Console) deleteWebhook(v *request) error {
	if err := c.opts.Webhooks.DeleteEndpoint(v.ctx(), v.caller, v.r.PathValue("id")); err != nil {
		return err
	}
	return v.redirect("/webhooks")
}

func (c *Console) resendWebhook(v *request) error {
	id := v.r.PathValue("id")
	if _, err := c.opts.Webhooks.Resend(v.ctx(), v.caller, id, v.r.PathValue("delivery")); err != nil {
		return err
	}
	return v.redirect("/webhooks/" + url.PathEscape(id))
}
