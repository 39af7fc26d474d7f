// Package o200k counts the tokens that a text has in the vocabulary o200k_base, which
// is that of OpenAI's models since GPT-4o and an estimate for others.
//
// [Count] cuts a text into pieces (pieces.go), such as words with the space before
// them. A piece that is no token itself is merged from its bytes, the pair that makes
// the token with the lowest number first (merge.go). The vocabulary is embedded: all
// tokens in the order of their numbers, each with its length before it.
package o200k

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/binary"
	"io"
	"sync"
	"unsafe"
)

//go:embed vocabulary.gz
var packed []byte

// vocabulary returns the numbers of the tokens. It is loaded when it is first needed,
// which takes some 50 ms, and takes 10 MB from then on.
var vocabulary = sync.OnceValue(load)

// size is how many tokens there are.
const size = 199_998

func load() map[string]int32 {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic(err) // of a file that is part of the program
	}
	data, err := io.ReadAll(r)
	if err != nil {
		panic(err)
	}
	numbers := make(map[string]int32, size)
	text := unsafe.String(unsafe.SliceData(data), len(data)) // data is not written any more
	for n := int32(0); len(text) > 0; n++ {
		length, width := binary.Uvarint(data)
		end := width + int(length)
		numbers[text[width:end]] = n
		text, data = text[end:], data[end:]
	}
	return numbers
}

// Count returns how many tokens a text has.
func Count(text string) int {
	v := vocabulary()
	count := 0
	for text != "" {
		end := piece(text)
		if _, ok := v[text[:end]]; ok {
			count++
		} else {
			count += merge(v, text[:end])
		}
		text = text[end:]
	}
	return count
}
