package labels

import "testing"

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		n              int
		letters, roman string
	}{
		{0, "0", "0"}, {-1, "-1", "-1"}, {1, "A", "I"}, {4, "D", "IV"}, {26, "Z", "XXVI"}, {27, "AA", "XXVII"},
		{260, "ZZZZZZZZZZ", "CCLX"}, {261, "261", "CCLXI"}, {1994, "1994", "MCMXCIV"}, {3999, "3999", "MMMCMXCIX"}, {4000, "4000", "4000"},
	} {
		if got := Letters(c.n); got != c.letters {
			t.Errorf("Letters(%d): got %s, want %s", c.n, got, c.letters)
		}
		if got := Roman(c.n); got != c.roman {
			t.Errorf("Roman(%d): got %s, want %s", c.n, got, c.roman)
		}
	}
}

func TestBullet(t *testing.T) {
	for r, want := range map[rune]string{'–': "–", '•': "•", 'o': "•", '§': "•", '\uf0b7': "•", '\ufffd': "•", '\x01': "•", ' ': "", '\u00a0': ""} {
		if got := Bullet(r); got != want {
			t.Errorf("%q: got %q, want %q", r, got, want)
		}
	}
}
