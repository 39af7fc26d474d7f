package batches

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/storage"
)

var (
	// errLost says that the work belongs to another process by now.
	errLost = errors.New("batches: another process has taken the work over")
	// errHalted says that the batch is cancelled or has expired.
	errHalted = errors.New("batches: no more lines are to begin")
)

const (
	// A line that a model server failed is tried again, maxTries times in all, and one
	// that found it busy until the batch ends.
	maxTries  = 4
	firstWait = time.Second
	maxWait   = 30 * time.Second
)

// caller returns who the lines of a batch are run for: as the key that made it may now,
// without its limits per minute, which are for requests that somebody waits for.
func (s *Service) caller(ctx context.Context, ns storage.Namespace, r *record) (c accounts.Caller, err error) {
	if r.Key == "" {
		c, err = s.o.Accounts.CallerFor(ctx, string(ns))
	} else {
		c, err = s.o.Accounts.CallerForKey(ctx, r.Key)
	}
	c.Background = true
	c.RequestsPerMinute, c.TokensPerMinute, c.KeyLimits.RequestsPerMinute, c.KeyLimits.TokensPerMinute = 0, 0, 0, 0
	return c, err
}

// run runs the lines of a segment that have no result yet, one after the other.
func (s *Service) run(ctx context.Context, t *task) error {
	done, err := s.runLines(ctx, t)
	switch {
	case err == nil && done != nil:
		return s.finishSegment(ctx, t, done)
	case fault.Is(err, fault.Unauthenticated):
		return s.abort(ctx, t.ns, t.id, Problem{Code: fault.From(err).Code, Message: "The API key of the batch was revoked."})
	case fault.Is(err, fault.NotFound):
		return s.abort(ctx, t.ns, t.id, Problem{Code: codeFileGone, Message: "The input file was deleted.", Param: "input_file_id"})
	}
	return errors.Join(err, s.letGo(ctx, t))
}

// runLines returns which lines have failed once all have a result, nil where somebody
// has to go on. The error is Unauthenticated where the key of the batch was revoked,
// Denied where its organization is suspended, and NotFound where the input file was
// deleted.
func (s *Service) runLines(ctx context.Context, t *task) (map[int]bool, error) {
	seg := t.segment
	caller, err := s.caller(ctx, t.ns, t.record)
	if err != nil || !s.admits(t.ns, caller.ConcurrentRequests) {
		return nil, err
	}
	done, err := s.results(ctx, t)
	if err != nil {
		return nil, err
	}
	content, err := s.o.Files.ContentFrom(ctx, caller, t.record.InputFile, seg.Offset)
	if err != nil {
		return nil, err
	}
	lines := newLineReader(content, seg.Offset)
	for n := seg.First; n < seg.First+seg.Count; n++ {
		text, err := lines.read()
		if err != nil {
			return nil, unexpected(err)
		}
		if _, ok := done[n]; ok {
			continue
		}
		if s.halted(t.id) || ctx.Err() != nil || s.yields(t.ns) {
			return nil, nil
		}
		failed, err := s.line(ctx, t, caller, n, text)
		if err != nil {
			return nil, err
		}
		done[n] = failed
	}
	return done, nil
}

// unexpected makes the end of a file an error that nobody takes for an end.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// results returns the lines of a task's segment that have a result, and whether they
// failed.
func (s *Service) results(ctx context.Context, t *task) (done map[int]bool, err error) {
	err = s.o.Store.View(ctx, t.ns, func(tx storage.Tx) error {
		done = map[int]bool{}
		return eachResult(tx, t.id, &t.segment.segment, func(line int, failed bool) { done[line] = failed })
	})
	return done, err
}

// owned returns errLost unless the task's segment is this process's.
func (s *Service) owned(tx storage.Tx, t *task) error {
	var seg segment
	err := storage.GetJSON(tx, segmentKey(t.id, t.segment.n), &seg)
	if errors.Is(err, storage.ErrNotFound) || err == nil && seg.Owner != s.o.Cluster.ID() {
		return errLost
	}
	return err
}

// letGo lets anybody run what is left of a segment.
func (s *Service) letGo(ctx context.Context, t *task) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	return s.o.Store.Update(ctx, t.ns, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		if err := s.owned(tx, t); err != nil {
			return err
		}
		seg := t.segment.segment
		seg.Owner = ""
		return storage.SetJSON(tx, segmentKey(t.id, t.segment.n), seg)
	})
}

