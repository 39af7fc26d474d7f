package pdf

import (
	"reflect"
	"strings"
	"testing"
)

func TestLexer(t *testing.T) {
	str := func(s string) object { return object{kind: text, str: s} }
	num := func(v float64) object { return object{kind: number, num: v} }
	op := func(s string) object { return object{kind: keyword, str: s} }
	tests := []struct {
		in   string
		want []object
	}{
		{"", nil},
		{"% comment\n12 % more", []object{num(12)}},
		{"0 -1 +2 .5 -.5 4. 1.25", []object{num(0), num(-1), num(2), num(.5), num(-.5), num(4), num(1.25)}},
		{"--5 . 12-34 1.2.3 1e5", []object{num(-5), num(0), num(12), num(1.2), num(1)}},
		{"0.5Td 3obj 1a2", []object{num(.5), op("Td"), num(3), op("obj"), op("1a2")}},
		{"(a(b)c) (\\101\\n\\)\\\n) (x\r\ny)", []object{str("a(b)c"), str("A\n)"), str("x\ny")}},
		{"(open", []object{str("open")}},
		{"<48 65 6c6C 6f> <4> <4", []object{str("Hello"), str("@"), str("@")}},
		{"/Name /A#42 /", []object{nameOf("Name"), nameOf("AB"), nameOf("")}},
		{"[1 (a) [2]]", []object{arrayOf(num(1), str("a"), arrayOf(num(2)))}},
		{"[1 0 R 2]", []object{arrayOf(refTo(1), num(2))}},
		{"<</A 1/B[2]>>", []object{dictOf(nameOf("A"), num(1), nameOf("B"), arrayOf(num(2)))}},
		{"<</A 1 2 /B 3>>", []object{dictOf(nameOf("A"), num(1), nameOf("B"), num(3))}},
		{"[(a) TJ", []object{arrayOf(str("a")), op("TJ")}},
		{"<</A 1 endobj", []object{dictOf(nameOf("A"), num(1)), op("endobj")}},
		{") ] >> }", []object{{kind: stray, str: ")"}, {kind: stray, str: "]"}, {kind: stray, str: ">>"}, {kind: stray, str: "}"}}},
	}
	for _, test := range tests {
		for _, l := range []lexer{{data: []byte(test.in)}, streamLexer([]byte(test.in))} {
			var got []object
			for o := l.next(); o.kind != end; o = l.next() {
				got = append(got, o)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("%q:\n got %v\nwant %v", test.in, got, test.want)
			}
		}
	}
}

func TestLexerReadsLoneReference(t *testing.T) {
	for in, want := range map[string]object{
		"12 0 R":   refTo(12),
		"12 0 obj": {kind: number, num: 12},
		"(a) 0 R":  {kind: text, str: "a"},
	} {
		l := lexer{data: []byte(in)}
		if got := l.object(); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %v, want %v", in, got, want)
		}
	}
}

// What a content stream has for one operator takes the place of what it had for the
// last, however much that was.
func TestStreamLexerKeepsElementsApart(t *testing.T) {
	l := streamLexer([]byte("[[1][2 3]4] " + strings.Repeat("[5 6]", 100) + "x [7[8]]"))
	first := l.next()
	for range 100 {
		if got := l.next(); len(got.items) != 2 || got.items[1].num != 6 {
			t.Fatalf("got %v", got)
		}
	}
	num := func(v float64) object { return object{kind: number, num: v} }
	if want := arrayOf(arrayOf(num(1)), arrayOf(num(2), num(3)), num(4)); !reflect.DeepEqual(first, want) {
		t.Errorf("got %v, want %v", first, want)
	}
	l.next()
	l.reset()
	if got, want := l.next(), arrayOf(num(7), arrayOf(num(8))); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestLexerBoundsNesting(t *testing.T) {
	depth := 0
	for o := (&lexer{data: []byte("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[")}).next(); o.kind == array; depth++ {
		if len(o.items) == 0 {
			o = object{}
			continue
		}
		o = o.items[0]
	}
	if depth != maxNesting {
		t.Errorf("depth %d, want %d", depth, maxNesting)
	}
}

func TestSkipImage(t *testing.T) {
	for in, want := range map[string]string{
		"\x00\xff EI Q":            " Q",
		"EIEI \x01EI\x02 \nEI\nQ":  "\nQ",
		"a EI \x80\x81 b EI BT ET": " BT ET",
		"no end":                   "",
	} {
		l := lexer{data: []byte(in)}
		l.skipImage()
		if got := in[l.pos:]; got != want {
			t.Errorf("%q: left %q, want %q", in, got, want)
		}
	}
}

// dictOf builds a dictionary from alternating keys and values.
func dictOf(items ...object) object {
	return object{kind: dict, items: items}
}
