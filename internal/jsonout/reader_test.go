package jsonout

import (
	"math"
	"reflect"
	"testing"
	"unicode/utf8"
)

// shape is something with all that a Reader reads.
type shape struct {
	S string   `json:"s,omitempty"`
	B bool     `json:"b,omitempty"`
	L []string `json:"l,omitempty"`
	O *shape   `json:"o,omitempty"`
	I int64    `json:"i,omitempty"`
	U uint64   `json:"u,omitempty"`
}

func readShape(r *Reader) *shape {
	s := &shape{}
	r.Object(func(name string) {
		switch name {
		case "s":
			s.S = r.String()
		case "b":
			s.B = r.Bool()
		case "l":
			r.Array(func() { s.L = append(s.L, r.String()) })
		case "o":
			s.O = readShape(r)
		case "i":
			s.I = r.Int()
		case "u":
			s.U = r.Uint()
		default:
			r.Fail()
		}
	})
	return s
}

func TestReader(t *testing.T) {
	for _, want := range []*shape{
		{}, {S: "plain"}, {S: "a\"\\/\b\f\n\r\t\x01é\u2028😀", B: true}, {L: []string{"", "x", "\n"}}, {S: "x", O: &shape{O: &shape{B: true}, S: "y"}},
		{I: 10, U: 1}, {I: math.MaxInt64, U: math.MaxUint64}, {I: math.MinInt64},
	} {
		data, err := Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		r := Read(string(data))
		if got := readShape(&r); !r.End() || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v", data, got, r)
		}
	}
}

// FuzzReader reads anything, which comes to an end, and reads back what was
// written of it.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{`{}`, `{"s":"x\n\u0041\ud83d\ude00\ud83dx\ud83d\u0041"}`, `{"b":true,"l":["a","b"],"o":{"b":false}}`, `{"s":"`, `{"s":"\`, `{"s":"\u00`, `[`, `{"b":tru}`, `{"l":[]}`, `{"s":"\q"}`, `{"s":"x"}}`, `{"i":-12,"u":3}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := Read(text)
		readShape(&r)
		if !utf8.ValidString(text) {
			return
		}
		want := &shape{S: text, L: []string{text, "", text}, O: &shape{S: text}}
		data, err := Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		r = Read(string(data))
		if got := readShape(&r); !r.End() || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v", data, got)
		}
	})
}

// TestWhatIsNotWrittenFails leaves to encoding/json what no Writer writes.
func TestWhatIsNotWrittenFails(t *testing.T) {
	for _, text := range []string{``, ` {}`, `{}x`, `{"s" :"x"}`, `{"s":1}`, `{"b":null}`, `{"l":["a",]}`, `{,}`, `{"s":"x"`, `{"s":"\q"}`, `{"s":"\u12"}`, `{"x":1}`,
		`{"i":}`, `{"i":-}`, `{"i":01}`, `{"i":-0}`, `{"i":1.5}`, `{"i":1e3}`, `{"i":9223372036854775808}`, `{"u":-1}`, `{"u":18446744073709551616}`} {
		r := Read(text)
		if got := readShape(&r); r.End() {
			t.Errorf("%s: got %+v", text, got)
		}
	}
}

// TestRaw reads values of all kinds as a part of something.
func TestRaw(t *testing.T) {
	for text, want := range map[string]string{
		`{"s":1}`: `1`, `{"s":"a\\","b":true}`: `"a\\"`, `{"s":{"x":["]}",{}]}}`: `{"x":["]}",{}]}`, `{"s":[[],"\"]"]}`: `[[],"\"]"]`, `{"s":null,"b":true}`: `null`,
		`{"s":}`: "", `{"s":"a`: "", `{"s":"a\`: "", `{"s":[1}`: "", `{"s":`: "",
	} {
		r := Read(text)
		got := ""
		r.Object(func(name string) {
			if name == "b" {
				r.Bool()
				return
			}
			got = r.Raw()
		})
		if r.End() != (want != "") || r.End() && got != want {
			t.Errorf("%s: %q, %v, want %q", text, got, r, want)
		}
	}
}
