package doc

import (
	"encoding/binary"
	"testing"
	"unicode/utf16"
)

func TestFormatNumber(t *testing.T) {
	for _, c := range []struct {
		n, format int
		want      string
	}{
		{7, 0, "7"}, {1994, upperRoman, "MCMXCIV"}, {4, lowerRoman, "iv"}, {4000, lowerRoman, "4000"}, {0, upperRoman, "0"},
		{26, upperLetter, "Z"}, {28, lowerLetter, "bb"}, {-1, lowerLetter, "-1"}, {1 << 30, upperLetter, "1073741824"},
		{7, decimalZero, "07"}, {12, decimalZero, "12"}, {5, noNumber, ""}, {5, bulletFormat, ""}, {5, 60, "5"}, {21, 37, "二十一"}, {3, 18, "③"},
	} {
		if got := formatNumber(c.n, c.format); got != c.want {
			t.Errorf("formatNumber(%d, %d) = %q, want %q", c.n, c.format, got, c.want)
		}
	}
}

// level makes the definition of a level.
func level(start, format, flags int, text string) []byte {
	b := make([]byte, 28)
	binary.LittleEndian.PutUint32(b, uint32(start))
	b[4], b[5] = byte(format), byte(flags)
	b[24], b[25] = 2, 3 // bytes of modifiers, which are not read
	b = append(b, 1, 2, 3, 4, 5)
	return appendString(b, text)
}

func appendString(b []byte, text string) []byte {
	chars := utf16.Encode([]rune(text))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(chars)))
	for _, c := range chars {
		b = binary.LittleEndian.AppendUint16(b, c)
	}
	return b
}

// testLists makes a list of nine levels and one of a single level, and five
// lists that use them: the first as it is, the first with a start and a level of
// its own, the second, the first again, and one without a definition.
func testLists(styles []byte) *lists {
	le := binary.LittleEndian
	heads := []byte{2, 0}
	for i, simple := range []byte{0, 1} {
		head := make([]byte, 28)
		le.PutUint32(head, uint32(100+i))
		head[26] = simple
		heads = append(heads, head...)
	}
	var levels []byte
	for _, l := range [][]byte{
		level(1, 0, 0, "\x00."), level(3, lowerLetter, 0, "\x00.\x01)"), level(1, upperRoman, 0x04, "\x00.\x01.\x02"),
		level(1, bulletFormat, 0, "\uF0B7"), level(1, noNumber, 0, "\x04"), level(1, 0, 0x08, "\x05"),
		level(1, bulletFormat, 0, "–"), level(1, 0, 0, ""), level(1, 0, 0, "\x08"), level(5, 0, 0, "(\x00)"),
	} {
		levels = append(levels, l...)
	}
	overrides := make([]byte, 4)
	le.PutUint32(overrides, 5)
	for i, id := range []uint32{100, 100, 101, 100, 999} {
		head := make([]byte, 16)
		le.PutUint32(head, id)
		if i == 1 {
			head[12] = 2
		}
		overrides = append(overrides, head...)
	}
	overrides = append(overrides, 0, 0, 0, 0) // of the first list
	overrides = append(overrides, 0, 0, 0, 0) // of the second, with
	overrides = append(overrides, 8, 0, 0, 0, 0x10, 0, 0, 0)
	overrides = append(overrides, 0, 0, 0, 0, 0x21, 0, 0, 0)
	overrides = append(overrides, level(1, 0, 0, "[\x01]")...)
	overrides = append(overrides, make([]byte, 12)...)

	b := &fib{main: make([]byte, 0x400), version: 193}
	for _, table := range []struct {
		at    table
		bytes []byte
		after []byte
	}{{styleSheet, styles, nil}, {listDefinitions, heads, levels}, {listOverrides, overrides, nil}} {
		le.PutUint32(b.main[0x9A+8*table.at:], uint32(len(b.tables)))
		le.PutUint32(b.main[0x9A+8*table.at+4:], uint32(len(table.bytes)))
		b.tables = append(append(b.tables, table.bytes...), table.after...)
	}
	return newLists(b)
}

// styleOf makes a style of paragraphs with modifiers.
func styleOf(parent int, modifiers ...byte) []byte {
	const base = 10
	b := make([]byte, base)
	binary.LittleEndian.PutUint16(b[2:], uint16(1|parent<<4))
	b = append(appendString(b, "Name"), 0, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(2+len(modifiers)))
	b = append(append(b, 0, 0), modifiers...)
	return append(binary.LittleEndian.AppendUint16(nil, uint16(len(b))), append(b, make([]byte, len(b)%2)...)...)
}

