package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/storage"
)

const (
	// attempts is how often a file is tried where the cause of a failure can
	// pass, and retryAfter the pause before the second attempt; each pause is
	// five times as long as the one before.
	attempts   = 3
	retryAfter = time.Second

	// bookTimeout bounds the writing down of a result.
	bookTimeout = 30 * time.Second
)

// work extracts the text of files until ctx ends.
func (s *Service) work(ctx context.Context) {
	for {
		j, ok := s.queue.next(ctx)
		if !ok {
			return
		}
		if err := s.process(ctx, j); err != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "files: a file waits until the next start", "organization", string(j.ns), "file", j.id, "err", err)
		}
		s.queue.leave(j)
		s.queue.finish(j)
	}
}

// process extracts the text of a file and writes down what came of it. The file
// stays in the store's queue after an error.
func (s *Service) process(ctx context.Context, j job) error {
	var r *record
	err := s.store.View(ctx, j.ns, func(tx storage.Tx) (err error) {
		if r, err = getRecord(tx, j.id); err == nil {
			err = s.checkOwner(tx, j)
		}
		return err
	})
	if errors.Is(err, errNone) {
		return nil // deleted, done or taken over meanwhile
	}
	if err != nil {
		return err
	}
	format, err := FormatOf(r.MIMEType)
	if err != nil {
		return err
	}
	w := &extraction{job: j, record: r, format: format, log: s.log.With("organization", string(j.ns), "file", j.id, "format", string(format)), start: time.Now()}
	w.log.InfoContext(ctx, "extraction started", "bytes", r.Bytes)
	err = s.tries(ctx, w)
	if err == nil || ctx.Err() != nil || errors.Is(err, errNone) {
		return nil
	}
	return s.fail(ctx, w, err)
}

// extraction is the work on one job.
type extraction struct {
	job
	record *record
	format Format
	log    *slog.Logger
	start  time.Time
}

// tries makes attempts until one succeeds, fails for good or was the last.
func (s *Service) tries(ctx context.Context, w *extraction) error {
	pause := retryAfter
	for attempt := 1; ; attempt++ {
		err := s.attempt(ctx, w)
		_, final := errors.AsType[*Unreadable](err)
		if err == nil || final || attempt == attempts || ctx.Err() != nil || errors.Is(err, errNone) {
			return err
		}
		w.log.WarnContext(ctx, "extraction will be tried again", "pause", pause, "err", err)
		if !background.Sleep(ctx, pause) {
			return ctx.Err()
		}
		pause *= 5
	}
}

func (s *Service) attempt(ctx context.Context, w *extraction) error {
	doc := s.readBlob(ctx, w.ns, w.record.Blob, w.record.Bytes)
	read, err := s.extract(ctx, doc, w.record.Bytes, w.format)
	if err != nil {
		return err
	}
	return s.succeed(ctx, w, read)
}

// extract runs the extractor under the limits that hold for all of them.
func (s *Service) extract(ctx context.Context, doc io.Reader, size int64, format Format) (read Extracted, err error) {
	limited, cancel := context.WithTimeoutCause(ctx, s.timeout, errTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = &Unreadable{Crashed, fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	read, err = s.extractor.Extract(limited, doc, size, format)
	if err != nil && context.Cause(limited) == errTimeout {
		return Extracted{}, &Unreadable{TimedOut, err}
	}
	if err == nil && len(read.Text) > MaxText {
		return Extracted{}, &Unreadable{TooLarge, errTextOverLimit}
	}
	read.Text = strings.ToValidUTF8(read.Text, "\ufffd")
	return read, err
}

// succeed stores the text of a file and makes the file processed.
func (s *Service) succeed(ctx context.Context, w *extraction, read Extracted) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bookTimeout)
	defer cancel()
	b, err := s.writeBlob(ctx, w.ns, s.newID("blob"), strings.NewReader(read.Text), MaxText)
	if err != nil {
		return err
	}
	note := read.Note()
	err = s.conclude(ctx, w.job, func(tx storage.Tx, r *record) error {
		r.Status, r.Reason, r.Note = Processed, "", note
		r.Text, r.TextBytes = b.id, b.size
		return errors.Join(s.check(tx, b), tx.Delete(garbageKey(b.id)), tx.Delete(queueKey(w.id)))
	})
	if err != nil {
		return s.abandon(ctx, w.ns, b.id, err)
	}
	w.log.InfoContext(ctx, "extraction done", "duration", w.duration(), "pages", read.Pages,
		"characters", utf8.RuneCountInString(read.Text), "note", string(note))
	return nil
}

func (w *extraction) duration() time.Duration { return time.Since(w.start).Round(time.Millisecond) }

// Note says what is special about the text.
func (e *Extracted) Note() Note {
	switch {
	case strings.TrimSpace(e.Text) == "":
		return NoText
	case e.Dynamic:
		return Dynamic
	case e.Partial:
		return Partial
	}
	return ""
}

// fail makes a file failed. Where the cause can pass it stays in the store's
// queue, so that the next start tries it again.
func (s *Service) fail(ctx context.Context, w *extraction, cause error) error {
	reason := Unavailable
	if u, ok := errors.AsType[*Unreadable](cause); ok {
		reason = u.Reason
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bookTimeout)
	defer cancel()
	err := s.conclude(ctx, w.job, func(tx storage.Tx, r *record) error {
		r.Status, r.Reason = Failed, reason
		if reason == Unavailable {
			return nil
		}
		return tx.Delete(queueKey(w.id))
	})
	if errors.Is(err, errNone) {
		return nil
	}
	w.log.WarnContext(ctx, "extraction failed", "duration", w.duration(), "reason", string(reason), "err", cause)
	return err
}

// checkOwner returns errNone where a job is not this process's any more.
func (s *Service) checkOwner(tx storage.Tx, j job) error {
	owner, err := tx.Get(queueKey(j.id))
	if errors.Is(err, storage.ErrNotFound) || err == nil && !bytes.Equal(owner, s.owner) {
		return errNone
	}
	return err
}

// conclude changes the record of a file. The error is errNone for one that was
// deleted meanwhile, or taken over by another process.
func (s *Service) conclude(ctx context.Context, j job, change func(storage.Tx, *record) error) error {
	return s.store.Update(ctx, j.ns, func(tx storage.Tx) error {
		r, err := getRecord(tx, j.id)
		if err == nil {
			err = s.checkOwner(tx, j)
		}
		if err != nil {
			return err
		}
		if err := change(tx, r); err != nil {
			return err
		}
		return setRecord(tx, j.id, r)
	})
}
