package openai

import (
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// bursts is a stream that comes in pieces. before is called before each.
type bursts struct {
	pieces []string
	before func(room int)
	at     int // of the first piece
}

func (b *bursts) Read(p []byte) (int, error) {
	if len(b.pieces) == 0 {
		return 0, io.EOF
	}
	if b.at == 0 {
		b.before(len(p))
	}
	n := copy(p, b.pieces[0][b.at:])
	if b.at += n; b.at == len(b.pieces[0]) {
		b.pieces, b.at = b.pieces[1:], 0
	}
	return n, nil
}

// TestLineReader reads lines that come in bursts of any size.
func TestLineReader(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var all strings.Builder
		var pieces []string
		for range 40 {
			lines := strings.Repeat(strings.Repeat("x", random.IntN(300))+"\n", 1+random.IntN(200)*random.IntN(2))
			if cut := random.IntN(len(lines)); cut > 0 {
				pieces = append(pieces, lines[:cut])
				lines = lines[cut:]
				all.WriteString(pieces[len(pieces)-1])
			}
			pieces = append(pieces, lines)
			all.WriteString(lines)
		}
		f := &lineReader{r: &bursts{pieces: pieces, before: func(int) {}}}
		var got strings.Builder
		var err error
		for err == nil {
			var line []byte
			if line, err = f.line(); err == nil && line[len(line)-1] != '\n' {
				t.Fatalf("a line without its end: %q", line)
			}
			got.Write(line)
		}
		if err != io.EOF || got.String() != all.String() {
			t.Fatalf("got %d bytes, %v; want %d", got.Len(), err, all.Len())
		}
		f.release()
	}
}

// TestLineReaderWaitsWithLittle looks at the buffer of a stream whose server pauses,
// whatever came before.
func TestLineReaderWaitsWithLittle(t *testing.T) {
	burst := strings.Repeat(strings.Repeat("x", 99)+"\n", 1000)
	var rooms []int
	f := &lineReader{r: &bursts{pieces: []string{"one\n", "two\n", burst, "three\n", "four\n"}, before: func(room int) { rooms = append(rooms, room) }}}
	for {
		if _, err := f.line(); err == io.EOF {
			break
		}
	}
	for i, room := range rooms {
		if room > smallBuffer && i != 3 { // what comes behind a burst may be a part of it
			t.Errorf("waited for piece %d with a buffer of %d bytes", i, room)
		}
	}
	if f.large != nil {
		t.Error("a large buffer is kept at the end")
	}
}

func TestLineReaderGivesUp(t *testing.T) {
	if _, err := (&lineReader{r: idle{}}).line(); err != io.ErrNoProgress {
		t.Errorf("got %v", err)
	}
}

// idle is a reader that never has anything.
type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }
