package badgerstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/txn"
	"github.com/seed-506d8e5d/svc/storage/internal/wal"
)

const (
	// memtableSize is how much the log may have that no table has.
	memtableSize = 4 << 20

	// blobThreshold is how many bytes a value has at most that is kept in a table.
	blobThreshold = storage.SmallValue

	// cacheSize is how many bytes of blocks are kept uncompressed.
	cacheSize = 8 << 20

	tableExtension = ".sst"
	logExtension   = ".log"
)

// open opens the store in a directory, or creates it.
func open(s settings) (*Store, error) {
	if err := makeDirectory(s.dir); err != nil {
		return nil, err
	}
	held, err := lock(s.dir, true)
	if err != nil {
		return nil, err
	}
	d, err := s.open(held)
	if err != nil {
		held.release()
		return nil, err
	}
	return &Store{store: txn.NewStore(d, d.mem.version), db: d}, nil
}

func (s settings) open(held *dirLock) (*database, error) {
	if err := s.convert(); err != nil {
		return nil, fmt.Errorf("badgerstore: %s: converting the data of an earlier version: %w", s.dir, err)
	}
	d, err := s.load(held)
	if err == nil {
		err = d.prepare()
	}
	if err != nil {
		return nil, errors.Join(err, d.closeFiles())
	}
	d.begin()
	return d, nil
}

