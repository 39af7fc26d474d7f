package vectorstores

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

// NewFile is a file that is put into a store.
type NewFile struct {
	ID         string // file_…
	Attributes Attributes
	Chunking   Chunking
}

// checkFiles returns why files cannot be put into a store: what is out of bounds, or
// one that the organization does not have. param is what the request calls their IDs.
func (s *Service) checkFiles(ctx context.Context, caller accounts.Caller, added []NewFile, param string) error {
	seen := map[string]bool{}
	for _, n := range added {
		if seen[n.ID] {
			return fault.Invalidf(param, "The file %q is named twice.", n.ID)
		}
		seen[n.ID] = true
		if err := n.Chunking.check(); err != nil {
			return err
		}
		if err := n.Attributes.check("attributes"); err != nil {
			return err
		}
		if _, err := s.o.Files.Get(ctx, caller, n.ID); fault.Is(err, fault.NotFound) {
			e := fault.Missing(files.CodeFileNotFound, "file", n.ID)
			e.Param = param
			return e
		} else if err != nil {
			return err
		}
	}
	return nil
}

// attach puts files into a store, to be indexed. One that is there is indexed anew. The
// store's record is the caller's to write.
func (s *Service) attach(tx storage.Tx, caller accounts.Caller, store string, r *storeRecord, added []NewFile, batch string) error {
	now := s.o.Now().Unix()
	budget := deleteBudget
	for _, n := range added {
		if err := s.detach(tx, store, r, n.ID, &budget); err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		if r.Files.Total() >= MaxFiles {
			return &fault.Error{Kind: fault.Invalid, Code: CodeFull, Message: fmt.Sprintf("The vector store has %d files, which is the most.", MaxFiles)}
		}
		if n, err := count(tx, storesOf(n.ID), MaxStores); err != nil {
			return err
		} else if n >= MaxStores {
			return fault.Invalidf("file_id", "The file %q is in %d vector stores, which is the most.", added[0].ID, MaxStores)
		}
		r.Files.add(InProgress, 1)
		f := &fileRecord{Created: now, Status: InProgress, Attributes: n.Attributes, Chunking: n.Chunking, Batch: batch, Key: caller.Key}
		err := errors.Join(f.set(tx, store, n.ID), tx.Set(memberKey(n.ID, store), nil), tx.Set(work{indexing, store, n.ID}.key(), nil))
		if err != nil {
			return err
		}
	}
	r.Active = now
	return nil
}

// count counts the keys with a prefix, up to most.
func count(tx storage.Tx, prefix []byte, most int) (n int, err error) {
	r := storage.Prefix(prefix)
	r.KeysOnly, r.Limit = true, most
	for _, err := range tx.Scan(r) {
		if err != nil {
			return n, err
		}
		if n++; n == most {
			break
		}
	}
	return n, nil
}

// detach removes a file from a store, with its chunks as far as the budget of keys to
// delete allows; the rest is left to the sweep. The error is NotFound where it is not
// there. The store's record is the caller's to write.
func (s *Service) detach(tx storage.Tx, store string, r *storeRecord, file string, budget *int) error {
	f, err := getFile(tx, store, file)
	if err != nil {
		return err
	}
	r.Files.add(f.Status, -1)
	if f.Status == InProgress {
		if err := moveInBatch(tx, store, f.Batch, InProgress, Cancelled); err != nil {
			return err
		}
	}
	if f.Batch != "" {
		if err := tx.Delete(append(listOf(store, f.Batch), file...)); err != nil {
			return err
		}
	}
	if f.Data != "" {
		r.Bytes -= f.Bytes
		r.Chunks -= f.Chunks
		r.Changed++
		if err := tx.Delete(entryKey(store, f.Seq)); err != nil {
			return err
		}
		if err := deleteData(tx, store, f.Data, budget); err != nil {
			return err
		}
	}
	return errors.Join(tx.Delete(fileKey(store, file)), tx.Delete(memberKey(file, store)), tx.Delete(work{indexing, store, file}.key()))
}

