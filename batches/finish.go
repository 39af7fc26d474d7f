package batches

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/storage"
)

const (
	resultsAtOnce = 1 << 20 // bytes of results that are read in one transaction, or one result
	removedAtOnce = 1000    // results that one transaction removes
)

// change changes the record of a batch that this process validates or finishes.
func (s *Service) change(ctx context.Context, ns storage.Namespace, id string, fn func(storage.Tx, *record) error) error {
	return s.o.Store.Update(ctx, ns, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		return s.changeIn(tx, id, fn)
	})
}

func (s *Service) changeIn(tx storage.Tx, id string, fn func(storage.Tx, *record) error) error {
	r, err := get(tx, id)
	if err != nil {
		return err
	}
	if r.Owner != s.o.Cluster.ID() {
		return errLost
	}
	if err := fn(tx, r); err != nil {
		return err
	}
	return r.set(tx, id)
}

// fail ends a batch whose input file is not valid. Its error file has all problems.
func (s *Service) fail(ctx context.Context, t *task, problems []lineProblem) error {
	if t.record.ErrorFile == "" {
		f := &finisher{service: s, task: t, caller: accounts.Caller{Organization: string(t.ns)}}
		if err := f.file(ctx, "error", f.problems(problems), func(r *record, id string) { r.ErrorFile = id }); err != nil {
			return err
		}
	}
	return s.change(ctx, t.ns, t.id, func(tx storage.Tx, r *record) error {
		if r.Status != Validating {
			return nil // it was cancelled
		}
		for _, p := range problems[:min(len(problems), maxShown)] {
			r.Problems = append(r.Problems, p.Problem)
		}
		if err := tx.Delete(activeKey(t.id)); err != nil {
			return err
		}
		return s.end(tx, t.id, r, Failed)
	})
}

// problems yields a line for each problem.
func (f *finisher) problems(all []lineProblem) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, p := range all {
			e := &wire.BatchError{Code: p.Code, Message: p.Message, Param: p.Param, Line: p.Line}
			data, err := jsonout.Marshal(wire.BatchLine{ID: f.service.o.NewID("batch_req"), CustomID: p.customID, Error: e})
			if !yield(append(data, '\n'), err) {
				return
			}
		}
	}
}

// end gives a batch its final status.
func (s *Service) end(tx storage.Tx, id string, r *record, status Status) error {
	r.Status, r.EndedAt = status, s.o.Now().Unix()
	if s.o.Ended == nil {
		return nil
	}
	return s.o.Ended(tx, "batch."+string(status), id)
}

// outcome is the final status of a batch whose lines do not run any more.
func (r *record) outcome() Status {
	switch {
	case len(r.Problems) > 0:
		return Failed
	case r.Status == Cancelling:
		return Cancelled
	case r.Status == InProgress:
		return Expired
	}
	return Completed
}

// finish writes the files of a batch whose lines do not run any more, ends it, and
// removes what they were made of. Each step is taken once, also by another process
// that goes on.
func (s *Service) finish(ctx context.Context, t *task) error {
	f := &finisher{service: s, task: t, caller: accounts.Caller{Organization: string(t.ns)}}
	if !t.record.Status.Ended() {
		if err := f.count(ctx); err != nil {
			return err
		}
		if err := f.files(ctx); err != nil {
			return err
		}
		err := s.change(ctx, t.ns, t.id, func(tx storage.Tx, r *record) error {
			r.Completed, r.Failed, r.Used = f.completed, f.failed, f.used
			return s.end(tx, t.id, r, r.outcome())
		})
		if err != nil {
			return err
		}
	}
	if err := f.clean(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.stopping, t.id)
	return nil
}

// finisher writes the files of one batch.
type finisher struct {
	service           *Service
	task              *task
	caller            accounts.Caller
	completed, failed int
	used              used
}

// result is what a line was answered.
type result struct {
	line   int
	failed bool
	header header
	text   []byte // with its end of line
}

// results yields the results of all lines in order.
func (f *finisher) results(ctx context.Context) iter.Seq2[result, error] {
	return func(yield func(result, error) bool) {
		next := resultsOf(f.task.id)
		end := storage.After(next)
		for {
			found, err := f.page(ctx, storage.Range{Start: next, End: end})
			if err != nil {
				yield(result{}, err)
				return
			}
			if len(found) == 0 {
				return
			}
			for _, e := range found {
				r := result{line: lineOf(e.Key), failed: failedOf(e.Key)}
				head, text, _ := bytes.Cut(e.Value, []byte{'\n'})
				r.text = text
				if !yield(r, decode(head, &r.header)) {
					return
				}
			}
			next = append(found[len(found)-1].Key, 0)
		}
	}
}

// page reads some results.
func (f *finisher) page(ctx context.Context, r storage.Range) (found []storage.Entry, err error) {
	err = f.service.o.Store.View(ctx, f.task.ns, func(tx storage.Tx) error {
		found = nil
		size := 0
		for e, err := range tx.Scan(r) {
			if err != nil {
				return err
			}
			found = append(found, e)
			if size += len(e.Value); size >= resultsAtOnce {
				break
			}
		}
		return nil
	})
	return found, err
}

