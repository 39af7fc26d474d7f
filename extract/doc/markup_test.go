package doc_test

import (
	"bytes"
	"encoding/binary"
	"testing"
	"unicode/utf16"

	"github.com/seed-506d8e5d/svc/extract"
)

// Modifiers, as Word writes them.
var (
	deleted   = []byte{0x00, 0x08, 1}
	hidden    = []byte{0x3C, 0x08, 1}
	notHidden = []byte{0x3C, 0x08, 0}
	rowEnd    = []byte{0x17, 0x24, 1}
	inTable   = []byte{0x16, 0x24, 1}
	cellEnd   = []byte{0x4B, 0x24, 1}
	nestedEnd = []byte{0x4C, 0x24, 1}
)

// rowOf ends a row whose first cell begins at a place. The others are where each cell
// ends and its flags.
func rowOf(first int, cells ...int) []byte {
	le := binary.LittleEndian
	edges, flags := le.AppendUint16(nil, uint16(first)), []byte(nil)
	for i := 0; i < len(cells); i += 2 {
		edges = le.AppendUint16(edges, uint16(cells[i]))
		flags = append(le.AppendUint16(flags, uint16(cells[i+1])), make([]byte, 18)...)
	}
	def := append(append([]byte{byte(len(cells) / 2)}, edges...), flags...)
	return append(append(rowEnd[:3:3], le.AppendUint16([]byte{0x08, 0xD6}, uint16(len(def)+1))...), def...)
}

func symbol(char uint16) []byte {
	return append([]byte{0x09, 0x6A, 0, 0}, byte(char), byte(char>>8))
}

// Each case is the characters of a document and its text.
func TestExtractCharacters(t *testing.T) {
	for _, c := range []struct{ name, chars, want string }{
		{"paragraphs", "one\rtwo\r", "one\ntwo"},
		{"blank lines", "one\r\r\r\rtwo\r", "one\n\ntwo"},
		{"breaks", "a\tb\vc\fd\x0Ee\r", "a\tb\nc\n\n---\n\nd\ne"},
		{"hyphens", "a\x1Eb\x1Fc\u00ADd\r", "a-bcd"},
		{"pictures and other objects", "a\x01b\x08c\x00d\r", "abcd"},
		{"beyond the first plane", "🚢\r", "🚢"},
		{"Arabic forms", "\uFEB3\uFEFC\uFEE1 \uFDF2\r", "سلام الله"},
		{"half a character", "a\uFFFDb\r", "a\ufffdb"},
		{"a symbol font", "\uF0B7 item\r", "• item"},
		{"field", "\x13 PAGE \x147\x15 pages\r", "7 pages"},
		{"field without a result", "a\x13 XE \"b\" \x15c\r", "ac"},
		{"equation", "a\x13 EQ \\* hps10 \\o\\ad(\\s\\up 9(ki),gate) \x15b \x13 EQ \\f(1,2) \x14\x15 \x13 EQ \\f(1,2) \x14half\x15\r", "agateb 1/2 half"},
		{"field in the code", "\x13 IF \x13 DATE \x141 May\x15 \x14yes\x15\r", "yes"},
		{"field in the result", "\x13 REF \x14on \x13 DATE \x141 May\x15\x15\r", "on 1 May"},
		{"field over paragraphs", "\x13 TOC \x14one\rtwo\x15\r", "one\ntwo"},
		{"a link", "see \x13 HYPERLINK \"https://example.org/a\" \x14the page\x15.\r", "see [the page](https://example.org/a)."},
		{"a link that shows its address", "\x13 HYPERLINK https://example.org/a \x14example.org/a\x15\r", "example.org/a"},
		{"a link within the document", "\x13 HYPERLINK \\l \"there\" \x14there\x15\r", "there"},
		{"a link over paragraphs", "\x13 HYPERLINK \"https://example.org/a\" \x14one\rtwo\x15\r", "one\ntwo"},
		{"a link over cells", "\x13 HYPERLINK \"https://example.org/a\" \x14a\x07b\x15\x07\x07after\r", "| a | [b](https://example.org/a) |\n| --- | --- |\n\nafter"},
		{"field without an end", "a\x13 PAGE \x14b\rc\r", "a PAGE b\nc"},
		{"field without a beginning", "a\x14b\x15c\r", "abc"},
		{"a table without properties", "a\x07b\x07\x07c\x07\x07\x07after\r", "| a | b |\n| --- | --- |\n| c | |\n\nafter"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := textOf(t, word97{pieces: []testPiece{{c.chars, false}}}.bytes(t))
			if err != nil || got != (extract.Document{Text: c.want + "\n"}) {
				t.Errorf("got %+v and %v, want %q", got, err, c.want+"\n")
			}
		})
	}
}

