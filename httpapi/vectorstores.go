package httpapi

import (
	"errors"
	"slices"
	"strconv"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/vectorstores"
)

// pollAfter is what the official clients are told to wait, in milliseconds, before they
// ask again how far a file is. They wait five seconds where nothing is said.
const pollAfter = "200"

func (c *call) storeID() string     { return c.r.PathValue("vector_store_id") }
func (c *call) fileID() string      { return c.r.PathValue("file_id") }
func (c *call) fileBatchID() string { return c.r.PathValue("file_batch_id") }

// vectorStore answers with a store.
func (c *call) vectorStore(s vectorstores.Store, err error) error {
	if err != nil {
		return err
	}
	return c.json(convert.ToVectorStore(&s))
}

// vectorStoreFile answers with a file in a store.
func (c *call) vectorStoreFile(f vectorstores.File, err error) error {
	if err != nil {
		return err
	}
	c.w.Header().Set("openai-poll-after-ms", pollAfter)
	return c.json(convert.ToVectorStoreFile(&f))
}

// fileBatch answers with a batch of files.
func (c *call) fileBatch(b vectorstores.Batch, err error) error {
	if err != nil {
		return err
	}
	c.w.Header().Set("openai-poll-after-ms", pollAfter)
	return c.json(convert.ToFileBatch(&b))
}

// createVectorStore serves POST /v1/vector_stores.
func (a *API) createVectorStore(c *call) error {
	body := &wire.VectorStoreRequest{}
	if err := c.optionalRequest(body); err != nil {
		return err
	}
	made, err := a.opts.VectorStores.Create(c.ctx(), c.caller, convert.FromVectorStoreRequest(body))
	return c.vectorStore(made, err)
}

// optionalRequest is request for a body that may be missing.
func (c *call) optionalRequest(v any) error {
	root, err := c.optionalBody()
	if err != nil {
		return err
	}
	return c.decode(root, v)
}

func (a *API) listVectorStores(c *call) error {
	found, err := around(c, func(p page.Params) (page.Page[vectorstores.Store], error) {
		return a.opts.VectorStores.List(c.ctx(), c.caller, p)
	})
	if err != nil {
		return err
	}
	return c.json(convert.ToList(found, convert.ToVectorStore, func(w *wire.VectorStore) string { return w.ID }))
}

// around returns the page of a list that comes after an object or, with the query
// parameter before, the one that ends in front of an object.
func around[T any](c *call, list func(page.Params) (page.Page[T], error)) (page.Page[T], error) {
	query := c.r.URL.Query()
	p, err := pageParams(query, true)
	if err != nil {
		return page.Page[T]{}, err
	}
	before := query.Get("before")
	switch {
	case before == "":
		return list(p)
	case p.After != "":
		return page.Page[T]{}, fault.Invalidf("before", "before cannot be used together with after.")
	}
	p.After, p.Desc = before, !p.Desc
	found, err := list(p)
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Param == "after" {
		return found, fault.Invalidf("before", "before is not the ID of an object in this list.")
	}
	slices.Reverse(found.Items)
	return found, err
}

func (a *API) getVectorStore(c *call) error {
	s, err := a.opts.VectorStores.Get(c.ctx(), c.caller, c.storeID())
	return c.vectorStore(s, err)
}

func (a *API) updateVectorStore(c *call) error {
	body := &wire.VectorStoreUpdate{}
	if err := c.request(body); err != nil {
		return err
	}
	s, err := a.opts.VectorStores.Update(c.ctx(), c.caller, c.storeID(), convert.FromVectorStoreUpdate(body))
	return c.vectorStore(s, err)
}

func (a *API) deleteVectorStore(c *call) error {
	if err := a.opts.VectorStores.Delete(c.ctx(), c.caller, c.storeID()); err != nil {
		return err
	}
	return c.json(wire.Deleted{ID: c.storeID(), Object: "vector_store.deleted", Deleted: true})
}

// searchVectorStore serves POST /v1/vector_stores/{vector_store_id}/search.
func (a *API) searchVectorStore(c *call) error {
	body := &wire.SearchRequest{}
	if err := c.request(body); err != nil {
		return err
	}
	q, err := convert.FromSearchRequest(body)
	if err != nil {
		return err
	}
	found, err := a.opts.VectorStores.Search(c.ctx(), c.caller, c.storeID(), q)
	if err != nil {
		return err
	}
	return c.json(convert.ToSearchResults(q.Texts, &found))
}

