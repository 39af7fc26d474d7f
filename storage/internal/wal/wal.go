// Package wal is a log of records on disk: what was appended to it is there
// after a kill of the process and a crash of the machine.
//
// [Open] finds the segments that a log consists of and checks every record in
// them; [Log.Replay] hands the records out. After [Log.Rotate] the log takes
// [Log.Append], one write and one sync for each record, in a segment whose space
// was reserved before. [Log.Drop] takes away segments whose records are elsewhere
// by then; a file or two of them are kept, named .spare, and become segments again.
//
// A segment is a file of blocks of 512 bytes: a header, then records, each of
// them from the beginning of a block. So no write touches what an earlier one
// has made durable, and a record can be found behind one that is damaged. Numbers
// are little-endian; checksums are CRC-32C of all that follows them.
//
//	header: "svc log 1\n", checksum, number of the segment, version of its first record, mark, nonce
//	record: "svcr", checksum, length of the payload, 4 bytes of zeros, version, nonce, payload, zeros
//
// The nonce is random and the same in a segment. Without it a payload could hold
// what looks like a record, and what a file held as another segment would be taken
// for records. A recycled file gets its header before it gets its name.
package wal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"unsafe"
)

// ErrRefused is the error of an Append that has written nothing: another may
// follow.
var ErrRefused = errors.New("wal: nothing was written")

// FS is the directory that a log is in. Names that are no segment's are others'.
type FS interface {
	// List returns the names of the files, in any order.
	List() ([]string, error)

	// ReadFile returns the contents of a file.
	ReadFile(name string) ([]byte, error)

	// Create makes a file, in the place of one that is there, with that many bytes
	// of zeros for which the disk has space. After an error there is none.
	Create(name string, size int64) (File, error)

	// Open opens a file to be written over, and returns how many bytes it has.
	Open(name string) (File, int64, error)

	// Rename gives a file another name, that no file has.
	Rename(from, to string) error

	// Remove removes a file.
	Remove(name string) error

	// Sync makes creations, removals and names durable.
	Sync() error
}

// File is a file that a log writes to, in whole blocks.
type File interface {
	WriteAt(p []byte, off int64) (int, error)

	// Sync makes what was written durable.
	Sync() error

	Close() error
}

// Options say how a log is kept.
type Options struct {
	FS FS

	// SegmentSize is how many bytes a segment has, a multiple of 512, but for one
	// with a larger record. 0 stands for 4 MiB.
	SegmentSize int64

	// Salvage goes on behind records that are damaged or missing, and calls Lost
	// for each such place, instead of refusing to open.
	Salvage bool
	Lost    func(error)

	// ReadOnly lets Open change nothing in the directory. Before the first Start there
	// must be a call of Tidy then.
	ReadOnly bool
}

const (
	defaultSegment = 4 << 20

	// maxRecycled is how many files are kept for segments to come.
	maxRecycled = 2
)

// Log is a log. Append is for one goroutine at a time, all else for any.
type Log struct {
	opts   Options
	buffer []byte // reused by Append

	mu       sync.Mutex
	segments []segment // by number; the last is written to once active
	recycled []string  // names of files
	unbegun  []string  // names of files that have no header
	last     uint64    // version of the last record; before the first, one less than its
	file     File      // the last segment's, nil before Start
	end      int64     // where its next record goes
	failed   error     // why nothing can be appended any more
}

// Segments returns how many segments there are.
func (l *Log) Segments() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.segments)
}

// Size returns how many bytes the segments have.
func (l *Log) Size() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	size := uint64(0)
	for _, s := range l.segments {
		size += uint64(s.size)
	}
	return size
}

// Last returns the version of the last record, 0 in a log that never had one.
func (l *Log) Last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// First returns the version that the first record has or will have, 0 where
// there are no segments.
func (l *Log) First() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.segments) == 0 {
		return 0
	}
	return l.segments[0].first
}

// Mark returns the mark of the first segment; see [Log.Rotate].
func (l *Log) Mark() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.segments) == 0 {
		return 0
	}
	return l.segments[0].mark
}

// Rotate begins a segment for the records after version last, with room for one
// with that many bytes. The mark is a number of the caller's, kept with the
// segment. The error is an ErrRefused where all is as it was; after any other
// nothing can be appended any more.
func (l *Log) Rotate(last, mark uint64, payload int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	s := segment{number: 1, first: last + 1, mark: mark, nonce: rand.Uint64()}
	if n := len(l.segments); n > 0 {
		s.number = l.segments[n-1].number + 1
	}
	s.size = max(l.opts.SegmentSize, block+recordSize(payload))
	file, err := l.create(s)
	if err != nil {
		return err
	}
	if err := l.opts.FS.Sync(); err != nil {
		file.Close()
		return l.fail(fmt.Errorf("begin %s: %w", s.name(), err))
	}
	l.closeFile()
	l.segments = append(l.segments, s)
	l.file, l.end, l.last = file, block, last
	return nil
}