func TestExtractPieces(t *testing.T) {
	prm := func(n int) []byte { return append([]byte{1, byte(n), 0}, make([]byte, n)...) }
	d := word97{pieces: []testPiece{{"caf\u00e9 ", true}, {"いろは", false}, {"\u0093quoted\u0094\r", true}}}
	want := extract.Document{Text: "café いろは“quoted”\n"}
	got, err := textOf(t, d.bytes(t))
	if err != nil || got != want {
		t.Errorf("got %+v and %v, want %+v", got, err, want)
	}
	main, table := d.streams()
	offset := binary.LittleEndian.Uint32(main[0x9A+8*pieceTable:])
	size := binary.LittleEndian.Uint32(main[0x9A+8*pieceTable+4:])
	clx := bytes.Join([][]byte{prm(5), prm(300 & 0xFF), table[offset : offset+size]}, nil)
	d.tables = map[int][]byte{pieceTable: clx}
	got, err = textOf(t, d.bytes(t))
	if err != nil || got != want {
		t.Errorf("behind properties: got %+v and %v, want %+v", got, err, want)
	}
}

// Without a piece table the text lies in order between two offsets.
func TestExtractWithoutPieces(t *testing.T) {
	for _, narrow := range []bool{true, false} {
		d := word97{pieces: []testPiece{{longText("text\r"), narrow}}, tables: map[int][]byte{pieceTable: {}}}
		got, err := textOf(t, d.bytes(t))
		if want := longText("text\n"); err != nil || got.Text != want {
			t.Errorf("narrow %t: got %+v and %v", narrow, got, err)
		}
	}
}

func TestExtractWithoutTheTableStream(t *testing.T) {
	main, table := word97{pieces: []testPiece{{longText("text\r"), true}}}.streams()
	want := longText("text\n")
	got, err := textOf(t, compound(t, stream{name: "WordDocument", data: main}))
	if err != nil || got != (extract.Document{Text: want, Partial: true}) {
		t.Errorf("none: got %+v and %v", got, err)
	}
	got, err = textOf(t, compound(t, stream{name: "WordDocument", data: main}, stream{name: "0Table", data: table}))
	if err != nil || got != (extract.Document{Text: want}) {
		t.Errorf("the other: got %+v and %v", got, err)
	}
}

func TestExtractCharacterProperties(t *testing.T) {
	const chars = "one two three (\r"
	for _, narrow := range []bool{true, false} {
		for _, c := range []struct {
			name string
			runs []modified
			want string
		}{
			{"hidden", []modified{{4, 8, hidden}}, "one three (\n"},
			{"deleted", []modified{{0, 4, deleted}, {8, 14, deleted}}, "two (\n"},
			{"not hidden", []modified{{4, 8, notHidden}}, "one two three (\n"},
			{"behind other modifiers", []modified{{4, 8, append([]byte{0x35, 0x08, 1, 0x43, 0x4A, 24, 0, 0x70, 0x68, 0, 0, 0, 0, 0x31, 0xC6, 2, 9, 9}, hidden...)}}, "one three (\n"},
			{"symbol", []modified{{14, 15, symbol(0xF0B7)}, {0, 3, symbol(0x263A)}}, "one two three •\n"},
			{"overlapping", []modified{{0, 12, hidden}, {4, 8, symbol(0x263A)}}, "two three (\n"},
			{"deleted paragraph mark", []modified{{15, 16, deleted}}, "one two three (\n"},
		} {
			t.Run(c.name, func(t *testing.T) {
				got, err := textOf(t, word97{pieces: []testPiece{{chars, narrow}}, chars: c.runs}.bytes(t))
				if err != nil || got.Text != c.want {
					t.Errorf("narrow %t: got %q and %v, want %q", narrow, got.Text, err, c.want)
				}
			})
		}
	}
}

// TestHeadings has paragraphs in the styles of headings and with outlines of their
// own.
func TestHeadings(t *testing.T) {
	heading := func(sti byte, parent int) []byte {
		b := paraStyle(parent)
		b[0] = sti
		return b
	}
	d := word97{
		pieces: []testPiece{{"Title\rPart\rtext\rown\r\rend\r", true}},
		paragraphs: []modified{{0, 6, nil}, {6, 11, nil}, {11, 16, []byte{0x40, 0x26, 9}}, {16, 20, []byte{0x40, 0x26, 2}},
			{20, 21, nil}, {21, 25, nil}},
		styles: map[int]byte{0: 1, 1: 3, 2: 2, 4: 2},
		tables: map[int][]byte{styleTable: styleSheet(paraStyle(0xFFF), heading(62, 0), heading(2, 0), paraStyle(2))},
	}
	got, err := textOf(t, d.bytes(t))
	if want := "# Title\n## Part\ntext\n### own\n\nend\n"; err != nil || got.Text != want {
		t.Errorf("got %q, %v, want %q", got.Text, err, want)
	}
}

