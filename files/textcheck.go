package files

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

// textChecker finds out whether what is written to it is text as [Text] takes
// it, without keeping it.
type textChecker struct {
	mimeType string
	begun    bool             // the encoding is known
	order    binary.ByteOrder // of UTF-16; nil is UTF-8
	held     []byte           // the beginning, or of a character that is not whole yet
	invalid  bool
}

// checkSize is how many bytes are looked at together.
const checkSize = 4 << 10

func newTextChecker(mimeType string) *textChecker {
	return &textChecker{mimeType: mimeType, held: make([]byte, 0, checkSize+utf8.UTFMax)}
}

// Write implements [io.Writer] and returns no error.
func (c *textChecker) Write(p []byte) (int, error) {
	for piece := range slices.Chunk(p, checkSize) {
		if c.invalid {
			break
		}
		c.held = append(c.held, piece...)
		if c.begun || len(c.held) >= 3 {
			c.look()
		}
	}
	return len(p), nil
}

// text reports whether all that was written is text. Nothing is written after
// it.
func (c *textChecker) text() bool {
	if !c.invalid {
		c.look()
	}
	return !c.invalid && len(c.held) == 0
}

// look checks the characters that are whole and holds the rest back.
func (c *textChecker) look() {
	data := c.held
	if !c.begun {
		var mark int
		c.order, mark = encoding(c.mimeType, data)
		data, c.begun = data[mark:], true
	}
	var whole int
	if c.order != nil {
		whole = wholeUTF16(data, c.order)
		_, err := utf16Text(data[:whole], c.order)
		c.invalid = err != nil
	} else {
		whole = wholeUTF8(data)
		c.invalid = !isUTF8(data[:whole])
	}
	c.held = append(c.held[:0], data[whole:]...)
}

// wholeUTF8 is the length of data without a character that may go on behind it.
func wholeUTF8(data []byte) int {
	for i := len(data) - 1; i >= max(0, len(data)-utf8.UTFMax); i-- {
		if utf8.RuneStart(data[i]) {
			if utf8.FullRune(data[i:]) {
				break
			}
			return i
		}
	}
	return len(data)
}

// wholeUTF16 is the same for UTF-16.
func wholeUTF16(data []byte, order binary.ByteOrder) int {
	whole := len(data) &^ 1
	if whole >= 2 {
		if last := order.Uint16(data[whole-2:]); last>>10 == 0xd800>>10 {
			return whole - 2
		}
	}
	return whole
}
