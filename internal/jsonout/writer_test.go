package jsonout

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestWriter(t *testing.T) {
	var w Writer
	w.Object()
	w.Name("s").String(`a"b`)
	w.Name("n").Null()
	w.Name("i").Int(-7)
	w.Name("z").Null()
	w.Name("b").Bool(true)
	w.Name("f").Float(0.25)
	w.Name("r").Raw(json.RawMessage("{ \"a\" :\n [ 1, \"x y\" ] }"))
	w.Name("none").Raw(nil)
	w.Name("bad").Raw(json.RawMessage("{"))
	w.Name("list").Array()
	w.Int(1)
	w.Object()
	w.EndObject()
	w.Array()
	w.EndArray()
	w.String("{")
	w.String("x")
	w.EndArray()
	w.Name("empty").Object()
	w.EndObject()
	w.EndObject()
	want := `{"s":"a\"b","n":null,"i":-7,"z":null,"b":true,"f":0.25,"r":{"a":[1,"x y"]},"none":null,"bad":null,` +
		`"list":[1,{},[],"{","x"],"empty":{}}`
	if got := string(w.Buf); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// FuzzString and FuzzFloat hold the Writer against encoding/json.
func FuzzString(f *testing.F) {
	for _, s := range []string{"", "plain", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "<&>", "é漢😀\u2028\u2029", "\xff\xc3(", "a\xffb", "\xed\xa0\x80",
		"long plain text, and a \" in it, and then more of it", "eight by\x1f e\\ght b\x7f", "0123456é0123456789"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var w Writer
		w.String(s)
		if string(w.Buf) != string(want) {
			t.Errorf("%q:\ngot  %s\nwant %s", s, w.Buf, want)
		}
	})
}

func FuzzFloat(f *testing.F) {
	for _, n := range []float64{0, 1, -1.5, 1e-7, 1.25e-9, 1e-10, 1e20, 1e21, 1e300, math.SmallestNonzeroFloat64, 0.1, 1.0 / 3} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, n float64) {
		want, err := Marshal(n)
		if err != nil {
			t.Skip("not finite")
		}
		var w Writer
		w.Float(n)
		if string(w.Buf) != string(want) {
			t.Errorf("got %s, want %s", w.Buf, want)
		}
	})
}

// BenchmarkString writes a text of 4 KB.
func BenchmarkString(b *testing.B) {
	for name, text := range map[string]string{"ASCII": "What came of the order that I asked about? ", "lines": "a line\nand \"more\"\n", "wide": "漢字かな交じり文 "} {
		text = strings.Repeat(text, 4096/len(text))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			var w Writer
			for b.Loop() {
				w.Buf = w.Buf[:0]
				w.String(text)
			}
		})
	}
}

func TestPlain(t *testing.T) {
	for raw, want := range map[string]string{
		``:                 `null`,
		` [ 1.50 , "a" ] `: `[1.50,"a"]`,
		`{"\u00e9": "\ud83d\ude00\/\u000a\u0001\u2028", "\\u00e9": "\\\"", "":[""]}`: "{\"é\":\"😀/\\n\\u0001\u2028\"," + `"\\u00e9":"\\\"","":[""]}`,
		`"\ud800\u0041"`:            "\"\uFFFDA\"",
		"[\"\u2029\\u00e9\u2028\"]": "[\"\u2029é\u2028\"]",
		`"\u0022"`:                  `"\""`,
	} {
		if got := string(Plain(json.RawMessage(raw))); got != want {
			t.Errorf("%s: %s, not %s", raw, got, want)
		}
	}
}

func FuzzPlain(f *testing.F) {
	for _, seed := range []string{`{"a":"\u00e9\\"}`, `["\/","\"","\\\""]`, `1`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		var want, got any
		if json.Unmarshal([]byte(raw), &want) != nil {
			t.Skip()
		}
		if err := json.Unmarshal(Plain(json.RawMessage(raw)), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, not %v (%v)", raw, got, want, err)
		}
	})
}
