package pdf

import (
	"strings"
	"testing"
)

// draw places the letters of each text from a point on, 5 units wide.
func draw(l *layout, x, y float64, s string) {
	for _, r := range s {
		p := placed{text: string(r), start: vector{x, y}, end: vector{x + 5, y}, direction: vector{1, 0}, size: 10}
		l.place(&p)
		x += 5
	}
}

func TestRightToLeft(t *testing.T) {
	tests := []struct {
		name string
		draw func(l *layout)
		want string
	}{
		{"visual order", func(l *layout) { draw(l, 0, 0, "םלוע םולש") }, "שלום עולם"},
		{"visual order with a number", func(l *layout) { draw(l, 0, 0, "1948 תנשב") }, "בשנת 1948"},
		{"visual order with a word", func(l *layout) { draw(l, 0, 0, "PDF ץבוק") }, "קובץ PDF"},
		{"inside a left-to-right line", func(l *layout) { draw(l, 0, 0, "the word םולש means peace") }, "the word שלום means peace"},
		{"visual order in runs from right to left", func(l *layout) {
			draw(l, 100, 0, "תנשב")
			draw(l, 75, 0, "1948")
			draw(l, 65, 0, ".)")
		}, "בשנת 1948)."},
		{"logical order", func(l *layout) {
			for i, r := range []rune("שלום עולם") {
				draw(l, 100-5*float64(i), 0, string(r))
			}
		}, "שלום עולם"},
		{"logical order with a number", func(l *layout) {
			for i, r := range []rune("בשנת ") {
				draw(l, 100-5*float64(i), 0, string(r))
			}
			draw(l, 60, 0, "1948")
		}, "בשנת 1948"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := newLayout()
			test.draw(l)
			l.endPage()
			if got := strings.TrimSpace(l.text()); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestColumns(t *testing.T) {
	prose := func(left, right int) string {
		l := newLayout()
		draw(l, 0, 200, "heading")
		for row := range 10 {
			y := 180 - 12*float64(row)
			draw(l, 0, y, strings.Repeat(string(rune('a'+row)), left))
			draw(l, 220, y, strings.Repeat(string(rune('A'+row)), right))
		}
		l.endPage()
		out := ""
		for line := range strings.Lines(l.text()) {
			out += strings.TrimLeft(line, "| -")[:1]
		}
		return strings.TrimRight(strings.ReplaceAll(out, "\n", ""), "\f")
	}
	if got, want := prose(40, 38), "habcdefghijABCDEFGHIJ"; got != want {
		t.Errorf("prose: got %s, want %s", got, want)
	}
	if got, want := prose(12, 38), "habcdefghij"; got != want {
		t.Errorf("table: got %s, want %s", got, want)
	}
}

func TestCleanText(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "\ufb01": "fi", "a\u00a0b": "a b", "co\u00adop": "co-op", "\u202bא\u202c": "א",
		"\uf0b7": "•", "\uf061": "α", "\ue000": " ", "\x01": "", "\ufeff": "",
	} {
		if got := cleanText(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
