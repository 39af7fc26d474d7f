package files

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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
	MIMEType string // one of the supported types, with or without parameters; any or none with [Options].Open
	Content  io.Reader

	Purpose      string        // [Purpose] or [Batch], or one of [OpenPurposes] with [Options].Open
	ExpiresAfter time.Duration // [MinExpiry] to [MaxExpiry], or 0 for never
}

// Create stores a file. It reads the content to its end, or to the first byte
// over [MaxBytes], [MaxBatch] for JSON Lines, and holds about a megabyte of it at a time. A text file is
// processed at once, or failed where it is not text; others are uploaded, and
// processed or failed a little later.
//
// The error is Invalid where a field is, with the code unsupported_file_type
// where that is the type, TooLarge, or that of the content. Nothing is stored
// then.
func (s *Service) Create(ctx context.Context, caller accounts.Caller, u Upload) (File, error) {
	if err := errors.Join(s.CheckPurpose(u.Purpose), checkExpiry(u.ExpiresAfter)); err != nil {
		return File{}, err
	}
	d, err := s.Stage(ctx, caller, u.Filename, u.MIMEType, u.Content)
	if err != nil {
		return File{}, err
	}
	return d.Commit(ctx, u.Purpose, u.ExpiresAfter)
}

// CheckPurpose returns an Invalid error for a purpose that no file may be uploaded for.
func (s *Service) CheckPurpose(purpose string) error {
	purposes := []string{Purpose, Batch}
	if s.open {
		purposes = append(purposes, OpenPurposes...)
	}
	if slices.Contains(purposes, purpose) {
		return nil
	}
	last := len(purposes) - 1
	list := `"` + strings.Join(purposes[:last], `", "`) + `" or "` + purposes[last] + `"`
	if purpose == "" {
		return fault.Invalidf("purpose", "purpose is required; it must be %s.", list)
	}
	return fault.Invalidf("purpose", "purpose must be %s, not %.64q.", list, purpose)
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
	if s.open {
		peeked := bufio.NewReaderSize(content, headBytes)
		head, err := peeked.Peek(headBytes)
		if err != nil && err != io.EOF {
			return nil, err
		}
		mimeType, content = s.typeOf(filename, mimeType, head), peeked
	}
	format, err := s.formatOf(mimeType)
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
	limit := int64(MaxBytes)
	if isLines(mimeType) {
		limit = MaxBatch // Commit knows the purpose
	}
	d.blob, err = s.writeBlob(ctx, d.ns, d.record.Blob, content, limit)
	d.record.Bytes = d.blob.size
	if errors.Is(err, errOverLimit) {
		return nil, errTooLarge(limit)
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

func errTooLarge(limit int64) error {
	return &fault.Error{Kind: fault.TooLarge, Code: CodeTooLarge, Param: "file",
		Message: fmt.Sprintf("The file is larger than %d MB (%[1]d,000,000 bytes).", limit/1_000_000)}
}

// checkFor returns an error for a draft that may not be a file of a purpose.
func (d *Draft) checkFor(purpose string) error {
	switch {
	case purpose == Batch && !isLines(d.record.MIMEType):
		e := fault.Invalidf("file", "The file of a batch must be JSON Lines: send it with the type application/jsonl.")
		e.Code = CodeUnsupported
		return e
	case purpose != Batch && d.record.Bytes > MaxBytes:
		return errTooLarge(MaxBytes)
	}
	return d.service.CheckPurpose(purpose)
}

// StageOutput stores the bytes of a file that the service makes itself, of any size:
// JSON Lines with the purpose [BatchOutput].
func (s *Service) StageOutput(ctx context.Context, caller accounts.Caller, filename string, content io.Reader) (*Draft, error) {
	d := &Draft{service: s, ns: caller.Namespace(), record: record{
		Filename: filename, MIMEType: linesType, Status: Processed, Blob: s.newID("blob"), Purpose: BatchOutput,
	}}
	var err error
	d.blob, err = s.writeBlob(ctx, d.ns, d.record.Blob, content, maxOutput)
	d.record.Bytes = d.blob.size
	return d, err
}

// CommitOutput is Commit for a draft of [Service.StageOutput]. also writes in the
// same transaction.
func (d *Draft) CommitOutput(ctx context.Context, expiresAfter time.Duration, also func(tx storage.Tx, id string) error) (File, error) {
	return d.commit(ctx, BatchOutput, expiresAfter, also)
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
	if err := errors.Join(d.checkFor(purpose), checkExpiry(expiresAfter)); err != nil {
		return File{}, d.service.abandon(ctx, d.ns, d.record.Blob, err)
	}
	return d.commit(ctx, purpose, expiresAfter, d.Claim.Did)
}

func (d *Draft) commit(ctx context.Context, purpose string, expiresAfter time.Duration, also func(tx storage.Tx, id string) error) (File, error) {
	s := d.service
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
		return also(tx, id)
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
