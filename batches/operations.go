package batches

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/internal/generation"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

// NewBatch is what a batch is made of.
type NewBatch struct {
	Endpoint    string // one of [Endpoints]
	InputFile   string // ID of a file with the purpose files.Batch
	Metadata    map[string]string
	OutputsKept int64 // seconds until the files of answers expire; 0: never
}

// Create makes a batch, which is validated and run in the background. The error is
// Invalid for an endpoint or a file that does not fit, NotFound for a file that the
// organization does not have, and RateLimited where it has [MaxWaiting] batches that
// have not ended.
func (s *Service) Create(ctx context.Context, caller accounts.Caller, n NewBatch) (Batch, error) {
	if !slices.Contains(Endpoints, n.Endpoint) {
		return Batch{}, fault.Invalidf("endpoint", "endpoint must be one of %s.", strings.Join(Endpoints, ", "))
	}
	if after := time.Duration(n.OutputsKept) * time.Second; n.OutputsKept != 0 && (after < files.MinExpiry || after > files.MaxExpiry) {
		return Batch{}, fault.Invalidf("output_expires_after.seconds", "output_expires_after.seconds must be between %d and %d.",
			int(files.MinExpiry.Seconds()), int(files.MaxExpiry.Seconds()))
	}
	if err := generation.CheckMetadata(n.Metadata); err != nil {
		return Batch{}, err
	}
	if err := s.checkFile(ctx, caller, n.InputFile); err != nil {
		return Batch{}, err
	}
	ns := caller.Namespace()
	if err := s.organizations.Add(ctx, ns); err != nil {
		return Batch{}, err
	}
	now := s.o.Now()
	id := s.o.NewID("batch")
	r := &record{
		Endpoint: n.Endpoint, InputFile: n.InputFile, Key: caller.Key, Metadata: n.Metadata, OutputsKept: n.OutputsKept,
		Status: Validating, CreatedAt: now.Unix(), ExpiresAt: now.Add(Window).Unix(),
	}
	err := s.o.Store.Update(ctx, ns, func(tx storage.Tx) error {
		waiting, err := active(tx)
		if err != nil {
			return err
		}
		if len(waiting) >= MaxWaiting {
			return &fault.Error{Kind: fault.RateLimited, Code: fault.CodeRateLimited, RetryAfter: Window / MaxWaiting,
				Message: "The organization has 100 batches that have not ended. Wait for one, or cancel one."}
		}
		if err := r.set(tx, id); err != nil {
			return err
		}
		if err := tx.Set(activeKey(id), nil); err != nil {
			return err
		}
		return caller.Claim.Did(tx, id)
	})
	if err != nil {
		return Batch{}, err
	}
	s.look()
	return r.batch(id), nil
}

// checkFile returns why a file cannot be the input of a batch.
func (s *Service) checkFile(ctx context.Context, caller accounts.Caller, id string) error {
	file, err := s.o.Files.Get(ctx, caller, id)
	if fault.Is(err, fault.NotFound) {
		e := fault.Missing(files.CodeFileNotFound, "file", id)
		e.Param = "input_file_id"
		return e
	}
	if err == nil && file.Purpose != files.Batch {
		return fault.Invalidf("input_file_id", "The file %q has the purpose %s; upload it with the purpose %s.", id, file.Purpose, files.Batch)
	}
	if err == nil && file.Status == files.Failed {
		return fault.Invalidf("input_file_id", "The file %q could not be read. %s", id, file.Reason.Sentence())
	}
	return err
}

// active returns the batches of a namespace that have something left to do, oldest
// first.
func active(tx storage.Tx) (ids []string, err error) {
	r := storage.Prefix([]byte(activePrefix))
	r.KeysOnly = true
	for e, err := range tx.Scan(r) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, string(e.Key[len(activePrefix):]))
	}
	return ids, nil
}

