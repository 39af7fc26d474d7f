package files

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

// Get returns a file of the caller's organization. The error, here and in the
// methods below, is NotFound with the code not_found where there is none with
// that ID, or where it has expired.
func (s *Service) Get(ctx context.Context, caller accounts.Caller, id string) (File, error) {
	r, err := s.live(ctx, caller, id, CodeNotFound)
	if err != nil {
		return File{}, err
	}
	return r.file(id), nil
}

// live reads the record of a file that has not expired. code is that of the
// error for a file that is not there.
func (s *Service) live(ctx context.Context, caller accounts.Caller, id, code string) (*record, error) {
	var r *record
	err := s.store.View(ctx, caller.Namespace(), func(tx storage.Tx) (err error) {
		r, err = getRecord(tx, id)
		return err
	})
	if errors.Is(err, errNone) || err == nil && r.expired(s.now()) {
		return nil, fault.Missing(code, "file", id)
	}
	return r, err
}

// List returns a page of the files with a purpose, or of all where that is
// empty, up to [MaxPage], by the time of their creation. It costs as much on the
// last page as on the first.
func (s *Service) List(ctx context.Context, caller accounts.Caller, purpose string, p page.Params) (page.Page[File], error) {
	result := page.Page[File]{Items: []File{}}
	p, err := page.Within(p, MaxPage, "file")
	if err != nil {
		return result, err
	}
	var after []byte
	if p.After != "" {
		after = recordKey(p.After)
	}
	now := s.now()
	err = s.store.View(ctx, caller.Namespace(), func(tx storage.Tx) error {
		var err error
		result, err = page.Read(tx, page.Range(p, []byte(recordPrefix), after), p.Limit, func(e storage.Entry) (File, bool, error) {
			id := strings.TrimPrefix(string(e.Key), recordPrefix)
			r, err := decodeRecord(id, e.Value)
			if err != nil {
				return File{}, false, err
			}
			return r.file(id), !r.expired(now) && (purpose == "" || purpose == r.Purpose), nil
		})
		return err
	})
	return result, err
}

// Delete removes a file with its bytes and its text. Nothing of it can be read
// from then on.
func (s *Service) Delete(ctx context.Context, caller accounts.Caller, id string) error {
	ns := caller.Namespace()
	if err := s.cluster.RegisterWork(ctx, ns); err != nil {
		return err
	}
	r, err := s.remove(ctx, ns, id)
	if errors.Is(err, errNone) || err == nil && r.expired(s.now()) {
		return fault.Missing(CodeNotFound, "file", id)
	}
	return err
}

// remove makes a file invisible, removes its chunks and returns what its record
// was, or errNone.
func (s *Service) remove(ctx context.Context, ns storage.Namespace, id string) (*record, error) {
	var r *record
	err := s.store.Update(ctx, ns, func(tx storage.Tx) (err error) {
		storage.UseReserve(tx)
		if r, err = getRecord(tx, id); err != nil {
			return err
		}
		for _, blob := range r.blobs() {
			if err := tx.Set(garbageKey(blob), nil); err != nil {
				return err
			}
		}
		if fn := s.onRemove.Load(); fn != nil {
			if err := (*fn)(tx, id); err != nil {
				return err
			}
		}
		return errors.Join(tx.Delete(recordKey(id)), tx.Delete(queueKey(id)), tx.Delete(expiryKey(r.Expires, id)))
	})
	if err != nil {
		return nil, err
	}
	s.sweep(ctx, ns, r.blobs()...)
	return r, nil
}

// Content returns a file and a reader of its bytes, as they were uploaded. The
// reader holds a chunk at a time and ends with ctx; where the file is deleted
// meanwhile it fails.
func (s *Service) Content(ctx context.Context, caller accounts.Caller, id string) (File, io.Reader, error) {
	r, err := s.live(ctx, caller, id, CodeNotFound)
	if err != nil {
		return File{}, nil, err
	}
	return r.file(id), s.readBlob(ctx, caller.Namespace(), r.Blob, r.Bytes), nil
}

