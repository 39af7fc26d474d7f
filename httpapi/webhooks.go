package httpapi

import (
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/webhooks"
)

// createWebhook serves POST /v1/webhook_endpoints.
func (a *API) createWebhook(c *call) error {
	body := &wire.WebhookRequest{}
	if err := c.request(body); err != nil {
		return err
	}
	made, err := a.opts.Webhooks.CreateEndpoint(c.ctx(), c.caller, convert.FromWebhookRequest(body))
	return c.webhook(made, err)
}

// webhook answers with an endpoint.
func (c *call) webhook(e webhooks.Endpoint, err error) error {
	if err != nil {
		return err
	}
	return c.json(convert.ToWebhookEndpoint(&e))
}

func (c *call) webhookID() string { return c.r.PathValue("webhook_endpoint_id") }

func (a *API) listWebhooks(c *call) error {
	p, err := pageParams(c.r.URL.Query(), true)
	if err != nil {
		return err
	}
	found, err := a.opts.Webhooks.Endpoints(c.ctx(), c.caller, p)
	if err != nil {
		return err
	}
	return c.json(convert.ToList(found, convert.ToWebhookEndpoint, func(w *wire.WebhookEndpoint) string { return w.ID }))
}

func (a *API) getWebhook(c *call) error {
	e, err := a.opts.Webhooks.Endpoint(c.ctx(), c.caller, c.webhookID())
	return c.webhook(e, err)
}

func (a *API) updateWebhook(c *call) error {
	body := &wire.WebhookUpdate{}
	if err := c.request(body); err != nil {
		return err
	}
	e, err := a.opts.Webhooks.UpdateEndpoint(c.ctx(), c.caller, c.webhookID(), convert.FromWebhookUpdate(body))
	return c.webhook(e, err)
}

func (a *API) deleteWebhook(c *call) error {
	if err := a.opts.Webhooks.DeleteEndpoint(c.ctx(), c.caller, c.webhookID()); err != nil {
		return err
	}
	return c.json(wire.Deleted{ID: c.webhookID(), Object: "webhook_endpoint.deleted", Deleted: true})
}

func (a *API) rotateWebhookSecret(c *call) error {
	root, err := c.optionalBody()
	if err != nil {
		return err
	}
	body := &wire.WebhookRotation{}
	if err := c.decode(root, body); err != nil {
		return err
	}
	e, err := a.opts.Webhooks.RotateSecret(c.ctx(), c.caller, c.webhookID(), body.KeepOld)
	return c.webhook(e, err)
}

func (a *API) testWebhook(c *call) error {
	body := &wire.WebhookTestRequest{}
	if err := c.request(body); err != nil {
		return err
	}
	code, err := a.opts.Webhooks.Test(c.ctx(), c.caller, c.webhookID(), body.EventType)
	if err != nil {
		return err
	}
	return c.json(wire.WebhookTest{Object: "webhook_endpoint.test", WebhookEndpointID: c.webhookID(), EventType: body.EventType, StatusCode: code, Success: true})
}

func (a *API) listWebhookDeliveries(c *call) error {
	p, err := pageParams(c.r.URL.Query(), true)
	if err != nil {
		return err
	}
	found, err := a.opts.Webhooks.Deliveries(c.ctx(), c.caller, c.webhookID(), p)
	if err != nil {
		return err
	}
	return c.json(convert.ToList(found, convert.ToWebhookDelivery, func(w *wire.WebhookDelivery) string { return w.ID }))
}

func (a *API) resendWebhook(c *call) error {
	if _, err := c.optionalBody(); err != nil {
		return err
	}
	d, err := a.opts.Webhooks.Resend(c.ctx(), c.caller, c.webhookID(), c.r.PathValue("delivery_id"))
	if err != nil {
		return err
	}
	return c.json(convert.ToWebhookDelivery(&d))
}

func (a *API) listWebhookEventTypes(c *call) error {
	return c.json(wire.WebhookEventTypes{Object: "list", Data: webhooks.EventTypes})
}
