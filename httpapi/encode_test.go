package httpapi

import (
	"encoding/json"
	"testing"
)

// FuzzAppendString holds appendString against encoding/json.
func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "<&>", "é漢😀\u2028\u2029", "\xff\xc3(", "a\xffb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := encode(s)
		if err != nil {
			t.Fatal(err)
		}
		got := appendString(nil, s)
		if string(got) != string(want) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
		if !json.Valid(got) {
			t.Fatalf("not JSON: %s", got)
		}
	})
}
