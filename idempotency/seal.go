package idempotency

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"errors"
)

// sealer is the cipher for the answers to a key.
func sealer(key string) cipher.AEAD {
	sum := sha256.Sum256([]byte("svc idempotent answer\x00" + key))
	block, err := aes.NewCipher(sum[:])
	if err != nil {
		panic(err) // the key has a length that AES has
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // AES has the block size that GCM needs
	}
	return aead
}

func seal(key string, body []byte) []byte { return sealer(key).Seal(nil, nil, body, nil) }

var errSealed = errors.New("idempotency: a kept answer cannot be opened")

func open(key string, sealed []byte) ([]byte, error) {
	body, err := sealer(key).Open(nil, nil, sealed, nil)
	if err != nil {
		return nil, errSealed
	}
	return body, nil
}
