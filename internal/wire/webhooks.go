package wire

// WebhookRequest is the body of POST /v1/webhook_endpoints.
type WebhookRequest struct {
	Name       string   `json:"name" api:"required"`
	URL        string   `json:"url" api:"required" doc:"An https URL of a public host."`
	EventTypes []string `json:"event_types" api:"required"`
}

// WebhookUpdate is the body of POST /v1/webhook_endpoints/{id}.
type WebhookUpdate struct {
	Name       *string  `json:"name,omitempty"`
	URL        *string  `json:"url,omitempty"`
	EventTypes []string `json:"event_types,omitempty" doc:"Replaces all of them."`
}

// WebhookRotation is the body of POST /v1/webhook_endpoints/{id}/rotate_secret.
type WebhookRotation struct {
	KeepOld bool `json:"keep_old_secret_active_for_24_hours,omitempty"`
}

// WebhookTestRequest is the body of POST /v1/webhook_endpoints/{id}/test.
type WebhookTestRequest struct {
	EventType string `json:"event_type" api:"required"`
}

// WebhookEndpoint is a URL and the events that are posted to it.
type WebhookEndpoint struct {
	ID         string   `json:"id"`
	Object     string   `json:"object" api:"const=webhook_endpoint"`
	Name       string   `json:"name"`
	URL        string   `json:"url"`
	EventTypes []string `json:"event_types"`
	CreatedAt  int64    `json:"created_at"`
	UpdatedAt  int64    `json:"updated_at"`
	DisabledAt *int64   `json:"disabled_at,omitempty" doc:"When the endpoint was disabled because it had failed for three days. An update enables it."`
	Secret     string   `json:"signing_secret,omitempty" doc:"Only in the answers that make it."`
	SecretHint string   `json:"signing_secret_hint"`
}

// WebhookTest is what became of a test.
type WebhookTest struct {
	Object            string `json:"object" api:"const=webhook_endpoint.test"`
	WebhookEndpointID string `json:"webhook_endpoint_id"`
	EventType         string `json:"event_type"`
	StatusCode        int    `json:"status_code"`
	Success           bool   `json:"success"`
}

// WebhookEventTypes are the events that endpoints can be told of.
type WebhookEventTypes struct {
	Object string   `json:"object" api:"const=list"`
	Data   []string `json:"data"`
}

// WebhookDelivery is an event for one endpoint.
type WebhookDelivery struct {
	ID                string  `json:"id"`
	Object            string  `json:"object" api:"const=webhook_delivery"`
	WebhookEndpointID string  `json:"webhook_endpoint_id"`
	EventID           string  `json:"event_id"`
	EventType         string  `json:"event_type"`
	ObjectID          string  `json:"object_id" doc:"ID of what the event is about."`
	CreatedAt         int64   `json:"created_at"`
	Status            string  `json:"status" api:"enum=pending|delivered|failed"`
	Tries             int     `json:"tries"`
	TriedAt           *int64  `json:"tried_at" doc:"When it was tried last."`
	StatusCode        *int    `json:"status_code" doc:"That it was answered with then."`
	Error             *string `json:"error" doc:"Why there was no answer."`
	NextTryAt         *int64  `json:"next_try_at"`
}

// WebhookEvent is what is posted to endpoints.
type WebhookEvent struct {
	ID        string      `json:"id"`
	Object    string      `json:"object" api:"const=event"`
	CreatedAt int64       `json:"created_at"`
	Type      string      `json:"type"`
	Data      WebhookData `json:"data"`
}

// WebhookData names what an event is about.
type WebhookData struct {
	ID string `json:"id"`
}
