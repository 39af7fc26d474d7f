package badgerstore

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/backup"
)

// earlier are stores of earlier versions with the backups that were made of them right
// before the end: one from before there was a log and whose process was killed, one that
// was closed, and one whose process was killed, both with a log and value logs.
var earlier = []string{"old-store", "2026-11-closed", "2026-11-killed"}

// unpackEarlier unpacks a store of an earlier version, and returns its directory and
// what it has.
func unpackEarlier(t *testing.T, name string) (dir string, want []byte) {
	t.Helper()
	root := t.TempDir()
	unpack(t, "testdata/"+name+".tar.gz", root)
	want, err := os.ReadFile(filepath.Join(root, "backup"))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "store"), want
}

// TestEarlierStore opens stores of earlier versions, again and again: everything is
// there, and nothing is left of their files.
func TestEarlierStore(t *testing.T) {
	for _, name := range earlier {
		t.Run(name, func(t *testing.T) {
			dir, want := unpackEarlier(t, name)
			for range 3 {
				checkBackup(t, dir, want)
			}
			for _, pattern := range []string{"*.vlog", "*.mem", "MANIFEST", "DISCARD", "KEYREGISTRY"} {
				if names, _ := filepath.Glob(filepath.Join(dir, pattern)); len(names) > 0 {
					t.Errorf("%q are left", names)
				}
			}
			if found := check(t, dir); len(found) > 0 {
				t.Errorf("Check: %q", found)
			}
		})
	}
}

// checkBackup opens a store and compares a backup of it.
func checkBackup(t *testing.T, dir string, want []byte) {
	t.Helper()
	s, err := Open(Options{Dir: dir})
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

// TestConversionIsCutShort cuts the power at each sync of a conversion, and converts
// again.
func TestConversionIsCutShort(t *testing.T) {
	for _, name := range []string{"old-store", "2026-11-killed"} {
		t.Run(name, func(t *testing.T) {
			n := 1
			for !convertUntil(t, name, n) {
				n++
			}
			t.Logf("cut short %d times", n-1)
		})
	}
}

// convertUntil converts a store of an earlier version, whose power is cut at the sync
// with a number, and looks whether everything is there. It reports whether there was
// no such sync.
func convertUntil(t *testing.T, name string, sync int) (ended bool) {
	cut := errors.New("the power is cut")
	dir, want := unpackEarlier(t, name)
	syncs := 0
	synced = func(string) {
		if syncs++; syncs == sync {
			panic(cut)
		}
	}
	defer func() { synced = nil }()
	ended = func() (ended bool) {
		defer func() {
			if r := recover(); r != nil && r != cut {
				panic(r)
			}
		}()
		set := settingsOf(Options{Dir: dir})
		if err := set.convert(); err != nil {
			t.Fatal(err)
		}
		return true
	}()
	synced = nil
	checkBackup(t, dir, want)
	return ended
}

// TestDamagedEarlierStore damages stores of an earlier version: they are not converted,
// and nothing is removed of them.
func TestDamagedEarlierStore(t *testing.T) {
	for _, test := range []struct{ pattern, want string }{
		{"*.sst", ".sst"}, {"000005.vlog", "value log"}, {"MANIFEST", "MANIFEST"}, {"*.log", "the log is missing"},
	} {
		dir, _ := unpackEarlier(t, "2026-11-closed")
		at := 30
		if test.pattern == "*.log" {
			at = 20
		}
		if test.pattern == "000005.vlog" {
			at = 300_000
		}
		flip(t, dir, test.pattern, at)
		before, err := filepath.Glob(filepath.Join(dir, "*.[sv]*"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = Open(Options{Dir: dir})
		if !errors.Is(err, storage.ErrDamaged) || !strings.Contains(fmt.Sprint(err), test.want) {
			t.Errorf("%s: %v, want %s", test.pattern, err, test.want)
		}
		if after, _ := filepath.Glob(filepath.Join(dir, "*.[sv]*")); len(after) != len(before) {
			t.Errorf("%s: of %q there are %q", test.pattern, before, after)
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
