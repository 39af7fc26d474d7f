package console

import (
	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/batches"
)

// batchRoutes are the pages of batches, where there are any.
func (c *Console) batchRoutes() {
	if c.opts.Batches == nil {
		return
	}
	c.signedIn("GET /batches", c.batchesPage)
	c.signedIn("GET /batches/{id}", c.batchPage)
	c.signedIn("GET /batches/{id}/state", c.batchState)
	c.signedIn("POST /batches/{id}/cancel", c.cancelBatch)
}

func (c *Console) batchesPage(v *request) error {
	result, err := search(v,
		func(p svc.Page) (svc.List[batches.Batch], error) {
			return c.opts.Batches.List(v.ctx(), v.caller, p)
		},
		func(b batches.Batch) string { return b.ID },
		func(b batches.Batch, words string) bool {
			return has(words, b.ID, b.Endpoint, b.Model, string(b.Status), b.InputFile) || hasTag(words, b.Metadata)
		})
	if err != nil {
		return err
	}
	return v.render("batches", "Batches", result)
}

// batchView is one batch.
type batchView struct {
	batches.Batch
	Token   string
	Done    float64 // share of the lines that have run, 0 to 1
	EndedAt int64   // 0: it has not
	Running bool
	CanStop bool
}

func (c *Console) viewBatch(v *request) (batchView, error) {
	b, err := c.opts.Batches.Get(v.ctx(), v.caller, v.r.PathValue("id"))
	view := batchView{Batch: b, Token: v.session.Token, Running: !b.Status.Ended()}
	view.CanStop = b.Status == batches.Validating || b.Status == batches.InProgress
	view.EndedAt = max(b.CompletedAt, b.FailedAt, b.ExpiredAt, b.CancelledAt)
	if b.Total > 0 {
		view.Done = float64(b.Completed+b.Failed) / float64(b.Total)
	}
	return view, err
}

func (c *Console) batchPage(v *request) error {
	view, err := c.viewBatch(v)
	if err != nil {
		return err
	}
	return v.render("batch", "Batch", view)
}

// batchState is the part of the page that changes while the batch runs.
func (c *Console) batchState(v *request) error {
	view, err := c.viewBatch(v)
	if err != nil {
		return err
	}
	return v.fragment("batch", "batchstate", view)
}

func (c *Console) cancelBatch(v *request) error {
	b, err := c.opts.Batches.Cancel(v.ctx(), v.caller, v.r.PathValue("id"))
	if err != nil {
		return err
	}
	return v.redirect("/batches/" + b.ID)
}
