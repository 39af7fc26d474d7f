package svc

import (
	"log/slog"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/cluster"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/storage"
)

// Parts are what a service is made of, for packages that put a further interface
// beside those of the service: its objects lie in the same store, are charged to the
// same accounts and use the same models. Such a package is made with a Service and
// closed before it.
type Parts struct {
	Store    *storage.DB
	Cluster  *cluster.Member // the other processes on the store
	Accounts *accounts.Service
	Models   *model.Models
	Files    *files.Service
	Log      *slog.Logger
	Now      func() time.Time           // the clock that objects are dated by
	NewID    func(prefix string) string // see [Options].NewID
}

// Parts returns what the service is made of. All of it belongs to the service.
func (s *Service) Parts() Parts {
	return Parts{
		Store: s.store, Cluster: s.cluster, Accounts: s.accounts, Models: s.models, Files: s.files,
		Log: s.log, Now: s.dates, NewID: s.newID,
	}
}
