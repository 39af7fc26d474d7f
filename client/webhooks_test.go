package client_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/client"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/webhooks"
)

// TestWebhooks uses every operation on webhooks from afar.
func TestWebhooks(t *testing.T) {
	is := is.New(t)
	ctx, none := t.Context(), client.Caller{}
	quiet := slog.New(slog.DiscardHandler)
	service, err := svc.New(ctx, svc.Options{Logger: quiet})
	is.NoErr(err)
	defer service.Close()
	key, err := service.Bootstrap(ctx, "")
	is.NoErr(err)
	p := service.Parts()
	outbox := webhooks.Outbox{Now: p.Now, NewID: p.NewID}
	kept := webhooks.New(webhooks.Options{Store: p.Store, Accounts: p.Accounts, Outbox: outbox, Log: quiet, Guard: webhooks.Guard([]string{"127.0.0.1"})})
	defer kept.Close()
	server := httptest.NewServer(httpapi.New(service, httpapi.Options{Logger: quiet, Webhooks: kept}))
	defer server.Close()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202) }))
	defer receiver.Close()
	c := client.New(server.URL, key)
	caller, err := service.Authenticate(ctx, key)
	is.NoErr(err)

	made, err := c.CreateWebhook(ctx, none, webhooks.NewEndpoint{Name: "Mine", URL: receiver.URL, EventTypes: []string{"batch.completed"}})
	is.NoErr(err)
	is.True(made.Secret != "")
	want, err := kept.Endpoint(ctx, caller, made.ID)
	is.NoErr(err)
	got, err := c.Webhook(ctx, none, made.ID)
	is.NoErr(err)
	is.Equal(got, want)
	list, err := c.Webhooks(ctx, none, client.Page{})
	is.NoErr(err)
	is.Equal(list.Items, []webhooks.Endpoint{want})
	changed, err := c.UpdateWebhook(ctx, none, made.ID, webhooks.EndpointUpdate{Name: new("Yours"), EventTypes: []string{"batch.failed"}})
	is.NoErr(err)
	is.Equal(changed.Name, "Yours")
	is.Equal(changed.URL, made.URL)
	rotated, err := c.RotateWebhookSecret(ctx, none, made.ID, true)
	is.NoErr(err)
	is.True(rotated.Secret != made.Secret && rotated.Secret != "")
	status, err := c.TestWebhook(ctx, none, made.ID, "batch.failed")
	is.NoErr(err)
	is.Equal(status, 202)

	is.NoErr(p.Store.Update(ctx, caller.Namespace(), func(tx storage.Tx) error { return outbox.Put(tx, "batch.failed", "batch_1") }))
	deliveries, err := c.WebhookDeliveries(ctx, none, made.ID, client.Page{})
	is.NoErr(err)
	is.Equal(len(deliveries.Items), 1)
	is.Equal(deliveries.Items[0].Object, "batch_1")
	again, err := c.ResendWebhook(ctx, none, made.ID, deliveries.Items[0].ID)
	is.NoErr(err)
	is.Equal(again.Event, deliveries.Items[0].Event)
	is.NoErr(c.DeleteWebhook(ctx, none, made.ID))
	_, err = c.Webhook(ctx, none, made.ID)
	is.True(fault.Is(err, fault.NotFound))
}
