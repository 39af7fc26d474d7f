package rtf

// kind is the type of a token.
type kind uint8

const (
	end     kind = iota
	open         // {
	shut         // }
	control      // a control word or symbol, by name
	char         // a byte of text, in arg
)

// token is one step through the file.
type token struct {
	kind   kind
	name   string // of a control word; of a symbol, its character
	arg    int
	hasArg bool
}

// on reports whether a control word that switches something switches it on.
func (t token) on() bool { return !t.hasArg || t.arg != 0 }

// lexer reads tokens. It never fails and never reads outside of its bytes.
type lexer struct {
	data string
	pos  int
}

// Bounds on a control word.
const (
	maxWord   = 32
	maxDigits = 10
)

func (l *lexer) next() token {
	for l.pos < len(l.data) {
		c := l.data[l.pos]
		l.pos++
		switch c {
		case '{':
			return token{kind: open}
		case '}':
			return token{kind: shut}
		case '\\':
			return l.control()
		case '\r', '\n', 0:
		default:
			return token{kind: char, arg: int(c)}
		}
	}
	return token{}
}

// control reads what follows a backslash.
func (l *lexer) control() token {
	if l.pos >= len(l.data) {
		return token{}
	}
	start := l.pos
	for l.pos < len(l.data) && l.pos-start < maxWord && isLetter(l.data[l.pos]) {
		l.pos++
	}
	if l.pos == start {
		return l.symbol()
	}
	t := token{kind: control, name: l.data[start:l.pos]}
	sign := 1
	if l.pos+1 < len(l.data) && l.data[l.pos] == '-' && isDigit(l.data[l.pos+1]) {
		sign = -1
		l.pos++
	}
	for n := 0; l.pos < len(l.data) && n < maxDigits && isDigit(l.data[l.pos]); n++ {
		t.arg, t.hasArg = t.arg*10+int(l.data[l.pos]-'0'), true
		l.pos++
	}
	t.arg *= sign
	if l.pos < len(l.data) && l.data[l.pos] == ' ' { // belongs to the word
		l.pos++
	}
	if t.name == "bin" && t.arg > 0 {
		l.pos = min(len(l.data), l.pos+t.arg)
	}
	return t
}

// symbol reads a control symbol; \'e4 is a byte of text.
func (l *lexer) symbol() token {
	c := l.data[l.pos]
	l.pos++
	if c != '\'' {
		return token{kind: control, name: l.data[l.pos-1 : l.pos]}
	}
	v := 0
	for range 2 {
		if l.pos >= len(l.data) || hexDigit(l.data[l.pos]) < 0 {
			return token{kind: control, name: "'"}
		}
		v = v<<4 | hexDigit(l.data[l.pos])
		l.pos++
	}
	return token{kind: char, arg: v}
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func hexDigit(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
