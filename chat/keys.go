package chat

import (
	"crypto/sha256"
	"encoding/binary"
)

// This file builds every key that the package stores under, all in the
// namespace of an organization:
//
//	c/o/<completion ID>   record, JSON: the completion
//	c/m/<completion ID>   messages of its request, JSON
//	c/t/<tag>/<completion ID>   nothing: the completions that have a tag, which is 16 bytes of the SHA-256 of its key and value
//	c/x                   how far tags of older versions' completions are in c/t: the last ID, empty at the end
//
// IDs sort by the time they were made, and so do the keys. The messages have
// their own key because they may be large and lists do not need them.
const (
	recordPrefix   = "c/o/"
	messagesPrefix = "c/m/"
	tagPrefix      = "c/t/"
)

func recordKey(id string) []byte   { return []byte(recordPrefix + id) }
func messagesKey(id string) []byte { return []byte(messagesPrefix + id) }

func indexedKey() []byte { return []byte("c/x") }

// taggedKeys is the prefix of the completions that have a tag.
func taggedKeys(key, value string) []byte {
	text := binary.BigEndian.AppendUint64(nil, uint64(len(key)))
	sum := sha256.Sum256(append(append(text, key...), value...))
	return append(append([]byte(tagPrefix), sum[:16]...), '/')
}

func taggedKey(key, value, id string) []byte { return append(taggedKeys(key, value), id...) }
