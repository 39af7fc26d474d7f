package svc_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// stuck is an extractor that says that it has begun and does not get on.
type stuck chan struct{}

func (s stuck) Extract(ctx context.Context, _ io.Reader, _ int64, _ files.Format) (files.Extracted, error) {
	s <- struct{}{}
	<-ctx.Done()
	return files.Extracted{}, ctx.Err()
}

// TestANewServiceTakesUpWhatTheLastOneLeft stops a service in the middle of an
// extraction and with an upload that was never finished.
func TestANewServiceTakesUpWhatTheLastOneLeft(t *testing.T) {
	is := is.New(t)
	store := memstore.New()
	defer store.Close()
	begun := make(stuck)
	options := svc.Options{Store: store, Extractor: begun, Logger: slog.New(slog.DiscardHandler)}
	service, err := svc.New(t.Context(), options)
	is.NoErr(err)
	_, err = service.Bootstrap(t.Context(), "sk-test")
	is.NoErr(err)
	caller, err := service.CallerFor(t.Context(), svc.DefaultOrganization)
	is.NoErr(err)
	_, err = service.UploadFile(t.Context(), caller, files.Upload{
		Filename: "a.pdf", MIMEType: "application/pdf", Content: strings.NewReader("x"), Purpose: files.Purpose,
	})
	is.NoErr(err)
	<-begun
	draft, err := service.StageFile(t.Context(), caller, "b.txt", "text/plain", strings.NewReader("x"))
	is.NoErr(err)
	is.NoErr(service.Close())

	service, err = svc.New(t.Context(), options)
	is.NoErr(err)
	defer service.Close()
	<-begun
	_, err = draft.Commit(t.Context(), files.Purpose, 0)
	is.True(err != nil) // its bytes have been removed
	list, err := service.Files(t.Context(), caller, "", svc.Page{})
	is.NoErr(err)
	is.Equal(len(list.Items), 1)
}
