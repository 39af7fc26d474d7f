package word_test

import (
	"context"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/files/internal/word"
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
