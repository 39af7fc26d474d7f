package badgerstore

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-506d8e5d/svc/storage/backup"
)

// TestOldStore opens a store from before there was a log, whose process was
// killed, again and again. testdata/old-store.tar.gz has it and the backup that
// was made of it right before the kill.
func TestOldStore(t *testing.T) {
	dir := t.TempDir()
	unpack(t, "testdata/old-store.tar.gz", dir)
	want, err := os.ReadFile(filepath.Join(dir, "backup"))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		s, err := Open(Options{Dir: filepath.Join(dir, "store")})
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := errors.Join(backup.Write(t.Context(), s, &got), s.Close()); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Fatalf("the store has %d bytes, other ones than the %d that it had", got.Len(), len(want))
		}
	}
}

// unpack unpacks an archive into a directory.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o700)
		} else {
			var data []byte
			if data, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, data, 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
