package badgerstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"
)

// syncManifest is a variable of badger's: what syncs its manifest, which says what
// tables there are, when a change was written to it and before what the change
// takes out is removed. Two errors of badger's v4.9.6 can be met only there:
//
//   - A compaction goes on without a table that it could not make, and removes the
//     tables that it was made of. Nothing but its log tells how many there should be.
//   - Where the sync fails it removes the tables that the change has added, of which
//     the manifest tells.
//
//go:linkname syncManifest github.com/dgraph-io/badger/v4.syncFunc
var syncManifest func(*os.File) error

// manifests are the manifests of the stores that are open, by path.
var manifests sync.Map

// watching is false with another badger, which a program may have chosen, that syncs
// its manifest in another way: then nothing is guarded.
var watching = syncManifest != nil

func init() {
	syncManifest = func(f *os.File) error {
		if m, ok := manifests.Load(f.Name()); ok {
			return m.(*manifest).sync(f)
		}
		return f.Sync()
	}
}

// manifest is what is known of badger's manifest. Badger syncs it from one
// goroutine at a time.
type manifest struct {
	opts   badger.Options
	failed func(error) error    // is told once that it is to be changed no more
	fsync  func(*os.File) error // tests have it fail; nil for the file's own

	kept   []byte                          // the file, as it was when it was last right
	tables map[uint64]badger.TableManifest // that it has
	err    error                           // why it is not changed any more
	over   atomic.Bool                     // badger is given up and is to do nothing more

	mu    sync.Mutex
	built map[int]built // by compactions that have not changed it yet
}

// built is what a compaction has put into new tables.
type built struct {
	tables int
	keys   uint64
}

// emptyManifest is what badger begins a manifest with.
const emptyManifest = "Bdgr\x00\x00\x00\x08"

// watch begins to guard the manifest of a directory that is about to be opened.
func (m *manifest) watch() (err error) {
	if m.tables, err = listTables(m.opts); err != nil {
		return err
	}
	m.kept, err = os.ReadFile(m.path())
	if errors.Is(err, os.ErrNotExist) {
		m.kept, err = []byte(emptyManifest), nil
	}
	m.built = map[int]built{}
	manifests.Store(m.path(), m)
	return err
}

func (m *manifest) forget() { manifests.Delete(m.path()) }

func (m *manifest) path() string { return filepath.Join(m.opts.Dir, manifestFile) }

// failedPause is how long badger waits before it tries again what cannot succeed.
const failedPause = time.Second

// sync makes a change durable. Where it is not right, or may not be durable, it is
// taken back, and so is every later one, until the store is opened again: what it was
// about to remove is there, and what was only in memory is in the log.
func (m *manifest) sync(f *os.File) error {
	if m.over.Load() {
		select {}
	}
	if m.err != nil {
		time.Sleep(failedPause)
	} else if m.err = m.change(f); m.err == nil {
		return nil
	} else {
		m.err = m.failed(m.err)
	}
	// Badger has the file open that it wrote to, and may have made another one of what
	// it has in memory.
	err := writeFile(m.path(), m.kept)
	for until := time.Now().Add(closeTimeout); err != nil && time.Now().Before(until); {
		time.Sleep(failedPause)
		err = writeFile(m.path(), m.kept)
	}
	return errors.Join(m.err, err)
}

// change verifies a change and makes it durable.
func (m *manifest) change(f *os.File) error {
	tables, err := listTables(m.opts)
	if err != nil {
		return err
	}
	if err := m.whole(tables); err != nil {
		return err
	}
	data, err := os.ReadFile(f.Name())
	if err != nil {
		return err
	}
	fsync := (*os.File).Sync
	if m.fsync != nil {
		fsync = m.fsync
	}
	if err := fsync(f); err != nil {
		return err
	}
	m.kept, m.tables = data, tables
	return nil
}

// whole returns an error where a compaction has not made all tables that it should
// have. One change is that of one compaction, if it takes out tables.
func (m *manifest) whole(tables map[uint64]badger.TableManifest) error {
	var got built
	for id := range tables {
		if _, ok := m.tables[id]; ok {
			continue
		}
		keys, err := countKeys(filepath.Join(m.opts.Dir, table.IDToFilename(id)))
		if err != nil {
			return err
		}
		got.tables++
		got.keys += keys
	}
	if len(m.tables)+got.tables == len(tables) {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.built) == 0 {
		return nil // another badger, whose log is in other words
	}
	for compactor, b := range m.built {
		if b == got {
			delete(m.built, compactor)
			return nil
		}
	}
	return fmt.Errorf("badgerstore: a compaction could not make all of its tables: %d with %d keys are there", got.tables, got.keys)
}

// compacted notes what badger's log says: a compaction is to put that many keys in
// another table.
func (m *manifest) compacted(compactor int, keys uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.built[compactor]
	if keys > 0 {
		b.tables++
		b.keys += keys
	}
	m.built[compactor] = b
}

// gaveUp notes what badger's log says: a compaction has ended with an error.
func (m *manifest) gaveUp(compactor int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.built, compactor)
}

// countKeys returns how many keys a table has.
func countKeys(path string) (n uint64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	index, err := readIndex(f, info.Size())
	if err != nil {
		return 0, damage{file: filepath.Base(path), offset: -1, reason: err.Error()}
	}
	return uint64(index.KeyCount()), nil
}

// undoChange takes the last change out of the manifest of a directory that nobody has
// open, if it is one of a compaction and all tables are there that it was to take
// out: a kill may have come before it was known to be whole. Nothing is lost
// by that, since those tables have what the ones have that were made of them.
func undoChange(dir string) error {
	path := filepath.Join(dir, manifestFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	at, removed := lastChange(data)
	if len(removed) == 0 {
		return nil
	}
	for _, id := range removed {
		info, err := os.Stat(filepath.Join(dir, table.IDToFilename(id)))
		if errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
			return nil // badger truncates what it removes
		}
		if err != nil {
			return err
		}
	}
	return writeFile(path, data[:at])
}

// lastChange returns where the last change of a manifest begins, and the tables that
// it takes out. A change is its length and CRC-32C, big-endian, and a message: see
// changeTable. What makes no sense is left to badger.
func lastChange(data []byte) (at int, removed []uint64) {
	var set []byte
	for next := len(emptyManifest); next+8 <= len(data); {
		size := int(binary.BigEndian.Uint32(data[next:]))
		if size > len(data)-next-8 {
			break
		}
		at, set = next, data[next+8:next+8+size]
		next += 8 + size
	}
	for len(set) > 1 {
		size, n := binary.Uvarint(set[1:])
		if n <= 0 || size > uint64(len(set)-1-n) {
			return at, nil
		}
		change := set[1+n:][:size]
		set = set[1+n+int(size):]
		var fields [16]uint64
		for len(change) > 1 {
			value, n := binary.Uvarint(change[1:])
			if n <= 0 {
				return at, nil
			}
			fields[change[0]>>3&15] = value
			change = change[1+n:]
		}
		if fields[2] == 1 {
			removed = append(removed, fields[1])
		}
	}
	return at, removed
}

// writeFile puts a file in the place of another.
func writeFile(path string, data []byte) error {
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path+".new"))
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(path))
}
