package badgerstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/occ"
	"github.com/seed-506d8e5d/svc/storage/internal/wal"
)

// settings are what a store is opened with.
type settings struct {
	dir     string
	badger  badger.Options
	fs      wal.FS // where the log is
	segment int64  // bytes of a segment of the log, 0 for the usual
	disk    disk
	log     *slog.Logger
	salvage bool
}

// open opens the log and badger and brings them together.
func open(s settings) (store *Store, err error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	d := &database{dir: s.dir, log: s.log, disk: s.disk, dead: make(chan struct{})}
	d.manifest = &manifest{opts: s.badger, failed: func(err error) error {
		d.unsettled.Store(true)
		return d.fail(err)
	}}
	s.badger = s.badger.WithLogger(&logger{to: s.log, manifest: d.manifest})
	if !watching {
		s.log.Warn("badgerstore: this version of badger is not known: what it loses when it cannot make a table is lost")
	}
	if d.lock, err = lock(s.dir); err != nil {
		return nil, err
	}
	if err := d.open(s); err != nil {
		if !d.stuck {
			d.lock.release()
		}
		return nil, err
	}
	d.begin()
	return &Store{store: occ.New(d, d.version), db: d}, nil
}

// open opens the log and badger. What only the log has is given to badger, and
// badger closed, which puts it in tables; so the log is empty in the end, and
// badger is opened with nothing but tables.
func (d *database) open(s settings) error {
	if err := d.openLog(s); err != nil {
		return err
	}
	if err := d.ready(s); err != nil {
		return err
	}
	if s.salvage {
		if err := d.readable(s); err != nil {
			return err
		}
	}
	if err := d.verify(s); err != nil {
		return err
	}
	if err := d.listed(s); err != nil {
		return err
	}
	memtable, _, err := files(s.dir, memExtension)
	if err != nil {
		return err
	}
	if err := d.openBadger(s.badger); err != nil {
		return err
	}
	if err := d.check(s); err != nil {
		return errors.Join(err, d.closeBadger())
	}
	replay := d.wal.Last() >= d.wal.First() && d.wal.Segments() > 0
	if err := d.wal.Replay(d.replay); err != nil {
		return errors.Join(err, d.closeBadger())
	}
	d.version = max(d.db.MaxVersion(), d.wal.Last())
	if replay || memtable > 0 {
		if err := d.closeBadger(); err != nil {
			return err
		}
		if err := countUnused(s.badger); err != nil {
			return err
		}
		if err := d.openBadger(s.badger); err != nil {
			return err
		}
	}
	if err := d.start(); err != nil {
		return errors.Join(err, d.closeBadger())
	}
	return nil
}

// start begins the log anew. All that it had is in badger's tables.
func (d *database) start() (err error) {
	if err := d.restart(); err != nil {
		return err
	}
	d.due = true
	if d.synced, _, err = files(d.dir, valueExtension); err != nil {
		return err
	}
	return private(d.dir)
}

// openLog opens the log and removes what badger could not open or must not see.
func (d *database) openLog(s settings) error {
	var err error
	d.wal, err = wal.Open(wal.Options{FS: s.fs, SegmentSize: s.segment, Salvage: s.salvage, Lost: d.lost})
	var damaged *wal.DamagedError
	if errors.As(err, &damaged) {
		return fmt.Errorf("badgerstore: %s: %w: %w", s.dir, storage.ErrDamaged, err)
	}
	if err != nil {
		return fmt.Errorf("badgerstore: %w", err)
	}
	data, err := holdsData(s.dir)
	if err != nil {
		return err
	}
	if data != "" && !exists(s.dir, manifestFile) && !s.salvage {
		return missing(s.dir, manifestFile, data)
	}
	if err := clean(s.dir, d.wal.Segments() > 0); err != nil {
		return err
	}
	if err := cleanRegistry(s.dir); err != nil {
		return err
	}
	if err := undoChange(s.dir); err != nil {
		return err
	}
	return guardValues(s.dir)
}

// verify reads all tables. Where one is damaged it refuses to go on or, to
// salvage the store, leaves out what cannot be read.
func (d *database) verify(s settings) error {
	var bad []string
	err := checkTables(s.badger, func(found damage) error {
		if !s.salvage {
			return found
		}
		if !slices.Contains(bad, found.file) {
			bad = append(bad, found.file)
		}
		d.lost(found)
		return nil
	})
	if err != nil {
		return fmt.Errorf("badgerstore: %s: %w", s.dir, err)
	}
	for _, name := range bad {
		if err := repairTable(s.badger, name); err != nil {
			return fmt.Errorf("badgerstore: %s: repairing %s: %w", s.dir, name, err)
		}
	}
	return nil
}

