// Package waltest is a disk for tests of logs, which fails when it is told to and
// loses its power.
package waltest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/seed-506d8e5d/svc/storage/internal/wal"
)

// ErrFailed is the error of a call that was made to fail.
var ErrFailed = errors.New("waltest: the disk failed")

// FS is a directory on a disk that remembers what was synced. The zero value is
// empty. Any goroutine may use it.
type FS struct {
	// Fail is asked before each call, numbered from 0 and named as its method, with
	// the lock held. A call that fails may have happened in part.
	Fail func(call int, name string) bool

	mu      sync.Mutex
	calls   int
	names   map[string]*content // as they are now
	durable map[string]*content // after a loss of power, but for what may be there as well
}

var _ wal.FS = (*FS)(nil)

// content is a file's.
type content struct {
	now     []byte
	durable []byte
	dirty   []span // written since the last sync
}

type span struct{ from, to int64 }

// Calls returns how many calls there were.
func (d *FS) Calls() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls
}

// begin counts a call and says whether it fails.
func (d *FS) begin(name string) error {
	call := d.calls
	d.calls++
	if d.Fail != nil && d.Fail(call, name) {
		return fmt.Errorf("%w: call %d, %s", ErrFailed, call, name)
	}
	return nil
}

// List implements wal.FS.
func (d *FS) List() ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.begin("List"); err != nil {
		return nil, err
	}
	return slices.Collect(maps.Keys(d.names)), nil
}

// ReadFile implements wal.FS.
func (d *FS) ReadFile(name string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.begin("ReadFile"); err != nil {
		return nil, err
	}
	c, ok := d.names[name]
	if !ok {
		return nil, fmt.Errorf("waltest: no file %s", name)
	}
	return slices.Clone(c.now), nil
}

// Create implements wal.FS.
func (d *FS) Create(name string, size int64) (wal.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.begin("Create"); err != nil {
		return nil, err
	}
	c := &content{now: make([]byte, size), durable: make([]byte, size)}
	if d.names == nil {
		d.names = make(map[string]*content)
	}
	d.names[name] = c
	return &file{d, c}, nil
}

// Open implements wal.FS.
func (d *FS) Open(name string) (wal.File, int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.begin("Open"); err != nil {
		return nil, 0, err
	}
	c, ok := d.names[name]
	if !ok {
		return nil, 0, fmt.Errorf("waltest: no file %s", name)
	}
	return &file{d, c}, int64(len(c.now)), nil
}

// Rename implements wal.FS. After a loss of power the file may have either name, both
// or none before the next Sync.
func (d *FS) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.begin("Rename"); err != nil {
		return err
	}
	c, ok := d.names[from]
	if !ok {
		return fmt.Errorf("waltest: no file %s", from)
	}
	delete(d.names, from)
	d.names[to] = c
	return nil
}

// Remove implements wal.FS.
func (d *FS) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.begin("Remove"); err != nil {
		return err
	}
	delete(d.names, name)
	return nil
}

// Sync implements wal.FS.
func (d *FS) Sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.begin("Sync"); err != nil {
		return err
	}
	d.durable = maps.Clone(d.names)
	return nil
}

// file is an open file.
type file struct {
	disk *FS
	c    *content
}

// WriteAt implements wal.File. A write that fails has happened in part.
func (f *file) WriteAt(p []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	err := f.disk.begin("WriteAt")
	n := len(p)
	if err != nil {
		n = len(p) / 2
	}
	if off+int64(n) > int64(len(f.c.now)) {
		return 0, errors.New("waltest: a write over the space that was reserved")
	}
	copy(f.c.now[off:], p[:n])
	f.c.dirty = append(f.c.dirty, span{off, off + int64(n)})
	return n, err
}

// Sync implements wal.File. After one that fails the system takes what was
// written for clean, as Linux does.
func (f *file) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.disk.begin("File.Sync"); err != nil {
		f.c.dirty = nil
		return err
	}
	for _, s := range f.c.dirty {
		copy(f.c.durable[s.from:s.to], f.c.now[s.from:s.to])
	}
	f.c.dirty = nil
	return nil
}

// Close implements wal.File.
func (f *file) Close() error { return nil }

// Lose returns what a loss of power leaves: what was synced, of names and bytes
// that were not any, and any part of a block that was being written.
func (d *FS) Lose(r *rand.Rand) *FS {
	d.mu.Lock()
	defer d.mu.Unlock()
	left := &FS{names: make(map[string]*content)}
	all := maps.Clone(d.durable)
	if all == nil {
		all = make(map[string]*content)
	}
	for _, name := range slices.Sorted(maps.Keys(d.names)) {
		if all[name] != d.names[name] && r.IntN(2) == 0 {
			all[name] = d.names[name] // created without a sync of the directory, and there
		}
	}
	for name := range d.durable {
		if _, ok := d.names[name]; !ok && r.IntN(2) == 0 {
			delete(all, name) // removed without a sync of the directory, and gone
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		data := all[name].lose(r)
		left.names[name] = &content{now: data, durable: slices.Clone(data)}
	}
	left.durable = maps.Clone(left.names)
	return left
}

// lose returns the bytes after a loss of power.
func (c *content) lose(r *rand.Rand) []byte {
	const block = 512
	data := slices.Clone(c.durable)
	for _, s := range c.dirty {
		for from := s.from; from < s.to; from += block {
			to := min(from+block, s.to)
			switch r.IntN(4) {
			case 0: // not written
			case 1: // torn
				to = from + r.Int64N(to-from+1)
				fallthrough
			default:
				copy(data[from:to], c.now[from:to])
			}
		}
	}
	return data
}

// Flip changes a byte of a file.
func (d *FS) Flip(name string, at int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.names[name]
	c.now[at] ^= 0x40
	c.durable[at] = c.now[at]
}

// Delete makes a file be gone.
func (d *FS) Delete(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.names, name)
	delete(d.durable, name)
}
