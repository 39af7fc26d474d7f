package doc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"github.com/seed-506d8e5d/svc/extract"
	"github.com/seed-506d8e5d/svc/extract/doc"
)

var update = flag.Bool("update", false, "rewrite the expected texts in testdata")

func textOf(t *testing.T, data []byte) (extract.Document, error) {
	t.Helper()
	return doc.Reader{}.Read(t.Context(), bytes.NewReader(data), int64(len(data)))
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The documents were written by LibreOffice 7.4. The texts were checked against
// what it shows.
func TestExtractDocuments(t *testing.T) {
	for _, name := range []string{"features", "manual"} {
		t.Run(name, func(t *testing.T) {
			got, err := textOf(t, read(t, name+".doc"))
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got.Text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want := extract.Document{Text: string(read(t, name+".txt"))}
			if got != want {
				t.Errorf("got partial %t and\n%s\nwant\n%s", got.Partial, got.Text, want.Text)
			}
		})
	}
}

func TestExtractErrors(t *testing.T) {
	features := read(t, "features.doc")
	plain := word97{pieces: []testPiece{{"text\r", true}}}
	locked := plain
	locked.flags = 0x0100
	beyond := plain
	beyond.tables = map[int][]byte{pieceTable: append([]byte{2, 16, 0, 0, 0}, words([]uint32{0, 5, 0, 0x3FFFFFFF})...)}
	for _, c := range []struct {
		name string
		data []byte
		want error
	}{
		{"empty", nil, extract.ErrFormat},
		{"plain text", []byte("Dear Sir or Madam, the text of a letter."), extract.ErrFormat},
		{"rich text", []byte(`{\rtf1\ansi The text of a letter.}`), extract.ErrFormat},
		{"a zip", []byte("PK\x03\x04 and so on, as a .docx begins"), extract.ErrFormat},
		{"another compound file", compound(t, stream{name: "Workbook"}), extract.ErrFormat},
		{"an encrypted package", compound(t, stream{name: "EncryptionInfo"}, stream{name: "EncryptedPackage"}), extract.ErrPassword},
		{"an encrypted package beside a document", compound(t, stream{name: "WordDocument"}, stream{name: "EncryptedPackage"}), extract.ErrPassword},
		{"with a password", read(t, "password.doc"), extract.ErrPassword},
		{"marked as encrypted", locked.bytes(t), extract.ErrPassword},
		{"an old one marked as encrypted", oldWord{magic: 0xA5DB, version: 45, flags: 0x0100}.stream(), extract.ErrPassword},
		{"cut short", features[:len(features)/4], extract.ErrDamaged},
		{"a header alone", features[:512], extract.ErrDamaged},
		{"a flat file cut short", oldWord{magic: 0xA5DB, version: 45}.stream()[:64], extract.ErrDamaged},
		{"no text in its place", beyond.bytes(t), extract.ErrDamaged},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := textOf(t, c.data)
			if !errors.Is(err, c.want) {
				t.Errorf("got %+v and %v, want %v", got, err, c.want)
			}
		})
	}
}

func TestExtractStopsWithItsContext(t *testing.T) {
	data := read(t, "features.doc")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (doc.Reader{}).Read(ctx, bytes.NewReader(data), int64(len(data))); !errors.Is(err, context.Canceled) {
		t.Errorf("before the start: got %v, want context.Canceled", err)
	}
	for reads := 1; reads < 30; reads++ {
		ctx, cancel := context.WithCancel(t.Context())
		r := &cancelingReader{r: bytes.NewReader(data), left: reads, cancel: cancel}
		if _, err := (doc.Reader{}).Read(ctx, r, int64(len(data))); !errors.Is(err, context.Canceled) {
			t.Errorf("at read %d: got %v, want context.Canceled", reads, err)
		}
		cancel()
	}
}

// cancelingReader cancels a context at one of the reads.
type cancelingReader struct {
	r      io.ReaderAt
	left   int
	cancel context.CancelFunc
}

func (c *cancelingReader) ReadAt(p []byte, off int64) (int, error) {
	if c.left--; c.left == 0 {
		c.cancel()
	}
	return c.r.ReadAt(p, off)
}