// create makes the segment's file, durable and with its header, but for its name.
// Where there is a recycled file it becomes that: to write where nothing was written yet
// costs the file system more, each time.
func (l *Log) create(s segment) (File, error) {
	if len(l.recycled) > 0 && s.size == l.opts.SegmentSize {
		// That a recycled file is none of the segments any more must be durable before it is
		// changed.
		if err := l.opts.FS.Sync(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrRefused, err)
		}
		for len(l.recycled) > 0 {
			name := l.recycled[0]
			l.recycled = l.recycled[1:]
			if file, err := l.reuse(name, s); err == nil {
				return file, nil
			}
			l.opts.FS.Remove(name) // whatever is wrong with it
		}
	}
	file, err := l.opts.FS.Create(s.name(), s.size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err := l.writeHeader(s, file); err != nil {
		file.Close()
		return nil, l.fail(fmt.Errorf("begin %s: %w", s.name(), err))
	}
	return file, nil
}

// reuse makes a recycled file the segment's file. Its header must be durable before it is a
// segment again.
func (l *Log) reuse(name string, s segment) (File, error) {
	file, size, err := l.opts.FS.Open(name)
	if err != nil {
		return nil, err
	}
	if size != s.size {
		err = fmt.Errorf("wal: %s has %d bytes, want %d", name, size, s.size)
	}
	if err == nil {
		err = l.writeHeader(s, file)
	}
	if err == nil {
		err = l.opts.FS.Rename(name, s.name())
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// writeHeader writes the segment's header and makes it durable.
func (l *Log) writeHeader(s segment, file File) error {
	if _, err := file.WriteAt(s.header(l.aligned(block)), 0); err != nil {
		return err
	}
	return file.Sync()
}

// closeFile closes the file that is written to. What is in it is durable, so that its
// error says nothing.
func (l *Log) closeFile() {
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

// Fits reports whether a record with that many bytes can be appended. If not,
// Rotate makes room.
func (l *Log) Fits(payload int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file != nil && l.end+recordSize(payload) <= l.segments[len(l.segments)-1].size
}

// Append adds a record, which must fit and whose version must be larger than the
// last one's by one. When it returns nil the record is durable. After an error
// whether it will be found is unknown, and nothing can be appended any more.
func (l *Log) Append(version uint64, payload []byte) error {
	return l.AppendFunc(version, len(payload), func(b []byte) []byte { return append(b, payload...) })
}

// AppendFunc is Append for a payload of a size that encode appends to the buffer
// which is written, so that it need not be in memory twice.
func (l *Log) AppendFunc(version uint64, size int, encode func([]byte) []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	if l.file == nil || version != l.last+1 {
		return fmt.Errorf("wal: a record of version %d after version %d", version, l.last)
	}
	s := l.segments[len(l.segments)-1]
	data := s.record(l.aligned(int(recordSize(size))), version, size, encode)
	if _, err := l.file.WriteAt(data, l.end); err != nil {
		return l.fail(fmt.Errorf("write %s: %w", s.name(), err))
	}
	if err := l.file.Sync(); err != nil {
		return l.fail(fmt.Errorf("sync %s: %w", s.name(), err))
	}
	l.end += int64(len(data))
	l.last = version
	return nil
}

// fail lets nothing be appended any more. What a file holds after a failed write
// or sync is unknown, also when a later one succeeds.
func (l *Log) fail(err error) error {
	l.failed = fmt.Errorf("wal: no writes until the log is opened again: %w", err)
	return l.failed
}

// Failed returns why nothing can be appended any more, or nil.
func (l *Log) Failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// TruncateThrough removes the segments of which all records have versions up to and with
// that one, but not the last segment.
func (l *Log) TruncateThrough(version uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.segments) > 1 && l.segments[1].first <= version+1 {
		if err := l.retire(l.segments[0]); err != nil {
			return err
		}
		l.segments = l.segments[1:]
		// One after the other: a crash must not bring one back without those behind it.
		if err := l.opts.FS.Sync(); err != nil {
			return err
		}
	}
	return nil
}

// retire renames a segment's file so that it can be recycled, or removes it.
func (l *Log) retire(s segment) error {
	if s.size != l.opts.SegmentSize || len(l.recycled) >= maxRecycled {
		return l.opts.FS.Remove(s.name())
	}
	if err := l.opts.FS.Rename(s.name(), s.recycledName()); err != nil {
		return err
	}
	l.recycled = append(l.recycled, s.recycledName())
	return nil
}

// Close gives up the log's file.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closeFile()
	if l.failed == nil {
		l.failed = errors.New("wal: the log is closed")
	}
	return nil
}

// keptBuffer is up to how many bytes the buffer is kept for the next record.
const keptBuffer = 2 << 20

// aligned returns a buffer of n zeros that begins where direct writes to files
// may.
func (l *Log) aligned(n int) []byte {
	if len(l.buffer) >= n {
		clear(l.buffer[:n])
		return l.buffer[:n]
	}
	b := alignedZeros(n)
	if n <= keptBuffer {
		l.buffer = b
	}
	return b
}

// alignedZeros returns n zeros that begin at a page of memory.
func alignedZeros(n int) []byte {
	const page = 4096
	raw := make([]byte, n+page)
	skip := page - int(uintptr(unsafe.Pointer(&raw[0]))%page)
	return raw[skip : skip+n]
}
