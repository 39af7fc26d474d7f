package conversations

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
)

// sealVersion is the first byte of what is sealed.
const sealVersion = 1

// Seal returns a text in a form that callers can keep and send back, and cannot
// read or change: with AES-GCM under a key of their organization's, which is made
// at the first use and stays in the store.
func (s *Service) Seal(ctx context.Context, caller accounts.Caller, text string) (string, error) {
	aead, err := s.sealer(ctx, caller, true)
	if err != nil {
		return "", err
	}
	sealed := make([]byte, 1+aead.NonceSize(), 1+aead.NonceSize()+len(text)+aead.Overhead())
	sealed[0] = sealVersion
	rand.Read(sealed[1:])
	sealed = aead.Seal(sealed, sealed[1:], []byte(text), []byte(caller.Organization))
	return base64.RawURLEncoding.EncodeToString(sealed), nil
}

// Unseal returns the text of what [Service.Seal] returned for the organization.
// The error is Invalid for anything else.
func (s *Service) Unseal(ctx context.Context, caller accounts.Caller, sealed string) (string, error) {
	invalid := fault.Invalidf("input", "encrypted_content is not what this service has returned to the organization.")
	data, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil || len(data) == 0 || data[0] != sealVersion {
		return "", invalid
	}
	aead, err := s.sealer(ctx, caller, false)
	if errors.Is(err, storage.ErrNotFound) {
		return "", invalid
	}
	if err != nil {
		return "", err
	}
	if data = data[1:]; len(data) < aead.NonceSize() {
		return "", invalid
	}
	n := aead.NonceSize()
	text, err := aead.Open(nil, data[:n], data[n:], []byte(caller.Organization))
	if err != nil {
		return "", invalid
	}
	return string(text), nil
}

// sealer returns the organization's cipher. Where there is none yet it makes one
// or returns storage.ErrNotFound.
func (s *Service) sealer(ctx context.Context, caller accounts.Caller, make bool) (cipher.AEAD, error) {
	var key []byte
	err := s.store.View(ctx, caller.Namespace(), func(tx storage.Tx) (err error) {
		key, err = tx.Get([]byte(sealKey))
		return err
	})
	if make && errors.Is(err, storage.ErrNotFound) {
		err = s.store.Update(ctx, caller.Namespace(), func(tx storage.Tx) (err error) {
			key, err = tx.Get([]byte(sealKey))
			if errors.Is(err, storage.ErrNotFound) {
				key = randomKey()
				err = tx.Set([]byte(sealKey), key)
			}
			return err
		})
	}
	if err != nil {
		return nil, storeError(err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func randomKey() []byte {
	key := make([]byte, 32)
	rand.Read(key)
	return key
}
