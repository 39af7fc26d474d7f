package client

import (
	"context"

	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/webhooks"
)

const webhooksPath = "/v1/webhook_endpoints"

func (c *Client) webhook(ctx context.Context, path string, body any) (webhooks.Endpoint, error) {
	method := "POST"
	if body == nil {
		method = "GET"
	}
	var w wire.WebhookEndpoint
	err := c.Do(ctx, method, path, body, &w)
	return convert.FromWebhookEndpoint(&w), err
}

// CreateWebhook has events posted to a URL. Its Secret is shown this time only.
func (c *Client) CreateWebhook(ctx context.Context, _ Caller, n webhooks.NewEndpoint) (webhooks.Endpoint, error) {
	return c.webhook(ctx, webhooksPath, convert.ToWebhookRequest(&n))
}

// Webhook returns an endpoint. The error is NotFound.
func (c *Client) Webhook(ctx context.Context, _ Caller, id string) (webhooks.Endpoint, error) {
	return c.webhook(ctx, under(webhooksPath, id), nil)
}

// Webhooks returns a page of the organization's endpoints.
func (c *Client) Webhooks(ctx context.Context, _ Caller, p Page) (List[webhooks.Endpoint], error) {
	return list(ctx, c, webhooksPath, p, func(w wire.WebhookEndpoint) webhooks.Endpoint { return convert.FromWebhookEndpoint(&w) })
}

// UpdateWebhook changes an endpoint, and enables it.
func (c *Client) UpdateWebhook(ctx context.Context, _ Caller, id string, u webhooks.EndpointUpdate) (webhooks.Endpoint, error) {
	return c.webhook(ctx, under(webhooksPath, id), convert.ToWebhookUpdate(&u))
}

// RotateWebhookSecret replaces the secret of an endpoint; with keepOld the old one
// signs for a day, too.
func (c *Client) RotateWebhookSecret(ctx context.Context, _ Caller, id string, keepOld bool) (webhooks.Endpoint, error) {
	return c.webhook(ctx, under(webhooksPath, id, "rotate_secret"), &wire.WebhookRotation{KeepOld: keepOld})
}

// TestWebhook posts an event to an endpoint and returns the status of its answer.
func (c *Client) TestWebhook(ctx context.Context, _ Caller, id, eventType string) (statusCode int, err error) {
	var w wire.WebhookTest
	err = c.Do(ctx, "POST", under(webhooksPath, id, "test"), &wire.WebhookTestRequest{EventType: eventType}, &w)
	return w.StatusCode, err
}

// DeleteWebhook removes an endpoint.
func (c *Client) DeleteWebhook(ctx context.Context, _ Caller, id string) error {
	return c.Do(ctx, "DELETE", under(webhooksPath, id), nil, nil)
}

// WebhookDeliveries returns a page of what was posted to an endpoint, or is to be.
func (c *Client) WebhookDeliveries(ctx context.Context, _ Caller, id string, p Page) (List[webhooks.Delivery], error) {
	return list(ctx, c, under(webhooksPath, id, "deliveries"), p, func(w wire.WebhookDelivery) webhooks.Delivery { return convert.FromWebhookDelivery(&w) })
}

// ResendWebhook has an event posted again.
func (c *Client) ResendWebhook(ctx context.Context, _ Caller, id, delivery string) (webhooks.Delivery, error) {
	var w wire.WebhookDelivery
	err := c.Do(ctx, "POST", under(webhooksPath, id, "deliveries", delivery, "resend"), nil, &w)
	return convert.FromWebhookDelivery(&w), err
}
