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
	utf8Mark, littleMark, bigMark := []byte("\xef\xbb\xbf"), []byte("\xff\xfe"), []byte("\xfe\xff")
	switch {
	case bytes.HasPrefix(data, utf8Mark):
		return utf8Text(data[len(utf8Mark):])
	case bytes.HasPrefix(data, littleMark):
		return utf16Text(data[len(littleMark):], binary.LittleEndian)
	case bytes.HasPrefix(data, bigMark):
		return utf16Text(data[len(bigMark):], binary.BigEndian)
	}
	switch charset(mimeType) {
	case "utf-16le":
		return utf16Text(data, binary.LittleEndian)
	case "utf-16", "utf-16be":
		return utf16Text(data, binary.BigEndian)
	}
	return utf8Text(data)
}

// charset returns the charset parameter of a MIME type in lower case.
func charset(mimeType string) string {
	_, params, err := mime.ParseMediaType(mimeType)
	if err != nil {
		return "" // the type counts, whatever its parameters look like
	}
	return strings.ToLower(params["charset"])
}

// utf8Text also refuses NUL: it stands in files that are not text, and in
// UTF-16 that does not say so.
func utf8Text(data []byte) (string, error) {
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
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
