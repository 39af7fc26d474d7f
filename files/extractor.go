package files

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Extractor finds the text in PDF and Word documents. A program that has another
// reader for some format implements Extractor around [Process] or [InProcess],
// and hands them the other formats. Extract may be called concurrently.
type Extractor interface {
	// Extract reads a document of size bytes that is said to be of the format:
	// PDF or Word. It returns when ctx ends, with the context's error. Of a
	// document that cannot be read the error is an *[Unreadable]. Any other error
	// stands for a cause that can pass, and the document is tried again.
	//
	// The service makes the text valid UTF-8, and refuses one over [MaxText].
	Extract(ctx context.Context, doc io.Reader, size int64, format Format) (Extracted, error)
}

// Extracted is what an [Extractor] found in a document. A scan has no text; that
// is no error.
type Extracted struct {
	Text    string
	Pages   int  // 0 where the format has none
	Partial bool // some of the document could not be read and Text is what is left
	Dynamic bool // the document is a form that is laid out when it is opened, and Text only stands in for it
}

// Unreadable is the error of a document whose text cannot be read, however often
// it is tried.
type Unreadable struct {
	Reason Reason
	Err    error // more about it, for logs; may be nil
}

// Error returns the reason, and the cause where there is one.
func (u *Unreadable) Error() string {
	if u.Err == nil {
		return "files: unreadable document: " + string(u.Reason)
	}
	return fmt.Sprintf("files: unreadable document: %s: %v", u.Reason, u.Err)
}

// Unwrap returns the cause.
func (u *Unreadable) Unwrap() error { return u.Err }

var (
	errTextOverLimit = errors.New("the text is over the limit")
	errTimeout       = errors.New("the time is up")
)