func (a *API) addVectorStoreFile(c *call) error {
	body := &wire.VectorStoreFileRequest{}
	if err := c.request(body); err != nil {
		return err
	}
	n, err := convert.FromVectorStoreFileRequest(body)
	if err != nil {
		return err
	}
	f, err := a.opts.VectorStores.Attach(c.ctx(), c.caller, c.storeID(), n)
	return c.vectorStoreFile(f, err)
}

func (a *API) listVectorStoreFiles(c *call) error {
	status := vectorstores.Status(c.r.URL.Query().Get("filter"))
	found, err := around(c, func(p page.Params) (page.Page[vectorstores.File], error) {
		return a.opts.VectorStores.Files(c.ctx(), c.caller, c.storeID(), status, p)
	})
	if err != nil {
		return err
	}
	return c.json(convert.ToList(found, convert.ToVectorStoreFile, func(w *wire.VectorStoreFile) string { return w.ID }))
}

func (a *API) getVectorStoreFile(c *call) error {
	f, err := a.opts.VectorStores.File(c.ctx(), c.caller, c.storeID(), c.fileID())
	return c.vectorStoreFile(f, err)
}

func (a *API) updateVectorStoreFile(c *call) error {
	body := &wire.VectorStoreFileUpdate{}
	if err := c.request(body); err != nil {
		return err
	}
	attributes, err := vectorstores.ParseAttributes(body.Attributes, "attributes")
	if err != nil {
		return err
	}
	f, err := a.opts.VectorStores.SetAttributes(c.ctx(), c.caller, c.storeID(), c.fileID(), attributes)
	return c.vectorStoreFile(f, err)
}

func (a *API) deleteVectorStoreFile(c *call) error {
	if err := a.opts.VectorStores.Detach(c.ctx(), c.caller, c.storeID(), c.fileID()); err != nil {
		return err
	}
	return c.json(wire.Deleted{ID: c.fileID(), Object: "vector_store.file.deleted", Deleted: true})
}

// vectorStoreFileContent serves GET /v1/vector_stores/{vector_store_id}/files/{file_id}/content.
func (a *API) vectorStoreFileContent(c *call) error {
	from := 0
	if text := c.r.URL.Query().Get("page"); text != "" {
		var err error
		if from, err = strconv.Atoi(text); err != nil || from < 0 || from > vectorstores.MaxChunks {
			return fault.Invalidf("page", "page must be the next_page of another answer.")
		}
	}
	texts, next, err := a.opts.VectorStores.Content(c.ctx(), c.caller, c.storeID(), c.fileID(), from)
	if err != nil {
		return err
	}
	return c.json(convert.ToVectorStoreContent(texts, next))
}

// createFileBatch serves POST /v1/vector_stores/{vector_store_id}/file_batches.
func (a *API) createFileBatch(c *call) error {
	body := &wire.FileBatchRequest{}
	if err := c.request(body); err != nil {
		return err
	}
	added, err := convert.FromFileBatchRequest(body)
	if err != nil {
		return err
	}
	b, err := a.opts.VectorStores.CreateBatch(c.ctx(), c.caller, c.storeID(), added)
	return c.fileBatch(b, err)
}

func (a *API) getFileBatch(c *call) error {
	b, err := a.opts.VectorStores.Batch(c.ctx(), c.caller, c.storeID(), c.fileBatchID())
	return c.fileBatch(b, err)
}

func (a *API) cancelFileBatch(c *call) error {
	b, err := a.opts.VectorStores.CancelBatch(c.ctx(), c.caller, c.storeID(), c.fileBatchID())
	return c.fileBatch(b, err)
}

func (a *API) listFileBatchFiles(c *call) error {
	status := vectorstores.Status(c.r.URL.Query().Get("filter"))
	found, err := around(c, func(p page.Params) (page.Page[vectorstores.File], error) {
		return a.opts.VectorStores.BatchFiles(c.ctx(), c.caller, c.storeID(), c.fileBatchID(), status, p)
	})
	if err != nil {
		return err
	}
	return c.json(convert.ToList(found, convert.ToVectorStoreFile, func(w *wire.VectorStoreFile) string { return w.ID }))
}
