package badgerstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/backup"
	"github.com/seed-506d8e5d/svc/storage/internal/txn"
)

// TestDamagedTable flips bytes in a table: the store is not opened, Check says
// where and changes nothing, and Salvage exports the rest.
func TestDamagedTable(t *testing.T) {
	for name, c := range map[string]struct{ at, least int }{
		"in the first block": {100, 2500},
		"in a block":         {1500, 2500},
		"in the last block":  {lastBlock, 2500},
		"in the index":       {-40, 0}, // without which nobody knows where blocks begin
		"in the footer":      {-4, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			fillMuch(t, dir)
			if c.at == lastBlock {
				c.at = behindBlocks(t, dir) - 100
			}
			file := flip(t, dir, "*.sst", c.at)
			_, err := Open(Options{Dir: dir})
			if !errors.Is(err, storage.ErrDamaged) || !strings.Contains(err.Error(), file) {
				t.Fatalf("Open: %v, want that %s is damaged", err, file)
			}
			before := readAll(t, dir)
			found := check(t, dir)
			if len(found) != 1 || !strings.Contains(found[0], file) {
				t.Errorf("Check: %q, want %s", found, file)
			}
			left, told := salvage(t, dir)
			if fmt.Sprint(told) != fmt.Sprint(found) {
				t.Errorf("Salvage says %q, and Check %q", told, found)
			}
			if left >= 3000 || left < c.least {
				t.Errorf("%d records are left of 3000", left)
			}
			if after := readAll(t, dir); after != before {
				t.Error("the damaged directory was changed")
			}
		})
	}
}

// lastBlock stands for a byte of a table's last block.
const lastBlock = math.MaxInt

// behindBlocks returns where the index of the one table begins.
func behindBlocks(t *testing.T, dir string) int {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(names) != 1 {
		t.Fatalf("%q, %v", names, err)
	}
	data, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	checksum := len(data) - 4 - int(binary.BigEndian.Uint32(data[len(data)-4:]))
	return checksum - 4 - int(binary.BigEndian.Uint32(data[checksum-4:]))
}

// TestDamagedEnd loses several blocks at the end of a table.
func TestDamagedEnd(t *testing.T) {
	dir := t.TempDir()
	fillMuch(t, dir)
	end := behindBlocks(t, dir)
	for at := end - 9000; at < end; at += 1000 {
		flip(t, dir, "*.sst", at)
	}
	found := check(t, dir)
	if len(found) < 3 {
		t.Errorf("Check: %q", found)
	}
	if left, told := salvage(t, dir); left < 1500 || left > 2900 || fmt.Sprint(told) != fmt.Sprint(found) {
		t.Errorf("%d records are left, and Salvage says %q", left, told)
	}
}

// fillMuch makes a store whose table has many blocks.
func fillMuch(t *testing.T, dir string) {
	t.Helper()
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Update(t.Context(), "n", func(tx storage.Tx) error {
		for i := range 3000 {
			if err := tx.Set(fmt.Appendf(nil, "%04d", i), muchValue(i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
}

func muchValue(i int) []byte { return fmt.Appendf(nil, "%x", i*i*7919) }

// salvage exports what can be read and returns how many records of fillMuch are left,
// all of them right, and what is lost.
func salvage(t *testing.T, dir string) (left int, told []string) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "new")
	n, err := Salvage(t.Context(), dir, to, func(err error) { told = append(told, err.Error()) })
	if err != nil {
		t.Fatal(err)
	}
	s := openDir(t, to)
	err = s.View(t.Context(), "n", func(tx storage.Tx) error {
		left = 0
		for i := range 3000 {
			value, err := tx.Get(fmt.Appendf(nil, "%04d", i))
			if errors.Is(err, storage.ErrNotFound) {
				continue
			}
			if err != nil || !bytes.Equal(value, muchValue(i)) {
				return fmt.Errorf("%d is %q, %w", i, value, err)
			}
			left++
		}
		return nil
	})
	if err != nil || uint64(left) != n {
		t.Errorf("%d records of %d: %v", left, n, err)
	}
	return left, told
}

// readAll returns the names of the files in a directory and hashes of their contents.
func readAll(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s %x\n", e.Name(), sha256.Sum256(data))
	}
	return all.String()
}

// TestDamagedBlob flips a bit of each of the first bytes of a large value: reading it is
// an error, a backup fails, all else is there, the store opens, and Salvage leaves it
// out.
func TestDamagedBlob(t *testing.T) {
	for at := range 9 {
		dir := t.TempDir()
		fill(t, dir, false)
		file := flip(t, dir, "*.blob", at)
		s := openDir(t, dir)
		damaged := 0
		for i := range 300 {
			err := s.View(t.Context(), "n", func(tx storage.Tx) error {
				_, err := tx.Get(fmt.Appendf(nil, "%03d", i))
				return err
			})
			if errors.Is(err, storage.ErrDamaged) && strings.Contains(err.Error(), file) {
				damaged++
			} else if err != nil {
				t.Errorf("%d: %v", i, err)
			}
		}
		if damaged != 1 {
			t.Errorf("%d values are damaged, want 1", damaged)
		}
		if err := backup.Write(t.Context(), s, io.Discard); !errors.Is(err, storage.ErrDamaged) {
			t.Errorf("the backup: %v, want %v", err, storage.ErrDamaged)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if found := check(t, dir); len(found) != 1 || !strings.Contains(found[0], file) {
			t.Errorf("Check: %q, want %s", found, file)
		}
		n, err := Salvage(t.Context(), dir, filepath.Join(t.TempDir(), "new"), func(error) {})
		if err != nil || n != 299 {
			t.Errorf("%d records were salvaged, %v, want 299", n, err)
		}
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
		{"*.blob", false, ".blob"},
		{"TABLES", false, "TABLES"},
		{"TABLES", true, "TABLES"},
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
				s.Close()
			}
			if !errors.Is(err, storage.ErrDamaged) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Open: %v, want %q", err, test.want)
			}
			if found := check(t, dir); len(found) == 0 {
				t.Error("Check finds nothing")
			}
		})
	}
}