// lost tells of what a store is opened without.
func (d *database) lost(err error) {
	d.log.Error("badgerstore: opened without what is lost", "dir", d.dir, "error", err)
}

// ready returns an error where the disk has no space for opening the store.
func (d *database) ready(s settings) error {
	need := uint64(openReserve)
	if d.wal.Segments() > 0 {
		need += 4 * d.wal.Size()
	}
	if err := d.disk.atLeast(s.dir, need); err != nil {
		return fmt.Errorf("%w: the store cannot be opened", err)
	}
	return nil
}

// check compares badger with the log: what the log no longer has must be in
// badger, and where badger knows of a log there must be one.
func (d *database) check(s settings) error {
	snapshot := d.at(d.db.MaxVersion())
	defer snapshot.Close()
	value, err := snapshot.Get(markKey)
	switch {
	case err == nil && len(value) == 8:
		d.mark = binary.BigEndian.Uint64(value)
	case err != nil && !errors.Is(err, storage.ErrNotFound):
		return err
	}
	if err = d.lacks(s.dir, d.mark); err == nil || !s.salvage {
		return err
	}
	d.lost(err)
	return nil
}

// lacks returns what is missing where badger has a mark.
func (d *database) lacks(dir string, mark uint64) error {
	switch {
	case d.wal.Segments() == 0 && mark > 0:
		return fmt.Errorf("badgerstore: %s: %w: the log is missing (files *.log): it began with version %d or later", dir, storage.ErrDamaged, mark)
	case d.wal.Segments() > 0 && mark < d.wal.Mark():
		return fmt.Errorf("badgerstore: %s: %w: the log begins with version %d, and the tables in %s have not all that was written before", dir, storage.ErrDamaged, d.wal.First(), manifestFile)
	}
	return nil
}

// listed compares the tables with the log before badger is opened, which removes those
// that its manifest does not have: of one that was cut off the tables are still there.
// To salvage a store they are put into it again.
func (d *database) listed(s settings) error {
	mark, err := tableMark(s.badger)
	if err != nil {
		return fmt.Errorf("badgerstore: %s: %w", s.dir, err)
	}
	err = d.lacks(s.dir, mark)
	if err == nil && exists(s.dir, manifestFile) || !s.salvage {
		return err
	}
	return d.listTables(s)
}

// replay gives badger a record of the log, as the last version of all: badger has what
// several versions wrote as that of the last of them, and may have tables that tell of
// values which a loss of power has taken.
func (d *database) replay(version uint64, payload []byte) error {
	writes, err := decode(payload)
	if err != nil {
		return fmt.Errorf("%w: version %d", err, version)
	}
	for _, w := range writes {
		if string(w.Key) == string(markKey) {
			d.mark = version
		}
	}
	return d.index(d.wal.Last(), slices.Values(writes))
}

// openBadger opens badger.
func (d *database) openBadger(opts badger.Options) (err error) {
	if err := d.manifest.watch(); err != nil {
		return err
	}
	if d.db, err = openBadger(opts); err != nil {
		d.manifest.forget()
	}
	return err
}

// closeTimeout is how long badger has to close after a failure. It tries for ever
// to write a table that cannot be written.
const closeTimeout = 10 * time.Second

// closeBadger closes badger. Where it cannot close it is stuck.
func (d *database) closeBadger() error {
	closed := make(chan error, 1)
	go func() { closed <- errors.Join(d.seal(), closeBadger(d.db)) }()
	select {
	case err := <-closed:
		d.manifest.forget()
		return err
	case <-d.dead:
	}
	select {
	case err := <-closed:
		d.manifest.forget()
		return err
	case <-time.After(closeTimeout):
		d.stuck = true
		return errors.New("badgerstore: badger does not close, and all is in the log")
	}
}

// openBadger opens badger, whose errors may be panics.
func openBadger(opts badger.Options) (db *badger.DB, err error) {
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, translated("open "+opts.Dir, fmt.Errorf("%v", r))
		}
	}()
	if db, err = badger.OpenManaged(opts); err != nil {
		return nil, translated("open "+opts.Dir, err)
	}
	return db, nil
}

// closeBadger closes badger, whose errors may be panics.
func closeBadger(db *badger.DB) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = translated("close", fmt.Errorf("%v", r))
		}
	}()
	if err := db.Close(); err != nil {
		return translated("close", err)
	}
	return nil
}

func exists(dir, name string) bool {
	_, err := os.Lstat(dir + string(os.PathSeparator) + name)
	return err == nil
}
