package batches

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// line is a request as it stands in the input file.
type line struct {
	CustomID string          `json:"custom_id"`
	Method   string          `json:"method"`
	URL      string          `json:"url"`
	Body     json.RawMessage `json:"body"`
}

func decode(data []byte, v any) error { return json.Unmarshal(data, v) }

// errLongLine says that a line has more than [MaxLine] bytes.
var errLongLine = errors.New("batches: a line is too long")

// lineReader reads lines that are not blank.
type lineReader struct {
	r      *bufio.Reader
	offset int64 // of the line that was read last
	next   int64 // behind it
	number int   // of that line, from 1, blank ones counted
	buffer []byte
}

func newLineReader(r io.Reader, offset int64) *lineReader {
	l := &lineReader{r: bufio.NewReaderSize(r, 64<<10), next: offset}
	if mark, _ := l.r.Peek(len(byteOrderMark)); offset == 0 && string(mark) == byteOrderMark { // an error comes again
		n, _ := l.r.Discard(len(mark))
		l.next += int64(n)
	}
	return l
}

// byteOrderMark begins UTF-8 files of some programs.
const byteOrderMark = "\ufeff"

// read returns the next line without its end, which is valid until the next call. The
// error is io.EOF after the last one, or errLongLine.
func (l *lineReader) read() ([]byte, error) {
	for {
		l.offset, l.buffer = l.next, l.buffer[:0]
		l.number++
		err := l.fill()
		if text := bytes.TrimSpace(l.buffer); len(text) > 0 && (err == nil || err == io.EOF) {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// fill reads up to the end of the line.
func (l *lineReader) fill() error {
	for {
		piece, err := l.r.ReadSlice('\n')
		l.next += int64(len(piece))
		if len(l.buffer)+len(piece) > MaxLine+2 {
			return errLongLine
		}
		l.buffer = append(l.buffer, piece...)
		if err != bufio.ErrBufferFull {
			return err
		}
	}
}
