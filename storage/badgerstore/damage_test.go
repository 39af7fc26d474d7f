package badgerstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/backup"
)

// fill makes a store with small and large values and closes it, or leaves it as a
// kill does.
func fill(t *testing.T, dir string, killed bool) {
	t.Helper()
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		err := s.Update(t.Context(), "n", func(tx storage.Tx) error {
			return tx.Set(fmt.Appendf(nil, "%03d", i), fillValue(i))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !killed {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return
	}
	abandon(t, s, dir)
}

func fillValue(i int) []byte {
	if i%50 == 7 {
		return bytes.Repeat([]byte{byte(i)}, valueThreshold+i)
	}
	return bytes.Repeat([]byte{byte(i)}, 100)
}

// abandon leaves a directory as a kill of the process would: what is in it is
// copied, the store closed, and the copy put in its place.
func abandon(t *testing.T, s *Store, dir string) {
	t.Helper()
	killed := copyStore(t, dir)
	if err := errors.Join(s.Close(), os.RemoveAll(dir), os.Rename(killed, dir)); err != nil {
		t.Fatal(err)
	}
}

// copyStore copies the directory of a running store as it is at one moment:
// one in which badger's tables do not change.
func copyStore(t *testing.T, dir string) string {
	t.Helper()
	for {
		to := t.TempDir()
		before, err := os.ReadFile(filepath.Join(dir, manifestFile))
		if err != nil {
			t.Fatal(err)
		}
		err = copyFiles(to, dir)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, io.EOF) {
			if err := os.RemoveAll(to); err != nil {
				t.Fatal(err)
			}
			continue // compacted away or cut off meanwhile
		}
		if err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(filepath.Join(dir, manifestFile))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(before, after) {
			return to
		}
	}
}

// copyFiles copies the files of a directory, without the zeros in them.
func copyFiles(to, from string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := copyFile(filepath.Join(to, e.Name()), filepath.Join(from, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	size, err := in.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	end, err := lastByte(in, size)
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.NewSectionReader(in, 0, end))
	return errors.Join(err, out.Truncate(size), out.Close())
}

// flip changes bytes of the first file that matches, in the middle of it or at
// an offset.
func flip(t *testing.T, dir, pattern string, at int64) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("no file %s: %v", pattern, err)
	}
	data, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	if at < 0 {
		at += int64(len(data))
	}
	for i := range 4 {
		data[at+int64(i)] ^= 0x55
	}
	if err := os.WriteFile(names[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	return filepath.Base(names[0])
}

// whereIs returns where a value is in the first file of large values.
func whereIs(t *testing.T, dir string, value []byte) int64 {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, valueName(1)))
	at := bytes.Index(data, value)
	if err != nil || at < 0 {
		t.Fatalf("the value is not there: %v", err)
	}
	return int64(at)
}

// TestDamagedTable flips bytes in a table: the store is not opened, Check says
// where, and to salvage it leaves the rest.
func TestDamagedTable(t *testing.T) {
	for name, at := range map[string]int64{"in a block": 3000, "in the index": -40} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir, false)
			file := flip(t, dir, "*.sst", at)
			_, err := Open(Options{Dir: dir})
			if !errors.Is(err, storage.ErrDamaged) || !strings.Contains(err.Error(), file) {
				t.Fatalf("Open: %v, want that %s is damaged", err, file)
			}
			found := check(t, dir)
			if len(found) != 1 || !strings.Contains(found[0], file) {
				t.Errorf("Check: %q, want %s", found, file)
			}
			var log bytes.Buffer
			s, err := Open(Options{Dir: dir, Salvage: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(log.String(), file) {
				t.Errorf("the log does not say what is lost: %s", log.String())
			}
			left := 0
			for i := range 300 {
				if s.View(t.Context(), "n", func(tx storage.Tx) error {
					value, err := tx.Get(fmt.Appendf(nil, "%03d", i))
					if err == nil && !bytes.Equal(value, fillValue(i)) {
						t.Errorf("%d has %d other bytes", i, len(value))
					}
					return err
				}) == nil {
					left++
				}
			}
			if left == 300 || at > 0 && left < 100 {
				t.Errorf("%d records are left of 300", left)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			openDir(t, dir) // without salvage
		})
	}
}

// check returns what Check finds.
func check(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	if _, err := Check(context.Background(), dir, func(err error) { found = append(found, err.Error()) }); err != nil {
		t.Fatal(err)
	}
	return found
}

