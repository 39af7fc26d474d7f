package html

import (
	stdhtml "html"
	"strings"
)

// tag is a start or an end tag.
type tag struct {
	name       string // in lower case
	end        bool
	attributes string
}

// scanner cuts markup into texts and tags. It takes everything that browsers take.
type scanner struct{ rest string }

// next returns the text before the next tag, and the tag; ok is false at the end.
func (s *scanner) next() (text string, t tag, ok bool) {
	at := 0
	for {
		i := strings.IndexByte(s.rest[at:], '<')
		if i < 0 || at+i+1 == len(s.rest) {
			text, s.rest = s.rest, ""
			return text, t, false
		}
		at += i
		switch c := s.rest[at+1]; {
		case isLetter(c), c == '/' && at+2 < len(s.rest) && isLetter(s.rest[at+2]):
			text = s.rest[:at]
			s.rest = s.rest[at:]
			return text, s.tag(), true
		case c == '!' || c == '?' || c == '/':
			text = s.rest[:at]
			s.rest = s.rest[at+behind(s.rest[at:]):]
			return text, t, true // a tag without a name
		}
		at++ // the sign itself
	}
}

// behind returns how long the comment or declaration is that markup begins with.
func behind(markup string) int {
	end := ">"
	if strings.HasPrefix(markup, "<!--") {
		end = "-->"
	}
	if i := strings.Index(markup, end); i >= 0 {
		return i + len(end)
	}
	return len(markup)
}

// tag takes the tag that the rest begins with.
func (s *scanner) tag() (t tag) {
	n := length(s.rest)
	inside := strings.TrimSuffix(s.rest[1:n], ">")
	s.rest = s.rest[n:]
	if t.end = inside[0] == '/'; t.end {
		inside = inside[1:]
	}
	i := strings.IndexAny(inside, " \t\r\n\f/")
	if i < 0 {
		i = len(inside)
	}
	t.name, t.attributes = strings.ToLower(inside[:i]), inside[i:]
	return t
}

// length returns how long the tag is that markup begins with. A > in quotes behind an
// equals sign does not end it.
func length(markup string) int {
	quote, value := byte(0), false
	for i := 1; i < len(markup); i++ {
		switch c := markup[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '>':
			return i + 1
		case (c == '"' || c == '\'') && value:
			quote, value = c, false
		case c == '=':
			value = true
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			value = false
		}
	}
	return len(markup)
}

// raw takes the content of an element in which no tags are, with its end tag.
func (s *scanner) raw(name string) string {
	for at := 0; ; {
		i := strings.Index(s.rest[at:], "</")
		if i < 0 {
			content := s.rest
			s.rest = ""
			return content
		}
		at += i
		if after := s.rest[at+2:]; len(after) >= len(name) && strings.EqualFold(after[:len(name)], name) {
			content := s.rest[:at]
			s.rest = s.rest[at:]
			s.rest = s.rest[length(s.rest):]
			return content
		}
		at += 2
	}
}

// attribute returns the value of an attribute, and whether it is there.
func (t *tag) attribute(name string) (value string, ok bool) {
	rest := t.attributes
	for {
		rest = strings.TrimLeft(rest, " \t\r\n\f/")
		if rest == "" {
			return "", false
		}
		i := strings.IndexAny(rest[1:], " \t\r\n\f/=") + 1
		if i == 0 {
			i = len(rest)
		}
		found := strings.EqualFold(rest[:i], name)
		rest = strings.TrimLeft(rest[i:], " \t\r\n\f")
		value = ""
		if strings.HasPrefix(rest, "=") {
			value, rest = quoted(strings.TrimLeft(rest[1:], " \t\r\n\f"))
		}
		if found {
			return stdhtml.UnescapeString(value), true
		}
	}
}

// quoted cuts the value of an attribute off the front of attributes.
func quoted(s string) (value, rest string) {
	if s == "" {
		return "", ""
	}
	if s[0] == '"' || s[0] == '\'' {
		value, rest, _ = strings.Cut(s[1:], s[:1])
		return value, rest
	}
	i := strings.IndexAny(s, " \t\r\n\f")
	if i < 0 {
		i = len(s)
	}
	return s[:i], s[i:]
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
