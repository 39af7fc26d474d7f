package docx

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"

	"github.com/seed-506d8e5d/svc/extract"
)

// newDecoder reads markup leniently, once it is known to be safe to read.
func newDecoder(markup string) (*xml.Decoder, error) {
	markup, err := plainUTF8(markup)
	if err != nil {
		return nil, err
	}
	if longestTag(markup) > maxTag {
		return nil, fmt.Errorf("%w: a tag of over %d bytes", extract.ErrTooLarge, maxTag)
	}
	d := xml.NewDecoder(strings.NewReader(markup))
	d.Strict = false
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	return d, nil
}

// plainUTF8 turns markup in another encoding into UTF-8, and replaces what
// encoding/xml would stop at: stray control characters and bytes that are no
// characters at all.
func plainUTF8(markup string) (string, error) {
	if enc := declaredEncoding(markup); enc != nil {
		var err error
		markup, err = enc.NewDecoder().String(markup)
		if err != nil {
			return "", fmt.Errorf("%w: %w", extract.ErrDamaged, err)
		}
	}
	markup = strings.ToValidUTF8(markup, "\uFFFD")
	if strings.IndexFunc(markup, isStray) < 0 {
		return markup, nil
	}
	return strings.Map(func(r rune) rune {
		if isStray(r) {
			return ' '
		}
		return r
	}, markup), nil
}

var encodingLabel = regexp.MustCompile(`^<\?xml[^>]*encoding\s*=\s*["']([-\w.:]+)["']`)

// declaredEncoding returns the encoding of markup that is not UTF-8, or nil.
// UTF-16 is legal and shows in the first bytes; other encodings are declared,
// and often wrongly, so that valid UTF-8 is believed first.
func declaredEncoding(markup string) encoding.Encoding {
	switch {
	case strings.HasPrefix(markup, "\xFF\xFE"), strings.HasPrefix(markup, "<\x00"):
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case strings.HasPrefix(markup, "\xFE\xFF"), strings.HasPrefix(markup, "\x00<"):
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	case utf8.ValidString(markup):
		return nil
	}
	label := encodingLabel.FindStringSubmatch(markup[:min(len(markup), 256)])
	if label == nil {
		return nil
	}
	enc, err := htmlindex.Get(label[1])
	if err != nil {
		return nil // an unknown name is most often a misspelt UTF-8
	}
	return enc
}

func isStray(r rune) bool {
	return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF
}

// longestTag returns the length of the longest tag. encoding/xml holds all
// attributes of a tag at once, at some thirty times their size.
func longestTag(markup string) int {
	longest := 0
	for {
		open := strings.IndexByte(markup, '<')
		if open < 0 {
			return longest
		}
		markup = markup[open:]
		n := tagLength(markup)
		longest = max(longest, n)
		markup = markup[n:]
	}
}

// tagLength returns the length of the tag that markup begins with. A comment,
// a directive or character data counts as one byte: its inside is looked at for
// tags, which only errs on the safe side.
func tagLength(markup string) int {
	if strings.HasPrefix(markup, "<!") || strings.HasPrefix(markup, "<?") {
		return 1
	}
	quote := byte(0)
	for i := 1; i < len(markup); i++ {
		switch c := markup[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i + 1
		}
	}
	return len(markup)
}

// space is an XML namespace that matters here.
type space uint8

const (
	otherSpace   space = iota
	wordSpace          // WordprocessingML
	mathSpace          // formulas
	drawSpace          // DrawingML, for text in shapes
	compatSpace        // alternatives for older and newer readers
	maxBindings  = 128 // namespace declarations in force at once
	defaultSpace = ""  // the prefix of names without one
)

// spaceOf knows both generations of names, transitional and strict.
func spaceOf(uri string) space {
	switch {
	case strings.Contains(uri, "/wordprocessingml/") && strings.HasSuffix(uri, "/main"):
		return wordSpace
	case strings.HasSuffix(uri, "/drawingml/2006/main"), strings.HasSuffix(uri, "/drawingml/main"):
		return drawSpace
	case strings.HasSuffix(uri, "/math"):
		return mathSpace
	case strings.Contains(uri, "/markup-compatibility/"):
		return compatSpace
	}
	return otherSpace
}

type binding struct {
	prefix string
	space  space
}

// usualBindings hold where a document declares nothing.
func usualBindings() []binding {
	return []binding{{"w", wordSpace}, {"m", mathSpace}, {"a", drawSpace}, {"mc", compatSpace}}
}

// bind adds the declarations among the attributes.
func bind(bound []binding, attrs []xml.Attr) []binding {
	for _, a := range attrs {
		if len(bound) >= maxBindings {
			return bound
		}
		switch {
		case a.Name.Space == "xmlns":
			bound = append(bound, binding{a.Name.Local, spaceOf(a.Value)})
		case a.Name.Space == "" && a.Name.Local == "xmlns":
			bound = append(bound, binding{defaultSpace, spaceOf(a.Value)})
		}
	}
	return bound
}

func resolve(bound []binding, prefix string) space {
	for i := len(bound) - 1; i >= 0; i-- {
		if bound[i].prefix == prefix {
			return bound[i].space
		}
	}
	return otherSpace
}

// attr returns the value of the attribute with that local name, or "".
func attr(e xml.StartElement, local string) string {
	for _, a := range e.Attr {
		if a.Name.Local == local {
			return a.Value
		}
	}
	return ""
}

// isOn reads an on/off property, which is on if it has no value.
func isOn(e xml.StartElement) bool {
	switch attr(e, "val") {
	case "0", "false", "off":
		return false
	}
	return true
}

// decode fills v from a part. What was read before an error stays in v; ok says
// whether there was none.
func decode(part []byte, v any) (ok bool) {
	if len(part) == 0 {
		return true
	}
	d, err := newDecoder(string(part))
	if err != nil {
		return false
	}
	err = d.Decode(v)
	return err == nil || errors.Is(err, io.EOF)
}
