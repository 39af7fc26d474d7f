package files

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/model"
)

const (
	// processWait is how long a prompt waits for a file that is not processed.
	processWait = 10 * time.Second
	// awaitEvery is how often it looks whether another process has done it.
	awaitEvery = 100 * time.Millisecond
	// inlineWait is how long a document that came with a request waits until
	// fewer others are being read.
	inlineWait = 30 * time.Second
)

// Stored returns an uploaded file as a model reads it. It waits a moment for one
// that is not processed yet. The error is NotFound with the code file_not_found
// for a file that is not there or has expired, and Invalid for one that is not
// processed in time or that cannot be read.
func (s *Service) Stored(ctx context.Context, caller accounts.Caller, id string) (model.Document, error) {
	r, err := s.live(ctx, caller, id, CodeFileNotFound)
	if err == nil && r.Status == Uploaded {
		if err := s.await(ctx, job{caller.Namespace(), id}); err != nil {
			return model.Document{}, err
		}
		r, err = s.live(ctx, caller, id, CodeFileNotFound)
	}
	for end := time.Now().Add(processWait); err == nil && r.Status == Uploaded && s.cluster.Shared() && time.Now().Before(end); {
		// Another process works on it: its record says when it is done.
		if !background.Sleep(ctx, awaitEvery) {
			return model.Document{}, ctx.Err()
		}
		r, err = s.live(ctx, caller, id, CodeFileNotFound)
	}
	if err != nil {
		return model.Document{}, err
	}
	text, err := s.text(ctx, caller.Namespace(), id, r)
	if err != nil {
		return model.Document{}, err
	}
	return model.Document{Name: r.Filename, Text: text, Note: r.Note.Sentence()}, nil
}

// await waits until a job is over, but not for long. The error is the context's.
func (s *Service) await(ctx context.Context, j job) error {
	over := s.queue.done(j)
	if over == nil {
		return nil
	}
	timer := time.NewTimer(processWait)
	defer timer.Stop()
	select {
	case <-over:
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// Inline returns the document in bytes that came with a request, and keeps
// nothing of it. An empty mimeType is guessed from the name. The error is Invalid
// for a document that cannot be read, with the code unsupported_file_type where
// its type is not supported, and Unavailable where it could not be tried.
func (s *Service) Inline(ctx context.Context, name, mimeType string, data []byte) (model.Document, error) {
	if mimeType == "" {
		mimeType = TypeByName(name)
	}
	mimeType = s.typeOf(name, mimeType, data[:min(len(data), headBytes)])
	format, err := s.formatOf(mimeType)
	if err != nil {
		return model.Document{}, err
	}
	d := model.Document{Name: name}
	if format == Plain {
		d.Text, err = Text(mimeType, data)
	} else {
		d.Text, d.Note, err = s.inlineText(ctx, data, format)
	}
	if err != nil {
		return model.Document{}, err
	}
	return d, nil
}

func (s *Service) inlineText(ctx context.Context, data []byte, format Format) (text, note string, err error) {
	busy := &fault.Error{Kind: fault.Unavailable, Code: fault.CodeUnavailable, RetryAfter: time.Second,
		Message: "The document could not be read now. Try again."}
	timer := time.NewTimer(inlineWait)
	defer timer.Stop()
	select {
	case s.inline <- struct{}{}:
		defer func() { <-s.inline }()
	case <-timer.C:
		return "", "", busy
	case <-ctx.Done():
		return "", "", ctx.Err()
	}
	read, err := s.extract(ctx, bytes.NewReader(data), int64(len(data)), format)
	if err == nil || ctx.Err() != nil {
		return read.Text, read.Note().Sentence(), err
	}
	if u, ok := errors.AsType[*Unreadable](err); ok {
		e := fault.Invalidf("", "The document cannot be read. %s", u.Reason.Sentence())
		e.Err = err
		return "", "", e
	}
	busy.Err = err
	return "", "", busy
}
