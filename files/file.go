package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
)

// Status says whether the text of a file can be used.
type Status string

// The statuses of the spec.
const (
	Uploaded  Status = "uploaded"  // the text is still being extracted
	Processed Status = "processed" // the text is there
	Failed    Status = "error"     // there is no text; File.Reason says why
)

// File is an uploaded document without its bytes and its text.
type File struct {
	ID        string // file_…
	Bytes     int64
	CreatedAt int64 // Unix seconds
	ExpiresAt int64 // Unix seconds, 0 for never
	Filename  string
	MIMEType  string // one of the supported types, with the charset it was sent with
	Purpose   string
	Status    Status

	Reason Reason // of a file with the status Failed, otherwise empty
	Note   Note   // about the text of a processed file, often empty
}

// Details says in words what there is to say about the status of the file: why
// it has no text, or what is special about its text. It is empty where there is
// nothing.
func (f *File) Details() string {
	if f.Status == Failed {
		return f.Reason.Sentence()
	}
	return f.Note.Sentence()
}

// Reason says why the text of a document cannot be read.
type Reason string

// The reasons.
const (
	Password    Reason = "password"     // it is encrypted
	Damaged     Reason = "damaged"      // it is broken beyond reading
	TooLarge    Reason = "too_large"    // it is over a limit when unpacked
	Mislabelled Reason = "wrong_format" // its bytes are not of the type that it was sent with
	Undecodable Reason = "undecodable"  // its fonts do not tell which characters they show
	NotText     Reason = "not_text"     // a text file that is not UTF-8 or UTF-16
	TimedOut    Reason = "timeout"      // reading it took too long
	Crashed     Reason = "crashed"      // the reader broke on it
	Unavailable Reason = "unavailable"  // it could not be tried; the next start tries again
)

// Sentence says in words what is the matter with the file, for people.
func (r Reason) Sentence() string {
	switch r {
	case Password:
		return "It is protected by a password."
	case Damaged:
		return "It is damaged."
	case TooLarge:
		return "It is too large when unpacked."
	case Mislabelled:
		return "It is not of the type that it was sent with."
	case Undecodable:
		return "Its fonts do not tell which characters they show."
	case NotText:
		return "It is not text in UTF-8, nor in UTF-16 with a byte order mark."
	case TimedOut:
		return "Reading it took too long."
	case Crashed:
		return "The reader broke on it."
	}
	return "It could not be tried; try again later."
}

// Note says what is special about the text of a document.
type Note string

// The notes.
const (
	NoText  Note = "no_text" // none was found, as in a scan
	Partial Note = "partial" // some could not be read and the text is what is left
	Dynamic Note = "dynamic" // a form that is laid out when it is opened, of which the text is what stands in for it
)

// Sentence says in words, to people and models, what the note says; "" is the
// sentence of no note.
func (n Note) Sentence() string {
	switch n {
	case NoText:
		return "No text was found in this file. It may be a scan: pictures of pages."
	case Partial:
		return "Some of this file could not be read. Its text is what is left."
	case Dynamic:
		return "This file is a dynamic form (XFA), whose contents could not be read. Its text is what other programs show instead."
	}
	return ""
}

// record is what is stored of a [File], whose ID is in the key.
type record struct {
	Bytes    int64  `json:"bytes"`
	Created  int64  `json:"created"`
	Expires  int64  `json:"expires,omitempty"`
	Filename string `json:"filename"`
	MIMEType string `json:"type"`
	Purpose  string `json:"purpose"`
	Status   Status `json:"status"`
	Reason   Reason `json:"reason,omitempty"`
	Note     Note   `json:"note,omitempty"`

	Blob      string `json:"blob"`           // the bytes
	Text      string `json:"text,omitempty"` // the blob of the extracted text
	TextBytes int64  `json:"text_bytes,omitempty"`
}

func (r *record) file(id string) File {
	return File{
		ID: id, Bytes: r.Bytes, CreatedAt: r.Created, ExpiresAt: r.Expires, Filename: r.Filename,
		MIMEType: r.MIMEType, Purpose: r.Purpose, Status: r.Status, Reason: r.Reason, Note: r.Note,
	}
}

// expired reports whether the file is gone at a time.
func (r *record) expired(now time.Time) bool { return r.Expires != 0 && now.Unix() >= r.Expires }

// blobs are all blobs of the file.
func (r *record) blobs() []string {
	if r.Text == "" {
		return []string{r.Blob}
	}
	return []string{r.Blob, r.Text}
}

// errNone says that there is no file with an ID. It does not leave the package.
var errNone = errors.New("files: no such file")

// getRecord reads the record of a file, expired or not, or returns errNone.
func getRecord(tx storage.Tx, id string) (*record, error) {
	if id == "" || len(id) > maxID {
		return nil, errNone
	}
	data, err := tx.Get(recordKey(id))
	if errors.Is(err, storage.ErrNotFound) {
		return nil, errNone
	}
	if err != nil {
		return nil, err
	}
	return decodeRecord(id, data)
}

func decodeRecord(id string, data []byte) (*record, error) {
	r := new(record)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("files: record of %s: %w", id, err)
	}
	return r, nil
}

func setRecord(tx storage.Tx, id string, r *record) error {
	return storage.SetJSON(tx, recordKey(id), r)
}
