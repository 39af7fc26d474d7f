// Package wordtext reads Word documents of every generation, by what they are
// and not by what they are called.
package wordtext

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/seed-506d8e5d/svc/files/doctext"
	"github.com/seed-506d8e5d/svc/files/docxtext"
	"github.com/seed-506d8e5d/svc/files/reading"
	"github.com/seed-506d8e5d/svc/files/rtftext"
)

// Reader reads .doc and .docx files, and their kin with macros and templates. A
// file under the other's name is read as what its bytes are, and so is RTF, which
// Word opens under any of their names.
type Reader struct{}

var _ reading.Reader = Reader{}

// Name implements [reading.Reader].
func (Reader) Name() string { return "word" }

// Types implements [reading.Reader].
func (Reader) Types() []reading.Type {
	const modern, macros = "application/vnd.openxmlformats-officedocument.wordprocessingml.", "application/vnd.ms-word."
	return []reading.Type{
		{MIME: modern + "document", Names: []string{".docx"}},
		{MIME: modern + "template", Names: []string{".dotx"}},
		{MIME: macros + "document.macroenabled.12", Names: []string{".docm"}},
		{MIME: macros + "template.macroenabled.12", Names: []string{".dotm"}},
		{MIME: "application/msword", Names: []string{".doc", ".dot"}},
	}
}

// compoundMagic begins a compound file: a .doc, or a .docx that is encrypted.
const compoundMagic = "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"

// Read implements [reading.Reader].
func (Reader) Read(ctx context.Context, r io.ReaderAt, size int64) (reading.Text, error) {
	magic := make([]byte, len(compoundMagic))
	n, _ := r.ReadAt(magic, 0) // what is too short is no document
	switch magic := string(magic[:n]); {
	case magic == compoundMagic:
		return doctext.Extract(ctx, r, size)
	case strings.HasPrefix(magic, rtftext.Magic):
		return rtftext.Extract(ctx, r, size)
	}
	text, err := docxtext.Extract(ctx, r, size)
	if errors.Is(err, reading.ErrFormat) { // Word 2 and before used no container
		return doctext.Extract(ctx, r, size)
	}
	return text, err
}