// count adds up what the lines came to.
func (f *finisher) count(ctx context.Context) error {
	for r, err := range f.results(ctx) {
		if err != nil {
			return err
		}
		if r.failed {
			f.failed++
		} else {
			f.completed++
		}
		f.used.Input += r.header.Used.Input
		f.used.Cached += r.header.Used.Cached
		f.used.Output += r.header.Used.Output
		f.used.Reasoning += r.header.Used.Reasoning
	}
	return nil
}

// files writes the output file and the error file, where they have lines and are not
// written.
func (f *finisher) files(ctx context.Context) error {
	r := f.task.record
	if r.OutputFile == "" && f.completed > 0 {
		err := f.file(ctx, "output", f.answered(ctx, false), func(r *record, id string) { r.OutputFile = id })
		if err != nil {
			return err
		}
	}
	if r.ErrorFile == "" && (f.failed > 0 || f.completed+f.failed < r.Total) {
		lines := f.answered(ctx, true)
		if f.completed+f.failed < r.Total {
			lines = f.withMissing(ctx)
		}
		return f.file(ctx, "error", lines, func(r *record, id string) { r.ErrorFile = id })
	}
	return nil
}

// file writes a file and its ID into the record, in one transaction.
func (f *finisher) file(ctx context.Context, kind string, lines iter.Seq2[[]byte, error], set func(r *record, id string)) error {
	s, t := f.service, f.task
	reader := &sequenceReader{}
	var stop func()
	reader.next, stop = iter.Pull2(lines)
	defer stop()
	d, err := s.o.Files.StageOutput(ctx, f.caller, t.id+"_"+kind+".jsonl", reader)
	if err != nil {
		return err
	}
	kept := time.Duration(t.record.OutputsKept) * time.Second
	_, err = d.CommitOutput(ctx, kept, func(tx storage.Tx, id string) error {
		return s.changeIn(tx, t.id, func(_ storage.Tx, r *record) error {
			set(r, id)
			return nil
		})
	})
	return err
}

// answered yields the lines that have failed, or the others.
func (f *finisher) answered(ctx context.Context, failed bool) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for r, err := range f.results(ctx) {
			if (err != nil || r.failed == failed) && !yield(r.text, err) {
				return
			}
		}
	}
}

// withMissing yields the lines that have failed and those that never ran.
func (f *finisher) withMissing(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		content, err := f.service.o.Files.ContentFrom(ctx, f.caller, f.task.record.InputFile, 0)
		if fault.Is(err, fault.NotFound) { // nobody knows their names any more
			f.answered(ctx, true)(yield)
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		next, stop := iter.Pull2(f.results(ctx))
		defer stop()
		r, err, more := next()
		lines := newLineReader(content, 0)
		for n := range f.task.record.Total {
			text, readErr := lines.read()
			if err = errors.Join(err, unexpected(readErr)); err != nil {
				yield(nil, err)
				return
			}
			switch ran := more && r.line == n; {
			case ran && r.failed && !yield(r.text, nil):
				return
			case ran:
				r, err, more = next()
			case !yield(f.missing(text)):
				return
			}
		}
	}
}

// missing returns the line of a request that never ran.
func (f *finisher) missing(text []byte) ([]byte, error) {
	var l line
	if err := decode(text, &l); err != nil {
		return nil, err
	}
	why := &wire.BatchError{Code: "batch_expired", Message: "The request did not run before the batch expired."}
	switch f.task.record.outcome() {
	case Cancelled:
		why = &wire.BatchError{Code: "batch_cancelled", Message: "The request did not run before the batch was cancelled."}
	case Failed:
		why = &wire.BatchError{Code: "batch_failed", Message: "The request did not run before the batch failed."}
	}
	data, err := jsonout.Marshal(wire.BatchLine{ID: f.service.o.NewID("batch_req"), CustomID: l.CustomID, Error: why})
	return append(data, '\n'), err
}

// clean removes the results, and then the batch from those that have something left.
func (f *finisher) clean(ctx context.Context) error {
	for {
		done := false
		err := f.service.change(ctx, f.task.ns, f.task.id, func(tx storage.Tx, r *record) error {
			all := storage.Prefix(resultsOf(f.task.id))
			all.KeysOnly, all.Limit = true, removedAtOnce
			count := 0
			for e, err := range tx.Scan(all) {
				if err != nil {
					return err
				}
				if err := tx.Delete(e.Key); err != nil {
					return err
				}
				count++
			}
			if done = count < removedAtOnce; done {
				return tx.Delete(activeKey(f.task.id))
			}
			return nil
		})
		if err != nil || done {
			return err
		}
	}
}

// sequenceReader reads pieces one after the other.
type sequenceReader struct {
	next func() ([]byte, error, bool)
	rest []byte
}

// Read implements [io.Reader].
func (r *sequenceReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		piece, err, more := r.next()
		if !more {
			return 0, io.EOF
		}
		if err != nil {
			return 0, err
		}
		r.rest = piece
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
