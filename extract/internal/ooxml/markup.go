package ooxml

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"

	"github.com/seed-506d8e5d/svc/extract"
)

// NewDecoder reads markup leniently, once it is known to be safe to read.
func NewDecoder(markup string) (*xml.Decoder, error) {
	markup, err := PlainUTF8(markup)
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

// Tokens yields the tokens of markup, names as they are written. The error, which ends
// it, is that of ctx, which is looked at now and then, or an [extract.ErrDamaged].
func Tokens(ctx context.Context, dec *xml.Decoder) iter.Seq2[xml.Token, error] {
	return func(yield func(xml.Token, error) bool) {
		for n := 0; ; n++ {
			if err := ctx.Err(); n%1024 == 0 && err != nil {
				yield(nil, err)
				return
			}
			token, err := dec.RawToken()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, fmt.Errorf("%w: %w", extract.ErrDamaged, err))
				return
			}
			if !yield(token, nil) {
				return
			}
		}
	}
}

// PlainUTF8 turns markup in another encoding into UTF-8, and replaces what
// encoding/xml would stop at: stray control characters and bytes that are no
// characters at all.
func PlainUTF8(markup string) (string, error) {
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

// Attr returns the value of the attribute with that local name, or "".
func Attr(e xml.StartElement, local string) string {
	for _, a := range e.Attr {
		if a.Name.Local == local {
			return a.Value
		}
	}
	return ""
}

// Decode fills v from a part. What was read before an error stays in v; ok says
// whether there was none.
func Decode(part []byte, v any) (ok bool) {
	if len(part) == 0 {
		return true
	}
	d, err := NewDecoder(string(part))
	if err != nil {
		return false
	}
	err = d.Decode(v)
	return err == nil || errors.Is(err, io.EOF)
}
