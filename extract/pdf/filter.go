package pdf

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"sync"
)

// Stream filters (ISO 32000-2, 7.4). A decoder returns what could be decoded
// before the data went bad, because half a page is worth having; the only error
// is errFull, when the output would pass the limit.

var errFull = errors.New("decoded data over the limit")

// maxFilters bounds the filters applied to one stream.
const maxFilters = 8

// filter is one entry of a stream's Filter with its DecodeParms.
type filter struct {
	name  string
	parms object
}

// apply decodes data. The result ok is false for filters that no text can hide
// behind, those of images.
func (f filter) apply(data []byte, limit int64) (out []byte, ok bool, err error) {
	switch f.name {
	case "FlateDecode", "Fl":
		out, err = inflate(data, limit)
		return f.unpredict(out), true, err
	case "LZWDecode", "LZW":
		early := 1
		if e := f.parms.get("EarlyChange"); e.kind == number {
			early = e.int()
		}
		out, err = decodeLZW(data, early, limit)
		return f.unpredict(out), true, err
	case "ASCIIHexDecode", "AHx":
		return decodeHex(make([]byte, 0, len(data)/2+1), cutAt(data, '>')), true, nil
	case "ASCII85Decode", "A85":
		return decode85(data, limit)
	case "RunLengthDecode", "RL":
		out, err = decodeRunLength(data, limit)
		return out, true, err
	case "Crypt":
		return data, true, nil
	}
	return nil, false, nil
}

func cutAt(data []byte, c byte) []byte {
	if i := bytes.IndexByte(data, c); i >= 0 {
		return data[:i]
	}
	return data
}

// inflate reads zlib data and, failing that, deflate data with a broken header
// or none.
func inflate(data []byte, limit int64) ([]byte, error) {
	data = bytes.TrimLeft(data, " \r\n\t")
	if len(data) > 2 {
		out, err := inflateRaw(data[2:], limit)
		if len(out) > 0 || err != nil || hasZlibHeader(data) {
			return out, err
		}
	}
	return inflateRaw(data, limit)
}

// inflaters are readers that were used before: each has 32 KB.
var inflaters = sync.Pool{New: func() any { return flate.NewReader(nil) }}

func inflateRaw(data []byte, limit int64) ([]byte, error) {
	r := inflaters.Get().(io.Reader)
	defer inflaters.Put(r)
	r.(flate.Resetter).Reset(bytes.NewReader(data), nil) // fails never
	var out bytes.Buffer
	out.Grow(int(min(limit, 3*int64(len(data)), 1<<20)))
	n, _ := io.Copy(&out, io.LimitReader(r, limit+1)) // damage ends the data, see above
	if n > limit {
		return out.Bytes()[:limit], errFull
	}
	return out.Bytes(), nil
}

// hasZlibHeader reports whether the standard library's zlib would read data.
func hasZlibHeader(data []byte) bool {
	return len(data) >= 2 && data[0]&0x0f == 8 && data[0]>>4 <= 7 &&
		(int(data[0])<<8|int(data[1]))%31 == 0 && data[1]&0x20 == 0
}

// decodeHex appends what hexadecimal digits stand for to out, ignoring anything
// else; a missing last digit is 0.
func decodeHex(out, data []byte) []byte {
	high := -1
	for _, c := range data {
		x := hexDigit(c)
		switch {
		case x < 0:
		case high < 0:
			high = x
		default:
			out = append(out, byte(high<<4|x))
			high = -1
		}
	}
	if high >= 0 {
		out = append(out, byte(high<<4))
	}
	return out
}

func decode85(data []byte, limit int64) (out []byte, ok bool, err error) {
	data = bytes.TrimPrefix(bytes.TrimLeft(data, " \r\n\t"), []byte("<~"))
	out = make([]byte, 0, len(data)*4/5+4)
	var group [5]byte
	n := 0
	for _, c := range cutAt(data, '~') {
		switch {
		case c == 'z' && n == 0:
			out = append(out, 0, 0, 0, 0)
		case c >= '!' && c <= 'u':
			group[n] = c - '!'
			n++
		}
		if n == 5 {
			out = append85(out, group, 4)
			n = 0
		}
		if int64(len(out)) > limit {
			return out[:limit], true, errFull
		}
	}
	if n > 1 {
		for i := n; i < 5; i++ {
			group[i] = 84
		}
		out = append85(out, group, n-1)
	}
	return out, true, nil
}

// append85 appends the first n bytes of a group of five digits.
func append85(out []byte, group [5]byte, n int) []byte {
	v := uint32(0)
	for _, d := range group {
		v = v*85 + uint32(d)
	}
	four := [4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}
	return append(out, four[:n]...)
}

func decodeRunLength(data []byte, limit int64) ([]byte, error) {
	var out []byte
	for i := 0; i < len(data) && data[i] != 128; {
		n := int(data[i])
		i++
		if n < 128 {
			last := min(i+n+1, len(data))
			out = append(out, data[i:last]...)
			i = last
		} else if i < len(data) {
			out = append(out, bytes.Repeat(data[i:i+1], 257-n)...)
			i++
		}
		if int64(len(out)) > limit {
			return out[:limit], errFull
		}
	}
	return out, nil
}