// TestDamagedValue flips bytes in the value log: reading it is an error, told once
// with the place, a backup fails, and what is behind it is there.
func TestDamagedValue(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, false)
	file := flip(t, dir, "*.vlog", whereIs(t, dir, fillValue(57)))
	var log bytes.Buffer
	s, err := Open(Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	get := func(key string) error {
		return s.View(t.Context(), "n", func(tx storage.Tx) error {
			_, err := tx.Get([]byte(key))
			return err
		})
	}
	for range 3 {
		if err := get("057"); !errors.Is(err, storage.ErrDamaged) {
			t.Errorf("the damaged value: %v, want %v", err, storage.ErrDamaged)
		}
	}
	for _, key := range []string{"007", "107", "157", "056"} {
		if err := get(key); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	if err := backup.Write(t.Context(), s, io.Discard); !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("the backup: %v, want %v", err, storage.ErrDamaged)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "level=ERROR"); n != 1 || !strings.Contains(log.String(), "file="+file+" offset=") {
		t.Errorf("the log has %d errors, want one with the place:\n%s", n, log.String())
	}
	if found := check(t, dir); len(found) != 1 || !strings.Contains(found[0], file+" at offset") {
		t.Errorf("Check: %q, want %s", found, file)
	}
}

// TestMissing removes files: no store starts without what was in them.
func TestMissing(t *testing.T) {
	for _, test := range []struct {
		pattern string
		killed  bool
		want    string
	}{
		{"*.log", false, "the log is missing"},
		{"*.log", true, "the log is missing"},
		{"*.sst", false, ".sst"},
		{"MANIFEST", false, "MANIFEST is missing"},
		{"*.mem", true, ""},
	} {
		t.Run(fmt.Sprint(test.pattern, test.killed), func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir, test.killed)
			names, err := filepath.Glob(filepath.Join(dir, test.pattern))
			if err != nil || len(names) == 0 {
				t.Fatalf("no file %s: %v", test.pattern, err)
			}
			for _, name := range names {
				if err := os.Remove(name); err != nil {
					t.Fatal(err)
				}
			}
			s, err := Open(Options{Dir: dir})
			if err == nil {
				defer s.Close()
			}
			if got := fmt.Sprint(err); test.want == "" && err != nil || !strings.Contains(got, test.want) {
				t.Errorf("Open: %v, want %q", err, test.want)
			}
		})
	}
}

// TestEmptyFiles opens directories as kills leave them at each start and rotation:
// badger makes its files empty and truncates what it deletes first.
func TestEmptyFiles(t *testing.T) {
	for _, name := range []string{"00001.mem", "00002.mem", "00009.mem", "000009.vlog"} {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprint(name, killed), func(t *testing.T) {
				dir := t.TempDir()
				fill(t, dir, killed)
				if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
					t.Fatal(err)
				}
				checkFilled(t, openDir(t, dir))
			})
		}
	}
}

