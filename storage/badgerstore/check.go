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
	bad, torn, err := checkFiles(ctx, dir, report)
	if err != nil || bad {
		for _, d := range torn {
			report(d)
		}
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
	for _, d := range torn {
		n, _ := number(d.file, valueExtension)
		needed, err := s.db.needs(n, d.offset)
		if err != nil {
			return 0, errors.Join(err, s.Close())
		}
		if needed {
			report(d)
			bad = true
		}
	}
	if bad {
		return 0, s.Close()
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

// checkFiles verifies the files, which nobody has open meanwhile. A file of large
// values that is torn is damaged if there is something behind the place.
func checkFiles(ctx context.Context, dir string, report func(error)) (bad bool, torn []damage, err error) {
	held, err := lock(dir)
	if err != nil {
		return false, nil, err
	}
	defer held.release()
	found := func(err error) {
		bad = true
		report(err)
	}
	log, err := wal.Open(wal.Options{FS: wal.Dir(dir), Salvage: true, Lost: func(err error) { found(fmt.Errorf("%w: %w", storage.ErrDamaged, err)) }})
	if err != nil {
		return bad, torn, err
	}
	if err := log.Replay(func(version uint64, payload []byte) error {
		_, err := decode(payload)
		return err
	}); err != nil {
		found(err)
	}
	if err := undoChange(dir); err != nil {
		return bad, torn, err
	}
	err = checkTables(badgerOptions(dir, slog.New(slog.DiscardHandler)), func(d damage) error {
		found(d)
		return ctx.Err()
	})
	if errors.Is(err, storage.ErrDamaged) {
		found(err)
	} else if err != nil {
		return bad, torn, err
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"+valueExtension))
	if err != nil {
		return bad, torn, err
	}
	slices.Sort(names)
	for _, name := range names {
		err := checkValues(ctx, dir, filepath.Base(name))
		var d damage
		if errors.As(err, &d) {
			torn = append(torn, d)
		} else if err != nil {
			return bad, torn, err
		}
	}
	return bad, torn, nil
}
