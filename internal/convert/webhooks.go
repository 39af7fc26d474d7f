package convert

import (
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/webhooks"
)

// FromWebhookRequest returns the endpoint that is to be made.
func FromWebhookRequest(w *wire.WebhookRequest) webhooks.NewEndpoint {
	return webhooks.NewEndpoint{Name: w.Name, URL: w.URL, EventTypes: w.EventTypes}
}

// ToWebhookRequest returns the body that makes an endpoint.
func ToWebhookRequest(n *webhooks.NewEndpoint) *wire.WebhookRequest {
	return &wire.WebhookRequest{Name: n.Name, URL: n.URL, EventTypes: n.EventTypes}
}

// FromWebhookUpdate returns what is to change of an endpoint.
func FromWebhookUpdate(w *wire.WebhookUpdate) webhooks.EndpointUpdate {
	return webhooks.EndpointUpdate{Name: w.Name, URL: w.URL, EventTypes: w.EventTypes}
}

// ToWebhookUpdate returns the body that changes an endpoint.
func ToWebhookUpdate(u *webhooks.EndpointUpdate) *wire.WebhookUpdate {
	return &wire.WebhookUpdate{Name: u.Name, URL: u.URL, EventTypes: u.EventTypes}
}

// ToWebhookEndpoint returns an endpoint as it is answered.
func ToWebhookEndpoint(e *webhooks.Endpoint) wire.WebhookEndpoint {
	return wire.WebhookEndpoint{
		ID: e.ID, Object: "webhook_endpoint", Name: e.Name, URL: e.URL, EventTypes: e.EventTypes, CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt,
		DisabledAt: optional(e.DisabledAt), Secret: e.Secret, SecretHint: e.SecretHint,
	}
}

// FromWebhookEndpoint returns what an answer says.
func FromWebhookEndpoint(w *wire.WebhookEndpoint) webhooks.Endpoint {
	return webhooks.Endpoint{
		ID: w.ID, Name: w.Name, URL: w.URL, EventTypes: w.EventTypes, CreatedAt: w.CreatedAt, UpdatedAt: w.UpdatedAt,
		DisabledAt: value(w.DisabledAt), Secret: w.Secret, SecretHint: w.SecretHint,
	}
}

// ToWebhookDelivery returns a delivery as it is answered.
func ToWebhookDelivery(d *webhooks.Delivery) wire.WebhookDelivery {
	return wire.WebhookDelivery{
		ID: d.ID, Object: "webhook_delivery", WebhookEndpointID: d.Endpoint, EventID: d.Event, EventType: d.Type, ObjectID: d.Object, CreatedAt: d.CreatedAt,
		Status: string(d.Status), Tries: d.Tries, TriedAt: optional(d.TriedAt), StatusCode: optional(d.StatusCode), Error: optional(d.Error), NextTryAt: optional(d.NextTryAt),
	}
}

// FromWebhookDelivery returns what an answer says.
func FromWebhookDelivery(w *wire.WebhookDelivery) webhooks.Delivery {
	return webhooks.Delivery{
		ID: w.ID, Endpoint: w.WebhookEndpointID, Event: w.EventID, Type: w.EventType, Object: w.ObjectID, CreatedAt: w.CreatedAt,
		Status: webhooks.Status(w.Status), Tries: w.Tries, TriedAt: value(w.TriedAt), StatusCode: value(w.StatusCode), Error: value(w.Error), NextTryAt: value(w.NextTryAt),
	}
}
