package pdf

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"unicode"
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
	more   string     // what the encoding has in another order, as in gb1.txt
	both   func() (byText map[string]uint32, byCID map[uint32]string)
}

//go:generate sh -c "go run gencids.go /usr/share/poppler/cMap/Adobe-GB1 >gb1.txt"

//go:embed gb1.txt
var gb1List string

//go:embed cids.txt
var cidList string

// collections are by the Ordering of a CIDSystemInfo. Collections that were
// given newer names begin with the characters of the older ones.
var collections = sync.OnceValue(func() map[string]*collection {
	all := map[string]*collection{
		"Japan1": {legacy: japanese.ShiftJIS},
		"GB1":    {legacy: simplifiedchinese.GBK, more: gb1List},
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
		c.both = sync.OnceValues(c.index)
	}
	return all
})

// cidOfText returns the CID of a character, 0 for none.
func (c *collection) cidOfText(s string) uint32 {
	byText, _ := c.both()
	return byText[s]
}

// index lists the characters of the collection, and apart those that are not in ranges.
func (c *collection) index() (byText map[string]uint32, byCID map[uint32]string) {
	out := map[string]uint32{}
	for _, r := range c.ranges {
		for code := r.low; code <= r.high; code++ {
			s := decodeLegacy(c.legacy, bytesOf(code))
			if _, ok := out[s]; !ok && s != "" {
				out[s] = r.cid + code - r.low
			}
		}
	}
	byCID = map[uint32]string{}
	add := func(s string, cid uint32) {
		out[s], byCID[cid] = cid, s
	}
	for line := range strings.Lines(c.more) {
		fields := strings.Fields(line)
		cid, _ := strconv.ParseUint(fields[len(fields)-1], 10, 32) // as above
		switch {
		case fields[0] == "#":
		case len(fields) == 2: // a CID and its character, and those behind it
			cid, _ = strconv.ParseUint(fields[0], 10, 32)
			for i, r := range []rune(fields[1]) {
				add(string(r), uint32(cid)+uint32(i))
			}
		case len(fields) == 3: // characters from one to another
			first, _ := utf8.DecodeRuneInString(fields[0])
			last, _ := utf8.DecodeRuneInString(fields[1])
			for r := first; r <= last; r++ {
				add(string(r), uint32(cid)+uint32(r-first))
			}
		case fields[0] == "gbk": // those of the encoding's codes that are new
			low, _ := strconv.ParseUint(fields[1], 16, 16)
			high, _ := strconv.ParseUint(fields[2], 16, 16)
			for code := low; code <= high; code++ {
				s := decodeLegacy(c.legacy, bytesOf(uint32(code)))
				r, size := utf8.DecodeRuneInString(s)
				if _, ok := out[s]; !ok && size > 0 && size == len(s) && !unicode.Is(unicode.Co, r) {
					add(s, uint32(cid))
					cid++
				}
			}
		}
	}
	return out, byCID
}

// text returns the character of a CID, "" if it is not known.
func (c *collection) text(cid uint32) string {
	for _, r := range c.ranges {
		if cid >= r.cid && cid <= r.cid+r.high-r.low {
			return decodeLegacy(c.legacy, bytesOf(r.low+cid-r.cid))
		}
	}
	if c.more == "" {
		return ""
	}
	_, byCID := c.both()
	return byCID[cid]
}

// bytesOf is a code of one or two bytes.
func bytesOf(code uint32) string {
	if code < 0x100 {
		return string([]byte{byte(code)})
	}
	return string([]byte{byte(code >> 8), byte(code)})
}
