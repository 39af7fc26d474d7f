package pdf

import (
	"slices"
	"strings"
)

// Lexical conventions (ISO 32000-2, 7.2), read the way real files need it: the
// lexer serves the file body, content streams and CMaps, never fails, never
// reads outside its bytes, and steps over what it cannot make sense of.

// Bounds on one lexer: how deep arrays and dictionaries nest, and how many
// elements it keeps in memory between two resets.
const (
	maxNesting  = 64
	maxElements = 1 << 20
	maxKept     = 4096 // elements kept together
)

type lexer struct {
	data     []byte
	source   string // the same as data, if strings may keep it; see streamLexer
	pos      int
	depth    int
	elements int
	open     []object // elements of the arrays and dictionaries that are being read
	closed   []object // of those read since the last reset, if they are kept together
	scratch  []byte
}

// streamLexer reads a content stream or a CMap, whose objects are done with soon:
// strings are parts of data, and reset makes room for the elements of others.
func streamLexer(data []byte) lexer {
	return lexer{data: data, source: string(data), closed: make([]object, 0, 64)}
}

// reset ends the life of the objects that were read: an operator has had them.
func (l *lexer) reset() {
	l.elements = 0
	l.closed = l.closed[:0]
}

// part is the bytes from one place to another.
func (l *lexer) part(from, to int) string {
	if l.source != "" {
		return l.source[from:to]
	}
	return string(l.data[from:to])
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == 0 || c == '\f'
}

func isDelimiter(c byte) bool {
	switch c {
	case '(', ')', '<', '>', '[', ']', '{', '}', '/', '%':
		return true
	}
	return false
}

func isRegular(c byte) bool { return !isSpace(c) && !isDelimiter(c) }

// skipSpace moves past white space and comments.
func (l *lexer) skipSpace() {
	for l.pos < len(l.data) {
		switch c := l.data[l.pos]; {
		case isSpace(c):
			l.pos++
		case c == '%':
			l.skipLine()
		default:
			return
		}
	}
}

func (l *lexer) skipLine() {
	for l.pos < len(l.data) && l.data[l.pos] != '\n' && l.data[l.pos] != '\r' {
		l.pos++
	}
}

// at reports whether the next bytes are s.
func (l *lexer) at(s string) bool {
	return l.pos+len(s) <= len(l.data) && string(l.data[l.pos:l.pos+len(s)]) == s
}

// accept moves past s after white space, and reports whether it was there.
func (l *lexer) accept(s string) bool {
	l.skipSpace()
	if !l.at(s) {
		return false
	}
	l.pos += len(s)
	return true
}

// next returns the next object or operator. References are recognized inside
// arrays and dictionaries only; see object.
func (l *lexer) next() object {
	l.skipSpace()
	if l.pos >= len(l.data) {
		return object{kind: end}
	}
	c := l.data[l.pos]
	switch {
	case c == '(':
		l.pos++
		return object{kind: text, str: l.literal()}
	case c == '/':
		l.pos++
		return nameOf(l.name())
	case c == '[':
		l.pos++
		return l.collect(array)
	case l.at("<<"):
		l.pos += 2
		return l.collect(dict)
	case c == '<':
		l.pos++
		return object{kind: text, str: l.hex()}
	case l.at(">>"):
		l.pos += 2
		return object{kind: stray, str: ">>"}
	case isDelimiter(c):
		l.pos++
		return object{kind: stray, str: string(rune(c))}
	}
	return l.word()
}

// object returns the next object where a lone reference may stand, as in the
// body of an indirect object.
func (l *lexer) object() object {
	o := l.next()
	if o.kind != number {
		return o
	}
	after := l.pos
	gen, r := l.next(), l.next()
	if gen.kind == number && r.kind == keyword && r.str == "R" {
		return refTo(o.int())
	}
	l.pos = after
	return o
}

// word reads a number or a keyword.
func (l *lexer) word() object {
	start := l.pos
	for l.pos < len(l.data) && isRegular(l.data[l.pos]) {
		l.pos++
	}
	w := l.data[start:l.pos]
	if v, n, ok := parseNumber(w); ok {
		l.pos = start + n // "0.5Td": the operator comes next
		return object{kind: number, num: v}
	}
	return object{kind: keyword, str: l.part(start, l.pos)}
}

// collect reads elements up to the end of an array or a dictionary.
func (l *lexer) collect(k kind) object {
	if l.depth >= maxNesting {
		return object{kind: stray}
	}
	l.depth++
	first := len(l.open)
	for l.elements < maxElements {
		x := l.next()
		if x.kind == end || x.kind == stray && (k == array && x.str == "]" || k == dict && x.str == ">>") {
			break
		}
		if x.kind == keyword && endsUnclosed(k, x.str) {
			l.pos -= len(x.str) // not an element but what follows
			break
		}
		if x.kind == stray || x.kind == keyword && x.str == "R" && l.foldRef(first) {
			continue
		}
		l.open = append(l.open, x)
		l.elements++
	}
	o := object{kind: k, items: l.keep(l.open[first:])}
	l.open = l.open[:first]
	l.depth--
	return o.paired()
}

// keep returns a copy of elements that lasts until the next reset or, in a lexer that
// has none, for good.
func (l *lexer) keep(elements []object) []object {
	if l.closed == nil || len(elements) > cap(l.closed)-len(l.closed) && len(elements) > maxKept {
		return slices.Clone(elements)
	}
	n := len(l.closed)
	l.closed = append(l.closed, elements...)
	return l.closed[n:len(l.closed):len(l.closed)]
}