// The sizes of streams are whatever the file says.
func TestExtractHostileSizes(t *testing.T) {
	main, table := word97{pieces: []testPiece{{longText("text\r"), true}}}.streams()
	want := extract.Document{Text: strings.Repeat("text\n", 200), Partial: true}
	for _, size := range []uint64{1 << 40, 1<<63 - 1, 1 << 63} {
		data := compound(t, stream{name: "WordDocument", data: main, size: size}, stream{name: tableName, data: table})
		got, err := textOf(t, data)
		if size >= 1<<63 { // a negative size is none
			if !errors.Is(err, extract.ErrDamaged) {
				t.Errorf("size %d: got %+v and %v, want extract.ErrDamaged", size, got, err)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("size %d: got %+v and %v", size, got, err)
		}
	}
}

// A last sector that is cut short reads as if zeros followed.
func TestExtractShortLastSector(t *testing.T) {
	main, table := word97{pieces: []testPiece{{strings.Repeat("text\r", 1000), true}}}.streams()
	data := compound(t, stream{name: tableName, data: table}, stream{name: "WordDocument", data: main})
	got, err := textOf(t, data[:len(data)-100])
	if err != nil || got != (extract.Document{Text: strings.Repeat("text\n", 1000)}) {
		t.Errorf("got %+v and %v", got, err)
	}
	got, err = textOf(t, data[:len(data)-5000])
	if err != nil || !got.Partial {
		t.Errorf("cut by more: got %+v and %v, want a partial result", got, err)
	}
}

// A directory that goes on and on is not read to its end.
func TestExtractLongDirectory(t *testing.T) {
	const entries = 18 << 20 / 128
	streams := make([]stream, 1)
	streams[0] = stream{name: "x", data: bytes.Repeat(entry("x", 2, 0, 0), entries)}
	data := directoryOnly(streams[0].data)
	if _, err := textOf(t, data); !errors.Is(err, extract.ErrTooLarge) {
		t.Errorf("got %v, want extract.ErrTooLarge", err)
	}
}

// directoryOnly makes a compound file of a directory and nothing else.
func directoryOnly(directory []byte) []byte {
	const perSector, perDIFAT = sectorSize / 4, sectorSize/4 - 1
	n := len(directory) / sectorSize
	fatSectors := (n + perSector - 1) / perSector
	difats := (fatSectors - 109 + perDIFAT - 1) / perDIFAT
	header := compoundHeader(0)
	le := binary.LittleEndian
	le.PutUint32(header[44:], uint32(fatSectors))
	le.PutUint32(header[48:], 0)
	le.PutUint32(header[68:], uint32(n+fatSectors))
	le.PutUint32(header[72:], uint32(difats))
	difat := make([]uint32, 0, difats*perSector)
	for i := range fatSectors {
		if i < 109 {
			le.PutUint32(header[76+4*i:], uint32(n+i))
			continue
		}
		difat = append(difat, uint32(n+i))
		if len(difat)%perSector == perDIFAT {
			difat = append(difat, uint32(n+fatSectors+len(difat)/perSector+1))
		}
	}
	for len(difat)%perSector != 0 {
		difat = append(difat, endOfChain)
	}
	return bytes.Join([][]byte{header, directory, words(chain(nil, n)), make([]byte, (fatSectors*perSector-n)*4), words(difat)}, nil)
}

// Pieces that all show the same text multiply it.
func TestExtractRepeatedPieces(t *testing.T) {
	const n, chars = 5000, 10_000
	positions, entries := []byte{}, []byte{}
	for i := range n + 1 {
		positions = binary.LittleEndian.AppendUint32(positions, uint32(i*chars))
	}
	for range n {
		entries = append(entries, 0, 0)
		entries = binary.LittleEndian.AppendUint32(entries, fibSize*2|1<<30)
		entries = append(entries, 0, 0)
	}
	clx := binary.LittleEndian.AppendUint32([]byte{2}, uint32(len(positions)+len(entries)))
	d := word97{pieces: []testPiece{{strings.Repeat("x", chars), true}},
		tables: map[int][]byte{pieceTable: bytes.Join([][]byte{clx, positions, entries}, nil)}}
	if _, err := textOf(t, d.bytes(t)); !errors.Is(err, extract.ErrTooLarge) {
		t.Errorf("got %v, want extract.ErrTooLarge", err)
	}
}

func TestExtractOldVersions(t *testing.T) {
	encode := func(enc interface{ Bytes([]byte) ([]byte, error) }, s string) []byte {
		b, err := enc.Bytes([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var wide []byte
	for _, c := range utf16.Encode([]rune("いろは\rtext\r")) {
		wide = binary.LittleEndian.AppendUint16(wide, c)
	}
	pairs := func(page encoding.Encoding, s string) (b []byte) {
		for _, r := range s {
			code, err := page.NewEncoder().String(string(r))
			switch {
			case err != nil: // not of the page
				b = append(b, byte(r), 0)
			case len(code) == 1:
				b = append(b, code[0], 0)
			default:
				b = append(b, code[1], code[0])
			}
		}
		return b
	}
	const word2, word6, word95 = 45, 101, 104
	russian := "Съешь ещё этих мягких французских булок\r"
	for _, c := range []struct {
		name string
		doc  oldWord
		want string
	}{
		{"Word 2", oldWord{0xA5DB, word2, 0x0409, 0, []byte("one\rtwo\x97\x13 PAGE \x147\x15\r")}, "one\ntwo—7\n"},
		{"Word 6", oldWord{0xA5DC, word6, 0x0409, 0, []byte("a\x07b\x07\x07c\x07d\x07\x07caf\xE9\r")}, "| a | b |\n| --- | --- |\n| c | d |\n\ncafé\n"},
		{"Word 95 in Russian", oldWord{0xA5DC, word95, 0x0419, 0, encode(charmap.Windows1251.NewEncoder(), russian)}, "Съешь ещё этих мягких французских булок\n"},
		{"Russian that says English", oldWord{0xA5DC, word95, 0x0409, 0, encode(charmap.Windows1251.NewEncoder(), russian)}, "Съешь ещё этих мягких французских булок\n"},
		{"German", oldWord{0xA5DC, word95, 0x0407, 0, []byte("\xC4rger \xFCber gr\xF6\xDFere \xD6len\r")}, "Ärger über größere Ölen\n"},
		{"Japanese", oldWord{0xA5DC, word95, 0x0411, 0, encode(japanese.ShiftJIS.NewEncoder(), "いろは\r")}, "いろは\n"},
		{"two bytes", oldWord{0xA5DC, word95, 0x0409, 0x1000, wide}, "いろは\ntext\n"},
		{"pairs in Japanese", oldWord{0xA5DC, word95, 0x0411, 0x1000, pairs(japanese.ShiftJIS, "いろはｱé\rtext\r")}, "いろはｱé\ntext\n"},
		{"pairs in Chinese", oldWord{0xA699, word95, 0x0804, 0x1000, pairs(simplifiedchinese.GBK, "中文 text\r")}, "中文 text\n"},
		{"pairs in Taiwan's", oldWord{0xA699, word95, 0x0404, 0x1000, pairs(traditionalchinese.Big5, "中文 text\r")}, "中文 text\n"},
		{"pairs in Korean that says English", oldWord{0xA698, word95, 0x0409, 0x1000, pairs(korean.EUCKR, "대한민국 헌법\r")}, "대한민국 헌법\n"},
		{"pairs that are none", oldWord{0xA697, word95, 0x0411, 0x1000, []byte{'a', 0, 0xFF, 0xFF, 'b', 0, '\r', 0}}, "a\ufffdb\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := c.doc.stream()
			if c.doc.version != word2 {
				data = compound(t, stream{name: "WordDocument", data: data})
			}
			got, err := textOf(t, data)
			if err != nil || got != (extract.Document{Text: c.want}) {
				t.Errorf("got %+v and %v, want %q", got, err, c.want)
			}
		})
	}
}

// TestExtractMacintosh reads a file of Word 6 for the Macintosh, whose language does
// not tell its character set.
func TestExtractMacintosh(t *testing.T) {
	const french = 0x040C
	data := oldWord{0xA5DC, 104, french, 0, []byte("l\xd5\x8et\x8e \x88 No\x91l\r")}.stream()
	binary.LittleEndian.PutUint16(data[0x14:], 256)
	got, err := textOf(t, compound(t, stream{name: "WordDocument", data: data}))
	if err != nil || got != (extract.Document{Text: "l’été à Noël\n"}) {
		t.Errorf("got %+v and %v", got, err)
	}
}

func FuzzExtract(f *testing.F) {
	names, err := filepath.Glob(filepath.Join("testdata", "*.doc"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(oldWord{0xA5DB, 45, 0x0419, 0, []byte("text\r")}.stream())
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := doc.Reader{}.Read(t.Context(), bytes.NewReader(data), int64(len(data)))
		if err != nil && got != (extract.Document{}) {
			t.Errorf("got %+v with %v", got, err)
		}
	})
}

// FuzzStreams gets past the compound file, which the other target seldom does.
func FuzzStreams(f *testing.F) {
	main, table := word97{pieces: []testPiece{{"one\rtwo\x07\x07", true}}, chars: []modified{{0, 1, hidden}}, paragraphs: []modified{{4, 9, rowEnd}}}.streams()
	f.Add(main, table)
	f.Add(oldWord{0xA5DC, 104, 0x0419, 4, []byte("text\r")}.stream(), []byte(nil))
	f.Add(oldWord{0xA697, 104, 0x0411, 0x1000, []byte("\xa0\x82\x41\x00\xff\xff\x81\x00\r\x00")}.stream(), []byte(nil))
	linked, table := word97{pieces: []testPiece{{"\x13 HYPERLINK \"https://example.org/a\" \x14one\x15\fa\x07\x07\r", true}},
		paragraphs: []modified{{32, 36, nil}, {36, 37, rowOf(0, 1000, 0x20)}}}.streams()
	f.Add(linked, table)
	f.Fuzz(func(t *testing.T, main, table []byte) {
		if len(main)+len(table) > 1<<20 {
			t.Skip("more than the helper can hold")
		}
		data := compound(t, stream{name: "WordDocument", data: main}, stream{name: tableName, data: table})
		got, err := doc.Reader{}.Read(t.Context(), bytes.NewReader(data), int64(len(data)))
		if err != nil && got != (extract.Document{}) {
			t.Errorf("got %+v with %v", got, err)
		}
	})
}
