// Package format keeps the number of the format that a store's records are in,
// and brings older ones up to date. The records themselves belong to the packages
// that write them: unexported structs with JSON tags of their own.
package format

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/seed-506d8e5d/svc/storage"
)

// Current is the format that this program writes. 0 is that of programs before
// there was a number.
const Current = 1

// migrations bring a store from the format of their index to the next. Records of
// format 0 are read as they are: what was added since is absent in them.
var migrations = [Current]func(context.Context, *storage.DB) error{
	0: func(context.Context, *storage.DB) error { return nil },
}

// system is the namespace of the service's own records, and key the number's.
const system storage.Namespace = "system"

var key = []byte("format")

// ErrNewer says that a store was written by a newer program.
var ErrNewer = errors.New("the store has a newer format than this program reads")

// Open brings a store up to date, after saying so, and gives a new one its number.
// A store that a newer program has written is left alone: the error is [ErrNewer].
func Open(ctx context.Context, db *storage.DB, log *slog.Logger) error {
	number, empty, err := read(ctx, db)
	switch {
	case err != nil:
		return fmt.Errorf("svc: reading the store's format: %w", err)
	case number > Current:
		return fmt.Errorf("svc: %w: it has format %d and this program reads up to %d; use a newer program, or restore a backup made before the update",
			ErrNewer, number, Current)
	case number == Current:
		return nil
	}
	if !empty {
		log.InfoContext(ctx, "svc: the store is brought to a newer format; an older program will not open it then", "from", number, "to", Current)
		for ; number < Current; number++ {
			if err := migrations[number](ctx, db); err != nil {
				return fmt.Errorf("svc: bringing the store from format %d to the next: %w", number, err)
			}
		}
	}
	err = db.Update(ctx, system, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		return tx.Set(key, []byte(strconv.Itoa(Current)))
	})
	if err != nil {
		// Everything is in its new form, or was before: the next start tries again.
		log.WarnContext(ctx, "svc: the store's format could not be written down", "err", err)
	}
	return nil
}

// read returns the format of a store, and whether there is nothing in it yet.
func read(ctx context.Context, db *storage.DB) (number int, empty bool, err error) {
	err = db.View(ctx, system, func(tx storage.Tx) error {
		number, empty = 0, true
		data, err := tx.Get(key)
		if err == nil {
			empty = false
			number, err = strconv.Atoi(string(data))
			return err
		}
		if !errors.Is(err, storage.ErrNotFound) {
			return err
		}
		for _, err := range tx.Scan(storage.Range{KeysOnly: true}) {
			empty = false
			return err
		}
		return nil
	})
	return number, empty, err
}