// paired drops what stands where a dictionary needs a key.
func (o object) paired() object {
	if o.kind != dict {
		return o
	}
	kept := o.items[:0]
	for i := 0; i+1 < len(o.items); i++ {
		if o.items[i].kind == name {
			kept = append(kept, o.items[i], o.items[i+1])
			i++
		}
	}
	o.items = kept
	return o
}

// endsUnclosed tells the keywords that show an array or dictionary to have
// been left open.
func endsUnclosed(k kind, word string) bool {
	switch word {
	case "endobj", "stream", "endstream":
		return true
	case "TJ", "Tj", "ET":
		return k == array
	}
	return false
}

// foldRef replaces the last two numbers by a reference, if they are elements of the
// array or dictionary whose elements begin at first.
func (l *lexer) foldRef(first int) bool {
	n := len(l.open)
	if n < first+2 || l.open[n-1].kind != number || l.open[n-2].kind != number {
		return false
	}
	l.open[n-2] = refTo(l.open[n-2].int())
	l.open = l.open[:n-1]
	return true
}

// literal reads a string in parentheses, behind the opening one.
func (l *lexer) literal() string {
	start := l.pos
	for l.pos < len(l.data) && isLiteral[l.data[l.pos]] {
		l.pos++
	}
	if l.pos < len(l.data) && l.data[l.pos] == ')' {
		l.pos++
		return l.part(start, l.pos-1)
	}
	out := append(l.scratch[:0], l.data[start:l.pos]...)
	defer func() { l.scratch = out[:0] }()
	open := 1
	for l.pos < len(l.data) {
		c := l.data[l.pos]
		l.pos++
		switch c {
		case '(':
			open++
		case ')':
			open--
			if open == 0 {
				return string(out)
			}
		case '\\':
			out = l.escape(out)
			continue
		case '\r':
			l.skipByte('\n')
			c = '\n'
		}
		out = append(out, c)
	}
	return string(out)
}

// isLiteral tells the bytes of a string that stand for themselves.
var isLiteral = func() (plain [256]bool) {
	for c := range plain {
		plain[c] = !strings.ContainsRune("()\\\r", rune(c))
	}
	return plain
}()

// escape appends what the escape sequence behind a backslash stands for.
func (l *lexer) escape(out []byte) []byte {
	if l.pos >= len(l.data) {
		return out
	}
	c := l.data[l.pos]
	l.pos++
	switch c {
	case 'n':
		return append(out, '\n')
	case 'r':
		return append(out, '\r')
	case 't':
		return append(out, '\t')
	case 'b':
		return append(out, '\b')
	case 'f':
		return append(out, '\f')
	case '\n':
		return out
	case '\r':
		l.skipByte('\n')
		return out
	}
	if c < '0' || c > '7' {
		return append(out, c)
	}
	code := int(c - '0')
	for range 2 {
		if l.pos >= len(l.data) || l.data[l.pos] < '0' || l.data[l.pos] > '7' {
			break
		}
		code = code*8 + int(l.data[l.pos]-'0')
		l.pos++
	}
	return append(out, byte(code))
}

func (l *lexer) skipByte(c byte) {
	if l.pos < len(l.data) && l.data[l.pos] == c {
		l.pos++
	}
}

// hex reads a hexadecimal string, behind the opening angle bracket.
func (l *lexer) hex() string {
	start := l.pos
	for l.pos < len(l.data) && l.data[l.pos] != '>' {
		l.pos++
	}
	out := decodeHex(l.scratch[:0], l.data[start:l.pos])
	l.scratch = out[:0]
	l.skipByte('>')
	return string(out)
}

// name reads a name, behind the slash.
func (l *lexer) name() string {
	start := l.pos
	escaped := false
	for l.pos < len(l.data) && isRegular(l.data[l.pos]) {
		escaped = escaped || l.data[l.pos] == '#'
		l.pos++
	}
	if !escaped {
		return l.part(start, l.pos)
	}
	w := l.data[start:l.pos]
	out := make([]byte, 0, len(w))
	for i := 0; i < len(w); i++ {
		if w[i] == '#' && i+2 < len(w) && hexDigit(w[i+1]) >= 0 && hexDigit(w[i+2]) >= 0 {
			out = append(out, byte(hexDigit(w[i+1])<<4|hexDigit(w[i+2])))
			i += 2
			continue
		}
		out = append(out, w[i])
	}
	return string(out)
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// skipImage moves past the data of an inline image (8.9.7); the lexer stands
// behind the ID operator. EI counts only between white space and where what
// follows looks like content again.
func (l *lexer) skipImage() {
	from := l.pos
	for i := from; i+1 < len(l.data); i++ {
		if l.data[i] != 'E' || l.data[i+1] != 'I' {
			continue
		}
		if i > from && !isSpace(l.data[i-1]) || i+2 < len(l.data) && !isSpace(l.data[i+2]) {
			continue
		}
		if looksPlain(l.data[i+2 : min(len(l.data), i+14)]) {
			l.pos = i + 2
			return
		}
	}
	l.pos = len(l.data)
}

// looksPlain reports whether b is printable ASCII and white space.
func looksPlain(b []byte) bool {
	for _, c := range b {
		if c >= 0x7f || c < 0x20 && !isSpace(c) {
			return false
		}
	}
	return true
}
