package httpapi

import "testing"

func FuzzAppendStringIsEncodingJSON(f *testing.F) {
	for _, s := range []string{
		"", "plain", `"\`, "\b\f\n\r\t\x00\x1f\x7f", "<&>", "Zürich 日本 😀", "\u2028\u2029", "\xff", "a\xe2\x80", "\ufffd", "\xed\xa0\x80",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := encode(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendString([]byte("x"), s); string(got) != "x"+string(want) {
			t.Errorf("%q:\ngot  %s\nwant x%s", s, got, want)
		}
	})
}