// TestEarlierFile puts a file of an earlier moment in the place of one: a log that ends
// too early or a list that names too little is no store.
func TestEarlierFile(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, false)
	early := copyStore(t, dir)
	for range 2 {
		s := openDir(t, dir)
		if err := s.Update(t.Context(), "n", func(tx storage.Tx) error { return tx.Set([]byte("a"), nil) }); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	list, err := os.ReadFile(filepath.Join(early, listName))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, listName), list, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: dir}); !errors.Is(err, storage.ErrDamaged) || !strings.Contains(err.Error(), "the log begins with version") {
		t.Errorf("Open: %v", err)
	}
}

// TestDamagedEndOfLog damages the last record of a log, of which the tables have
// everything: the store is not opened, as it would be with a log that ends too early, and
// nothing is lost.
func TestDamagedEndOfLog(t *testing.T) {
	dir := t.TempDir()
	s := openQuiet(t, dir)
	writeKeys(t, s, "a", 3, 10, false)
	s.db.imm, s.db.mem = s.db.mem, &memtable{tree: txn.NewTree(), version: s.db.mem.version}
	if err := s.db.flush(); err != nil {
		t.Fatal(err)
	}
	abandon(t, s, dir)
	names, err := filepath.Glob(filepath.Join(dir, "*"+logExtension))
	if err != nil || len(names) != 1 {
		t.Fatalf("%q, %v, want one segment", names, err)
	}
	data, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	flip(t, dir, "*"+logExtension, bytes.LastIndex(data, []byte("svcr"))+4)
	if s, err := Open(Options{Dir: dir}); !errors.Is(err, storage.ErrDamaged) || !strings.Contains(err.Error(), "the log ends with version") {
		t.Errorf("Open: %v", err)
		if err == nil {
			s.Close()
		}
	}
	n, err := Salvage(t.Context(), dir, filepath.Join(t.TempDir(), "new"), func(error) {})
	if err != nil || n != 3 {
		t.Errorf("%d records were salvaged, %v, want 3", n, err)
	}
}

