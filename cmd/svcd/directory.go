package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/badgerstore"
)

// salvaged is the name of the directory, inside that of -data, with what could be read
// of a store that was damaged. Where it is, the data is there.
const salvaged = "salvaged"

// openDirectory opens the store in the directory of -data. With -salvage a store that is
// damaged is salvaged first.
func (c config) openDirectory(ctx context.Context, logger *slog.Logger) (storage.Store, error) {
	dir := c.data
	for { // what was salvaged may have become damaged, too
		if inside := filepath.Join(dir, salvaged); isDirectory(inside) {
			dir = inside
			continue
		}
		store, err := badgerstore.Open(badgerstore.Options{Dir: dir, Logger: logger})
		switch {
		case err == nil:
			if dir != c.data {
				logger.Warn("the data is what was salvaged of a damaged store", "dir", dir)
			}
			return store, nil
		case errors.Is(err, badgerstore.ErrInUse):
			return nil, fmt.Errorf("cannot open the directory of -data: %w; stop that process or choose another -data", err)
		case errors.Is(err, storage.ErrDamaged) && !c.salvage:
			return nil, fmt.Errorf("cannot open the directory of -data: %w; svcd check says all that is damaged, and svcd -salvage starts with the rest", err)
		case !errors.Is(err, storage.ErrDamaged):
			return nil, fmt.Errorf("cannot open the directory of -data: %w", err)
		}
		if err := salvage(ctx, dir, logger); err != nil {
			return nil, fmt.Errorf("cannot salvage the directory of -data: %w", err)
		}
	}
}

// salvage puts what can be read of a damaged store into the directory salvaged inside it.
func salvage(ctx context.Context, dir string, logger *slog.Logger) error {
	to := filepath.Join(dir, salvaged)
	logger.Warn("the data is damaged; what can be read of it is copied", "dir", dir, "to", to)
	lost := 0
	records, err := badgerstore.Salvage(ctx, dir, to, func(err error) {
		lost++
		logger.Error("data was lost", "err", err)
	})
	if err != nil {
		return err
	}
	logger.Warn("the data was salvaged", "records", records, "damaged_places", lost, "dir", to)
	return nil
}

func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