// makeDirectory creates a directory and those above it, durably.
func makeDirectory(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(filepath.Clean(dir))
	if err := makeDirectory(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return syncPath(parent)
}

// load reads and verifies everything in the directory, and changes nothing. Where the
// settings name who is told of what is lost it goes on without that.
func (s settings) load(held *dirLock) (*database, error) {
	d := &database{settings: s, lock: held, tables: &tableSet{refs: 1}, blobs: map[uint64]bool{}, full: make(chan struct{}, 1), changed: make(chan struct{}, 1)}
	d.flushed = sync.NewCond(&d.mu)
	d.mem = &memtable{tree: txn.NewTree()}
	var err error
	if d.cache, err = newBlockCache(cacheSize); err != nil {
		return d, err
	}
	d.wal, err = wal.Open(wal.Options{FS: s.fs, SegmentSize: s.segment, ReadOnly: true, Salvage: s.lost != nil, Lost: s.lost})
	var broken *wal.DamagedError
	if errors.As(err, &broken) {
		return d, fmt.Errorf("badgerstore: %s: %w: %w", s.dir, storage.ErrDamaged, err)
	}
	if err != nil {
		return d, fmt.Errorf("badgerstore: %w", err)
	}
	if err := d.loadTables(); err != nil {
		return d, fmt.Errorf("badgerstore: %s: %w", s.dir, err)
	}
	return d, d.loadLog()
}

// tolerate returns an error, or tells of it where the store is read as far as it can be.
func (d *database) tolerate(err error) error {
	if err == nil || d.lost == nil || !errors.Is(err, storage.ErrDamaged) {
		return err
	}
	d.lost(err)
	return nil
}

// loadTables opens all tables of the list and reads them.
func (d *database) loadTables() error {
	list, version, err := readList(d.dir)
	if errors.Is(err, errNoList) {
		err = d.listMissing()
	}
	if err := d.tolerate(err); err != nil {
		return err
	}
	if err != nil {
		if list, err = unlisted(d.dir); err != nil {
			return err
		}
		d.unlisted = true
	}
	d.saved = version
	for _, l := range list {
		t, err := openTable(d.dir, l.id, d.cache)
		if err != nil && d.lost != nil {
			if beginning, none := openBeginning(d.dir, l.id, d.cache, d.lost); none == nil {
				t, err = beginning, nil
			}
		}
		if err == nil {
			t.tombstones, t.refs = l.tombstones, 1
			d.tables.levels[l.level] = append(d.tables.levels[l.level], t)
			err = d.readTable(t)
		}
		if err := d.tolerate(err); err != nil {
			return err
		}
	}
	for level := range d.tables.levels {
		if level > 0 {
			sortTables(d.tables.levels[level])
		}
	}
	return nil
}

// readTable reads a table and notes the large values that it refers to. Where damage is
// tolerated it is told of when the table is read later.
func (d *database) readTable(t *table) error {
	if d.lost != nil {
		return nil
	}
	s := t.source(nil, nil, false, reading{})
	defer s.close()
	for {
		more, err := s.Next()
		if err != nil {
			return errors.Join(t.verify(func(err error) error { return err }), err)
		}
		if !more {
			return nil
		}
		if v := s.entry(); v.Meta&metaBlob != 0 {
			ref, err := parseBlobRef(v.Value)
			if err != nil {
				return err
			}
			d.blobs[ref.id] = true
		}
	}
}

// listMissing returns nil for a store that is new, and otherwise an error.
func (d *database) listMissing() error {
	tables, err := numbered(d.dir, tableExtension)
	if err != nil {
		return err
	}
	if len(tables) == 0 && d.wal.Last() < max(d.wal.First(), 1) {
		return nil
	}
	return damage{file: listName, block: -1, reason: "the file is missing, and there is data"}
}

// unlisted returns the tables of a directory whose list cannot be read, the newest last.
func unlisted(dir string) ([]listed, error) {
	ids, err := numbered(dir, tableExtension)
	if err != nil {
		return nil, err
	}
	var list []listed
	for _, id := range ids {
		list = append(list, listed{id: id})
	}
	return list, nil
}

// loadLog takes up what only the log has.
func (d *database) loadLog() error {
	d.mem.version = d.saved
	var err error
	switch {
	case d.wal.Segments() == 0 && exists(d.dir, listName):
		err = fmt.Errorf("badgerstore: %s: %w: the log is missing (files *.log)", d.dir, storage.ErrDamaged)
	case d.wal.Segments() > 0 && d.wal.First() > d.saved+1 && !d.unlisted:
		err = fmt.Errorf("badgerstore: %s: %w: the log begins with version %d, and the tables in %s have only those up to %d", d.dir, storage.ErrDamaged, d.wal.First(), listName, d.saved)
	case d.wal.Segments() > 0 && d.wal.Last() < d.saved:
		err = fmt.Errorf("badgerstore: %s: %w: the log ends with version %d, and the tables in %s have those up to %d", d.dir, storage.ErrDamaged, d.wal.Last(), listName, d.saved)
	}
	if err := d.tolerate(err); err != nil {
		return err
	}
	err = d.wal.Replay(func(version uint64, payload []byte) error {
		if version <= d.saved {
			return nil
		}
		writes, err := decode(payload)
		if err != nil {
			return fmt.Errorf("%w: version %d", err, version)
		}
		d.mem = d.mem.with(version, writes)
		return nil
	})
	d.mem.version = max(d.mem.version, d.wal.Last())
	return err
}

// prepare brings the directory of a store that was loaded in order, and its log.
func (d *database) prepare() error {
	if err := d.wal.Tidy(); err != nil {
		return fmt.Errorf("badgerstore: %w", err)
	}
	highest, err := d.removeUnused()
	if err != nil {
		return err
	}
	d.nextID.Store(highest)
	if exists(d.dir, listName) {
		err = d.empty()
		if errors.Is(err, storage.ErrFull) {
			d.log.Warn("badgerstore: what only the log has stays there, since the disk is full", "error", err)
			err = nil
		}
		return err
	}
	// The log is there before the list is: without it there is no store.
	if err := errors.Join(d.restartLog(), syncPath(d.dir)); err != nil {
		return err
	}
	return d.install(edit{}, 0, func() {})
}

// removeUnused removes files that a crash has left, or an earlier version, and returns
// the highest number of a table or large value. All that the tables refer to must be
// there.
func (d *database) removeUnused() (highest uint64, err error) {
	tables, err := numbered(d.dir, tableExtension)
	if err != nil {
		return 0, err
	}
	blobs, err := numbered(d.dir, blobExtension)
	if err != nil {
		return 0, err
	}
	used := map[uint64]bool{}
	for _, t := range d.tables.all() {
		used[t.id] = true
	}
	unused := earlierFiles(d.dir)
	for _, id := range tables {
		if !used[id] {
			unused = append(unused, tableName(id))
		}
	}
	for _, id := range blobs {
		if !d.blobs[id] {
			unused = append(unused, blobName(id))
		}
	}
	for id := range d.blobs {
		if _, found := slices.BinarySearch(blobs, id); !found {
			return 0, fmt.Errorf("badgerstore: %s: %w", d.dir, damage{file: blobName(id), block: -1, reason: "the file is missing"})
		}
	}
	for _, name := range unused {
		if err := os.Remove(filepath.Join(d.dir, name)); err != nil {
			return 0, err
		}
	}
	d.blobs = nil
	return slices.Max(append(slices.Concat(tables, blobs), 0)), nil
}

// numbered returns the numbers of the files with an extension, ascending.
func numbered(dir, extension string) ([]uint64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var ids []uint64
	for _, e := range entries {
		digits, ok := strings.CutSuffix(e.Name(), extension)
		if id, err := strconv.ParseUint(digits, 10, 64); ok && err == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

func exists(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}
