package doc_test

import (
	"encoding/binary"
	"strings"
	"testing"
)

const styleTable = 1

// styleSheet makes the table of styles; the first is the style of text that
// names none.
func styleSheet(styles ...[]byte) []byte {
	sheet := []byte{18, 0, byte(len(styles)), 0, 10, 0}
	sheet = append(sheet, make([]byte, 14)...)
	for _, s := range styles {
		sheet = append(binary.LittleEndian.AppendUint16(sheet, uint16(len(s))), s...)
	}
	return sheet
}

// charStyle and paraStyle make a style with modifiers of characters.
func charStyle(parent int, modifiers ...byte) []byte { return anyStyle(2, parent, modifiers, nil) }

func paraStyle(parent int, modifiers ...byte) []byte {
	return anyStyle(1, parent, []byte{0, 0}, modifiers)
}

func anyStyle(kind, parent int, lists ...[]byte) []byte {
	b := make([]byte, 10)
	binary.LittleEndian.PutUint16(b[2:], uint16(kind|parent<<4))
	b = append(b, 1, 0, 'N', 0, 0, 0)
	for _, list := range lists {
		b = append(binary.LittleEndian.AppendUint16(b, uint16(len(list))), list...)
		b = append(b, make([]byte, len(b)%2)...)
	}
	return b
}

// TestHiddenAndDeletedText has a stretch of text, "gone", with modifiers, between
// text without any.
func TestHiddenAndDeletedText(t *testing.T) {
	const none = 0xFFF
	vanish := func(operand byte) []byte { return []byte{0x3C, 0x08, operand} }
	deleted := func(operand byte) []byte { return []byte{0x00, 0x08, operand} }
	inStyle := func(number byte, more ...byte) []byte { return append([]byte{0x30, 0x4A, number, 0}, more...) }
	sheet := styleSheet(
		paraStyle(none),
		paraStyle(0, vanish(1)...),       // 1: hidden
		paraStyle(1),                     // 2: hidden by its parent
		paraStyle(1, vanish(0x81)...),    // 3: not hidden, against its parent
		charStyle(none, vanish(1)...),    // 4: hidden
		charStyle(4, vanish(0)...),       // 5: not hidden
		charStyle(none, vanish(0x81)...), // 6: hidden
	)
	const before, gone, after = "text before\r", "gone ", "and after\r"
	all, rest, neither := "text before\ngone and after\n", "text before\nand after\n", "text before\n"
	for _, c := range []struct {
		name      string
		modifiers []byte
		paragraph byte // the style of the paragraph
		prm       uint16
		lists     [][]byte
		want      string
	}{
		{"nothing", nil, 0, 0, nil, all},
		{"deleted", deleted(1), 0, 0, nil, rest},
		{"deleted as Word writes it", deleted(0x81), 0, 0, nil, rest},
		{"not deleted", deleted(0), 0, 0, nil, all},
		{"as a style that deletes nothing", deleted(0x80), 0, 0, nil, all},
		{"hidden", vanish(1), 0, 0, nil, rest},
		{"hidden against the style", vanish(0x81), 0, 0, nil, rest},
		{"as the style, which is not hidden", vanish(0x80), 0, 0, nil, all},
		{"shown", vanish(0), 0, 0, nil, all},
		{"the last modifier counts", append(vanish(1), vanish(0)...), 0, 0, nil, all},
		{"a hidden paragraph", nil, 1, 0, nil, neither},
		{"a paragraph hidden by its style's parent", nil, 2, 0, nil, neither},
		{"a paragraph shown against its style's parent", nil, 3, 0, nil, all},
		{"shown in a hidden paragraph", vanish(0), 1, 0, nil, "text before\ngone\n"},
		{"shown against a hidden paragraph", vanish(0x81), 1, 0, nil, "text before\ngone\n"},
		{"a hidden character style", inStyle(4), 0, 0, nil, rest},
		{"a shown one of a hidden one", inStyle(5), 0, 0, nil, all},
		{"one against no style", inStyle(6), 0, 0, nil, rest},
		{"shown against a hidden character style", inStyle(4, vanish(0x81)...), 0, 0, nil, all},
		{"hidden twice is shown", inStyle(4), 1, 0, nil, "text before\ngone\n"},
		{"a style that is not there", inStyle(99), 99, 0, nil, all},
		{"a piece that is deleted", nil, 0, 0x41<<1 | 1<<8, nil, rest},
		{"a piece that is hidden", nil, 0, 0x5C<<1 | 0x81<<8, nil, rest},
		{"a piece that is shown", vanish(1), 0, 0x5C << 1, nil, all},
		{"a piece with a list", nil, 0, 1<<1 | 1, [][]byte{vanish(0), deleted(1)}, rest},
		{"a piece with a list that is not there", nil, 0, 7<<1 | 1, [][]byte{vanish(1)}, all},
	} {
		d := word97{
			pieces: []testPiece{{before, false}, {gone, false}, {after, false}},
			prms:   map[int]uint16{1: c.prm}, lists: c.lists, styles: map[int]byte{1: c.paragraph},
			tables: map[int][]byte{styleTable: sheet},
		}
		if c.modifiers != nil {
			d.chars = []modified{{from: len(before), to: len(before + gone), modifiers: c.modifiers}}
		}
		d.paragraphs = []modified{{from: 0, to: len(before)}, {from: len(before), to: len(before + gone + after)}}
		got, err := textOf(t, d.bytes(t))
		want := strings.ReplaceAll(c.want, "gone\n", "gone \n")
		if err != nil || got.Text != want {
			t.Errorf("%s: got %q, %v, want %q", c.name, got.Text, err, want)
		}
	}
}

// TestHiddenMarks keeps words of two paragraphs apart whose mark is hidden, and
// joins those whose mark is deleted.
func TestHiddenMarks(t *testing.T) {
	const text = "one\rtwo\r"
	for _, c := range []struct {
		from int
		code byte // of the modifier of all from there to behind the first mark
		want string
	}{
		{3, 0x3C, "one\ntwo\n"}, {3, 0x00, "onetwo\n"}, {0, 0x3C, "two\n"}, {0, 0x00, "two\n"},
	} {
		d := word97{pieces: []testPiece{{text, false}}, chars: []modified{{from: c.from, to: 4, modifiers: []byte{c.code, 0x08, 1}}}}
		got, err := textOf(t, d.bytes(t))
		if err != nil || got.Text != c.want {
			t.Errorf("from %d, %#x: got %q, %v, want %q", c.from, c.code, got.Text, err, c.want)
		}
	}
}

// TestHiddenCellsStayCells keeps a hidden text from taking the table apart.
func TestHiddenCellsStayCells(t *testing.T) {
	const text = "one\atwo\a\athree\a\a\r"
	d := word97{pieces: []testPiece{{text, false}}, chars: []modified{{from: 0, to: 4, modifiers: []byte{0x3C, 0x08, 1}}}}
	got, err := textOf(t, d.bytes(t))
	if want := "| | two |\n| --- | --- |\n| three | |\n"; err != nil || got.Text != want {
		t.Errorf("got %q, %v, want %q", got.Text, err, want)
	}
}
