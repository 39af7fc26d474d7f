package wal

import (
	"errors"
	"os"
	"syscall"
)

// openDirect opens the file for writes past the page cache, false where its disk
// cannot do that with our blocks.
func openDirect(path string) (*os.File, bool) {
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_DIRECT, 0)
	if err != nil {
		return nil, false
	}
	if _, err := f.ReadAt(alignedZeros(block), 0); err != nil {
		f.Close()
		return nil, false
	}
	return f, true
}

// reserve gives the file a size and space on the disk.
func reserve(f *os.File, size int64) error {
	for {
		err := syscall.Fallocate(int(f.Fd()), 0, 0, size)
		if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS) {
			return fill(f, size)
		}
		if err != syscall.EINTR {
			return err
		}
	}
}

// syncData makes the file's contents durable.
func syncData(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); err != syscall.EINTR {
			return err
		}
	}
}
