package client

import (
	"context"

	"github.com/seed-506d8e5d/svc/batches"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

const batchesPath = "/v1/batches"

func (c *Client) batch(ctx context.Context, method, path string, body any) (batches.Batch, error) {
	var w wire.Batch
	err := c.Do(ctx, method, path, body, &w)
	return convert.FromBatch(&w), err
}

// CreateBatch has the requests of an uploaded file run in the background.
func (c *Client) CreateBatch(ctx context.Context, _ Caller, n batches.NewBatch) (batches.Batch, error) {
	return c.batch(ctx, "POST", batchesPath, convert.ToBatchRequest(&n))
}

// Batch returns a batch. The error is NotFound.
func (c *Client) Batch(ctx context.Context, _ Caller, id string) (batches.Batch, error) {
	return c.batch(ctx, "GET", under(batchesPath, id), nil)
}

// Batches returns a page of the organization's batches.
func (c *Client) Batches(ctx context.Context, _ Caller, p Page) (List[batches.Batch], error) {
	return list(ctx, c, batchesPath, p, func(w wire.Batch) batches.Batch { return convert.FromBatch(&w) })
}

// CancelBatch has no more lines of a batch begin.
func (c *Client) CancelBatch(ctx context.Context, _ Caller, id string) (batches.Batch, error) {
	return c.batch(ctx, "POST", under(batchesPath, id, "cancel"), nil)
}
