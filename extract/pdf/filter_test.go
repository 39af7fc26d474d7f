package pdf

import (
	"errors"
	"strings"
	"testing"
)

func TestFilters(t *testing.T) {
	predicted := func(entries ...object) object { return dictOf(entries...) }
	n := func(key string, v int) []object { return []object{nameOf(key), numberOf(v)} }
	up := predicted(append(n("Predictor", 12), n("Columns", 3)...)...)
	tiff := predicted(append(n("Predictor", 2), n("Columns", 3)...)...)
	zlib := deflate("hello")
	tests := []struct {
		name, filter, in, want string
		parms                  object
	}{
		{"flate", "FlateDecode", zlib, "hello", object{}},
		{"flate, abbreviated", "Fl", zlib, "hello", object{}},
		{"flate without header", "FlateDecode", zlib[2:], "hello", object{}},
		{"flate without checksum", "FlateDecode", zlib[:len(zlib)-4], "hello", object{}},
		{"flate after line end", "FlateDecode", "\r\n" + zlib, "hello", object{}},
		{"hex", "ASCIIHexDecode", "48 65\n6C6c6F>rest", "Hello", object{}},
		{"hex, odd", "AHx", "4>", "@", object{}},
		{"ascii85", "ASCII85Decode", "87cURD]i,\"Ebo80~>", "Hello World!", object{}},
		{"ascii85 with z and prefix", "A85", "<~z!!~>", "\x00\x00\x00\x00\x00", object{}},
		{"run length", "RunLengthDecode", "\x02abc\xfed\x80x", "abcddd", object{}},
		{"run length, cut", "RL", "\x05ab", "ab", object{}},
		{"lzw, from the standard", "LZWDecode", "\x80\x0b\x60\x50\x22\x0c\x0c\x85\x01", "-----A---B", object{}},
		{"lzw, bad code", "LZW", "\x80\xff\xff", "", object{}},
		{"png up", "FlateDecode", deflate("\x02abc\x02\x01\x01\x01\x02\x00\x00"), "abcbcdbc", up},
		{"png sub, average, paeth", "FlateDecode", deflate("\x01\x01\x01\x01\x03\x01\x01\x01\x04\x01\x01\x01"), "\x01\x02\x03\x01\x02\x03\x02\x03\x04", up},
		{"tiff", "FlateDecode", deflate("\x01\x01\x01\x05\x01\x01"), "\x01\x02\x03\x05\x06\x07", tiff},
		{"crypt", "Crypt", "as is", "as is", object{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, ok, err := filter{test.filter, test.parms}.apply([]byte(test.in), 1000)
			if string(got) != test.want || !ok || err != nil {
				t.Errorf("got %q, %v, %v; want %q", got, ok, err, test.want)
			}
		})
	}
}

func TestFiltersKeepTheLimit(t *testing.T) {
	for name, in := range map[string]string{
		"FlateDecode":     deflate(strings.Repeat(" ", 5000)),
		"ASCII85Decode":   strings.Repeat("z", 5000),
		"RunLengthDecode": strings.Repeat("\x81a", 5000),
		"LZWDecode":       "\x80" + strings.Repeat("\x0b\x60\x50\x22\x0c\x0c\x85", 5000),
	} {
		got, _, err := filter{name: name}.apply([]byte(in), 1000)
		if name != "LZWDecode" && !errors.Is(err, errFull) || len(got) > 1000 {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

func TestImageFiltersAreNotApplied(t *testing.T) {
	if got, ok, err := (filter{name: "DCTDecode"}).apply([]byte("x"), 10); got != nil || ok || err != nil {
		t.Errorf("got %q, %v, %v; want nil, false, nil", got, ok, err)
	}
}