func TestLabels(t *testing.T) {
	type item struct {
		p    paraProps
		want string
	}
	direct := func(list, level int, want string) item {
		return item{paraProps{list: list, level: level, style: 9}, want}
	}
	styled := func(style int, want string) item {
		return item{paraProps{list: inherit, level: inherit, style: style}, want}
	}
	styles := []byte{18, 0, 5, 0, 10, 0}
	styles = append(styles, make([]byte, 14)...)
	for _, s := range [][]byte{
		styleOf(0xFFF, 0x0B, 0x46, 1, 0),
		styleOf(0, 0x0A, 0x26, 1),
		{0, 0}, // an empty place
		styleOf(3, 0x0A, 0x26, 1),
		styleOf(0xFFF),
	} {
		styles = append(styles, s...)
	}
	for _, c := range []struct {
		name  string
		items []item
	}{
		{"levels count and start anew", []item{
			direct(1, 0, "1. "), direct(1, 1, "1.c) "), direct(1, 1, "1.d) "), direct(1, 0, "2. "), direct(1, 1, "2.c) "),
		}},
		{"a level that goes on", []item{direct(1, 5, "1 "), direct(1, 0, "1. "), direct(1, 5, "2 ")}},
		{"legal numbers", []item{direct(1, 2, "1.3.1 ")}},
		{"bullets and nothing", []item{direct(1, 3, "- "), direct(1, 6, "– "), direct(1, 4, ""), direct(1, 7, "")}},
		{"a list of one level", []item{direct(3, 0, "(5) "), direct(3, 0, "(6) "), direct(3, 1, "")}},
		{"an override starts the same count again", []item{
			direct(1, 0, "1. "), direct(2, 0, "8. "), direct(2, 0, "9. "), direct(2, 1, "[1] "), direct(4, 0, "10. "),
		}},
		{"styles", []item{styled(0, "1. "), styled(1, "1.c) "), styled(2, ""), styled(3, ""), styled(4, ""), styled(99, "")}},
		{"none in spite of the style", []item{{paraProps{list: 0, level: inherit}, ""}, styled(0, "1. ")}},
		{"what is not there", []item{direct(5, 0, ""), direct(6, 0, ""), direct(0xF801, 0, ""), direct(1, 9, "")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := testLists(styles)
			for i, item := range c.items {
				l.add(i, item.p, false)
			}
			labels := l.labels()
			for i, item := range c.items {
				if got := labels[i]; got != item.want {
					t.Errorf("item %d: got %q, want %q", i, got, item.want)
				}
			}
		})
	}
}

func TestEachModifier(t *testing.T) {
	tabs := append([]byte{0x15, 0xC6, 0xFF, 2}, make([]byte, 8)...)
	tabs = append(append(tabs, 1), 0, 0, 0)
	for _, c := range []struct {
		name string
		b    []byte
		want int // modifiers before the one that is looked for, -1 if it is not found
	}{
		{"first", nil, 0},
		{"one byte, two and four", []byte{0x35, 0x08, 1, 0x43, 0x4A, 24, 0, 0x03, 0x6A, 1, 2, 3, 4}, 3},
		{"three bytes", []byte{0x00, 0xE0, 1, 2, 3}, 1},
		{"with a length", []byte{0x31, 0xC6, 3, 1, 2, 3}, 1},
		{"a table", append([]byte{0x08, 0xD6, 0x2C, 1}, make([]byte, 299)...), 1},
		{"tabs", []byte{0x15, 0xC6, 2, 0, 0}, 1},
		{"many tabs", tabs, 1},
		{"cut short", []byte{0x03, 0x6A, 1, 2, 3, 4}[:3], -1},
		{"a length beyond the end", []byte{0x31, 0xC6, 200}, -1},
		{"tabs beyond the end", []byte{0x15, 0xC6, 0xFF, 200}, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, got := 0, -1
			eachModifier(append(c.b, 0x3C, 0x08, 1), func(code int, operand []byte) {
				if code == charHidden && len(operand) == 1 && operand[0] == 1 {
					got = n
				}
				n++
			})
			if got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}
