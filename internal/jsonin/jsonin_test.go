package jsonin

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/fault"
)

func TestCheck(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct{ name, in, want string }{
		{"object", `{"a":[1,-0.5e+3,true,false,null,"x\u00e9\n"],"b":{}}`, ""},
		{"spaces", " \t\r\n[ ] ", ""},
		{"same name in two objects", `[{"a":1},{"a":2,"b":{"a":3}}]`, ""},
		{"same name inside and behind", `{"a":{"b":1},"b":2}`, ""},
		{"deepest", deep(MaxDepth), ""},
		{"empty", "", "The request body is empty; it must be JSON."},
		{"not UTF-8", "\"\xff\"", "The request body is not valid UTF-8."},
		{"trailing data", `{} {}`, "The request body is not valid JSON: there is more after the value (byte 3)."},
		{"too deep", deep(MaxDepth + 1), "The request body is not valid JSON: it nests deeper than 128 levels (byte 128)."},
		{"bomb", strings.Repeat(`{"a":[`, 1<<20), "The request body is not valid JSON: it nests deeper than 128 levels (byte 384)."},
		{"duplicate", `{"a":1,"b":2,"a":3}`, `The request body is not valid JSON: the name "a" stands twice in one object (byte 16).`},
		{"duplicate spelled otherwise", `{"a":1,"\u0061":3}`, `The request body is not valid JSON: the name "a" stands twice in one object (byte 15).`},
		{"cut", `{"a":`, "The request body is not valid JSON: it ends too early (byte 5)."},
		{"cut string", `"a`, "The request body is not valid JSON: a string has no end (byte 2)."},
		{"comma at the end", `[1,]`, "The request body is not valid JSON: a value must begin here (byte 3)."},
		{"no comma", `[1 2]`, `The request body is not valid JSON: a comma or ']' must follow here (byte 3).`},
		{"no colon", `{"a" 1}`, "The request body is not valid JSON: a colon must follow here (byte 5)."},
		{"bare name", `{a:1}`, "The request body is not valid JSON: a name in double quotes must begin here (byte 1)."},
		{"leading zero", `01`, "The request body is not valid JSON: there is more after the value (byte 1)."},
		{"no digits", `1.`, "The request body is not valid JSON: a digit must follow here (byte 2)."},
		{"NaN", `NaN`, "The request body is not valid JSON: a value must begin here (byte 0)."},
		{"control character", "\"\n\"", "The request body is not valid JSON: a control character stands in a string (byte 1)."},
		{"escape", `"\x"`, "The request body is not valid JSON: an unknown escape stands in a string (byte 2)."},
		{"short escape", `"\u12"`, `The request body is not valid JSON: four hexadecimal digits must follow \u (byte 5).`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			if err := Check([]byte(c.in)); err != nil {
				got = fault.From(err).Message
			}
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestCheckFindsDuplicateAmongMany(t *testing.T) {
	var b strings.Builder
	for i := range 100 {
		b.WriteString(`"` + strings.Repeat("x", i+1) + `":0,`)
	}
	is := is.New(t)
	is.NoErr(Check([]byte("{" + b.String() + `"y":0}`)))
	is.True(fault.Is(Check([]byte("{"+b.String()+`"xxxxx":0}`)), fault.Invalid))
}

func TestNode(t *testing.T) {
	body := `{"s":"a","n":1.5,"i":3.0,"b":true,"z":null,"l":[{"t":"x"},{"t":7}],"o":{"k.1":"v"}}`
	is := is.New(t)
	root, err := Parse([]byte(body), Dots)
	is.NoErr(err)
	is.Equal(root.Field("s").Text(), "a")
	is.Equal(*root.Field("n").Number(), 1.5)
	is.Equal(*root.Field("i").Int(), 3)
	is.True(root.Field("b").True())
	is.True(root.Field("z").Absent())
	is.True(!root.Field("z").Missing())
	is.True(root.Field("missing").Missing())
	is.Equal(root.Field("o").Field("k.1").Text(), "v")
	is.Equal(string(root.Field("l").Raw()), `[{"t":"x"},{"t":7}]`)
	is.NoErr(root.Err())
	items := root.Field("l").Items(2)
	is.Equal(len(items), 2)
	is.Equal(items[1].Field("t").Text(), "")
	is.Equal(root.Err(), fault.Invalidf("l[1].t", "l[1].t must be a string."))
}

func TestNodeErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		style  PathStyle
		read   func(*Node)
		path   string
		reason string
	}{
		{"string", Dots, func(n *Node) { n.Field("a").Field("b").Text() }, "a.b", "a.b must be a string."},
		{"slashes", Slashes, func(n *Node) { n.Field("a").Field("b").Text() }, "a/b", "a/b: must be a string"},
		{"element", Slashes, func(n *Node) { n.Field("l").Items(9)[1].Bool() }, "l/1", "l/1: must be a boolean"},
		{"first error stays", Dots, func(n *Node) { n.Field("l").Text(); n.Field("a").Text() }, "l", "l must be a string."},
		{"member of a string", Dots, func(n *Node) { n.Field("s").Field("x") }, "s", "s must be an object."},
		{"too many", Dots, func(n *Node) { n.Field("l").Items(1) }, "l", "l must have at most 1 elements."},
		{"no array", Dots, func(n *Node) { n.Field("s").Items(1) }, "s", "s must be an array."},
		{"fraction", Dots, func(n *Node) { n.Field("f").Int() }, "f", "f must be an integer."},
		{"huge", Dots, func(n *Node) { n.Field("h").Number() }, "h", "h must be a number."},
		{"huge integer", Dots, func(n *Node) { n.Field("h").Int() }, "h", "h must be an integer."},
		{"integer that a float does not hold", Dots, func(n *Node) { n.Field("w").Int() }, "w", "w must be an integer."},
		{"metadata", Dots, func(n *Node) { n.Field("m").Metadata() }, "m.x", "m.x must be a string."},
		{"root", Dots, func(n *Node) { n.Text() }, "", "The request body must be a string."},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			root, err := Parse([]byte(`{"a":{"b":1},"l":[1,2],"s":"t","f":1.5,"h":1e999,"w":1e17,"m":{"x":[]}}`), c.style)
			is.NoErr(err)
			c.read(root)
			is.Equal(root.Err(), fault.Invalidf(c.path, "%s", c.reason))
		})
	}
}