// checkFilled checks that all is there that fill has written.
func checkFilled(t *testing.T, s *Store) {
	t.Helper()
	err := s.View(t.Context(), "n", func(tx storage.Tx) error {
		for i := range 300 {
			value, err := tx.Get(fmt.Appendf(nil, "%03d", i))
			if err != nil || !bytes.Equal(value, fillValue(i)) {
				return fmt.Errorf("%d has %d bytes: %w", i, len(value), err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDamagedRegistry opens a store whose registry of keys is damaged: there are no keys.
func TestDamagedRegistry(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, false)
	path := filepath.Join(dir, registryFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := range whole {
		for _, damaged := range [][]byte{whole[:at], append(slices.Clone(whole[:at]), append([]byte{whole[at] ^ 4}, whole[at+1:]...)...)} {
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(Options{Dir: dir})
			if err != nil {
				t.Fatalf("%q: %v", damaged, err)
			}
			if at == 0 {
				checkFilled(t, s)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestStarts starts a store again and again: neither the value log nor the log
// has more files for that.
func TestStarts(t *testing.T) {
	for _, killed := range []bool{false, true} {
		dir := t.TempDir()
		fill(t, dir, false)
		for range 12 {
			s, err := Open(Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Update(t.Context(), "m", func(tx storage.Tx) error { return tx.Set([]byte("k"), nil) }); err != nil {
				t.Fatal(err)
			}
			if killed {
				abandon(t, s, dir)
			} else if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		for pattern, most := range map[string]int{"*.vlog": 3, "*.log": 2, "*.mem": 1} {
			if names, _ := filepath.Glob(filepath.Join(dir, pattern)); len(names) > most {
				t.Errorf("killed %t: %d files %s, want %d", killed, len(names), pattern, most)
			}
		}
		checkFilled(t, openDir(t, dir))
	}
}

// TestFilesArePrivate opens a store in a directory that everybody may read.
func TestFilesArePrivate(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	fill(t, dir, false)
	openDir(t, dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, %v", e.Name(), info.Mode(), err)
		}
	}
}

// TestTableDamagedWhileOpen flips bytes of a table that is in use: once that is
// found, what was in the block is an error and never missing, and all else is
// there.
func TestTableDamagedWhileOpen(t *testing.T) {
	for name, c := range map[string]struct {
		at          int64
		least, most int // that are damaged of 300
	}{"in a block": {3000, 1, 100}, "in the filter": {-400, 300, 300}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir, false)
			s := openDir(t, dir)
			told := map[string]bool{}
			s.db.scrub(t.Context(), told)
			if len(told) != 0 {
				t.Fatalf("damaged before: %v", told)
			}
			flip(t, dir, "*.sst", c.at)
			s.db.scrub(t.Context(), told)
			damaged := 0
			for i := range 300 {
				key := fmt.Appendf(nil, "%03d", i)
				err := s.View(t.Context(), "n", func(tx storage.Tx) error {
					value, err := tx.Get(key)
					if err == nil && !bytes.Equal(value, fillValue(i)) {
						err = fmt.Errorf("%d other bytes", len(value))
					}
					return err
				})
				scanned := s.View(t.Context(), "n", func(tx storage.Tx) error {
					for _, err := range tx.Scan(storage.Prefix(key)) {
						return err
					}
					return storage.ErrNotFound
				})
				if fmt.Sprint(err) != fmt.Sprint(scanned) || err != nil && !errors.Is(err, storage.ErrDamaged) {
					t.Fatalf("%s: %v, scanned: %v", key, err, scanned)
				}
				if err != nil {
					damaged++
				}
			}
			if damaged < c.least || damaged > c.most || len(told) != 1 {
				t.Errorf("%d of 300 are damaged, in %v", damaged, told)
			}
			if err := backup.Write(t.Context(), s, io.Discard); !errors.Is(err, storage.ErrDamaged) {
				t.Errorf("the backup: %v, want %v", err, storage.ErrDamaged)
			}
		})
	}
}

// TestScrubInterval holds how long damage that befalls a store that is open can go
// unnoticed: about a minute where there are 100 MB of records.
func TestScrubInterval(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{
		100 * time.Millisecond: 50 * time.Second,
		time.Second:            500 * time.Second,
		time.Minute:            time.Hour,
	} {
		if got := scrubPause(took); got != want {
			t.Errorf("tables that take %v are read again after %v, want %v", took, got, want)
		}
	}
}

// TestTornValue tears what was written last to the value log, as a loss of power does,
// and lets the file become largely unused: nothing is damaged, and the file is
// reclaimed. The same in what is needed is damage.
func TestTornValue(t *testing.T) {
	for _, needed := range []bool{false, true} {
		t.Run(fmt.Sprint("needed ", needed), func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir, !needed)
			names, err := filepath.Glob(filepath.Join(dir, "*"+valueExtension))
			if err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(names[0])
			if err != nil {
				t.Fatal(err)
			}
			end := len(bytes.TrimRight(data, "\x00"))
			clear(data[end-40_000 : end-20_000]) // of the last value
			if err := os.WriteFile(names[0], data, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := openClose(dir); err != nil { // the log is empty then
				t.Fatal(err)
			}
			if found := check(t, dir); (len(found) > 0) != needed {
				t.Errorf("Check: %q", found)
			}
			s := openDir(t, dir)
			for i := range 300 {
				if i%50 != 7 || needed && i > 200 {
					continue
				}
				if err := s.Update(t.Context(), "n", func(tx storage.Tx) error { return tx.Delete(fmt.Appendf(nil, "%03d", i)) }); err != nil {
					t.Fatal(err)
				}
			}
			s.db.deletes = reclaimDeletes
			err = s.db.reclaim(t.Context())
			if needed != errors.Is(err, storage.ErrDamaged) {
				t.Errorf("reclaim: %v", err)
			}
			if exists(dir, filepath.Base(names[0])) != needed {
				t.Errorf("%s is there: %t, want %t", names[0], !needed, needed)
			}
		})
	}
}

func openClose(dir string) error {
	s, err := Open(Options{Dir: dir})
	if err != nil {
		return err
	}
	return s.Close()
}
