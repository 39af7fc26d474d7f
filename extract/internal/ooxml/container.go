// Package ooxml reads the containers and the markup of Office Open XML: .docx, .pptx and
// .xlsx files. Everything is bounded: the number of parts, their unpacked sizes and the
// length of a tag.
package ooxml

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/seed-506d8e5d/svc/extract"
	"github.com/seed-506d8e5d/svc/extract/internal/word"
)

// Limits on what one document may unpack to. Above ratioFloor a part may not be
// more than maxRatio times its packed size.
const (
	MaxPart = 128 << 20 // bytes of one unpacked part with the text of a document
	MaxSide = 16 << 20  // bytes of another part

	maxParts     = 20_000
	maxDirectory = 8 << 20   // bytes of the container's directory
	maxTotal     = 256 << 20 // bytes of all parts that are read
	maxRatio     = 200
	ratioFloor   = 16 << 20
	maxTag       = 1 << 20 // bytes of one start tag
)

// ErrNoPart is the error of [Container.Read] for a part that is not there.
var ErrNoPart = errors.New("no such part")

// Container is the zip file around the parts of a document. It counts what is
// unpacked and remembers whether anything was damaged.
type Container struct {
	Spent   int64 // bytes unpacked so far
	Damaged bool

	src   source
	parts map[string]*zip.File // by [PartKey]
}

// Open reads the directory of the container and nothing else.
func Open(ctx context.Context, r io.ReaderAt, size int64) (*Container, error) {
	src := source{word.NewReader(ctx, r, maxDirectory)}
	magic := make([]byte, 8)
	if _, err := io.ReadFull(io.NewSectionReader(src, 0, size), magic); err != nil {
		return nil, src.classify(extract.ErrFormat, err)
	}
	z, err := zip.NewReader(src, size)
	if err != nil {
		if bytes.HasPrefix(magic, []byte("PK")) {
			return nil, src.classify(extract.ErrDamaged, err)
		}
		return nil, src.classify(extract.ErrFormat, err)
	}
	if len(z.File) > maxParts {
		return nil, fmt.Errorf("%w: %d parts", extract.ErrTooLarge, len(z.File))
	}
	src.Lift()
	c := &Container{src: src, parts: make(map[string]*zip.File, len(z.File))}
	for _, f := range z.File {
		if key := PartKey(f.Name); c.parts[key] == nil {
			c.parts[key] = f
		}
	}
	return c, nil
}

// PartKey makes the names of parts comparable: they are case-insensitive, and
// some writers use backslashes or a leading slash.
func PartKey(name string) string {
	return strings.ToLower(strings.TrimPrefix(strings.ReplaceAll(name, `\`, "/"), "/"))
}

// Has reports whether there is a part.
func (c *Container) Has(name string) bool { return c.parts[PartKey(name)] != nil }

// Read unpacks a part of at most limit bytes. It returns ErrNoPart if there is
// none, and what could be read if the part is damaged but not empty.
func (c *Container) Read(name string, limit int64) ([]byte, error) {
	f := c.parts[PartKey(name)]
	if f == nil {
		return nil, ErrNoPart
	}
	const encrypted = 1
	if f.Flags&encrypted != 0 {
		return nil, extract.ErrPassword
	}
	size := f.UncompressedSize64
	if size > uint64(limit) || c.Spent+int64(size) > maxTotal {
		return nil, fmt.Errorf("%w: part %q unpacks to %d bytes", extract.ErrTooLarge, name, size)
	}
	if size > ratioFloor && size/maxRatio > f.CompressedSize64 {
		return nil, fmt.Errorf("%w: part %q is a bomb", extract.ErrTooLarge, name)
	}
	c.Spent += int64(size)
	rc, err := f.Open()
	if err != nil {
		return nil, c.src.classify(extract.ErrDamaged, err)
	}
	defer rc.Close()
	data, err := io.ReadAll(rc) // archive/zip never reads more than the declared size
	if err == nil {
		return data, nil
	}
	err = c.src.classify(extract.ErrDamaged, err)
	if len(data) == 0 || !errors.Is(err, extract.ErrDamaged) {
		return nil, err
	}
	c.Damaged = true
	return data, nil
}

// ReadSide unpacks a part that the document can do without, and returns nil if
// that fails for any reason but the end of the context. A part that is there
// and cannot be read makes the document count as damaged.
func (c *Container) ReadSide(name string, limit int64) ([]byte, error) {
	data, err := c.Read(name, limit)
	if ended := c.src.Err(); err != nil && ended != nil {
		return nil, ended
	}
	if err != nil && !errors.Is(err, ErrNoPart) {
		c.Damaged = true
	}
	return data, nil
}

// source is the file, with a budget for the reading of its directory.
type source struct{ *word.Reader }

// classify gives a failed read its sentinel: the context's error and the
// exhausted budget are what they are, anything else is otherwise.
func (s source) classify(otherwise, err error) error {
	switch ended := s.Err(); {
	case errors.Is(ended, word.ErrBudget):
		return fmt.Errorf("%w: the directory is over %d bytes", extract.ErrTooLarge, maxDirectory)
	case ended != nil:
		return ended
	}
	return fmt.Errorf("%w: %w", otherwise, err)
}
