package conversations

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/seal"
	"github.com/seed-506d8e5d/svc/storage"
)

// sealVersion is the first byte of what is sealed.
const sealVersion = 1

// Seal returns a text in a form that callers can keep and send back, and cannot
// read or change: with AES-GCM under a key of their organization's, which is made
// at the first use and stays in the store.
func (s *Service) Seal(ctx context.Context, caller accounts.Caller, text string) (string, error) {
	key, err := s.sealKey(ctx, caller, true)
	if err != nil {
		return "", err
	}
	data, err := seal.Seal(key, []byte(text), []byte(caller.Organization))
	if err != nil {
		return "", err
	}
	sealed := append([]byte{sealVersion}, data...)
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
	key, err := s.sealKey(ctx, caller, false)
	if errors.Is(err, storage.ErrNotFound) {
		return "", invalid
	}
	if err != nil {
		return "", err
	}
	text, err := seal.Open(key, data[1:], []byte(caller.Organization))
	if err != nil {
		return "", invalid
	}
	return string(text), nil
}

// sealKey returns the key that the organization's texts are sealed with. Where there
// is none yet it makes one or returns storage.ErrNotFound.
func (s *Service) sealKey(ctx context.Context, caller accounts.Caller, make bool) (key []byte, err error) {
	err = s.store.View(ctx, caller.Namespace(), func(tx storage.Tx) (err error) {
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
	return key, nil
}

func randomKey() []byte {
	key := make([]byte, seal.KeySize)
	rand.Read(key)
	return key
}
