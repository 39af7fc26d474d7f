package word_test

import (
	"context"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/extract/internal/word"
)

func TestNumbers(t *testing.T) {
	for _, test := range []struct {
		n              int
		letters, roman string
	}{
		{0, "0", "0"}, {1, "A", "I"}, {4, "D", "IV"}, {26, "Z", "XXVI"}, {27, "AA", "XXVII"}, {53, "AAA", "LIII"},
		{260, "ZZZZZZZZZZ", "CCLX"}, {261, "261", "CCLXI"}, {3999, "3999", "MMMCMXCIX"}, {4000, "4000", "4000"}, {-1, "-1", "-1"},
	} {
		is := is.New(t)
		is.Equal(word.Letters(test.n), test.letters)
		is.Equal(word.Roman(test.n), test.roman)
	}
}

func TestBullet(t *testing.T) {
	for r, want := range map[rune]string{'–': "–", '\uf0b7': "•", 'o': "•", '§': "•", '\x01': "•", '\ufffd': "•", ' ': "", '\u00a0': ""} {
		if got := word.Bullet(r); got != want {
			t.Errorf("%q: got %q, want %q", r, got, want)
		}
	}
}

func TestReader(t *testing.T) {
	is := is.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	r := word.NewReader(ctx, strings.NewReader("0123456789"), 6)
	buf := make([]byte, 4)
	_, err := r.ReadAt(buf, 2)
	is.NoErr(err)
	is.Equal(string(buf), "2345")
	is.NoErr(r.Err())
	_, err = r.ReadAt(buf, 2)
	is.Equal(err, word.ErrBudget)
	is.Equal(r.Err(), word.ErrBudget)
	r.Lift()
	_, err = r.ReadAt(buf, 6)
	is.NoErr(err)
	is.NoErr(r.Err())
	cancel()
	_, err = r.ReadAt(buf, 6)
	is.Equal(err, context.Canceled)
	is.Equal(r.Err(), context.Canceled)
}

func TestNumberFormats(t *testing.T) {
	for _, c := range []struct {
		n      int
		format string
		want   string
	}{
		{7, "decimal", "7"}, {7, "decimalZero", "07"}, {12, "decimalZero", "12"},
		{1, "lowerLetter", "a"}, {26, "upperLetter", "Z"}, {28, "lowerLetter", "bb"}, {0, "upperLetter", "0"}, {1 << 30, "lowerLetter", "1073741824"},
		{1994, "upperRoman", "MCMXCIV"}, {4, "lowerRoman", "iv"}, {4000, "upperRoman", "4000"}, {0, "lowerRoman", "0"},
		{1, "ordinal", "1st"}, {2, "ordinal", "2nd"}, {3, "ordinal", "3rd"}, {4, "ordinal", "4th"}, {12, "ordinal", "12th"}, {21, "ordinal", "21st"},
		{5, "none", ""}, {5, "bullet", ""}, {5, "unknown", "5"},
		{7, "numberInDash", "- 7 -"}, {3, "ideographTraditional", "丙"}, {11, "ideographTraditional", "11"}, {12, "ideographZodiac", "亥"},
		{20, "decimalEnclosedCircle", "⑳"}, {21, "decimalEnclosedCircle", "21"}, {2, "aiueoFullWidth", "イ"}, {2, "ganada", "나"}, {3, "arabicAbjad", "ج"},
		{10, "ideographDigital", "一〇"}, {12, "decimalFullWidth", "１２"}, {15, "koreanDigital", "일오"},
		{10, "chineseCounting", "十"}, {21, "chineseCounting", "二十一"}, {100, "chineseCounting", "一○○"},
		{10, "chineseCountingThousand", "十"}, {101, "chineseCountingThousand", "一百○一"}, {110, "chineseCountingThousand", "一百一十"},
		{111, "japaneseCounting", "百十一"}, {2020, "japaneseCounting", "二千二十"}, {11, "koreanCounting", "십일"},
		{10, "chineseLegalSimplified", "壹拾"}, {1005, "ideographLegalTraditional", "壹仟零伍"}, {0, "japaneseCounting", "〇"},
	} {
		if got := word.Number(c.n, c.format); got != c.want {
			t.Errorf("word.Number(%d, %q) = %q, want %q", c.n, c.format, got, c.want)
		}
	}
}

func TestFieldEquation(t *testing.T) {
	for _, c := range []struct{ code, want string }{
		{` EQ \* jc2 \* "Font:MS Mincho" \* hps10 \o\ad(\s\up 9(きもん),鬼門)`, "鬼門"},
		{`eq \o\ac(○,印)`, "○印"},
		{`EQ \f(1,2)`, "1/2"},
		{`EQ x = \f(-b \S\DO4(2),\r(2,a\,b))`, "x = -b 2/2√a,b"},
		{`EQ \r(x)`, "√x"},
		{`EQ \b\bc\{(\a\al(1;2))`, "{(1 2)"},
		{`EQ \a(1,2`, "1 2"},
		{`EQ \`, `\`}, {`EQ \*`, ""}, {`EQ`, ""}, {`PAGE`, ""}, {``, ""}, {`EQUAL \f(1,2)`, ""},
		{"EQ " + strings.Repeat(`\a(`, 5000), ""},
	} {
		got := word.FieldEquation(c.code)
		if len(c.code) < 1000 && got != c.want {
			t.Errorf("word.FieldEquation(%q) = %q, want %q", c.code, got, c.want)
		}
	}
}
