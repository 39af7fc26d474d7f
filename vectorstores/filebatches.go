package vectorstores

import (
	"context"
	"errors"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

// Batch is files that were put into a store together.
type Batch struct {
	ID        string // vsfb_…
	Store     string
	CreatedAt int64 // Unix seconds
	Status    Status
	Files     Counts // a file that left the store before it was indexed counts as cancelled
}

func (r *batchRecord) batch(store, id string) Batch {
	b := Batch{ID: id, Store: store, CreatedAt: r.Created, Status: Completed, Files: r.Files}
	switch {
	case r.Cancelled:
		b.Status = Cancelled
	case r.Files.InProgress > 0:
		b.Status = InProgress
	}
	return b
}

// CreateBatch puts files into a store together, 1 to [MaxBatch]. The error is NotFound
// for a store or file that the organization does not have, with nothing done.
func (s *Service) CreateBatch(ctx context.Context, caller accounts.Caller, store string, added []NewFile) (Batch, error) {
	ns := caller.Namespace()
	if len(added) == 0 || len(added) > MaxBatch {
		return Batch{}, fault.Invalidf("file_ids", "A batch must have 1 to %d files.", MaxBatch)
	}
	if err := s.exists(ctx, ns, store); err != nil {
		return Batch{}, err
	}
	if err := s.checkFiles(ctx, caller, added, "file_ids"); err != nil {
		return Batch{}, err
	}
	if err := s.organizations.Add(ctx, ns); err != nil {
		return Batch{}, err
	}
	id := s.o.NewID("vsfb")
	b := &batchRecord{Created: s.o.Now().Unix(), Files: Counts{InProgress: len(added)}}
	err := s.o.Store.Update(ctx, ns, func(tx storage.Tx) error {
		r, err := s.live(tx, store)
		if err != nil {
			return err
		}
		if err := s.attach(tx, caller, store, r, added, id); err != nil {
			return err
		}
		for _, n := range added {
			if err := tx.Set(append(listOf(store, id), n.ID...), nil); err != nil {
				return err
			}
		}
		return errors.Join(r.set(tx, store), b.set(tx, store, id), caller.Claim.Did(tx, id))
	})
	if err != nil {
		return Batch{}, err
	}
	s.look()
	return b.batch(store, id), nil
}

// Batch returns a batch of files. The error is NotFound.
func (s *Service) Batch(ctx context.Context, caller accounts.Caller, store, id string) (batch Batch, err error) {
	err = s.o.Store.View(ctx, caller.Namespace(), func(tx storage.Tx) error {
		if _, err := getStore(tx, store); err != nil {
			return err
		}
		b, err := getBatch(tx, store, id)
		batch = b.batch(store, id)
		return err
	})
	return batch, err
}

// CancelBatch has the files of a batch that are not indexed yet stay so. The error is
// NotFound. A batch that has ended stays as it is.
func (s *Service) CancelBatch(ctx context.Context, caller accounts.Caller, store, id string) (batch Batch, err error) {
	err = s.o.Store.Update(ctx, caller.Namespace(), func(tx storage.Tx) error {
		storage.UseReserve(tx)
		r, err := getStore(tx, store)
		if err != nil {
			return err
		}
		b, err := getBatch(tx, store, id)
		if err != nil || b.Cancelled || b.Files.InProgress == 0 {
			batch = b.batch(store, id)
			return err
		}
		names, err := listed(tx, listOf(store, id))
		if err != nil {
			return err
		}
		for _, file := range names {
			f, err := getFile(tx, store, file)
			if err != nil || f.Status != InProgress || f.Batch != id {
				continue
			}
			if err := move(tx, store, r, f, Cancelled); err != nil {
				return err
			}
			if err := errors.Join(f.set(tx, store, file), tx.Delete(work{indexing, store, file}.key())); err != nil {
				return err
			}
		}
		if b, err = getBatch(tx, store, id); err != nil {
			return err
		}
		b.Cancelled = true
		batch = b.batch(store, id)
		return errors.Join(b.set(tx, store, id), r.set(tx, store))
	})
	return batch, err
}

// listed returns what follows a prefix in keys.
func listed(tx storage.Tx, prefix []byte) (names []string, err error) {
	r := storage.Prefix(prefix)
	r.KeysOnly = true
	for e, err := range tx.Scan(r) {
		if err != nil {
			return nil, err
		}
		names = append(names, string(e.Key[len(prefix):]))
	}
	return names, nil
}

// BatchFiles returns a page of the files of a batch that are in the store, as
// [Service.Files] does.
func (s *Service) BatchFiles(ctx context.Context, caller accounts.Caller, store, id string, status Status, p page.Params) (result page.Page[File], err error) {
	if p, err = page.Within(p, MaxPage, "file"); err != nil {
		return result, err
	}
	if err := checkStatus(status); err != nil {
		return result, err
	}
	prefix := listOf(store, id)
	var after []byte
	if p.After != "" {
		after = append(listOf(store, id), p.After...)
	}
	err = s.o.Store.View(ctx, caller.Namespace(), func(tx storage.Tx) error {
		if _, err := getStore(tx, store); err != nil {
			return err
		}
		if _, err := getBatch(tx, store, id); err != nil {
			return err
		}
		result, err = page.Read(tx, page.Range(p, prefix, after), p.Limit, func(e storage.Entry) (File, bool, error) {
			file := string(e.Key[len(prefix):])
			f, err := getFile(tx, store, file)
			return f.file(store, file), status == "" || status == f.Status, err
		})
		return err
	})
	return result, err
}
