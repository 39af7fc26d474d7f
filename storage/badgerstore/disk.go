package badgerstore

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
)

// How many bytes of the disk are left alone. What makes room, and what administration
// and the ledger need, may use all but lastReserve. To flush or compact tables takes
// tableReserve and compactReserve beside them. A store is opened on a full disk, too:
// for reading.
const (
	reserve        = 128 << 20
	lastReserve    = 24 << 20
	tableReserve   = 16 << 20
	compactReserve = 4 << 20
)

// disk says what is left of a disk.
type disk struct {
	free func(dir string) (uint64, error)
}

// freeFor is how long what is free is not asked again: several times for each
// request it would be otherwise. In so little time the reserve cannot be filled.
const freeFor = 20 * time.Millisecond

// lately returns free with its answers kept for a while.
func lately(free func(string) (uint64, error)) func(string) (uint64, error) {
	var mu sync.Mutex
	var asked time.Time
	var bytes uint64
	return func(dir string) (uint64, error) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(asked) >= freeFor {
			left, err := free(dir)
			if err != nil {
				return 0, err
			}
			asked, bytes = now, left
		}
		return bytes, nil
	}
}

// room returns an error where nothing may be written any more.
func (d disk) room(dir string, reserved bool) error {
	if reserved {
		return d.atLeast(dir, lastReserve)
	}
	return d.atLeast(dir, reserve)
}

func (d disk) atLeast(dir string, want uint64) error {
	free, err := d.free(dir)
	if err != nil {
		return fmt.Errorf("badgerstore: free space is unknown: %w", err)
	}
	if free < want {
		return fmt.Errorf("%w: %d bytes are left in %s, and %d are kept free", storage.ErrFull, free, dir, want)
	}
	return nil
}

// exhausted returns the error of a file that could not be written as a storage.ErrFull
// where the disk or a quota is used up, as a storage.ErrUnavailable where too many files
// are open, and any other as it is.
func exhausted(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: %w", storage.ErrFull, err)
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
	}
	return err
}

// mayPass reports whether what failed with err, and left nothing behind, may succeed
// later.
func mayPass(err error) bool {
	return errors.Is(err, storage.ErrFull) || errors.Is(err, storage.ErrUnavailable)
}
