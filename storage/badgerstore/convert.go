package badgerstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dgraph-io/badger/v4"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/txn"
	"github.com/seed-506d8e5d/svc/storage/internal/wal"
)

// Up to November 2026 a database of badger's had the directory, with a list of tables
// and value logs of its own, beside the same log. It is read once, and written anew.
const (
	badgerList     = "MANIFEST"
	badgerValues   = ".vlog"
	badgerMemory   = ".mem" // of which the log has everything
	badgerRegistry = "KEYREGISTRY"
)

// badgerMark is a key of which badger's tables have the version that the log says that
// they have, at least.
var badgerMark = []byte("\x01log")

// earlierFiles returns the names of the files in a directory that an earlier version has
// left, and of drafts.
func earlierFiles(dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		switch name := e.Name(); filepath.Ext(name) {
		case badgerValues, badgerMemory, ".new":
			names = append(names, name)
		default:
			if slices.Contains([]string{badgerList, badgerRegistry, "DISCARD"}, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// convert writes the data of an earlier version anew. A kill leaves either the one or
// the other, and a start later begins again or removes what is left.
func (s settings) convert() error {
	if exists(s.dir, listName) {
		return nil
	}
	if !exists(s.dir, badgerList) {
		if values, err := numbered(s.dir, badgerValues); err != nil || len(values) == 0 {
			return err
		}
		return fmt.Errorf("%w: %s is missing", storage.ErrDamaged, badgerList)
	}
	log, err := wal.Open(wal.Options{FS: s.fs, SegmentSize: s.segment})
	if err != nil {
		return fmt.Errorf("%w: %w", storage.ErrDamaged, err)
	}
	defer log.Close()
	logged := log.Segments() > 0
	if err := s.readyToConvert(logged); err != nil {
		return err
	}
	if !logged {
		// What only badger's memory files have has to be in tables before a log begins:
		// whoever finds a log takes these files for copies of it.
		if err := flushBadger(s.dir); err != nil {
			return err
		}
	}
	db, err := openBadger(s.dir, true)
	if err != nil {
		return err
	}
	return errors.Join(s.rewrite(db, log), db.Close())
}

// readyToConvert verifies the tables, looks for space, and removes what a kill may have
// left: files without contents and the tables of a conversion.
func (s settings) readyToConvert(logged bool) error {
	tables, err := badgerTables(s.dir)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	var size int64
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return err
		}
		size += diskBytes(info)
		name := e.Name()
		ext := filepath.Ext(name)
		_, listed := tables[name]
		empty := info.Size() == 0 && (ext == badgerMemory || ext == badgerValues)
		replaced := logged && (ext == badgerMemory || name == badgerRegistry)
		if empty || replaced || ext == tableExtension && !listed || ext == blobExtension {
			if err := os.Remove(filepath.Join(s.dir, name)); err != nil {
				return err
			}
		}
	}
	s.log.Info("badgerstore: the data of an earlier version is converted", "dir", s.dir, "bytes", size)
	if err := s.disk.atLeast(s.dir, uint64(size)+tableReserve); err != nil {
		return err
	}
	return verifyBadgerTables(s.dir, tables)
}

// badgerTables returns the tables of badger's list, by name.
func badgerTables(dir string) (map[string]uint64, error) {
	f, err := os.Open(filepath.Join(dir, badgerList))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, _, err := badger.ReplayManifestFile(f, 0, badger.DefaultOptions(dir))
	if err != nil {
		return nil, damage{file: badgerList, block: -1, reason: err.Error()}
	}
	names := map[string]uint64{}
	for id := range m.Tables {
		names[tableName(id)] = id
	}
	return names, nil
}

// verifyBadgerTables reads all tables: badger takes a damaged block for one without keys.
func verifyBadgerTables(dir string, tables map[string]uint64) error {
	for _, id := range tables {
		t, err := openTable(dir, id, nil)
		if err != nil {
			return err
		}
		err = t.verify(func(err error) error { return err })
		if err := errors.Join(err, t.close()); err != nil {
			return err
		}
	}
	return nil
}

// flushBadger has badger write its memory files to tables.
func flushBadger(dir string) error {
	db, err := openBadger(dir, false)
	if err != nil {
		return err
	}
	return db.Close()
}

// openBadger opens badger, whose errors may be panics.
func openBadger(dir string, readOnly bool) (db *badger.DB, err error) {
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, fmt.Errorf("%.200s", fmt.Sprint(r))
		}
	}()
	return badger.OpenManaged(badger.DefaultOptions(dir).
		WithReadOnly(readOnly).
		WithLogger(nil).
		WithBypassLockGuard(true).
		WithVerifyValueChecksum(true).
		WithMetricsEnabled(false).
		WithMemTableSize(2 << 20).
		WithNumCompactors(0).
		WithValueThreshold(storage.SmallValue + 1).
		WithValueLogFileSize(16 << 20))
}

