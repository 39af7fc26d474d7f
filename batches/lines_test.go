package batches

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// FuzzLines holds that the lines of any file are those between its ends of lines, and
// that each is found again at its offset, however the bytes arrive: that is how a
// segment is run.
func FuzzLines(f *testing.F) {
	for _, file := range []string{"", "a", "a\nb\r\n\n \nc", "\ufeffa\nb", "\ufeff", "\n\ufeffa\n", "{\"custom_id\":\"a\"}\n"} {
		f.Add([]byte(file))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		var want [][]byte
		for text := range bytes.Lines(bytes.TrimPrefix(file, []byte(byteOrderMark))) {
			if text = bytes.TrimSpace(text); len(text) > 0 {
				want = append(want, text)
			}
		}
		lines := newLineReader(iotest.OneByteReader(bytes.NewReader(file)), 0)
		for i := 0; ; i++ {
			text, err := lines.read()
			if err == io.EOF && i == len(want) {
				return
			}
			if err != nil || i == len(want) || !bytes.Equal(text, want[i]) {
				t.Fatalf("line %d: got %q, %v", i, text, err)
			}
			again, err := newLineReader(bytes.NewReader(file[lines.offset:]), lines.offset).read()
			if err != nil || !bytes.Equal(bytes.TrimPrefix(again, []byte(byteOrderMark)), bytes.TrimPrefix(text, []byte(byteOrderMark))) {
				t.Fatalf("line %d at %d: got %q, %v", i, lines.offset, again, err)
			}
		}
	})
}

// TestALongLineIsRefusedAtOnce holds that no more of it is read than a line may have.
func TestALongLineIsRefusedAtOnce(t *testing.T) {
	endless := &counting{}
	if _, err := newLineReader(endless, 0).read(); !errors.Is(err, errLongLine) || endless.n > MaxLine+1<<20 {
		t.Errorf("got %v after %d bytes", err, endless.n)
	}
}

// counting is a file of one line without an end.
type counting struct{ n int }

func (c *counting) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	c.n += len(p)
	return len(p), nil
}
