package pdftext

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	textenc "golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// Predefined CMaps (ISO 32000-2, 9.7.5.2) and the character collections behind
// them (9.7.3). The CMaps name legacy encodings of Chinese, Japanese and
// Korean, which golang.org/x/text knows; the collections number their
// characters nearly in the order of those encodings.

// charset is the encoding of a predefined CMap.
type charset struct {
	collection string
	legacy     textenc.Encoding // nil if unicode
	unicode    bool             // UCS-2 or UTF-16
	length     func(first byte) int
	row        bool // codes lack the high bits of EUC
}

// decode returns the characters of one code.
func (c *charset) decode(raw string) string {
	if c.unicode {
		return string(decodeUTF16(raw))
	}
	if c.row {
		high := []byte(raw)
		for i := range high {
			high[i] |= 0x80
		}
		raw = string(high)
	}
	return decodeLegacy(c.legacy, raw)
}

// decodeLegacy returns "" for what the encoding does not have.
func decodeLegacy(e textenc.Encoding, raw string) string {
	s, err := e.NewDecoder().String(raw)
	if err != nil || strings.ContainsRune(s, utf8.RuneError) {
		return ""
	}
	return s
}

// charsetOf returns the encoding of the predefined CMap with the given name, nil
// for Identity and for names not known.
func charsetOf(cmapName string) *charset {
	base := strings.TrimSuffix(strings.TrimSuffix(cmapName, "-H"), "-V")
	has := func(s string) bool { return strings.Contains(base, s) }
	switch {
	case strings.HasPrefix(base, "Uni"):
		return unicodeCharset(base)
	case has("RKSJ"):
		return &charset{collection: "Japan1", legacy: japanese.ShiftJIS, length: lengthShiftJIS}
	case base == "EUC":
		return &charset{collection: "Japan1", legacy: japanese.EUCJP, length: lengthEUC}
	case base == "H" || base == "V":
		return &charset{collection: "Japan1", legacy: japanese.EUCJP, length: lengthTwo, row: true}
	case has("GB"):
		return &charset{collection: "GB1", legacy: simplifiedchinese.GBK, length: lengthEUC}
	case has("B5"):
		return &charset{collection: "CNS1", legacy: traditionalchinese.Big5, length: lengthEUC}
	case has("KSC"):
		return &charset{collection: "Korea1", legacy: korean.EUCKR, length: lengthEUC}
	}
	return nil
}

func unicodeCharset(base string) *charset {
	c := &charset{unicode: true, length: lengthTwo}
	switch {
	case strings.HasPrefix(base, "UniJIS"):
		c.collection = "Japan1"
	case strings.HasPrefix(base, "UniGB"):
		c.collection = "GB1"
	case strings.HasPrefix(base, "UniCNS"):
		c.collection = "CNS1"
	case strings.HasPrefix(base, "UniKS"):
		c.collection = "Korea1"
	}
	if strings.Contains(base, "UTF16") {
		c.length = lengthUTF16
	}
	return c
}

func lengthTwo(byte) int { return 2 }

// lengthUTF16 is by the first byte of a code unit, a surrogate or not.
func lengthUTF16(first byte) int {
	if first >= 0xD8 && first <= 0xDB {
		return 4
	}
	return 2
}

func lengthEUC(first byte) int {
	if first >= 0x81 {
		return 2
	}
	return 1
}

func lengthShiftJIS(first byte) int {
	if first >= 0x81 && first <= 0x9F || first >= 0xE0 && first <= 0xFC {
		return 2
	}
	return 1
}

// collection is a character collection: Adobe-Japan1, GB1, CNS1 or Korea1.
type collection struct {
	legacy textenc.Encoding
	ranges []cidRange // codes in the legacy encoding
	byText func() map[string]uint32
}

//go:embed cids.txt
var cidList string

// collections are by the Ordering of a CIDSystemInfo. Collections that were
// given newer names begin with the characters of the older ones.
var collections = sync.OnceValue(func() map[string]*collection {
	all := map[string]*collection{
		"Japan1": {legacy: japanese.ShiftJIS},
		"GB1":    {legacy: simplifiedchinese.GBK},
		"CNS1":   {legacy: traditionalchinese.Big5},
		"Korea1": {legacy: korean.EUCKR},
	}
	var current *collection
	for line := range strings.Lines(cidList) {
		fields := strings.Fields(line)
		if fields[0] == "#" {
			if ordering, ok := strings.CutPrefix(fields[1], "Adobe-"); ok {
				current = all[ordering]
			}
			continue
		}
		low, _ := strconv.ParseUint(fields[0], 16, 32) // our own file, held by a test
		high, _ := strconv.ParseUint(fields[len(fields)-2], 16, 32)
		cid, _ := strconv.ParseUint(fields[len(fields)-1], 10, 32)
		current.ranges = append(current.ranges, cidRange{uint32(low), uint32(high), uint32(cid)})
	}
	for _, c := range all {
		c.byText = sync.OnceValue(c.index)
	}
	return all
})

// cidOfText returns the CID of a character, 0 for none.
func (c *collection) cidOfText(s string) uint32 { return c.byText()[s] }

// index lists the characters of the collection.
func (c *collection) index() map[string]uint32 {
	out := map[string]uint32{}
	for _, r := range c.ranges {
		for code := r.low; code <= r.high; code++ {
			s := decodeLegacy(c.legacy, bytesOf(code))
			if _, ok := out[s]; !ok && s != "" {
				out[s] = r.cid + code - r.low
			}
		}
	}
	return out
}

// text returns the character of a CID, "" if it is not known.
func (c *collection) text(cid uint32) string {
	for _, r := range c.ranges {
		if cid >= r.cid && cid <= r.cid+r.high-r.low {
			return decodeLegacy(c.legacy, bytesOf(r.low+cid-r.cid))
		}
	}
	return ""
}

// bytesOf is a code of one or two bytes.
func bytesOf(code uint32) string {
	if code < 0x100 {
		return string([]byte{byte(code)})
	}
	return string([]byte{byte(code >> 8), byte(code)})
}
