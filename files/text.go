package files

import (
	"bytes"
	"encoding/binary"
	"mime"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/seed-506d8e5d/svc/fault"
)

// Text returns the text in the bytes of a document with a MIME type of the
// format [Plain]. The bytes are UTF-8, or UTF-16 where they begin with its byte
// order mark or the type's charset parameter says so; byte order marks are not
// part of the text. Bytes that are not text in their encoding are an Invalid
// error.
func Text(mimeType string, data []byte) (string, error) {
	order, mark := encoding(mimeType, data)
	if order != nil {
		return utf16Text(data[mark:], order)
	}
	return utf8Text(data[mark:])
}

// encoding tells from its type and its first bytes, of which three are enough,
// how text is encoded: in UTF-16 of the byte order, or in UTF-8 where that is
// nil. mark is the length of the byte order mark.
func encoding(mimeType string, head []byte) (order binary.ByteOrder, mark int) {
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return nil, 3
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		return binary.LittleEndian, 2
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return binary.BigEndian, 2
	}
	switch charset(mimeType) {
	case "utf-16le":
		return binary.LittleEndian, 0
	case "utf-16", "utf-16be":
		return binary.BigEndian, 0
	}
	return nil, 0
}

// charset returns the charset parameter of a MIME type in lower case.
func charset(mimeType string) string {
	_, params, err := mime.ParseMediaType(mimeType)
	if err != nil {
		return "" // the type counts, whatever its parameters look like
	}
	return strings.ToLower(params["charset"])
}

// isUTF8 also refuses NUL: it stands in files that are not text, and in UTF-16
// that does not say so.
func isUTF8(data []byte) bool { return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 }

func utf8Text(data []byte) (string, error) {
	if !isUTF8(data) {
		return "", fault.Invalidf("", "The file is not text in UTF-8, nor in UTF-16 with a byte order mark.")
	}
	return string(data), nil
}

func utf16Text(data []byte, order binary.ByteOrder) (string, error) {
	invalid := fault.Invalidf("", "The file is not valid UTF-16 text.")
	if len(data)%2 != 0 {
		return "", invalid
	}
	text := make([]byte, 0, len(data))
	for ; len(data) > 0; data = data[2:] {
		r := rune(order.Uint16(data))
		if utf16.IsSurrogate(r) {
			if len(data) < 4 {
				return "", invalid
			}
			data = data[2:]
			if r = utf16.DecodeRune(r, rune(order.Uint16(data))); r == utf8.RuneError {
				return "", invalid
			}
		}
		text = utf8.AppendRune(text, r)
	}
	return string(text), nil
}
