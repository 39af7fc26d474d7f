package files

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/idempotency"
	"github.com/seed-506d8e5d/svc/storage"
)

// Upload is a new file.
type Upload struct {
	Filename string // its directories are left out; an empty one becomes "file"
	MIMEType string // one of the supported types, with or without parameters
	Content  io.Reader

	Purpose      string        // [Purpose]
	ExpiresAfter time.Duration // [MinExpiry] to [MaxExpiry], or 0 for never
}

// Create stores a file. It reads the content to its end, or to the first byte
// over [MaxBytes], and holds about a megabyte of it at a time. A text file is
// processed at once, or failed where it is not text; others are uploaded, and
// processed or failed a little later.
//
// The error is Invalid where a field is, with the code unsupported_file_type
// where that is the type, TooLarge, or that of the content. Nothing is stored
// then.
func (s *Service) Create(ctx context.Context, caller accounts.Caller, u Upload) (File, error) {
	if err := errors.Join(CheckPurpose(u.Purpose), checkExpiry(u.ExpiresAfter)); err != nil {
		return File{}, err
	}
	d, err := s.Stage(ctx, caller, u.Filename, u.MIMEType, u.Content)
	if err != nil {
		return File{}, err
	}
	return d.Commit(ctx, u.Purpose, u.ExpiresAfter)
}

// CheckPurpose returns an Invalid error for anything but [Purpose].
func CheckPurpose(purpose string) error {
	switch purpose {
	case Purpose:
		return nil
	case "":
		return fault.Invalidf("purpose", "purpose is required; it must be %q.", Purpose)
	}
	return fault.Invalidf("purpose", "purpose must be %q, not %.64q.", Purpose, purpose)
}

func checkExpiry(after time.Duration) error {
	if after != 0 && (after < MinExpiry || after > MaxExpiry) {
		return fault.Invalidf("expires_after[seconds]", "expires_after[seconds] must be between %d and %d.",
			int(MinExpiry.Seconds()), int(MaxExpiry.Seconds()))
	}
	return nil
}

// Draft is a file whose bytes are stored and that nobody can see yet. It ends
// with Commit or Discard; what a program leaves without either, the next start
// removes. Its methods must not be called concurrently.
type Draft struct {
	// Claim is marked by Commit: that of the caller that staged the file, unless it
	// is set since, where the key is only known when the bytes are.
	Claim *idempotency.Claim

	service *Service
	ns      storage.Namespace
	record  record
	blob    blob
}

// Stage stores the bytes of a file whose other fields are not known yet, as they
// come after the bytes in some uploads. It is otherwise as [Service.Create].
func (s *Service) Stage(ctx context.Context, caller accounts.Caller, filename, mimeType string, content io.Reader) (*Draft, error) {
	format, err := FormatOf(mimeType)
	if err != nil {
		return nil, withParam(err, "file")
	}
	d := &Draft{Claim: caller.Claim, service: s, ns: caller.Namespace(), record: record{
		Filename: displayName(filename), MIMEType: canonicalType(mimeType), Status: Uploaded, Blob: s.newID("blob"),
	}}
	var check *textChecker
	if format == Plain {
		check = newTextChecker(mimeType)
		content = io.TeeReader(content, check)
	}
	d.blob, err = s.writeBlob(ctx, d.ns, d.record.Blob, content, MaxBytes)
	d.record.Bytes = d.blob.size
	if errors.Is(err, errOverLimit) {
		return nil, errTooLarge()
	}
	if err != nil {
		return nil, err
	}
	if check != nil {
		d.record.Status = Processed
		if !check.text() {
			d.record.Status, d.record.Reason = Failed, NotText
		}
	}
	return d, nil
}

func errTooLarge() error {
	return &fault.Error{Kind: fault.TooLarge, Code: CodeTooLarge, Param: "file",
		Message: "The file is larger than 50 MB (50,000,000 bytes)."}
}

// withParam returns err about a parameter, where it names none.
func withParam(err error, param string) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Param != "" {
		return err
	}
	clone := *e
	clone.Param = param
	return &clone
}

// Commit makes the draft a file. The error is Invalid where purpose or
// expiresAfter is; the draft is discarded after any error.
func (d *Draft) Commit(ctx context.Context, purpose string, expiresAfter time.Duration) (File, error) {
	s := d.service
	if err := errors.Join(CheckPurpose(purpose), checkExpiry(expiresAfter)); err != nil {
		return File{}, s.abandon(ctx, d.ns, d.record.Blob, err)
	}
	id, r := s.newID("file"), d.record
	r.Purpose, r.Created = purpose, s.now().Unix()
	if expiresAfter != 0 {
		r.Expires = r.Created + int64(expiresAfter/time.Second)
	}
	waiting := r.Status == Uploaded
	if waiting {
		s.queue.expect(job{d.ns, id})
	}
	if err := s.store.Update(ctx, d.ns, func(tx storage.Tx) error {
		if err := s.commit(tx, id, &r, d.blob); err != nil {
			return err
		}
		return d.Claim.Did(tx, id)
	}); err != nil {
		if waiting {
			s.queue.finish(job{d.ns, id})
		}
		return File{}, s.abandon(ctx, d.ns, r.Blob, err)
	}
	if waiting {
		s.queue.push(job{d.ns, id})
	}
	if r.Expires != 0 {
		s.expiry.note(d.ns, r.Expires)
	}
	return r.file(id), nil
}

// errEnded says that a draft was committed or discarded before: also by another
// process, which took the one that made it for dead.
var errEnded = &fault.Error{Kind: fault.Unavailable, Code: fault.CodeUnavailable, Message: "The upload was interrupted. Try again.",
	RetryAfter: time.Second, Err: errors.New("files: the draft has ended")}

// commit makes the file of a draft visible.
func (s *Service) commit(tx storage.Tx, id string, r *record, b blob) error {
	mark := garbageKey(r.Blob)
	_, err := tx.Get(mark)
	if errors.Is(err, storage.ErrNotFound) {
		return errEnded
	}
	if err == nil {
		err = s.check(tx, b)
	}
	if err == nil {
		err = errors.Join(setRecord(tx, id, r), tx.Delete(mark))
	}
	if err == nil && r.Status == Uploaded {
		err = tx.Set(queueKey(id), s.owner)
	}
	if err == nil && r.Expires != 0 {
		err = tx.Set(expiryKey(r.Expires, id), nil)
	}
	return err
}

// Discard removes the bytes of a draft.
func (d *Draft) Discard(ctx context.Context) { d.service.sweep(ctx, d.ns, d.record.Blob) }

// displayName returns a file's name as it is kept: without directories and
// control characters, valid UTF-8, and at most [MaxFilename] bytes, with its
// extension where it has one of a usual length.
func displayName(name string) string {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, "\ufffd"))
	if name = strings.TrimSpace(name); name == "" || name == "." || name == ".." {
		return "file"
	}
	if len(name) <= MaxFilename {
		return name
	}
	end := ""
	if dot := strings.LastIndexByte(name, '.'); dot > 0 && len(name)-dot <= 16 {
		end = name[dot:]
	}
	cut := MaxFilename - len(end)
	for !utf8.RuneStart(name[cut]) {
		cut--
	}
	return name[:cut] + end
}
