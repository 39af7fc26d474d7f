// Package seal encrypts what others keep for the service and may neither read nor
// change: with AES-GCM under a key of 32 bytes, and a random nonce before it.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
)

// KeySize is the length of a key in bytes.
const KeySize = 32

var errNotSealed = errors.New("seal: it was not sealed with this key, or was changed")

func aead(key []byte) (cipher.AEAD, error) {
	if len(key) != KeySize {
		return nil, errors.New("seal: the key must have 32 bytes")
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Seal encrypts plain. Open needs the same context, which is not part of the
// result. The error is of a key of another length.
func Seal(key, plain, context []byte) ([]byte, error) {
	a, err := aead(key)
	if err != nil {
		return nil, err
	}
	return a.Seal(nil, nil, plain, context), nil
}

// Open returns what was sealed. The error is of a key of another length, or of what
// was not sealed with this key and context.
func Open(key, sealed, context []byte) ([]byte, error) {
	a, err := aead(key)
	if err != nil {
		return nil, err
	}
	plain, err := a.Open(nil, nil, sealed, context)
	if err != nil {
		return nil, errNotSealed
	}
	return plain, nil
}
