package badgerstore

import (
	"io/fs"
	"syscall"
)

// freeBytes returns how much may still be written to the directory's disk.
func freeBytes(dir string) (uint64, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return 0, err
	}
	return fs.Bavail * uint64(fs.Bsize), nil
}

// diskBytes returns what a file takes up: badger makes some larger than what it
// has written to them.
func diskBytes(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * 512
	}
	return info.Size()
}
