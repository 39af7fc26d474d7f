package docxtext

import (
	"archive/zip"
	"bytes"
	"fmt"

	"github.com/nguyenthenguyen/docx"
)

// mainMarkup returns the markup of the main part as the docx library reads it.
// The library unpacks every part that looks like a header or footer and insists
// on two names, so it is given a container of its own with the main part alone.
func mainMarkup(body []byte) (string, error) {
	var buf bytes.Buffer
	buf.Grow(len(body) + 4096)
	w := zip.NewWriter(&buf)
	for _, part := range []struct {
		name string
		data []byte
	}{
		{"word/document.xml", body},
		{"word/_rels/document.xml.rels", nil},
	} {
		f, err := w.CreateHeader(&zip.FileHeader{Name: part.name, Method: zip.Store})
		if err != nil {
			return "", fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		if _, err := f.Write(part.data); err != nil {
			return "", fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	if err := w.Close(); err != nil {
		return "", fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	doc, err := docx.ReadDocxFromMemory(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	content := doc.Editable().GetContent()
	if err := doc.Close(); err != nil {
		return "", fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return content, nil
}
