package doc

import (
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// encoding returns the character set of narrow text. Word 97 has but one;
// before, it was that of the Macintosh, of the language, or of the fonts, which is
// guessed.
func (b *fib) encoding(ps []piece) encoding.Encoding {
	if b.version >= word97 {
		return charmap.Windows1252
	}
	const macintosh = 256
	if b.version >= word6 && u16(b.main, 0x14) == macintosh {
		return charmap.Macintosh
	}
	enc := encodingOf(u16(b.main, 6))
	if enc == charmap.Windows1252 && looksCyrillic(b.main, ps) {
		return charmap.Windows1251
	}
	return enc
}

// Languages, as in the low ten bits of an identifier of Windows, and those of
// whole identifiers where the rest of it decides.
const (
	arabic, bulgarian, chinese, czech     = 0x01, 0x02, 0x04, 0x05
	greek, hebrew, hungarian, japaneseLID = 0x08, 0x0D, 0x0E, 0x11
	koreanLID, polish, romanian, russian  = 0x12, 0x15, 0x18, 0x19
	croatian, slovak, albanian, thai      = 0x1A, 0x1B, 0x1C, 0x1E
	turkish, urdu, ukrainian, belarusian  = 0x1F, 0x20, 0x22, 0x23
	slovenian, estonian, latvian          = 0x24, 0x25, 0x26
	lithuanian, farsi, vietnamese         = 0x27, 0x29, 0x2A
	azeri, macedonian                     = 0x2C, 0x2F

	serbianCyrillic = 0x0C1A
	chineseTaiwan   = 0x0404
	chineseHongKong = 0x0C04
)

// encodingOf returns the code page of a language.
func encodingOf(lid int) encoding.Encoding {
	switch lid {
	case serbianCyrillic:
		return charmap.Windows1251
	case chineseTaiwan, chineseHongKong:
		return traditionalchinese.Big5
	}
	switch lid & 0x3FF {
	case chinese:
		return simplifiedchinese.GBK
	case japaneseLID:
		return japanese.ShiftJIS
	case koreanLID:
		return korean.EUCKR
	case russian, ukrainian, belarusian, bulgarian, macedonian:
		return charmap.Windows1251
	case czech, hungarian, polish, romanian, croatian, slovak, slovenian, albanian:
		return charmap.Windows1250
	case greek:
		return charmap.Windows1253
	case turkish, azeri:
		return charmap.Windows1254
	case hebrew:
		return charmap.Windows1255
	case arabic, urdu, farsi:
		return charmap.Windows1256
	case estonian, latvian, lithuanian:
		return charmap.Windows1257
	case vietnamese:
		return charmap.Windows1258
	case thai:
		return charmap.Windows874
	}
	return charmap.Windows1252
}

// looksCyrillic guesses whether text of a Western language is Cyrillic after
// all: words of three and more letters, all of them accented, do not occur in
// Latin script, where they mix with plain letters.
func looksCyrillic(main []byte, ps []piece) bool {
	var cyrillic, latin int
	for _, p := range ps {
		if !p.narrow {
			continue
		}
		c, l := countWords(p.bytes(main))
		cyrillic, latin = cyrillic+c, latin+l
	}
	return cyrillic >= 3 && cyrillic > 2*latin
}

// countWords counts words of three and more accented letters alone, and words
// in which accented and plain letters mix.
func countWords(text []byte) (accented, mixed int) {
	var high, low int
	for i := 0; i <= len(text); i++ {
		c := byte(' ')
		if i < len(text) {
			c = text[i]
		}
		switch {
		case c >= 0xC0:
			high++
			continue
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			low++
			continue
		case high >= 3 && low == 0:
			accented++
		case high > 0 && low > 0:
			mixed++
		}
		high, low = 0, 0
	}
	return accented, mixed
}