// fileRemoved takes a file that is being deleted out of all stores.
func (s *Service) fileRemoved(tx storage.Tx, file string) error {
	prefix := storesOf(file)
	var stores []string
	r := storage.Prefix(prefix)
	r.KeysOnly = true
	for e, err := range tx.Scan(r) {
		if err != nil {
			return err
		}
		stores = append(stores, string(e.Key[len(prefix):]))
	}
	budget := deleteBudget
	for _, store := range stores {
		r, err := getStore(tx, store)
		if fault.Is(err, fault.NotFound) { // it is being removed
			err = tx.Delete(memberKey(file, store))
		} else if err == nil {
			err = errors.Join(s.detach(tx, store, r, file, &budget), r.set(tx, store))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Attach puts a file into a store, where it is indexed in the background. The error is
// NotFound for a store or file that the organization does not have.
func (s *Service) Attach(ctx context.Context, caller accounts.Caller, store string, n NewFile) (File, error) {
	ns := caller.Namespace()
	if err := s.exists(ctx, ns, store); err != nil {
		return File{}, err
	}
	if err := s.checkFiles(ctx, caller, []NewFile{n}, "file_id"); err != nil {
		return File{}, err
	}
	if err := s.organizations.Add(ctx, ns); err != nil {
		return File{}, err
	}
	var f *fileRecord
	err := s.o.Store.Update(ctx, ns, func(tx storage.Tx) error {
		r, err := s.live(tx, store)
		if err == nil {
			err = s.attach(tx, caller, store, r, []NewFile{n}, "")
		}
		if err == nil {
			err = r.set(tx, store)
		}
		if err == nil {
			f, err = getFile(tx, store, n.ID)
		}
		if err != nil {
			return err
		}
		return caller.Claim.Did(tx, n.ID)
	})
	if err != nil {
		return File{}, err
	}
	s.look()
	return f.file(store, n.ID), nil
}

// exists returns a NotFound error where there is no such store.
func (s *Service) exists(ctx context.Context, ns storage.Namespace, store string) error {
	return s.o.Store.View(ctx, ns, func(tx storage.Tx) error {
		_, err := s.live(tx, store)
		return err
	})
}

// File returns a file in a store. The error is NotFound.
func (s *Service) File(ctx context.Context, caller accounts.Caller, store, id string) (file File, err error) {
	err = s.o.Store.View(ctx, caller.Namespace(), func(tx storage.Tx) error {
		if _, err := getStore(tx, store); err != nil {
			return err
		}
		f, err := getFile(tx, store, id)
		file = f.file(store, id)
		return err
	})
	return file, err
}

// Files returns a page of the files in a store, up to [MaxPage], in the order in which
// the files were uploaded; of those with a status where that is not empty.
func (s *Service) Files(ctx context.Context, caller accounts.Caller, store string, status Status, p page.Params) (result page.Page[File], err error) {
	if p, err = page.Within(p, MaxPage, "file"); err != nil {
		return result, err
	}
	if err := checkStatus(status); err != nil {
		return result, err
	}
	prefix := filesOf(store)
	var after []byte
	if p.After != "" {
		after = fileKey(store, p.After)
	}
	err = s.o.Store.View(ctx, caller.Namespace(), func(tx storage.Tx) error {
		if _, err := getStore(tx, store); err != nil {
			return err
		}
		result, err = page.Read(tx, page.Range(p, prefix, after), p.Limit, func(e storage.Entry) (File, bool, error) {
			var f fileRecord
			err := decode(e.Value, &f)
			return f.file(store, string(e.Key[len(prefix):])), status == "" || status == f.Status, err
		})
		return err
	})
	return result, err
}

func checkStatus(status Status) error {
	switch status {
	case "", InProgress, Completed, Failed, Cancelled:
		return nil
	}
	return fault.Invalidf("filter", "filter must be one of in_progress, completed, failed, cancelled.")
}

// SetAttributes replaces the attributes of a file in a store. The error is NotFound,
// and Invalid for what is out of bounds.
func (s *Service) SetAttributes(ctx context.Context, caller accounts.Caller, store, id string, a Attributes) (file File, err error) {
	if err := a.check("attributes"); err != nil {
		return File{}, err
	}
	err = s.o.Store.Update(ctx, caller.Namespace(), func(tx storage.Tx) error {
		r, err := s.live(tx, store)
		if err != nil {
			return err
		}
		f, err := getFile(tx, store, id)
		if err != nil {
			return err
		}
		f.Attributes = a
		file = f.file(store, id)
		if f.Data != "" {
			var e entryRecord
			if err := storage.GetJSON(tx, entryKey(store, f.Seq), &e); err != nil {
				return err
			}
			e.Attributes = a
			r.Changed++
			if err := errors.Join(storage.SetJSON(tx, entryKey(store, f.Seq), e), r.set(tx, store)); err != nil {
				return err
			}
		}
		return f.set(tx, store, id)
	})
	return file, err
}

// Detach takes a file out of a store: it is found there no more. The file itself
// stays. The error is NotFound.
func (s *Service) Detach(ctx context.Context, caller accounts.Caller, store, id string) error {
	ns := caller.Namespace()
	if err := s.organizations.Add(ctx, ns); err != nil {
		return err
	}
	return s.o.Store.Update(ctx, ns, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		r, err := getStore(tx, store)
		if err != nil {
			return err
		}
		budget := deleteBudget
		if err := s.detach(tx, store, r, id, &budget); err != nil {
			return err
		}
		return r.set(tx, store)
	})
}

// maxContent is how many bytes of chunks a page of [Service.Content] has at the most,
// but for the last chunk.
const maxContent = 4 << 20

// Content returns chunks of a file in a store in their order, from one on, and the
// number of the chunk after them, 0 where there is none. The error is NotFound, and
// Invalid for a file that is not completed.
func (s *Service) Content(ctx context.Context, caller accounts.Caller, store, id string, from int) (texts []string, next int, err error) {
	err = s.o.Store.View(ctx, caller.Namespace(), func(tx storage.Tx) error {
		texts, next = nil, 0
		if _, err := getStore(tx, store); err != nil {
			return err
		}
		f, err := getFile(tx, store, id)
		if err != nil {
			return err
		}
		if f.Status != Completed {
			return fault.Invalidf("", "The file %q is %s in the vector store; it has no content there.", id, strings.ReplaceAll(string(f.Status), "_", " "))
		}
		texts, next, err = contents(tx, store, f, from)
		return err
	})
	return texts, next, err
}

func contents(tx storage.Tx, store string, f *fileRecord, from int) (texts []string, next int, err error) {
	size := 0
	r := storage.Range{Start: blockKey(store, f.Data, from/perBlock), End: storage.After(blocksOf(store, f.Data))}
	for e, err := range tx.Scan(r) {
		if err != nil {
			return nil, 0, err
		}
		var block blockRecord
		if err := decode(e.Value, &block); err != nil {
			return nil, 0, err
		}
		first := perBlock * int(binary.BigEndian.Uint32(e.Key[len(e.Key)-4:]))
		for i, c := range block.Chunks {
			if first+i < from {
				continue
			}
			if size > maxContent {
				return texts, first + i, nil
			}
			texts = append(texts, c.Text)
			size += len(c.Text)
		}
	}
	return texts, 0, nil
}
