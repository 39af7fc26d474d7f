package doc

// style is a style of paragraphs or characters.
type style struct {
	parent int // a number that no style has for none
	para   paraProps
	chars  charProps
}

// styles are the styles of a document by their numbers.
type styles []style

// maxStyles bounds the styles, and maxParents those that one inherits from.
const (
	maxStyles  = 4096
	maxParents = 32
)

// parseStyles reads the style sheet.
func parseStyles(b []byte) styles {
	head := u16(b, 0)
	n, base := u16(b, 2), u16(b, 4)
	b = b[min(len(b), 2+head):]
	list := make(styles, min(n, maxStyles))
	for i := range list {
		size := u16(b, 0)
		list[i] = parseStyle(slice(b, 2, size), base)
		b = b[min(len(b), 2+size+size%2):]
	}
	return list
}

// parseStyle reads the modifiers behind the name of a style: of its paragraphs,
// where it is one of those, and of characters.
func parseStyle(b []byte, base int) style {
	const paragraphKind, characterKind, noParent = 1, 2, 0xFFF
	s := style{parent: noParent, para: paraProps{list: inherit, level: inherit, outline: inherit}}
	if len(b) < 10 {
		return s
	}
	kind := u16(b, 2) & 0x0F
	at := base + 2 + 2*u16(b, base) + 2
	next := func() []byte {
		size := u16(b, at)
		modifiers := slice(b, at+2, size)
		at += 2 + size + size%2
		return modifiers
	}
	switch kind {
	case paragraphKind:
		if modifiers := next(); len(modifiers) > 2 {
			s.para.apply(modifiers[2:])
		}
		s.chars = parseCharProps(next())
	case characterKind:
		s.chars = parseCharProps(next())
	default:
		return s
	}
	if level := standardHeading(u16(b, 0) & 0xFFF); level > 0 && s.para.outline == inherit {
		s.para.outline = level
	}
	s.parent = u16(b, 2) >> 4
	return s
}

// standardHeading returns the level of one of Word's own styles of headings, by
// their fixed numbers, 0 for any other style.
func standardHeading(sti int) int {
	const firstHeading, lastHeading, title = 1, 9, 62
	switch {
	case sti >= firstHeading && sti <= lastHeading:
		return sti
	case sti == title:
		return 1
	}
	return 0
}

// inherited returns the properties of the paragraphs of a style, with those that
// it has from its parents.
func (s styles) inherited(number int) paraProps {
	p := paraProps{list: inherit, level: inherit, outline: inherit}
	for range maxParents {
		if number < 0 || number >= len(s) {
			break
		}
		if p.list == inherit {
			p.list = s[number].para.list
		}
		if p.level == inherit {
			p.level = s[number].para.level
		}
		if p.outline == inherit {
			p.outline = s[number].para.outline
		}
		number = s[number].parent
	}
	return p
}

// hides reports whether a style makes its text hidden.
func (s styles) hides(number int) bool {
	return s.toggled(number, 0, func(c charProps) toggle { return c.hidden })
}

func (s styles) toggled(number, depth int, of func(charProps) toggle) bool {
	if number < 0 || number >= len(s) || depth >= maxParents {
		return false
	}
	return of(s[number].chars).over(s.toggled(s[number].parent, depth+1, of))
}

// hidden reports whether characters with properties of their own do not show in
// a paragraph of a style. A character style turns around what the style of the
// paragraph says (as in ECMA-376, 17.7.3, of the same properties).
func (s styles) hidden(c charProps, paragraph int) bool {
	byStyle := s.hides(paragraph)
	if c.style != 0 {
		byStyle = byStyle != s.hides(c.style)
	}
	return c.hidden.over(byStyle) || c.deleted.over(false)
}

// toggle is a property that characters have or have not, or that depends on
// their style (MS-DOC, 2.9.327).
type toggle uint8

const (
	unset toggle = iota
	off
	on
	asStyle
	notAsStyle
)

func parseToggle(operand byte) toggle {
	switch operand {
	case 0:
		return off
	case 1:
		return on
	case 0x81:
		return notAsStyle
	}
	return asStyle
}

// over returns the property of characters whose style has or has not got it.
func (t toggle) over(style bool) bool {
	switch t {
	case off:
		return false
	case on:
		return true
	case notAsStyle:
		return !style
	}
	return style
}
