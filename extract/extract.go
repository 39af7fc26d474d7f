// Package extract reads the text of documents: PDF, Word of every generation, RTF,
// HTML, PowerPoint and Excel. It is pure Go, needs no other program, and is made for documents from
// strangers.
//
// What comes out is Markdown, as language models and search engines like it:
// headings, lists with their numbers, tables as rows between bars, links with their
// addresses, footnotes, comments and form fields where they stand. Text keeps its
// reading order, in columns, from right to left and in vertical lines. Hidden and
// deleted text stays out.
//
// Each format has a [Reader] in a package of its own, so that a program links the
// formats that it names and no others:
//
//   - [github.com/seed-506d8e5d/svc/extract/pdf]: PDF, also encrypted with the empty
//     password, damaged or cut short
//   - [github.com/seed-506d8e5d/svc/extract/docx]: Word since 2007, Office Open XML
//   - [github.com/seed-506d8e5d/svc/extract/doc]: Word 2 to 2003
//   - [github.com/seed-506d8e5d/svc/extract/rtf]: Rich Text Format
//   - [github.com/seed-506d8e5d/svc/extract/html]: web pages
//   - [github.com/seed-506d8e5d/svc/extract/pptx]: PowerPoint since 2007
//   - [github.com/seed-506d8e5d/svc/extract/xlsx]: Excel since 2007
//
// [Any] puts readers together into one that looks at the bytes of a document, not at
// its name.
//
// Every reader bounds what it unpacks, the depth of what it parses and the length of
// the text, and stops soon after its context ends. None uses files, the network or
// other processes, and none keeps state between calls. The errors tell why a
// document has no text, so that a program can tell its user; a document that is
// damaged but readable in part gives what is left. A server that reads documents
// from strangers should still do so in a process of its own with a bound on memory:
// Go cannot catch a program that runs out of it.
package extract

import (
	"context"
	"errors"
	"io"
)

// Reader finds the text in documents of a format. Its methods may be called
// concurrently.
type Reader interface {
	// Types are the MIME types of the format, the preferred one first.
	Types() []Type

	// Read returns the text in the size bytes of r and retains neither. It returns
	// the context's error soon after ctx ends. Every other error wraps one of this
	// package. A panic is a bug of the reader; a program that reads documents from
	// strangers should recover from it.
	Read(ctx context.Context, r io.ReaderAt, size int64) (Document, error)
}

// Type is a MIME type and the extensions of the names of its files.
type Type struct {
	MIME       string   // in lower case
	Extensions []string // in lower case with the dot: ".pdf"
}

// Document is what a [Reader] found.
type Document struct {
	Text    string // Markdown in UTF-8; empty for a document without text, such as a scan
	Pages   int    // 0 where the format has none
	Partial bool   // part of the document could not be read; Text is the rest
	Dynamic bool   // the text appears only in a program that runs the document (XFA); Text is its placeholder
}

// The errors of readers.
var (
	// ErrFormat means that the bytes are of another format.
	ErrFormat = errors.New("not a document of this format")
	// ErrPassword means that the document is encrypted.
	ErrPassword = errors.New("the document is protected by a password")
	// ErrDamaged means that nothing of the document can be read.
	ErrDamaged = errors.New("the document is damaged")
	// ErrTooLarge means that the document, what it unpacks to or its text is over a limit.
	ErrTooLarge = errors.New("the document is over a limit when unpacked")
	// ErrUndecodable means that the fonts of the document do not tell which
	// characters its glyphs are.
	ErrUndecodable = errors.New("the fonts of the document do not tell which characters their glyphs are")
)

// Any returns a [Reader] for the formats of all readers. It tries them in their order
// until one does not return [ErrFormat]. Readers that look at the first bytes alone
// (doc, rtf, pdf) belong before docx, which also finds a container behind other bytes.
func Any(readers ...Reader) Reader { return anyReader(readers) }

type anyReader []Reader

func (a anyReader) Types() []Type {
	var types []Type
	for _, r := range a {
		types = append(types, r.Types()...)
	}
	return types
}

func (a anyReader) Read(ctx context.Context, r io.ReaderAt, size int64) (Document, error) {
	for _, reader := range a {
		d, err := reader.Read(ctx, r, size)
		if !errors.Is(err, ErrFormat) {
			return d, err
		}
	}
	return Document{}, ErrFormat
}