// rewrite writes everything that badger has to tables, but for what the log has as well,
// and makes these the store's.
func (s settings) rewrite(db *badger.DB, log *wal.Log) error {
	logged, err := loggedKeys(log)
	if err != nil {
		return err
	}
	read := db.NewTransactionAt(db.MaxVersion(), false)
	defer read.Discard()
	if err := checkMark(read, log); err != nil {
		return err
	}
	d := &database{settings: s, tables: &tableSet{refs: 1}}
	if d.cache, err = newBlockCache(cacheSize); err != nil {
		return err
	}
	defer d.closeFiles()
	ids, err := numbered(s.dir, tableExtension)
	if err != nil {
		return err
	}
	d.nextID.Store(slices.Max(append(ids, 0)))
	w := &tableWriter{d: d, size: maxTableSize}
	if err := w.copyAll(read, logged); err != nil {
		return w.abort(err)
	}
	version := log.First() - min(log.First(), 1)
	if log.Segments() == 0 {
		version = db.MaxVersion()
		if err := log.Rotate(version, 0, 0); err != nil {
			return w.abort(err)
		}
	}
	return d.install(edit{add: w.tables, level: w.level()}, version, func() {})
}

// level returns the first level that has room for the tables.
func (w *tableWriter) level() int {
	var size int64
	for _, t := range w.tables {
		size += t.size()
	}
	level := 1
	for limit := int64(levelSize); size > limit && level < levels-1; limit *= levelGrowth {
		level++
	}
	return level
}

// loggedKeys returns a tree of the keys that the log has.
func loggedKeys(log *wal.Log) (*txn.Tree, error) {
	tree := txn.NewTree()
	err := log.Replay(func(version uint64, payload []byte) error {
		writes, err := decode(payload)
		if err != nil {
			return fmt.Errorf("%w: version %d", err, version)
		}
		for _, w := range writes {
			tree.Set(txn.Write{Key: w.Key})
		}
		return nil
	})
	return tree, err
}

// checkMark compares badger's tables with the log.
func checkMark(read *badger.Txn, log *wal.Log) error {
	var mark uint64
	item, err := read.Get(badgerMark)
	if err == nil {
		err = item.Value(func(value []byte) error {
			if len(value) == 8 {
				mark = binary.BigEndian.Uint64(value)
			}
			return nil
		})
	}
	switch {
	case err != nil && !errors.Is(err, badger.ErrKeyNotFound):
		return err
	case log.Segments() == 0 && mark > 0:
		return fmt.Errorf("%w: the log is missing (files *.log): it began with version %d or later", storage.ErrDamaged, mark)
	case log.Segments() > 0 && mark < log.Mark():
		return fmt.Errorf("%w: the log begins with version %d, and the tables in %s have not all that was written before", storage.ErrDamaged, log.First(), badgerList)
	}
	return nil
}

// copyAll adds everything that badger has, but for keys that the log has.
func (w *tableWriter) copyAll(read *badger.Txn, logged *txn.Tree) error {
	it := read.NewIterator(badger.IteratorOptions{})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		item := it.Item()
		key := item.KeyCopy(nil)
		if _, ok := logged.Get(key); ok || key[0] < 0x80 { // no namespace's
			continue
		}
		value, err := item.ValueCopy(nil)
		if err != nil {
			return err
		}
		if len(value) == 0 && item.ValueSize() > 0 {
			return fmt.Errorf("%w: the value of %q cannot be read from the value log", storage.ErrDamaged, strings.ToValidUTF8(string(key), "?"))
		}
		if err := w.addWrite(txn.Write{Key: key, Value: value}, item.Version()); err != nil {
			return err
		}
	}
	return w.finish()
}
