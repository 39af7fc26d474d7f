package openai

import (
	"bytes"
	"errors"
	"io"
)

const (
	// maxEvent bounds the data of one server-sent event and of one line of a
	// stream, in bytes.
	maxEvent = 8 << 20
)

// errTooLong is the failure of a stream with a line or event over [maxEvent].
var errTooLong = errors.New("openai: an event of the stream is too long")

// eventReader reads the data of server-sent events, and whether an event is
// named error. Comments and other fields are skipped, lines end with LF or CRLF,
// and the last event of a stream needs no blank line behind it.
type eventReader struct {
	r     *lineReader
	limit int
	begun bool   // a line was read
	data  []byte // of the event that is being read
	long  []byte // a line that does not fit r's buffer

	plain    plainChunks
	aheadLen int // of the event that ahead has returned, in r's buffer
}

func newEventReader(r io.Reader) *eventReader {
	return &eventReader{r: &lineReader{r: r}, limit: maxEvent}
}

// next returns the data of the next event that has any. It is valid until the
// next call. The error is io.EOF at the end of the stream.
func (e *eventReader) next() (data []byte, named string, err error) {
	e.data = e.data[:0]
	has := false
	for {
		line, err := e.line()
		switch {
		case err != nil && (err != io.EOF || !has):
			return nil, "", err
		case err != nil || len(line) == 0 && has:
			return e.data, named, nil
		case len(line) == 0: // the end of an event without data
			named = ""
			continue
		}
		field, value, _ := bytes.Cut(line, colon)
		value = bytes.TrimPrefix(value, space)
		switch string(field) {
		case "event":
			named = string(value)
		case "data":
			if has {
				e.data = append(e.data, '\n')
			}
			has = true
			if len(e.data)+len(value) > e.limit {
				return nil, "", errTooLong
			}
			e.data = append(e.data, value...)
		}
	}
}

var (
	colon         = []byte(":")
	space         = []byte(" ")
	byteOrderMark = []byte("\uFEFF")
)

// line returns the next line without its end. A last line without an end counts;
// the error is io.EOF when there is none left.
func (e *eventReader) line() ([]byte, error) {
	line, err := e.r.line()
	if err == errFull {
		line, err = e.longLine(line)
	}
	if err != nil && (err != io.EOF || len(line) == 0) {
		return nil, err
	}
	line = bytes.TrimSuffix(line, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if !e.begun {
		e.begun = true
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	return line, nil
}

// longLine reads the rest of a line that begins with head.
func (e *eventReader) longLine(head []byte) ([]byte, error) {
	e.long = append(e.long[:0], head...)
	for {
		more, err := e.r.line()
		e.long = append(e.long, more...)
		if len(e.long) > e.limit {
			return nil, errTooLong
		}
		if err != errFull {
			return e.long, err
		}
	}
}
