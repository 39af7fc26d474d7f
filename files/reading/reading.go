// Package reading is what the readers of documents have in common: the interface
// [Reader], of which each format has one in a package of its own, and the errors
// that tell why a document has no text to give.
package reading

import (
	"context"
	"errors"
	"io"
)

// Reader finds the text in the documents of one format. Its methods may be
// called concurrently.
type Reader interface {
	// Name is the name of the format in logs, a short word in lower case.
	Name() string

	// Types are the MIME types of the format, in lower case.
	Types() []Type

	// Read returns the text in the size bytes of r, of which it keeps nothing. It
	// bounds what it unpacks, and returns the context's error soon after ctx
	// ends. Every other error wraps one of this package; a panic is a fault of
	// the reader, which the caller should expect on documents from strangers.
	Read(ctx context.Context, r io.ReaderAt, size int64) (Text, error)
}

// Type is a MIME type and the ends of the names of files that have it, such as
// ".pdf". The first type of a reader that has an end stands for the name.
type Type struct {
	MIME  string
	Names []string
}

// Text is what a Reader found.
type Text struct {
	Text    string // UTF-8; empty for a document without text, such as a scan
	Pages   int    // 0 where the format has none
	Partial bool   // some of the document could not be read and Text is the rest
	Dynamic bool   // the document is laid out when it is opened, and Text only stands in for it
}

// The reasons why a document has no text to give.
var (
	// ErrFormat means that the bytes are of another format.
	ErrFormat = errors.New("not a document of this format")
	// ErrPassword means that the document is encrypted.
	ErrPassword = errors.New("the document is protected by a password")
	// ErrDamaged means that nothing of the document can be read.
	ErrDamaged = errors.New("the document is damaged")
	// ErrTooLarge means that the document, what it unpacks to or its text is over a limit.
	ErrTooLarge = errors.New("the document is over a limit when unpacked")
	// ErrUndecodable means that the document does not tell which characters its
	// glyphs are.
	ErrUndecodable = errors.New("the fonts of the document do not tell which characters their glyphs are")
)
