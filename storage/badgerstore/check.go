package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/wal"
)

// Check reads and verifies everything in a directory that no process has open:
// the log, the tables, each file of large values, then every record as the store
// would. It calls report for what is damaged, and returns how many records can be
// read. What a crash has left for the next start is brought in order, as a start
// would, if nothing is damaged.
func Check(ctx context.Context, dir string, report func(error)) (records int, err error) {
	if info, err := os.Stat(dir); err != nil {
		return 0, err
	} else if !info.IsDir() {
		return 0, fmt.Errorf("badgerstore: %s is no directory", dir)
	}
	bad, err := checkFiles(ctx, dir, report)
	if err != nil || bad {
		return 0, err
	}
	s, err := Open(Options{Dir: dir})
	if errors.Is(err, storage.ErrDamaged) {
		report(err)
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	err = s.ReadAll(ctx, func(scan storage.ScanAll) error {
		for _, err := range scan(false) {
			if err != nil {
				return err
			}
			records++
		}
		return nil
	})
	if errors.Is(err, storage.ErrDamaged) {
		report(err)
		err = nil
	}
	return records, errors.Join(err, s.Close())
}

// checkFiles verifies the files, which nobody has open meanwhile.
func checkFiles(ctx context.Context, dir string, report func(error)) (bad bool, err error) {
	held, err := lock(dir)
	if err != nil {
		return false, err
	}
	defer held.release()
	found := func(err error) {
		bad = true
		report(err)
	}
	log, err := wal.Open(wal.Options{FS: wal.Dir(dir), Salvage: true, Lost: func(err error) { found(fmt.Errorf("%w: %w", storage.ErrDamaged, err)) }})
	if err != nil {
		return bad, err
	}
	if err := log.Replay(func(version uint64, payload []byte) error {
		_, err := decode(payload)
		return err
	}); err != nil {
		found(err)
	}
	err = checkTables(badgerOptions(dir, slog.New(slog.DiscardHandler)), func(d damage) error {
		found(d)
		return ctx.Err()
	})
	if errors.Is(err, storage.ErrDamaged) {
		found(err)
	} else if err != nil {
		return bad, err
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"+valueExtension))
	if err != nil {
		return bad, err
	}
	slices.Sort(names)
	for i, name := range names {
		err := checkValues(ctx, dir, filepath.Base(name))
		if errors.Is(err, storage.ErrDamaged) && i == len(names)-1 && log.Last() >= log.First() {
			continue // the file that was written to when the process was killed: the log has what is missing
		}
		if errors.Is(err, storage.ErrDamaged) {
			found(err)
		} else if err != nil {
			return bad, err
		}
	}
	return bad, nil
}
