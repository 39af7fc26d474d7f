package pdf

// LZW (ISO 32000-2, 7.4.4). compress/lzw cannot read it: code lengths change
// one code early unless EarlyChange is 0.

const (
	lzwClear  = 256
	lzwEnd    = 257
	lzwFirst  = 258
	lzwMaxLen = 4096
)

// lzwTable holds the strings of the codes seen so far, each as the code of its
// beginning and its last byte.
type lzwTable struct {
	prefix [lzwMaxLen]int16
	last   [lzwMaxLen]byte
	length [lzwMaxLen]int32
	next   int // the code to be defined next
}

func (t *lzwTable) reset() {
	for c := range 256 {
		t.prefix[c], t.last[c], t.length[c] = -1, byte(c), 1
	}
	t.next = lzwFirst
}

// first returns the first byte of a code's string.
func (t *lzwTable) first(code int) byte {
	for t.prefix[code] >= 0 {
		code = int(t.prefix[code])
	}
	return t.last[code]
}

// define gives the next code the string of prefix and one more byte.
func (t *lzwTable) define(prefix int, last byte) {
	if t.next < lzwMaxLen {
		t.prefix[t.next], t.last[t.next], t.length[t.next] = int16(prefix), last, t.length[prefix]+1
		t.next++
	}
}

// append adds the string of a code to out.
func (t *lzwTable) append(out []byte, code int) []byte {
	n := int(t.length[code])
	out = append(out, make([]byte, n)...)
	for i := len(out) - 1; n > 0; i, n = i-1, n-1 {
		out[i] = t.last[code]
		code = int(t.prefix[code])
	}
	return out
}

// width is the length in bits of the next code.
func (t *lzwTable) width(early int) int {
	switch n := t.next + early; {
	case n >= 2048:
		return 12
	case n >= 1024:
		return 11
	case n >= 512:
		return 10
	}
	return 9
}

func decodeLZW(data []byte, early int, limit int64) ([]byte, error) {
	var t lzwTable
	t.reset()
	var out []byte
	var bits uint32
	have, width, prev := 0, 9, -1
	for _, b := range data {
		bits = bits<<8 | uint32(b)
		if have += 8; have < width {
			continue
		}
		have -= width
		code := int(bits>>have) & (1<<width - 1)
		if code == lzwClear {
			t.reset()
			width, prev = 9, -1
			continue
		}
		if code == lzwEnd || code > t.next || prev < 0 && code > 255 || code == t.next && t.next == lzwMaxLen {
			return out, nil
		}
		if prev >= 0 {
			known := code
			if code == t.next { // the string being defined: it begins as the last one did
				known = prev
			}
			t.define(prev, t.first(known))
		}
		out = t.append(out, code)
		if int64(len(out)) > limit {
			return out[:limit], errFull
		}
		prev, width = code, t.width(early)
	}
	return out, nil
}
