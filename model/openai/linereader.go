package openai

import (
	"bytes"
	"errors"
	"io"
	"sync"
)

const (
	smallBuffer = 1 << 10  // holds an event of an ordinary stream or a few
	largeBuffer = 16 << 10 // is for streams at full speed
)

// largeBuffers are for what reads at full speed. What waits has none.
var largeBuffers = sync.Pool{New: func() any {
	b := make([]byte, largeBuffer)
	return &b
}}

// errFull is the error of a line that is longer than the buffer.
var errFull = errors.New("openai: the buffer is full")

// lineReader reads lines. A stream that waits for its server holds a small buffer, as
// there may be thousands of them; it takes a large one while more comes than the
// small one takes.
type lineReader struct {
	r          io.Reader
	buf        []byte
	start, end int   // of what was read into buf and not used
	full       bool  // the last read got all that it asked for
	err        error // of r: it has no more

	large *[]byte // buf, where it is of largeBuffers
	small [smallBuffer]byte
}

// line returns what was read up to the next line feed, with it. It is valid until
// the next call. Behind the last line feed it returns the rest and the error of
// the reader; of a line that does not fit its next part and errFull.
func (f *lineReader) line() ([]byte, error) {
	searched := 0
	for {
		if i := bytes.IndexByte(f.buf[f.start+searched:f.end], '\n'); i >= 0 {
			line := f.buf[f.start : f.start+searched+i+1]
			f.start += len(line)
			return line, nil
		}
		searched = f.end - f.start
		if f.err == nil && searched < largeBuffer {
			f.fill()
			continue
		}
		line, err := f.buf[f.start:f.end], f.err
		f.start = f.end
		if err == nil {
			err = errFull
		}
		return line, err
	}
}

// buffered returns what was read and not used. It is valid until the next line.
func (f *lineReader) buffered() []byte { return f.buf[f.start:f.end] }

// discard steps over bytes that are buffered.
func (f *lineReader) discard(n int) { f.start += n }

// maxEmptyReads is how often a reader may return nothing and no error.
const maxEmptyReads = 100

// fill reads once, behind what is there, into the buffer that suits.
func (f *lineReader) fill() {
	held := f.buf[f.start:f.end]
	switch {
	case f.large == nil && (f.full || len(held) == smallBuffer):
		f.large = largeBuffers.Get().(*[]byte)
		f.move(*f.large)
	case f.large != nil && !f.full && len(held) < smallBuffer:
		large := f.large
		f.large = nil
		f.move(f.small[:])
		largeBuffers.Put(large)
	case f.large != nil:
		f.move(*f.large)
	default:
		f.move(f.small[:])
	}
	for range maxEmptyReads {
		n, err := f.r.Read(f.buf[f.end:])
		f.end += n
		f.full = f.end == len(f.buf)
		f.err = err
		if n > 0 || err != nil {
			return
		}
	}
	f.err = io.ErrNoProgress
}

// move makes buf the buffer, with what is held at its beginning.
func (f *lineReader) move(buf []byte) {
	f.end = copy(buf, f.buf[f.start:f.end])
	f.start, f.buf = 0, buf
}

// release gives the buffer back. Nothing may be read any more.
func (f *lineReader) release() {
	if f.large != nil {
		largeBuffers.Put(f.large)
		*f = lineReader{err: io.ErrClosedPipe}
	}
}