// TestSalvageWithoutList salvages a store whose list of tables is damaged: of each key
// the newest value.
func TestSalvageWithoutList(t *testing.T) {
	m := newMachine(t, 1)
	set := m.small()
	set.fs = settingsOf(Options{Dir: m.dir}).fs
	s, err := open(set)
	if err != nil {
		t.Fatal(err)
	}
	for range 400 {
		if err := m.write(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	flip(t, m.dir, listName, 30)
	if found := check(t, m.dir); len(found) != 1 || !strings.Contains(found[0], listName) {
		t.Errorf("Check: %q", found)
	}
	to := filepath.Join(t.TempDir(), "new")
	if _, err := Salvage(t.Context(), m.dir, to, func(error) {}); err != nil {
		t.Fatal(err)
	}
	err = openDir(t, to).View(t.Context(), "n", func(tx storage.Tx) error {
		for key, want := range m.want {
			if value, err := tx.Get([]byte(key)); err != nil || string(value) != want {
				return fmt.Errorf("%s has %d bytes, want %d: %w", key, len(value), len(want), err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestTableDamagedWhileOpen flips bytes of a table that is in use: what was in the block
// is an error and never missing, all else is there, and a compaction of it loses nothing
// but ends writes.
func TestTableDamagedWhileOpen(t *testing.T) {
	dir := t.TempDir()
	fillMuch(t, dir)
	s := openDir(t, dir)
	flip(t, dir, "*.sst", 1500)
	damaged := 0
	for i := range 3000 {
		key := fmt.Appendf(nil, "%04d", i)
		get := s.View(t.Context(), "n", func(tx storage.Tx) error {
			value, err := tx.Get(key)
			if err == nil && !bytes.Equal(value, muchValue(i)) {
				err = fmt.Errorf("%q", value)
			}
			return err
		})
		scanned := s.View(t.Context(), "n", func(tx storage.Tx) error {
			for _, err := range tx.Scan(storage.Range{Start: key, Reverse: i%2 == 0}) {
				return err
			}
			return storage.ErrNotFound
		})
		if get != nil && !errors.Is(get, storage.ErrDamaged) || scanned != nil && !errors.Is(scanned, storage.ErrDamaged) {
			t.Fatalf("%s: %v, scanned: %v", key, get, scanned)
		}
		if get != nil {
			damaged++
		}
	}
	if damaged == 0 || damaged > 1000 {
		t.Errorf("%d of 3000 are damaged", damaged)
	}
	if err := backup.Write(t.Context(), s, io.Discard); !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("the backup: %v, want %v", err, storage.ErrDamaged)
	}
	c := s.db.tables.compaction(0, nil)
	if err := s.db.compact(t.Context(), c); !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("a compaction: %v, want %v", err, storage.ErrDamaged)
	}
}

// TestTableCutShortWhileOpen cuts a table short that is in use, which to a mapped file is
// what a disk that cannot be read is: a read of it is an error and ends no process.
func TestTableCutShortWhileOpen(t *testing.T) {
	for name, scan := range map[string]bool{"get": false, "scan": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			fillMuch(t, dir)
			s := openDir(t, dir)
			names, _ := filepath.Glob(filepath.Join(dir, "*"+tableExtension))
			if err := os.Truncate(names[0], 0); err != nil {
				t.Fatal(err)
			}
			err := s.View(t.Context(), "n", func(tx storage.Tx) error {
				if !scan {
					_, err := tx.Get([]byte("2000"))
					return err
				}
				for _, err := range tx.Scan(storage.Range{Start: []byte("2000")}) {
					if err != nil {
						return err
					}
				}
				return nil
			})
			if !errors.Is(err, storage.ErrDamaged) {
				t.Errorf("%v, want %v", err, storage.ErrDamaged)
			}
		})
	}
}

// TestCheckChangesNothing checks a store that was killed, with what a crash may leave,
// and directories that are no stores.
func TestCheckChangesNothing(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, true)
	for _, name := range []string{"00000099.log", "000077.sst", "000078.blob", "TABLES.new"} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 1000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := readAll(t, dir)
	n, err := Check(t.Context(), dir, func(err error) { t.Error(err) })
	if err != nil || n != 300 {
		t.Errorf("%d records, %v, want 300", n, err)
	}
	if readAll(t, dir) != before {
		t.Error("Check has changed something")
	}
	checkFilled(t, openDir(t, dir))
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		if _, err := Check(t.Context(), dir, func(error) {}); !errors.Is(err, ErrNoStore) {
			t.Errorf("Check of a directory without a store: %v", err)
		}
		if entries, err := os.ReadDir(dir); len(entries) > 0 {
			t.Errorf("%v, %v", entries, err)
		}
	}
}

// TestStarts starts a store again and again: there are no more files for that.
func TestStarts(t *testing.T) {
	for _, killed := range []bool{false, true} {
		dir := t.TempDir()
		fill(t, dir, false)
		for range 12 {
			s, err := Open(Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			err = s.Update(t.Context(), "m", func(tx storage.Tx) error { return tx.Set([]byte("k"), bytes.Repeat([]byte("k"), 100_000)) })
			if err != nil {
				t.Fatal(err)
			}
			if killed {
				abandon(t, s, dir)
			} else if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		s := openQuiet(t, dir)
		compactAll(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for pattern, most := range map[string]int{"*.log": 2, "*.sst": newTables + 1, "*.blob": 6 + newTables + 1} {
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
