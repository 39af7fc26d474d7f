package main

import (
	"context"
	"errors"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/batches"
	"github.com/seed-506d8e5d/svc/embeddings"
	"github.com/seed-506d8e5d/svc/mcpserver"
	"github.com/seed-506d8e5d/svc/vectorstores"
	"github.com/seed-506d8e5d/svc/webhooks"
)

// beside is what works beside a service, in its store.
type beside struct {
	batches  *batches.Service
	webhooks *webhooks.Service
	stores   *vectorstores.Service
	mcp      *mcpserver.Server
}

// beside makes what works beside a service.
func (c config) beside(service *svc.Service) *beside {
	p := service.Parts()
	b := &beside{
		batches: batches.New(batches.Options{
			Store: p.Store, Cluster: p.Cluster, Accounts: p.Accounts, Files: p.Files, Now: p.Now, NewID: p.NewID, Log: p.Log,
			Price: c.models.batchPrice, Workers: c.models.batchLines, LinesOfOrganization: c.models.batchShare, Lines: c.models.linesTo, Ended: webhooks.Outbox{}.Put,
			Model: func(ctx context.Context, caller svc.Caller, id string) error {
				_, err := service.Model(ctx, caller, id)
				return err
			},
		}),
		webhooks: webhooks.New(webhooks.Options{Store: p.Store, Accounts: p.Accounts, Log: p.Log, Guard: webhooks.Guard(c.models.webhookHosts)}),
		stores: vectorstores.New(vectorstores.Options{
			Store: p.Store, Cluster: p.Cluster, Accounts: p.Accounts, Files: p.Files, Now: p.Now, NewID: p.NewID, Log: p.Log, Model: c.models.embedder,
			Embed: func(ctx context.Context, caller svc.Caller, model string, texts []string) ([][]float32, error) {
				answer, err := service.Embed(ctx, caller, &embeddings.Request{Model: model, Texts: texts})
				if err != nil {
					return nil, err
				}
				return answer.Vectors, nil
			},
		}),
	}
	service.UseFileSearch(b.stores)
	if c.mcp {
		b.mcp = mcpserver.New(mcpserver.Options{Service: service, VectorStores: b.stores, Version: moduleVersion(), Log: p.Log})
	}
	return b
}

// close ends it. What is under way is done again after the next start.
func (b *beside) close() error {
	if b == nil {
		return nil
	}
	return errors.Join(b.batches.Close(), b.webhooks.Close(), b.stores.Close())
}