func TestExtractTables(t *testing.T) {
	for _, c := range []struct {
		name, chars string
		paragraphs  []modified
		want        string
	}{
		{"empty cells at the ends", "a\x07\x07\x07\x07b\x07\x07after\r", []modified{{0, 2, nil}, {2, 3, nil}, {3, 4, rowEnd}, {4, 5, nil}, {5, 7, nil}, {7, 8, rowEnd}}, "| a | |\n| --- | --- |\n| | b |\n\nafter\n"},
		{"lines in a cell", "a\rb\x07c\x07\x07", []modified{{0, 2, inTable}, {2, 4, nil}, {4, 6, nil}, {6, 7, rowEnd}}, "| a<br>b | c |\n| --- | --- |\n"},
		{"a table without text", "one\r\x07\x07two\r", []modified{{0, 4, nil}, {4, 5, nil}, {5, 6, rowEnd}}, "one\ntwo\n"},
		{"cells over columns and rows", "wide\x07c\x07\x07tall\x07b\x07c\x07\x07\x07e\x07f\x07\x07", []modified{
			{0, 5, nil}, {5, 7, nil}, {7, 8, rowOf(0, 2000, 0, 3000, 0)}, {8, 13, nil}, {13, 15, nil}, {15, 17, nil}, {17, 18, rowOf(10, 1000, 0x60, 2000, 0, 3010, 0)},
			{18, 19, nil}, {19, 21, nil}, {21, 23, nil}, {23, 24, rowOf(0, 1000, 0x20, 2000, 0, 3000, 0)}},
			"| wide | wide | c |\n| --- | --- | --- |\n| tall | b | c |\n| tall | e | f |\n"},
		{"edges that do not agree", "a\x07b\x07\x07c\x07d\x07\x07", []modified{{0, 2, nil}, {2, 4, nil}, {4, 5, rowOf(0, 1000, 0, 2000, 0)}, {5, 7, nil}, {7, 9, nil}, {9, 10, rowOf(500, 1500, 0, 2500, 0)}},
			"| a | b |\n| --- | --- |\n| c | d |\n"},
		{"a new page", "one\rtwo\r", []modified{{0, 4, nil}, {4, 8, []byte{0x07, 0x24, 1}}}, "one\n\n---\n\ntwo\n"},
		{"a table in a cell", "a\r1\r2\r\r\x07b\x07\x07", []modified{{0, 2, inTable}, {2, 4, cellEnd}, {4, 6, cellEnd}, {6, 7, nestedEnd}, {7, 8, nil}, {8, 10, nil}, {10, 11, rowEnd}}, "| a<br>1; 2 | b |\n| --- | --- |\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := textOf(t, word97{pieces: []testPiece{{c.chars, true}}, paragraphs: c.paragraphs}.bytes(t))
			if err != nil || got.Text != c.want {
				t.Errorf("got %q and %v, want %q", got.Text, err, c.want)
			}
		})
	}
}

func TestExtractDocumentsInOrder(t *testing.T) {
	parts := []string{
		"main\x02 and\x02*\x05\x02\r", "\x02 foot\r", "line\rsecond\rsecond\r\r", "", "\x05why\r", "\x02\tend\r", "box\r", "header box\r",
	}
	d := word97{}
	var all string
	for _, p := range parts {
		all += p
		d.lengths = append(d.lengths, len(utf16.Encode([]rune(p))))
	}
	d.pieces = []testPiece{{all, false}}
	stories := words([]uint32{0, 5, 5, 5, 5, 5, 5, 12, 19, 20, 20})
	author := append(make([]byte, 20), 1, 0) // the second
	names := []byte{3, 0, 'B', 0, 'e', 0, 'a', 0, 3, 0, 'A', 0, 'n', 0, 'n', 0}
	d.tables = map[int][]byte{
		2:  append(words([]uint32{4, 10, 12, 20}), 1, 0, 0, 0, 1, 0),
		4:  append(words([]uint32{11, 20}), append(author, make([]byte, 8)...)...),
		11: stories,
		36: names,
		46: append(words([]uint32{9, 20}), 1, 0),
	}
	got, err := textOf(t, d.bytes(t))
	want := extract.Document{Text: "main[^1] and[^i]* [Comment (Ann): why][^2]\n\n[^1]: foot\n\n[^i]: end\n\nbox\n\nsecond\n\nheader box\n"}
	if err != nil || got != want {
		t.Errorf("got %+v and %v, want %+v", got, err, want)
	}
}