// finishSegment removes a segment whose lines all have a result, and counts them.
func (s *Service) finishSegment(ctx context.Context, t *task, done map[int]bool) error {
	return s.o.Store.Update(ctx, t.ns, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		if err := s.owned(tx, t); err != nil {
			return err
		}
		r, err := get(tx, t.id)
		if err != nil {
			return err
		}
		for _, failed := range done {
			if failed {
				r.Failed++
			} else {
				r.Completed++
			}
		}
		if err := tx.Delete(segmentKey(t.id, t.segment.n)); err != nil {
			return err
		}
		return r.set(tx, t.id)
	})
}

// line runs one line and stores its result together with what it is charged. It
// reports whether the line has failed.
func (s *Service) line(ctx context.Context, t *task, caller accounts.Caller, n int, text []byte) (isFailed bool, err error) {
	var l line
	if err := decode(text, &l); err != nil {
		return false, err
	}
	caller.Deferred = &accounts.Deferred{Share: s.o.Price}
	status, requestID, answer, err := s.ask(ctx, t, caller, l.Body)
	if err != nil {
		return false, err
	}
	out := wire.BatchLine{ID: s.o.NewID("batch_req"), CustomID: l.CustomID}
	out.Response = &wire.BatchAnswer{StatusCode: status, RequestID: requestID, Body: answer}
	err = s.store(ctx, t, caller, n, &out)
	e, ok := errors.AsType[*fault.Error](err)
	if errors.Is(err, storage.ErrTooLarge) {
		e, ok = &fault.Error{Code: "answer_too_large", Message: "The answer is too large to be stored."}, true
	}
	if ok && e.Kind != fault.Unavailable && e.Kind != fault.Canceled { // what the request stores could not be stored
		caller.Deferred.DropWrites()
		out.Response, out.Error = nil, &wire.BatchError{Code: e.Code, Message: e.Message}
		err = s.store(ctx, t, caller, n, &out)
	}
	return failed(&out), err
}

// ask has the line answered, again where that may help.
func (s *Service) ask(ctx context.Context, t *task, caller accounts.Caller, body []byte) (status int, requestID string, answer []byte, err error) {
	wait := firstWait
	for try := 1; ; try++ {
		status, requestID, answer = s.answer(ctx, caller, t.record.Endpoint, body)
		if ctx.Err() != nil {
			return 0, "", nil, ctx.Err()
		}
		if status == 401 || status == 403 {
			if _, err := s.caller(ctx, t.ns, t.record); err != nil {
				return 0, "", nil, err // it is not the line's fault
			}
		}
		busy := status == 429 || status == 503
		if !busy && (status < 500 && status != 408 || try == maxTries) {
			return status, requestID, answer, nil
		}
		caller.Deferred.DropWrites()
		if !background.Sleep(ctx, wait) {
			return 0, "", nil, ctx.Err()
		}
		if s.halted(t.id) {
			return 0, "", nil, errHalted
		}
		wait = min(2*wait, maxWait)
	}
}

// header is what stands before the text of a result.
type header struct {
	Used used `json:"used,omitzero"`
}

// store writes the result of a line and what it is charged, if the segment is still
// this process's.
func (s *Service) store(ctx context.Context, t *task, caller accounts.Caller, n int, out *wire.BatchLine) error {
	use := caller.Deferred.Used()
	head, err := jsonout.Marshal(header{used{use.InputTokens, use.CachedTokens, use.OutputTokens, use.ReasoningTokens}})
	if err != nil {
		return err
	}
	text, err := jsonout.Marshal(out)
	if err != nil {
		return err
	}
	outcome := byte('0')
	if failed(out) {
		outcome = '1'
	}
	key := append(resultKey(t.id, n), outcome)
	value := bytes.Join([][]byte{head, text, nil}, []byte{'\n'})
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	return s.o.Accounts.ChargeDeferred(ctx, caller, func(tx storage.Tx) error {
		if err := s.owned(tx, t); err != nil {
			return err
		}
		return tx.Set(key, value)
	})
}

// failed reports whether a line belongs into the error file.
func failed(out *wire.BatchLine) bool {
	return out.Response == nil || out.Response.StatusCode >= 400
}

// abort ends a batch that cannot go on, as failed.
func (s *Service) abort(ctx context.Context, ns storage.Namespace, id string, p Problem) error {
	s.halt(id)
	return s.o.Store.Update(ctx, ns, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		r, err := get(tx, id)
		if err != nil || r.Status != InProgress {
			return err
		}
		r.Status, r.Problems = Cancelling, []Problem{p}
		return r.set(tx, id)
	})
}
