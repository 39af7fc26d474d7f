package rtf

import (
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

// codePages are character sets by the number that \ansicpg and \cpg have.
var codePages = map[int]encoding.Encoding{
	437: charmap.CodePage437, 850: charmap.CodePage850, 852: charmap.CodePage852, 855: charmap.CodePage855, 858: charmap.CodePage858,
	860: charmap.CodePage860, 862: charmap.CodePage862, 863: charmap.CodePage863, 865: charmap.CodePage865, 866: charmap.CodePage866,
	874: charmap.Windows874, 932: japanese.ShiftJIS, 936: simplifiedchinese.GBK, 949: korean.EUCKR, 950: traditionalchinese.Big5,
	1250: charmap.Windows1250, 1251: charmap.Windows1251, 1252: charmap.Windows1252, 1253: charmap.Windows1253, 1254: charmap.Windows1254,
	1255: charmap.Windows1255, 1256: charmap.Windows1256, 1257: charmap.Windows1257, 1258: charmap.Windows1258,
	10000: charmap.Macintosh, 10007: charmap.MacintoshCyrillic, 65001: unicode.UTF8,
}

// fontPages are code pages by the character set of a font (\fcharset), those that
// say more than the default.
var fontPages = map[int]int{
	77: 10000, 128: 932, 129: 949, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258, 177: 1255, 178: 1256,
	186: 1257, 204: 1251, 222: 874, 238: 1250, 254: 437, 255: 850,
}

// isDouble reports whether a byte of a code page begins a character of two.
func isDouble(page int, c byte) bool {
	switch page {
	case 932:
		return c >= 0x81 && c <= 0x9f || c >= 0xe0 && c <= 0xfc
	case 936, 949, 950:
		return c >= 0x81 && c <= 0xfe
	}
	return false
}

// decode returns the character of bytes in a code page.
func decode(page int, raw []byte) string {
	enc := codePages[page]
	if enc == nil {
		enc = charmap.Windows1252
	}
	out, err := enc.NewDecoder().Bytes(raw)
	if err != nil {
		return string(utf8.RuneError)
	}
	return string(out)
}
