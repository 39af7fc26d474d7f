package httpapi

import (
	"bytes"
	"context"
	"net/http"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

// createBatch serves POST /v1/batches.
func (a *API) createBatch(c *call) error {
	body := &wire.BatchRequest{}
	if err := c.request(body); err != nil {
		return err
	}
	batch, err := a.opts.Batches.Create(c.ctx(), c.caller, convert.FromBatchRequest(body))
	if err != nil {
		return err
	}
	return c.json(convert.ToBatch(&batch))
}

func (a *API) listBatches(c *call) error {
	p, err := pageParams(c.r.URL.Query(), true)
	if err != nil {
		return err
	}
	found, err := a.opts.Batches.List(c.ctx(), c.caller, p)
	if err != nil {
		return err
	}
	return c.json(convert.ToList(found, convert.ToBatch, func(w *wire.Batch) string { return w.ID }))
}

func (a *API) getBatch(c *call) error {
	batch, err := a.opts.Batches.Get(c.ctx(), c.caller, c.r.PathValue("batch_id"))
	if err != nil {
		return err
	}
	return c.json(convert.ToBatch(&batch))
}

func (a *API) cancelBatch(c *call) error {
	batch, err := a.opts.Batches.Cancel(c.ctx(), c.caller, c.r.PathValue("batch_id"))
	if err != nil {
		return err
	}
	return c.json(convert.ToBatch(&batch))
}

// Answer answers a POST of a line of a batch to a path for a caller, as the handler
// answers requests of the network. The line takes none of the slots that those share
// and does not count against limits of requests. Where the caller has a Deferred,
// nothing is charged or stored yet.
func (a *API) Answer(ctx context.Context, caller svc.Caller, path string, body []byte) (status int, requestID string, answer []byte) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, path, bytes.NewReader(body))
	if err != nil {
		panic(err) // the paths are constants
	}
	r.RequestURI = path
	r.Header.Set("Content-Type", "application/json")
	w := &answerWriter{header: http.Header{}}
	c := newCall(a, w, r)
	c.caller, c.inside = caller, true
	endpoint := (*call).noRoute
	if methods := a.inside[path]; methods != nil {
		endpoint = methods[http.MethodPost]
	}
	c.do(endpoint)
	return w.status, c.id, w.body.Bytes()
}

func (c *call) noRoute() error { return methods(nil).serve(c) }

// answerWriter keeps an answer.
type answerWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *answerWriter) Header() http.Header { return w.header }

func (w *answerWriter) WriteHeader(status int) { w.status = status }

func (w *answerWriter) Write(p []byte) (int, error) { return w.body.Write(p) }