// ContentFrom is Content from a place in the bytes on.
func (s *Service) ContentFrom(ctx context.Context, caller accounts.Caller, id string, offset int64) (io.Reader, error) {
	r, err := s.live(ctx, caller, id, CodeNotFound)
	if err != nil {
		return nil, err
	}
	chunk := min(offset, r.Bytes) / chunkSize
	b := &blobReader{ctx: ctx, store: s.store, ns: caller.Namespace(), blob: r.Blob, next: uint32(chunk), left: r.Bytes - chunk*chunkSize}
	_, err = io.CopyN(io.Discard, b, min(offset, r.Bytes)-chunk*chunkSize)
	return b, err
}

// Text returns the text of a processed file as a model reads it. The error is
// Invalid for a file that is not processed.
func (s *Service) Text(ctx context.Context, caller accounts.Caller, id string) (string, error) {
	r, err := s.live(ctx, caller, id, CodeNotFound)
	if err != nil {
		return "", err
	}
	return s.text(ctx, caller.Namespace(), id, r)
}

// text returns the text of a file, or an Invalid error where there is none.
func (s *Service) text(ctx context.Context, ns storage.Namespace, id string, r *record) (string, error) {
	switch {
	case r.Purpose == Batch || r.Purpose == BatchOutput:
		return "", fault.Invalidf("", "The file %q has the purpose %s, which no prompt reads; upload it with the purpose %s.", id, r.Purpose, Purpose)
	case r.Status == Uploaded:
		return "", fault.Invalidf("", "The file %q is still being processed; try again when its status is processed.", id)
	case r.Status == Failed:
		return "", fault.Invalidf("", "The file %q could not be read. %s", id, r.Reason.Sentence())
	case r.Text != "":
		return s.blobText(ctx, ns, r.Text, r.TextBytes)
	}
	data := make([]byte, r.Bytes)
	if _, err := io.ReadFull(s.readBlob(ctx, ns, r.Blob, r.Bytes), data); err != nil {
		return "", err
	}
	return Text(r.MIMEType, data)
}

// Recover takes up what the end of a process interrupted in a namespace: it
// removes the chunks of uploads and deletions that did not finish, and queues
// the files whose text is still to be extracted. It is called for each
// organization in which something may be left, by one process, and leaves alone
// what belongs to a process that is alive, this one included.
func (s *Service) Recover(ctx context.Context, ns storage.Namespace) error {
	garbage, err := s.left(ctx, ns, garbagePrefix)
	if err != nil {
		return err
	}
	for _, blob := range garbage {
		if err := s.sweepBlob(ctx, ns, blob); err != nil {
			return err
		}
	}
	waiting, err := s.left(ctx, ns, queuePrefix)
	if err != nil {
		return err
	}
	for _, id := range waiting {
		if err := s.cluster.RegisterWork(ctx, ns); err != nil {
			return err
		}
		taken, err := s.takeOver(ctx, ns, id)
		if err != nil {
			return err
		}
		if j := (job{ns, id}); taken && s.queue.done(j) == nil {
			s.queue.push(j)
		}
	}
	_, next, err := s.expired(ctx, ns, 0)
	if err == nil && next != 0 {
		if err = s.cluster.RegisterWork(ctx, ns); err == nil { // others would not know
			s.expiry.note(ns, next)
		}
	}
	return err
}

// takeOver makes a file that waits for its text this process's, unless it is that
// of one that is alive.
func (s *Service) takeOver(ctx context.Context, ns storage.Namespace, id string) (taken bool, err error) {
	err = s.store.Update(ctx, ns, func(tx storage.Tx) error {
		taken = false
		owner, err := tx.Get(queueKey(id))
		if errors.Is(err, storage.ErrNotFound) || err == nil && s.cluster.Alive(string(owner)) {
			return nil
		}
		if err != nil {
			return err
		}
		taken = true
		return tx.Set(queueKey(id), s.owner)
	})
	return taken && err == nil, err
}

// left returns what follows a prefix in the keys of a namespace whose values name
// no process that is alive.
func (s *Service) left(ctx context.Context, ns storage.Namespace, prefix string) ([]string, error) {
	var names []string
	r := storage.Prefix([]byte(prefix))
	err := s.store.View(ctx, ns, func(tx storage.Tx) error {
		names = nil
		for entry, err := range tx.Scan(r) {
			if err != nil {
				return err
			}
			if !s.cluster.Alive(string(entry.Value)) {
				names = append(names, string(entry.Key[len(prefix):]))
			}
		}
		return nil
	})
	return names, err
}
