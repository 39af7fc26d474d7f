package svc

import (
	"context"
	"io"

	"github.com/seed-506d8e5d/svc/files"
)

// UploadFile stores a file, whose content is read as a stream; see
// [files.Service.Create]. The error is Invalid, TooLarge, or that of the content.
func (s *Service) UploadFile(ctx context.Context, caller Caller, u files.Upload) (files.File, error) {
	return s.files.Create(ctx, caller, u)
}

// StageFile stores the bytes of a file that becomes visible when the draft is
// committed, for uploads whose purpose is not known yet; see
// [files.Service.Stage].
func (s *Service) StageFile(ctx context.Context, caller Caller, filename, mimeType string, content io.Reader) (*files.Draft, error) {
	return s.files.Stage(ctx, caller, filename, mimeType, content)
}

// CheckPurpose returns an Invalid error for a purpose that no file may be uploaded for.
func (s *Service) CheckPurpose(purpose string) error { return s.files.CheckPurpose(purpose) }

// File returns a file. The error is NotFound where the caller's organization has
// none with that ID, here and in the methods below.
func (s *Service) File(ctx context.Context, caller Caller, id string) (files.File, error) {
	return s.files.Get(ctx, caller, id)
}

// Files returns a page of the files with a purpose, or of all where that is
// empty, 1 to 10,000, by the time of their creation. The error is Invalid.
func (s *Service) Files(ctx context.Context, caller Caller, purpose string, p Page) (List[files.File], error) {
	return s.files.List(ctx, caller, purpose, p)
}

// DeleteFile removes a file with its bytes and its text.
func (s *Service) DeleteFile(ctx context.Context, caller Caller, id string) error {
	return s.files.Delete(ctx, caller, id)
}

// FileContent returns a file and a reader of its bytes.
func (s *Service) FileContent(ctx context.Context, caller Caller, id string) (files.File, io.Reader, error) {
	return s.files.Content(ctx, caller, id)
}

// FileText returns the text of a file as a model reads it. The error is Invalid
// where it is not processed.
func (s *Service) FileText(ctx context.Context, caller Caller, id string) (string, error) {
	return s.files.Text(ctx, caller, id)
}

// WaitingFiles returns how many uploaded files, of all organizations, wait for
// the extraction of their text.
func (s *Service) WaitingFiles() int { return s.files.Waiting() }
