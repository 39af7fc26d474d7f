package pdf

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
)

// verticalFont is a font of Japan whose codes are UTF-16, from top to bottom or, with
// -H, from left to right.
func verticalFont(direction, more string) string {
	return "<</Type/Font/Subtype/Type0/BaseFont/Ryumin-Light/Encoding/UniJIS-UTF16-" + direction +
		"/DescendantFonts[<</Subtype/CIDFontType0/CIDSystemInfo<</Registry(Adobe)/Ordering(Japan1)/Supplement 2>>" + more + ">>]>>"
}

// utf16At shows a text at a place with size 10.
func utf16At(x, y float64, s string) string {
	var raw []byte
	for _, u := range utf16.Encode([]rune(s)) {
		raw = append(raw, byte(u>>8), byte(u))
	}
	return fmt.Sprintf("BT /F 10 Tf %g %g Td <%s> Tj ET\n", x, y, hex.EncodeToString(raw))
}

// TestVerticalText has columns from top to bottom.
func TestVerticalText(t *testing.T) {
	column := func(x, y float64, s string) string { return utf16At(x, y, s) }
	stack := func(x, y, down float64, s string) (content string) {
		for i, r := range []rune(s) {
			content += utf16At(x, y-down*float64(i), string(r))
		}
		return content
	}
	for _, c := range []struct{ name, direction, font, content, want string }{
		{"drawn in order", "V", "", column(300, 700, "日本国民は") + column(280, 700, "正当に選挙"), "日本国民は\n正当に選挙\n"},
		{"drawn from left to right", "V", "", column(260, 700, "された国会") + column(280, 700, "正当に選挙") + column(300, 700, "日本国民は"), "日本国民は\n正当に選挙\nされた国会\n"},
		{"two rows of columns", "V", "", column(280, 500, "会に") + column(300, 500, "た国") + column(280, 700, "当に選挙され") + column(300, 700, "日本国民は正"), "日本国民は正\n当に選挙され\nた国\n会に\n"},
		{"two blocks", "V", "", column(100, 700, "会における代表者を通じて行動") + column(120, 700, "れた国") + column(300, 600, "選挙さ") + column(300, 700, "国民は正当に"), "国民は正当に\n選挙さ\nれた国\n会における代表者を通じて行動\n"},
		{"parts of a column", "V", "", column(300, 700, "日本") + column(300, 680, "国民"), "日本国民\n"},
		{"spaced to fill the column", "V", "", "2 Tc\n" + strings.Replace(column(300, 700, "日本国"), "<65e5672c56fd>", "[<65e5> -200 <672c> -200 <56fd>]", 1) + "0 Tc", "日本国\n"},
		{"marks", "V", "", column(300, 700, "︵日本︶国︒"), "（日本）国。\n"},
		{"extents", "V", "/DW2[880 -500]/W2[1200 1300 -500 250 880]", column(300, 700, "日本国民は") + column(300, 672, "正"), "日本国民は正\n"},
		{"set one by one in a row", "V", "/W[1[[500]]]/DW 500", utf16At(100, 700, "a") + utf16At(105, 700, "b") + utf16At(113, 700, "c"), "ab c\n"},
		{"stacked letters", "H", "", stack(300, 700, 11, "日本国民") + stack(280, 700, 11, "は正当"), "日本国民\nは正当\n"},
		{"stacks from left to right", "H", "", stack(280, 700, 11, "は正当") + stack(300, 700, 11, "日本国民"), "日本国民\nは正当\n"},
		{"a stack with a number", "H", "/DW 500", stack(300, 700, 11, "昭和の") + utf16At(300, 667, "12") + stack(300, 656, 11, "年五月"), "昭和の12年五月\n"},
		{"rows of one letter", "H", "", stack(300, 700, 20, "日本国民"), "日\n本\n国\n民\n"},
		{"two letters are rows", "H", "", stack(300, 700, 11, "日本"), "日\n本\n"},
		{"other letters are rows", "H", "/DW 500", stack(300, 700, 11, "abc"), "a\nb\nc\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := textOf(t, sample{font: verticalFont(c.direction, c.font), content: c.content}.bytes())
			if err != nil || strings.TrimLeft(got.Text, "\n") != c.want+"\f" {
				t.Errorf("got %q, %v, want %q", got.Text, err, c.want)
			}
			turned, err := textOf(t, sample{font: verticalFont(c.direction, c.font), content: "0 1 -1 0 800 0 cm\n" + c.content, page: "/Rotate 90"}.bytes())
			if err != nil || strings.TrimLeft(turned.Text, "\n") != c.want+"\f" {
				t.Errorf("on a page that is turned: got %q, %v, want %q", turned.Text, err, c.want)
			}
		})
	}
}

// TestFieldsFromRightToLeft has form fields in lines of Hebrew and Arabic.
func TestFieldsFromRightToLeft(t *testing.T) {
	field := func(x, y float64, value string) string {
		var raw []byte
		for _, u := range utf16.Encode([]rune("\ufeff" + value)) {
			raw = append(raw, byte(u>>8), byte(u))
		}
		return fmt.Sprintf("<</Subtype/Widget/FT/Tx/Rect[%g %g %g %g]/V<%x>>>", x, y, x+60, y+16, raw)
	}
	logical := func(right, y float64, s string) (content string) { // drawn letter by letter
		for i, r := range []rune(s) {
			if r != ' ' {
				content += utf16At(right-5*float64(i), y, string(r))
			}
		}
		return content
	}
	const visual = ":םש"
	for _, c := range []struct {
		name, content string
		annots        []string
		want          string
	}{
		{"behind a name in visual order", utf16At(300, 700, visual), []string{field(230, 696, "דוד כהן")}, "שם: דוד כהן\n"},
		{"behind a name in reading order", logical(310, 700, "שם:"), []string{field(230, 696, "דוד כהן")}, "שם: דוד כהן\n"},
		{"in Latin letters", utf16At(300, 700, visual), []string{field(230, 696, "Ada Lovelace")}, "שם: Ada Lovelace\n"},
		{"before a word", utf16At(300, 700, "םש"), []string{field(330, 696, "דוד")}, "דוד שם\n"},
		{"between two words", utf16At(300, 700, "םש") + utf16At(200, 700, "ריע"), []string{field(230, 696, "דוד")}, "שם דוד עיר\n"},
		{"two fields", utf16At(300, 700, visual) + utf16At(150, 700, ":ריע"), []string{field(230, 696, "דוד"), field(80, 696, "Haifa")}, "שם: דוד עיר: Haifa\n"},
		{"in a line from left to right", utf16At(50, 700, "Name:") + utf16At(200, 700, "City:"), []string{field(100, 696, "דוד כהן"), field(230, 696, "حيفا")}, "Name: דוד כהן City: حيفا\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			refs := ""
			for i := range c.annots {
				refs += fmt.Sprintf("%d 0 R ", 5+i)
			}
			got, err := textOf(t, sample{font: verticalFont("H", "/DW 500"), content: c.content, page: "/Annots[" + refs + "]", extra: c.annots}.bytes())
			if err != nil || strings.TrimLeft(got.Text, "\n") != c.want+"\f" {
				t.Errorf("got %q, %v, want %q", got.Text, err, c.want)
			}
		})
	}
}
