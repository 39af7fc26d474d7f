package wal

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// DamagedError says where a log is not as it was written. Records behind the
// place are whole, or records before it are missing: it is not the end of a
// write that a crash cut short.
type DamagedError struct {
	File   string // name of the segment
	Offset int64  // bytes into it
	Reason string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the log is damaged: %s at offset %d: %s", e.File, e.Offset, e.Reason)
}

// Open reads the log in a directory and checks it. What a crash left at the end
// is no error and no record. An error is a [DamagedError] or that of the
// directory. A log without segments is empty; the first Start makes one.
func Open(opts Options) (*Log, error) {
	if opts.SegmentSize == 0 {
		opts.SegmentSize = defaultSegment
	}
	l := &Log{opts: opts}
	if err := l.walk(func(s segment) { l.segments = append(l.segments, s) }, nil); err != nil {
		return l, err
	}
	if opts.ReadOnly {
		return l, nil
	}
	return l, l.Tidy()
}

// Tidy removes the file of a segment that a crash has cut short when it was made, and
// looks for files that can become segments.
func (l *Log) Tidy() error {
	for _, name := range l.unbegun {
		if err := l.opts.FS.Remove(name); err != nil {
			return err
		}
	}
	l.unbegun = nil
	return l.findRecycled()
}

// findRecycled looks for files that can become segments, and removes those beyond
// the few that are kept.
func (l *Log) findRecycled() error {
	names, err := l.opts.FS.List()
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		switch {
		case !isNumbered(name, recycledExtension):
		case len(l.recycled) < maxRecycled:
			l.recycled = append(l.recycled, name)
		default:
			if err := l.opts.FS.Remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// Replay calls fn with each record, in order. The payload is fn's.
func (l *Log) Replay(fn func(version uint64, payload []byte) error) error {
	return l.walk(func(segment) {}, fn)
}

// walk reads all segments. It calls begin for each, and fn, where there is one,
// for each record.
func (l *Log) walk(begin func(segment), fn func(uint64, []byte) error) error {
	names, err := l.opts.FS.List()
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !isNumbered(name, extension) })
	slices.Sort(names)
	w := walker{log: l, fn: fn}
	for i, name := range names {
		if err := w.segment(name, i == len(names)-1, begin); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = w.next - min(w.next, 1)
	return nil
}

// walker reads segments one after another.
type walker struct {
	log  *Log
	fn   func(uint64, []byte) error
	next uint64 // version of the record that comes next, 0 before the first segment
	read uint64 // number of the segment before
}

// segment reads one file.
func (w *walker) segment(name string, last bool, begin func(segment)) error {
	data, err := w.log.opts.FS.ReadFile(name)
	if err != nil {
		return err
	}
	s, ok := parseHeader(data)
	switch {
	case !ok && last && nextRecord(data, block, nil) < 0:
		w.log.unbegun = []string{name} // a crash when it was made: nothing was acknowledged in it
		return nil
	case !ok || s.name() != name:
		if err := w.damaged(name, 0, "the header cannot be read"); err != nil {
			return err
		}
		s = w.reconstruct(name, data)
	}
	begin(s)
	if w.next != 0 && (s.first != w.next || s.number != w.read+1) {
		if err := w.damaged(name, 0, fmt.Sprintf("it begins with version %d, and the one before it ended with %d", s.first, w.next-1)); err != nil {
			return err
		}
	}
	w.next, w.read = s.first, s.number
	return w.records(s, data)
}

// reconstruct returns what a header must have said, from the file's name and its first
// record. Older ones than the segment before has are what the file had as another.
func (w *walker) reconstruct(name string, data []byte) segment {
	s := segment{first: w.next, size: int64(len(data))}
	s.number, _ = strconv.ParseUint(strings.TrimSuffix(name, extension), 10, 64)
	for at := nextRecord(data, block, nil); at >= 0; at = nextRecord(data, at+block, nil) {
		if r, _ := parseRecord(data, at); r.version >= w.next {
			s.first, s.nonce = r.version, r.nonce
			break
		}
	}
	return s
}

// records reads the records of a segment.
func (w *walker) records(s segment, data []byte) error {
	at := int64(block)
	for {
		r, ok := parseRecord(data, at)
		if ok && r.nonce == s.nonce && r.version == w.next {
			if w.fn != nil {
				if err := w.fn(r.version, r.payload); err != nil {
					return err
				}
			}
			at, w.next = r.end, r.version+1
			continue
		}
		behind := nextRecord(data, at, &s)
		if behind < 0 {
			return nil // the end, or what a crash has left of a record
		}
		r, _ = parseRecord(data, behind)
		if err := w.damaged(s.name(), at, fmt.Sprintf("a record cannot be read, and the one of version %d at offset %d can", r.version, behind)); err != nil {
			return err
		}
		if r.version < w.next {
			at = r.end
			continue
		}
		at, w.next = behind, r.version
	}
}

// nextRecord returns the offset of the first whole record from an offset on, one
// of the segment where that is given, or -1.
func nextRecord(data []byte, at int64, s *segment) int64 {
	for ; at < int64(len(data)); at += block {
		if r, ok := parseRecord(data, at); ok && (s == nil || r.nonce == s.nonce) {
			return at
		}
	}
	return -1
}

// damaged refuses to go on, or tells that it does.
func (w *walker) damaged(name string, at int64, reason string) error {
	err := &DamagedError{File: name, Offset: at, Reason: reason}
	if !w.log.opts.Salvage {
		return err
	}
	if w.log.opts.Lost != nil && w.fn == nil {
		w.log.opts.Lost(err)
	}
	return nil
}
