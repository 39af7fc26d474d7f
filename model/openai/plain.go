package openai

import (
	"bytes"

	"github.com/tidwall/gjson"
)

// plainChunks reads what nearly all events of a stream are: an object whose one
// choice has a delta with a piece of text and nothing else that counts. Whatever
// is more than that it leaves to [chunk.parse], which also says what is wrong with
// it.
//
// It remembers what stood around the text of the event before: one that has
// the same around another text means the same, and is not read again.
type plainChunks struct{ before, behind []byte }

// read returns the text of an event, which may be none.
func (p *plainChunks) read(data []byte) (text string, ok bool) {
	if text, ok := p.again(data); ok {
		return string(text), true
	}
	r := plainReader{data: data}
	if text, ok = r.chunk(); ok && r.textEnd > 0 {
		p.before, p.behind = append(p.before[:0], data[:r.textStart]...), append(p.behind[:0], data[r.textEnd:]...)
	}
	return text, ok
}

// again returns the text of an event that is otherwise the same as the one before.
// What stood around that one's text includes the quotes.
func (p *plainChunks) again(data []byte) (text []byte, ok bool) {
	if len(p.before) == 0 || !bytes.HasPrefix(data, p.before) || !bytes.HasSuffix(data[len(p.before):], p.behind) {
		return nil, false
	}
	text = data[len(p.before) : len(data)-len(p.behind)]
	for _, c := range text {
		if c == '"' || c == '\\' || c < ' ' {
			return nil, false
		}
	}
	return text, true
}

// chunk reads the whole data in one pass.
func (p *plainReader) chunk() (text string, ok bool) {
	key, more := p.open()
	for ; more; key, more = p.next() {
		switch string(key) {
		case "choices":
			ok = p.take('[') && p.choice(&text) && p.take(']')
		case "usage", "error":
			ok = p.null()
		default:
			ok = p.scalar()
		}
		if !ok {
			return "", false
		}
	}
	return text, p.closed && p.pos == len(p.data)
}

func (p *plainReader) choice(text *string) bool {
	key, more := p.open()
	for ; more; key, more = p.next() {
		ok := false
		switch string(key) {
		case "delta":
			ok = p.delta(text)
		case "text": // of a text that is continued
			*text, ok = p.text()
		case "index":
			ok = p.scalar()
		default: // finish_reason, logprobs and the like, where they say nothing
			ok = p.null()
		}
		if !ok {
			return false
		}
	}
	return p.closed
}

func (p *plainReader) delta(text *string) bool {
	key, more := p.open()
	for ; more; key, more = p.next() {
		ok := false
		switch string(key) {
		case "content":
			if ok = p.null(); !ok {
				*text, ok = p.text()
			}
		case "role":
			ok = p.scalar()
		default:
			ok = p.null()
		}
		if !ok {
			return false
		}
	}
	return p.closed
}

// plainReader reads JSON as it is usually written. Its methods report whether they
// have read what they are named for.
type plainReader struct {
	data   []byte
	pos    int
	closed bool // the last object has come to its end

	textStart, textEnd int // where the last text was, without its quotes
}

func (p *plainReader) space() {
	for p.pos < len(p.data) && (p.data[p.pos] == ' ' || p.data[p.pos] == '\n' || p.data[p.pos] == '\r' || p.data[p.pos] == '\t') {
		p.pos++
	}
}

func (p *plainReader) take(c byte) bool {
	if p.space(); p.pos == len(p.data) || p.data[p.pos] != c {
		return false
	}
	p.pos++
	p.space()
	return true
}

// open begins an object and returns its first name; next returns the one after
// the value that was read. Where there is no more closed says whether the object
// has ended as it should.
func (p *plainReader) open() (key []byte, more bool) {
	if p.closed = false; !p.take('{') {
		return nil, false
	}
	if p.take('}') {
		p.closed = true
		return nil, false
	}
	return p.name()
}

func (p *plainReader) next() (key []byte, more bool) {
	if p.closed = false; p.take(',') {
		return p.name()
	}
	p.closed = p.take('}')
	return nil, false
}

func (p *plainReader) name() (key []byte, ok bool) {
	key, escaped, ok := p.quoted()
	return key, ok && !escaped && p.take(':')
}

// quoted returns what stands between two quotes, and whether it has escapes.
func (p *plainReader) quoted() (inner []byte, escaped, ok bool) {
	if p.space(); p.pos == len(p.data) || p.data[p.pos] != '"' {
		return nil, false, false
	}
	start := p.pos + 1
	for i := start; i < len(p.data); i++ {
		switch c := p.data[i]; {
		case c == '"':
			p.pos = i + 1
			return p.data[start:i], escaped, true
		case c == '\\':
			escaped = true
			i++
		case c < ' ':
			return nil, false, false
		}
	}
	return nil, false, false
}

// text returns a string, a copy of its own.
func (p *plainReader) text() (string, bool) {
	inner, escaped, ok := p.quoted()
	if !ok {
		return "", false
	}
	p.textStart, p.textEnd = p.pos-1-len(inner), p.pos-1
	if !escaped {
		return string(inner), true
	}
	quoted := p.data[p.pos-len(inner)-2 : p.pos]
	if !gjson.ValidBytes(quoted) {
		return "", false
	}
	return gjson.ParseBytes(quoted).Str, true
}

func (p *plainReader) null() bool {
	p.space()
	if !bytes.HasPrefix(p.data[p.pos:], []byte("null")) {
		return false
	}
	p.pos += len("null")
	p.space()
	return true
}

// scalar reads a string, a whole number, true, false or null.
func (p *plainReader) scalar() bool {
	p.space()
	if _, escaped, ok := p.quoted(); ok {
		return !escaped
	}
	start := p.pos
	for p.pos < len(p.data) && (p.data[p.pos] >= 'a' && p.data[p.pos] <= 'z' || p.data[p.pos] >= '0' && p.data[p.pos] <= '9') {
		p.pos++
	}
	word := p.data[start:p.pos]
	p.space()
	if len(word) > 0 && word[0] >= '1' && word[0] <= '9' {
		return bytes.IndexFunc(word, func(r rune) bool { return r > '9' }) < 0
	}
	return string(word) == "0" || string(word) == "null" || string(word) == "true" || string(word) == "false"
}

var (
	dataField = []byte("data: ")
	eventEnd  = []byte("\n\n")
)

// ahead returns the text of the next event where all of it has come already and it
// is nothing but text. It is still the next one, until skip is called.
func (e *eventReader) ahead() (text string, ok bool) {
	data, ok := bytes.CutPrefix(e.r.buffered(), dataField)
	if !ok {
		return "", false
	}
	end := bytes.Index(data, eventEnd)
	if end < 0 {
		return "", false
	}
	text, ok = e.plain.read(data[:end])
	e.aheadLen = len(dataField) + end + len(eventEnd)
	return text, ok && text != ""
}

// skip steps over the event that ahead has returned.
func (e *eventReader) skip() { e.r.discard(e.aheadLen) }
