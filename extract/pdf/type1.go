package pdf

import "bytes"

// Type 1 font programs (ISO 32000-2, 9.9): the encoding stands in their clear
// text as "dup 65 /A put".

// type1Encoding gives the characters of the codes that the program encodes
// itself; it is empty where the program uses StandardEncoding.
func type1Encoding(data []byte) map[int]string {
	if i := bytes.Index(data, []byte("eexec")); i >= 0 {
		data = data[:i]
	}
	i := bytes.Index(data, []byte("/Encoding"))
	if i < 0 {
		return nil
	}
	l := lexer{data: data[i:min(len(data), i+1<<16)], pos: len("/Encoding")}
	out := map[int]string{}
	for {
		o := l.next()
		if o.kind == end || o.kind == keyword && (o.str == "StandardEncoding" || o.str == "readonly" || o.str == "def" && len(out) > 0) {
			return out
		}
		if o.kind != keyword || o.str != "dup" {
			continue
		}
		code, glyph := l.next(), l.next()
		if code.kind == number && glyph.kind == name && code.num >= 0 && code.num < 256 {
			out[code.int()] = glyphText(glyph.str)
		}
	}
}
