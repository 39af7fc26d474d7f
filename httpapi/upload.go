package httpapi

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/files"
)

// The bounds of an upload beside those of its file.
const (
	maxFields     = 100      // parts of the form
	maxField      = 1 << 10  // bytes of the value of a field
	maxPartHeader = 64 << 10 // bytes before a part's content: boundary and header
	maxOverhead   = 1 << 20  // bytes of the body that are not the file
)

// The fields of the form.
const (
	fileField    = "file"
	purposeField = "purpose"
	anchorField  = "expires_after[anchor]"
	secondsField = "expires_after[seconds]"
)

// upload is the reading of one multipart body. Its parts may come in any order,
// so that the file goes to the store before its purpose may be known.
type upload struct {
	*call
	body    *allowance
	parts   *multipart.Reader
	draft   *files.Draft
	untyped bool // the file came without a type: clients send the lines of a batch so
	fields  map[string]string
	sum     hash.Hash // of the names and values of all of them, which stays when the boundary changes
}

// upload reads the body of a call and stores its file.
func (c *call) upload() (files.File, error) {
	if c.r.ContentLength > files.MaxBatch+maxOverhead {
		return files.File{}, fileTooLarge()
	}
	pace := &paced{r: c.r.Body, rc: http.NewResponseController(c.w.ResponseWriter)}
	defer pace.end()
	plain, release, err := c.decoded(pace)
	if err != nil {
		return files.File{}, unreadableForm(err)
	}
	defer release()
	body := &allowance{r: complete(plain)}
	c.r.Body = io.NopCloser(body)
	parts, err := c.r.MultipartReader()
	if err != nil {
		return files.File{}, &fault.Error{Kind: fault.Invalid, Code: fault.CodeValidation, Err: err,
			Message: "The request must be multipart/form-data with a boundary."}
	}
	u := &upload{call: c, body: body, parts: parts, fields: map[string]string{}, sum: sha256.New()}
	file, err := u.read()
	if err != nil && u.draft != nil {
		u.draft.Discard(c.ctx())
	}
	return file, err
}

// read reads all parts and makes the file visible.
func (u *upload) read() (files.File, error) {
	for count := 0; ; count++ {
		u.body.left = maxPartHeader
		part, err := u.parts.NextPart()
		if err == io.EOF {
			return u.finish()
		}
		if err != nil {
			return files.File{}, unreadableForm(err)
		}
		if count == maxFields {
			return files.File{}, fault.Invalidf("", "The form has more than %d fields.", maxFields)
		}
		if err := u.part(part); err != nil {
			return files.File{}, err
		}
	}
}

func (u *upload) part(part *multipart.Part) error {
	switch name := part.FormName(); name {
	case fileField:
		return u.file(part)
	case purposeField, anchorField, secondsField:
		return u.field(name, part)
	}
	// Fields that are not known are ignored, so that newer clients keep working.
	u.body.left = maxPartHeader
	_, err := io.Copy(io.Discard, content{part})
	return err
}

func (u *upload) field(name string, part *multipart.Part) error {
	if _, ok := u.fields[name]; ok {
		return fault.Invalidf(name, "%s was sent twice.", name)
	}
	u.body.left = maxPartHeader
	value, err := io.ReadAll(io.LimitReader(content{part}, maxField+1))
	if err != nil {
		return err
	}
	if len(value) > maxField {
		return fault.Invalidf(name, "%s is longer than %d bytes.", name, maxField)
	}
	u.fields[name] = string(value)
	fmt.Fprintf(u.sum, "%q %q\n", name, value)
	if name == purposeField {
		return u.api.service.CheckPurpose(string(value))
	}
	return nil
}

