package wal

import (
	"errors"
	"os"
	"path/filepath"
)

// Dir returns the directory as an FS. Files are for their owner alone.
func Dir(dir string) FS { return osFS(dir) }

type osFS string

func (d osFS) path(name string) string { return filepath.Join(string(d), name) }

// List implements FS.
func (d osFS) List() ([]string, error) {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

// ReadFile implements FS.
func (d osFS) ReadFile(name string) ([]byte, error) { return os.ReadFile(d.path(name)) }

// Create implements FS.
func (d osFS) Create(name string, size int64) (File, error) {
	f, err := os.OpenFile(d.path(name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := reserve(f, size); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return directly(f), nil
}

// Open implements FS.
func (d osFS) Open(name string) (File, int64, error) {
	f, err := os.OpenFile(d.path(name), os.O_RDWR, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return directly(f), info.Size(), nil
}

// Rename implements FS.
func (d osFS) Rename(from, to string) error { return os.Rename(d.path(from), d.path(to)) }

// Remove implements FS.
func (d osFS) Remove(name string) error { return os.Remove(d.path(name)) }

// Sync implements FS.
func (d osFS) Sync() error {
	f, err := os.Open(string(d))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

type osFile struct{ *os.File }

// Sync implements File.
func (f osFile) Sync() error { return syncData(f.File) }

// directly returns the file, opened anew where it can be written to past the page
// cache, so that of a page of which a record takes a part only that part is written.
// Nothing that was written through it is lost.
func directly(f *os.File) File {
	if direct, ok := openDirect(f.Name()); ok {
		f.Close() // it was only made, or opened
		f = direct
	}
	return osFile{f}
}

// fill writes that many zeros.
func fill(f *os.File, size int64) error {
	zeros := make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(size-at, int64(len(zeros)))], at); err != nil {
			return err
		}
	}
	return nil
}