func TestObjectWithTooManyMembers(t *testing.T) {
	is := is.New(t)
	var b strings.Builder
	for i := range MaxMembers + 1 {
		fmt.Fprintf(&b, `"k%d":0,`, i)
	}
	root, err := Parse([]byte("{"+b.String()+`"last":0}`), Dots)
	is.NoErr(err)
	root.Field("last")
	is.Equal(root.Err(), fault.Invalidf("", "The request body must have at most 10000 members."))
}

// TestTooManyValues reads elements whose members are few, but many together.
func TestTooManyValues(t *testing.T) {
	is := is.New(t)
	const elements = MaxValues / 4
	root, err := Parse([]byte(`{"a":[`+strings.Repeat(`{"b":0,"c":0,"d":0},`, elements)+`{}]}`), Dots)
	is.NoErr(err)
	items := root.Field("a").Items(2 * elements)
	is.Equal(len(items), elements+1)
	for _, item := range items[:elements-1] {
		item.Field("b")
	}
	is.NoErr(root.Err())
	items[elements-1].Field("b")
	is.Equal(root.Err(), fault.Invalidf("a[124999]", "a[124999] must have fewer values: a request may have at most 500000 in all."))
}

func TestMetadataCoercesNumbersAndBooleans(t *testing.T) {
	is := is.New(t)
	root, err := Parse([]byte(`{"s":"x","n":1.50,"t":true,"f":false}`), Dots)
	is.NoErr(err)
	is.Equal(root.Metadata(), map[string]string{"s": "x", "n": "1.50", "t": "true", "f": "false"})
	is.NoErr(root.Err())
}

func TestHalfSurrogatesBecomeValidText(t *testing.T) {
	is := is.New(t)
	root, err := Parse([]byte(`["\ud800", "\udc00x", "\ud83d\ude00"]`), Dots)
	is.NoErr(err)
	for _, n := range root.Items(3) {
		is.True(utf8.ValidString(n.Text()))
	}
}

// FuzzCheck holds the scanner against encoding/json: what it accepts that one
// accepts, and what it refuses beyond that has one of the reasons it documents.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5e-3,"\u00e9",null]}`, `[[[]]]`, `{"a":1,"a":2}`, "\xff", `"\ud800"`, `-0`, `{"":{}}`, `[1`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := Check(data)
		if err == nil && !json.Valid(data) {
			t.Fatalf("accepted %q", data)
		}
		if err != nil && json.Valid(data) && utf8.Valid(data) &&
			!strings.Contains(err.Error(), "stands twice") && !strings.Contains(err.Error(), "nests deeper") {
			t.Fatalf("refused %q: %v", data, err)
		}
		if err != nil {
			return
		}
		root, err := Parse(data, Dots)
		if err != nil {
			t.Fatal(err)
		}
		walk(t, root)
	})
}

func walk(t *testing.T, n *Node) {
	switch {
	case n.IsObject():
		for f := range n.Fields() {
			walk(t, f)
		}
	case n.IsArray():
		for _, item := range n.Items(1 << 20) {
			walk(t, item)
		}
	case n.IsText():
		if !utf8.ValidString(n.Text()) {
			t.Fatalf("invalid text at %s", n.Path())
		}
	}
	if n.Err() != nil {
		t.Fatal(n.Err())
	}
}

func BenchmarkParse(b *testing.B) {
	body := []byte(`{"model":"svc-preview","messages":[{"role":"user","content":"` + strings.Repeat("word ", 200) + `"}],"stream":true}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		root, err := Parse(body, Dots)
		if err != nil {
			b.Fatal(err)
		}
		root.Field("model").Text()
		root.Field("messages").Items(10)[0].Field("content").Text()
	}
}