// file stores the content of the file part.
func (u *upload) file(part *multipart.Part) (err error) {
	if u.draft != nil {
		return fault.Invalidf(fileField, "The form has two files; one file is uploaded per request.")
	}
	mimeType := part.Header.Get("Content-Type")
	kind, _, _ := strings.Cut(mimeType, ";")
	untyped := kind == "" || strings.EqualFold(strings.TrimSpace(kind), "application/octet-stream")
	if untyped && !u.api.service.Open() { // the open interface has the type found
		u.untyped = true
		if mimeType = files.TypeByName(part.FileName()); mimeType != "application/jsonl" {
			return errUntyped()
		}
	}
	u.body.left = files.MaxBatch + maxOverhead
	file := sha256.New()
	u.draft, err = u.api.service.StageFile(u.ctx(), u.caller, part.FileName(), mimeType, io.TeeReader(content{part}, file))
	fmt.Fprintf(u.sum, "%q %q %q %x\n", fileField, part.FileName(), mimeType, file.Sum(nil))
	return err
}

func errUntyped() error {
	return &fault.Error{Kind: fault.Invalid, Code: files.CodeUnsupported, Param: fileField,
		Message: "The file part needs a Content-Type that says what the file is, such as text/markdown or application/pdf; " +
			"application/octet-stream does not. With curl: -F 'file=@notes.md;type=text/markdown'."}
}

// finish makes the file visible once the whole form is there.
func (u *upload) finish() (files.File, error) {
	if u.draft == nil {
		return files.File{}, fault.Invalidf(fileField, "The form has no part named file.")
	}
	if u.untyped && u.fields[purposeField] != files.Batch {
		return files.File{}, errUntyped()
	}
	after, err := u.expiresAfter()
	if err != nil {
		return files.File{}, err
	}
	if err := u.once(u.sum.Sum(nil)); err != nil {
		return files.File{}, err
	}
	u.draft.Claim = u.caller.Claim
	return u.draft.Commit(u.ctx(), u.fields[purposeField], after)
}

// expiresAfter reads the fields expires_after[…], which come together or not at
// all.
func (u *upload) expiresAfter() (time.Duration, error) {
	anchor, anchored := u.fields[anchorField]
	text, timed := u.fields[secondsField]
	if !anchored && !timed {
		return 0, nil
	}
	if anchor != "created_at" {
		return 0, fault.Invalidf(anchorField, "%s must be created_at.", anchorField)
	}
	seconds, err := strconv.ParseInt(text, 10, 32)
	if err != nil || seconds <= 0 {
		return 0, fault.Invalidf(secondsField, "%s must be a number of seconds between %d and %d.", secondsField,
			int(files.MinExpiry.Seconds()), int(files.MaxExpiry.Seconds()))
	}
	return time.Duration(seconds) * time.Second, nil
}

func fileTooLarge() error {
	return &fault.Error{Kind: fault.TooLarge, Code: files.CodeTooLarge, Param: fileField,
		Message: "The file is larger than 200 MB (200,000,000 bytes)."}
}

// content is the content of a part. Its errors are those of the form.
type content struct{ part *multipart.Part }

// Read implements [io.Reader].
func (c content) Read(p []byte) (int, error) {
	n, err := c.part.Read(p)
	if err != nil && err != io.EOF {
		err = unreadableForm(err)
	}
	return n, err
}

// unreadableForm returns an Invalid error for a form that cannot be read, such
// as one that ends in the middle.
func unreadableForm(err error) error {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e // the allowance is used up
	}
	return &fault.Error{Kind: fault.Invalid, Code: fault.CodeValidation, Err: err,
		Message: "The form could not be read; it may have been cut off."}
}

// allowance is a body of which a bounded number of bytes is read until more are
// allowed, so that an endless header does not hold up the server.
type allowance struct {
	r    io.Reader
	left int64 // bytes that may be read
}

// Read implements [io.Reader].
func (a *allowance) Read(p []byte) (int, error) {
	if a.left <= 0 {
		return 0, fault.Invalidf("", "The form has too much beside its file.")
	}
	n, err := a.r.Read(p[:min(int64(len(p)), a.left)])
	a.left -= int64(n)
	return n, err
}

// complete returns a form in which the end of the body is not the end of the
// form, as package multipart takes it to be in the header of a part: only the
// last boundary is. That may have no line end of its own.
func complete(body io.Reader) io.Reader {
	return io.MultiReader(body, strings.NewReader("\r\n"), cutOff{})
}

// cutOff is what is behind the end of a form that has not ended.
type cutOff struct{}

// Read implements [io.Reader].
func (cutOff) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
