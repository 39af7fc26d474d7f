package chat

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/generation"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

// MaxPage is how many objects a page of a list may have.
const MaxPage = 100

// maxID is the length in bytes that no ID of a completion reaches.
const maxID = 256

// Filter says which stored completions a list has: those of the model, unless
// it is empty, that have all the tags.
type Filter struct {
	Model    string
	Metadata map[string]string
}

// StoredMessage is a message of the request that a stored completion answers.
type StoredMessage struct {
	ID string // the completion's ID, a hyphen, and the message's index
	Message
}

// Get returns a stored completion of the caller's organization. The error of
// this method and the ones below is NotFound with the code completion_not_found
// where there is none with that ID.
func (s *Service) Get(ctx context.Context, caller accounts.Caller, id string) (*Completion, error) {
	var c Completion
	err := s.view(ctx, caller, func(tx storage.Tx) error {
		var err error
		c, err = get(tx, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &c, nil
}

// List returns a page of the stored completions of the caller's organization in
// the order of their creation, up to [MaxPage].
func (s *Service) List(ctx context.Context, caller accounts.Caller, f Filter, p page.Params) (page.Page[Completion], error) {
	var result page.Page[Completion]
	p, err := page.Within(p, MaxPage, "chatcmpl")
	if err != nil {
		return result, err
	}
	var after []byte
	if p.After != "" {
		after = recordKey(p.After)
	}
	if len(f.Metadata) > 0 {
		s.indexNow(ctx, caller)
	}
	err = s.view(ctx, caller, func(tx storage.Tx) error {
		known, err := false, error(nil)
		if len(f.Metadata) > 0 {
			known, err = indexed(tx)
		}
		switch {
		case err != nil:
		case known:
			result, err = f.tagged(tx, p)
		default:
			result, err = page.Read(tx, page.Range(p, []byte(recordPrefix), after), p.Limit, f.decode)
		}
		return err
	})
	return result, err
}

func (f Filter) decode(e storage.Entry) (Completion, bool, error) {
	if f.Model != "" && !strings.ContainsFunc(f.Model, escaped) && !bytes.Contains(e.Value, []byte(`"model":"`+f.Model+`"`)) {
		return Completion{}, false, nil // to decode it would take most of the time of a list
	}
	c, err := decodeRecord(strings.TrimPrefix(string(e.Key), recordPrefix), e.Value)
	if err != nil || f.Model != "" && c.Model != f.Model {
		return c, false, err
	}
	for key, value := range f.Metadata {
		if tag, ok := c.Metadata[key]; !ok || tag != value {
			return c, false, nil
		}
	}
	return c, true, nil
}

// escaped reports whether a character may be written as another in JSON.
func escaped(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"\<>&`, r) }

// Messages returns a page of the messages of the request that a stored
// completion answers, in their order, up to [MaxPage].
func (s *Service) Messages(ctx context.Context, caller accounts.Caller, id string, p page.Params) (page.Page[StoredMessage], error) {
	result := page.Page[StoredMessage]{Items: []StoredMessage{}}
	p, err := page.Within(p, MaxPage, "")
	if err != nil {
		return result, err
	}
	var data []byte
	err = s.view(ctx, caller, func(tx storage.Tx) error {
		if _, err := get(tx, id); err != nil {
			return err
		}
		var err error
		data, err = tx.Get(messagesKey(id))
		return err
	})
	if err != nil {
		return result, err
	}
	messages, err := decodeMessages(id, data)
	if err != nil {
		return result, err
	}
	next, step := 0, 1
	if p.Desc {
		next, step = len(messages)-1, -1
	}
	if p.After != "" {
		index, ok := messageIndex(id, p.After)
		if !ok || index >= len(messages) {
			return result, fault.Invalidf("after", "after is not the ID of a message of this completion.")
		}
		next = index + step
	}
	for ; next >= 0 && next < len(messages); next += step {
		if len(result.Items) == p.Limit {
			result.HasMore = true
			break
		}
		result.Items = append(result.Items, StoredMessage{ID: messageID(id, next), Message: messages[next]})
	}
	return result, nil
}

func messageID(completion string, index int) string {
	return completion + "-" + strconv.Itoa(index)
}

// messageIndex is the inverse of messageID.
func messageIndex(completion, id string) (index int, ok bool) {
	digits, ok := strings.CutPrefix(id, completion+"-")
	n, err := strconv.ParseUint(digits, 10, 31)
	return int(n), ok && err == nil
}

// Update replaces the tags of a stored completion and returns it.
func (s *Service) Update(ctx context.Context, caller accounts.Caller, id string, tags map[string]string) (*Completion, error) {
	if err := generation.CheckMetadata(tags); err != nil {
		return nil, err
	}
	var c Completion
	err := s.store.Update(ctx, caller.Namespace(), func(tx storage.Tx) error {
		var err error
		if c, err = get(tx, id); err != nil {
			return err
		}
		if err := setTags(tx, id, c.Metadata, tags); err != nil {
			return err
		}
		c.Metadata = generation.MetadataOrEmpty(tags)
		data, err := encodeRecord(&c)
		if err != nil {
			return err
		}
		return tx.Set(recordKey(id), data)
	})
	if err != nil {
		return nil, err
	}
	return &c, nil
}

// Delete removes a stored completion and the messages of its request.
func (s *Service) Delete(ctx context.Context, caller accounts.Caller, id string) error {
	return s.store.Update(ctx, caller.Namespace(), func(tx storage.Tx) error { return remove(tx, id) })
}

// DeleteMany deletes completions in one transaction. Those that are not there are no
// error.
func (s *Service) DeleteMany(ctx context.Context, caller accounts.Caller, ids []string) error {
	return s.store.Update(ctx, caller.Namespace(), func(tx storage.Tx) error {
		for _, id := range ids {
			if err := remove(tx, id); err != nil && !fault.Is(err, fault.NotFound) {
				return err
			}
		}
		return nil
	})
}

func remove(tx storage.Tx, id string) error {
	storage.UseReserve(tx)
	c, err := get(tx, id)
	if err != nil {
		return err
	}
	if err := setTags(tx, id, c.Metadata, nil); err != nil {
		return err
	}
	if err := tx.Delete(recordKey(id)); err != nil {
		return err
	}
	return tx.Delete(messagesKey(id))
}

// get reads a stored completion.
func get(tx storage.Tx, id string) (Completion, error) {
	missing := fault.Missing(CodeNotFound, "chat completion", id)
	if len(id) > maxID {
		return Completion{}, missing
	}
	data, err := tx.Get(recordKey(id))
	if errors.Is(err, storage.ErrNotFound) {
		return Completion{}, missing
	}
	if err != nil {
		return Completion{}, err
	}
	return decodeRecord(id, data)
}

func (s *Service) view(ctx context.Context, caller accounts.Caller, fn func(storage.Tx) error) error {
	return s.store.View(ctx, caller.Namespace(), fn)
}