// Get returns a batch. The error is NotFound.
func (s *Service) Get(ctx context.Context, caller accounts.Caller, id string) (b Batch, err error) {
	err = s.o.Store.View(ctx, caller.Namespace(), func(tx storage.Tx) error {
		r, err := get(tx, id)
		if err == nil {
			b, err = counted(tx, id, r)
		}
		return err
	})
	return b, err
}

// List returns a page of the organization's batches, up to [MaxPage].
func (s *Service) List(ctx context.Context, caller accounts.Caller, p page.Params) (page.Page[Batch], error) {
	var result page.Page[Batch]
	p, err := page.Within(p, MaxPage, "batch")
	if err != nil {
		return result, err
	}
	var after []byte
	if p.After != "" {
		after = recordKey(p.After)
	}
	err = s.o.Store.View(ctx, caller.Namespace(), func(tx storage.Tx) error {
		ids, err := page.Read(tx, page.Range(p, []byte(recordPrefix), after), p.Limit, func(e storage.Entry) (string, bool, error) {
			return string(e.Key[len(recordPrefix):]), true, nil
		})
		if err != nil {
			return err
		}
		result = page.Page[Batch]{Items: make([]Batch, len(ids.Items)), HasMore: ids.HasMore}
		for i, id := range ids.Items {
			r, err := get(tx, id)
			if err == nil {
				result.Items[i], err = counted(tx, id, r)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return result, err
}

// Cancel stops a batch: no more of its lines begin, and what has run is in its files
// when it is cancelled. The error is NotFound, and Conflict for a batch that has ended
// or whose lines have all run.
func (s *Service) Cancel(ctx context.Context, caller accounts.Caller, id string) (b Batch, err error) {
	err = s.o.Store.Update(ctx, caller.Namespace(), func(tx storage.Tx) error {
		storage.UseReserve(tx)
		r, err := get(tx, id)
		if err != nil {
			return err
		}
		switch r.Status {
		case Validating, InProgress:
			r.Status, r.CancellingAt = Cancelling, s.o.Now().Unix()
			if err := r.set(tx, id); err != nil {
				return err
			}
		case Cancelling:
		default:
			return &fault.Error{Kind: fault.Conflict, Code: "batch_ended", Message: "The batch \"" + id + "\" is " + string(r.Status) + " and cannot be cancelled."}
		}
		b, err = counted(tx, id, r)
		return err
	})
	if err == nil {
		s.halt(id)
		s.look()
	}
	return b, err
}

// counted returns the batch of a record with the lines that have run in segments which
// are not finished.
func counted(tx storage.Tx, id string, r *record) (Batch, error) {
	b := r.batch(id)
	if r.Closed || r.Status.Ended() {
		return b, nil
	}
	begun, err := segments(tx, id, func(s *segment) bool { return s.Begun })
	for _, s := range begun {
		if err == nil {
			err = eachResult(tx, id, &s.segment, func(_ int, failed bool) {
				if failed {
					b.Failed++
				} else {
					b.Completed++
				}
			})
		}
	}
	return b, err
}

// numbered is a segment and its number.
type numbered struct {
	segment
	n int
}

// segments returns the segments of a batch that are wanted.
func segments(tx storage.Tx, id string, wanted func(*segment) bool) (found []numbered, err error) {
	for e, err := range tx.Scan(storage.Prefix(segmentsOf(id))) {
		if err != nil {
			return nil, err
		}
		s := numbered{n: int(binary.BigEndian.Uint32(e.Key[len(e.Key)-4:]))}
		if err := decode(e.Value, &s.segment); err != nil {
			return nil, err
		}
		if wanted(&s.segment) {
			found = append(found, s)
		}
	}
	return found, nil
}

// eachResult calls fn for the lines of a segment that have a result.
func eachResult(tx storage.Tx, id string, s *segment, fn func(line int, failed bool)) error {
	r := storage.Range{Start: resultKey(id, s.First), End: resultKey(id, s.First+s.Count), KeysOnly: true}
	for e, err := range tx.Scan(r) {
		if err != nil {
			return err
		}
		fn(lineOf(e.Key), failedOf(e.Key))
	}
	return nil
}
