package conversations

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/seal"
	"github.com/seed-506d8e5d/svc/storage"
)

// sealVersion is the first byte of what is sealed.
const sealVersion = 1

// thoughtMark is what a sealed thought begins with, so that it is not taken for a
// summary, nor the other way round.
const thoughtMark = "\x00reasoning\x00"

// sealedThought is a [Thought] as it is sealed.
type sealedThought struct {
	Model string `json:"model"`
	Text  string `json:"text"`
}

// SealSummary returns the text of a [Compaction] in a form that callers can keep and
// send back, and cannot read or change. The key is made at the first use of the
// caller's organization and stays in the store.
func (s *Service) SealSummary(ctx context.Context, caller accounts.Caller, summary string) (string, error) {
	return s.seal(ctx, caller, summary)
}

// SealThought is [Service.SealSummary] for the content of a [Reasoning] item.
func (s *Service) SealThought(ctx context.Context, caller accounts.Caller, thought Thought) (string, error) {
	data, err := jsonout.Marshal(sealedThought(thought))
	if err != nil {
		return "", err
	}
	return s.seal(ctx, caller, thoughtMark+string(data))
}

// openSummary returns what [Service.SealSummary] was given. The error is Invalid for
// anything else.
func (s *Service) openSummary(ctx context.Context, caller accounts.Caller, field, sealed string) (string, error) {
	summary, err := s.unseal(ctx, caller, field, sealed)
	if err == nil && strings.HasPrefix(summary, thoughtMark) {
		err = errOtherType(field)
	}
	return summary, err
}

// OpenThought returns what [Service.SealThought] was given. The error is Invalid, about
// a field, for anything else.
func (s *Service) OpenThought(ctx context.Context, caller accounts.Caller, field, sealed string) (Thought, error) {
	data, err := s.unseal(ctx, caller, field, sealed)
	if err != nil {
		return Thought{}, err
	}
	text, ok := strings.CutPrefix(data, thoughtMark)
	if !ok {
		return Thought{}, errOtherType(field)
	}
	var opened sealedThought
	err = json.Unmarshal([]byte(text), &opened)
	return Thought(opened), err
}

func errOtherType(field string) error {
	return fault.Invalidf(field, "encrypted_content is not what this service has returned for an item of this type.")
}

// seal returns a text in a form that callers can keep and send back, and cannot
// read or change: with AES-GCM under a key of their organization's.
func (s *Service) seal(ctx context.Context, caller accounts.Caller, text string) (string, error) {
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

// unseal returns the text of what seal returned for the organization.
// The error is Invalid for anything else.
func (s *Service) unseal(ctx context.Context, caller accounts.Caller, field, sealed string) (string, error) {
	invalid := fault.Invalidf(field, "encrypted_content is not what this service has returned to the organization.")
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
