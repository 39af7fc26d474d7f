package doc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/richardlehane/mscfb"

	"github.com/seed-506d8e5d/svc/extract"
	"github.com/seed-506d8e5d/svc/extract/internal/word"
)

// file gives the streams of a document by their names in lower case.
type file struct {
	src     *source
	streams map[string]*mscfb.File
	flat    []byte // the whole of a file that is not a compound file
	damaged bool
}

const (
	compoundMagic = "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"
	mainStream    = "worddocument"
)

// open finds the streams of a compound file, or reads a flat file of Word 1 or 2.
func open(ctx context.Context, r io.ReaderAt, size int64) (*file, error) {
	src := &source{word.NewReader(ctx, r, maxDirectory), size}
	f := &file{src: src}
	magic := make([]byte, 8)
	if _, err := io.ReadFull(io.NewSectionReader(src, 0, size), magic); err != nil {
		return nil, src.classify(extract.ErrFormat, err)
	}
	if isFlat(magic) {
		if size > maxStream {
			return nil, fmt.Errorf("%w: %d bytes", extract.ErrTooLarge, size)
		}
		src.Lift()
		f.flat = make([]byte, size)
		if _, err := io.ReadFull(io.NewSectionReader(src, 0, size), f.flat); err != nil {
			return nil, src.classify(extract.ErrDamaged, err)
		}
		return f, nil
	}
	if string(magic) != compoundMagic {
		return nil, extract.ErrFormat
	}
	compound, err := mscfb.New(src)
	if err != nil {
		return nil, src.classify(extract.ErrDamaged, err)
	}
	src.Lift()
	f.streams = map[string]*mscfb.File{}
	for _, entry := range compound.File {
		name := strings.ToLower(entry.Name)
		if len(entry.Path) == 0 && f.streams[name] == nil {
			f.streams[name] = entry
		}
	}
	switch {
	case f.streams["encryptedpackage"] != nil: // beside an empty document, sometimes
		return nil, extract.ErrPassword
	case f.streams[mainStream] != nil:
		return f, nil
	}
	return nil, fmt.Errorf("%w: the compound file holds no document", extract.ErrFormat)
}

// isFlat knows the first bytes of Word 1 and 2, which used no compound file.
func isFlat(magic []byte) bool {
	switch binary.LittleEndian.Uint16(magic) {
	case 0xA59B, 0xA59C, 0xA5DB:
		return true
	}
	return false
}

// stream reads a stream, as far as that is possible, and returns nil if there is
// none. The size of a stream is whatever the file says, so that it is held to
// the size of the file.
func (f *file) stream(name string) ([]byte, error) {
	entry := f.streams[name]
	if entry == nil {
		return nil, nil
	}
	size := min(entry.Size, f.src.size)
	if size > maxStream {
		return nil, fmt.Errorf("%w: stream %q has %d bytes", extract.ErrTooLarge, name, size)
	}
	if size < entry.Size {
		f.damaged = true
	}
	// Sector by sector, since a read in mscfb fails as a whole, and takes time
	// quadratic in its sectors.
	const cutoff, sector, miniSector = 4096, 512, 64
	buf := make([]byte, sector)
	if entry.Size < cutoff {
		buf = buf[:miniSector]
	}
	var data bytes.Buffer
	for int64(data.Len()) < size {
		n, err := entry.Read(buf[:min(int64(len(buf)), size-int64(data.Len()))])
		data.Write(buf[:n])
		if errors.Is(err, io.EOF) || err == nil && n == 0 {
			break
		}
		if err != nil {
			if ended := f.src.Err(); ended != nil {
				return nil, ended
			}
			f.damaged = true
			break
		}
	}
	return data.Bytes(), nil
}

// source is the file, with zeros after its end where a last sector is cut short,
// and with a budget for the reading of the directory.
type source struct {
	*word.Reader
	size int64
}

const sector = 4096 // the largest there is

func (s *source) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= s.size {
		return 0, io.EOF
	}
	n, err := s.Reader.ReadAt(p[:min(int64(len(p)), s.size-off)], off)
	if n < len(p) && off+int64(n) == s.size && (err == nil || errors.Is(err, io.EOF)) {
		padded := (s.size + sector - 1) / sector * sector
		zeros := p[n:min(int64(len(p)), padded-off)]
		clear(zeros)
		n, err = n+len(zeros), nil
		if n < len(p) {
			err = io.EOF
		}
	}
	return n, err
}

// classify gives a failed read its sentinel: the context's error and the
// exhausted budget are what they are, anything else is otherwise.
func (s *source) classify(otherwise, err error) error {
	switch ended := s.Err(); {
	case errors.Is(ended, word.ErrBudget):
		return fmt.Errorf("%w: the directory is over %d bytes", extract.ErrTooLarge, maxDirectory)
	case ended != nil:
		return ended
	}
	return fmt.Errorf("%w: %w", otherwise, err)
}
