//go:build !linux

package wal

import "os"

func openDirect(string) (*os.File, bool) { return nil, false }

// reserve gives the file a size and, by writing to it, space on the disk.
func reserve(f *os.File, size int64) error { return fill(f, size) }

// syncData makes the file's contents durable.
func syncData(f *os.File) error { return f.Sync() }
