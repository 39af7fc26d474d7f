package chat

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

// setTags changes the tags that a completion is found by.
func setTags(tx storage.Tx, id string, before, now map[string]string) error {
	for key, value := range before {
		if err := tx.Delete(taggedKey(key, value, id)); err != nil {
			return err
		}
	}
	for key, value := range now {
		if err := tx.Set(taggedKey(key, value, id), nil); err != nil {
			return err
		}
	}
	return nil
}

const (
	// indexBatch is how many completions one transaction of [Service.IndexTags] reads,
	// and indexAtOnce in how many of these a list helps that is filtered by tags.
	indexBatch  = 500
	indexAtOnce = 4
)

// IndexTags makes the completions of an organization that earlier versions have
// stored known by their tags. Until that is done, once for each organization,
// lists that are filtered by tags read all of them. It is called now and then; the
// lists do a part of it themselves, so that whoever has nothing older never waits.
func (s *Service) IndexTags(ctx context.Context, caller accounts.Caller) error {
	for {
		done, err := s.indexSome(ctx, caller)
		if err != nil || done {
			return err
		}
	}
}

// indexNow does some of that: all of it where there is nothing older. What the
// store refuses can wait.
func (s *Service) indexNow(ctx context.Context, caller accounts.Caller) {
	for range indexAtOnce {
		if done, err := s.indexSome(ctx, caller); err != nil || done {
			return
		}
	}
}

func (s *Service) indexSome(ctx context.Context, caller accounts.Caller) (done bool, err error) {
	err = s.store.View(ctx, caller.Namespace(), func(tx storage.Tx) error {
		done, err = indexed(tx)
		return err
	})
	if err != nil || done {
		return done, err
	}
	err = s.store.Update(ctx, caller.Namespace(), func(tx storage.Tx) error {
		r := storage.Prefix([]byte(recordPrefix))
		r.Limit = indexBatch
		last, err := tx.Get(indexedKey())
		switch {
		case errors.Is(err, storage.ErrNotFound):
		case err != nil:
			return err
		case len(last) == 0:
			done = true // another process was faster
			return nil
		default:
			r.Start = append(recordKey(string(last)), 0)
		}
		n := 0
		for e, err := range tx.Scan(r) {
			if err != nil {
				return err
			}
			id := strings.TrimPrefix(string(e.Key), recordPrefix)
			c, err := decodeRecord(id, e.Value)
			if err != nil {
				return err
			}
			if err := setTags(tx, id, nil, c.Metadata); err != nil {
				return err
			}
			last = []byte(id)
			n++
		}
		if done = n < indexBatch; done {
			last = nil
		}
		return tx.Set(indexedKey(), last)
	})
	return done, err
}

// indexed reports whether all completions are known by their tags.
func indexed(tx storage.Tx) (bool, error) {
	last, err := tx.Get(indexedKey())
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	return len(last) == 0, err
}

// tagged is [page.Read] of the completions that have the filter's tags. They are
// looked for in the lists of all tags at once: each leads to the next ID that it
// has, until all have the same, so that the work is that of the rarest tag.
func (f Filter) tagged(tx storage.Tx, p page.Params) (page.Page[Completion], error) {
	result := page.Page[Completion]{Items: []Completion{}}
	var lists [][]byte
	for key, value := range f.Metadata {
		lists = append(lists, taggedKeys(key, value))
	}
	at, inclusive := p.After, false
	for {
		agreed := 0
		for i := 0; agreed < len(lists); i = (i + 1) % len(lists) {
			id, err := next(tx, lists[i], at, inclusive, p.Desc)
			if err != nil || id == "" {
				return result, err
			}
			if id != at || !inclusive {
				agreed = 0
			}
			at, inclusive = id, true
			agreed++
		}
		inclusive = false
		c, err := get(tx, at)
		if err != nil {
			return result, err
		}
		if f.Model != "" && c.Model != f.Model {
			continue
		}
		if len(result.Items) == p.Limit {
			result.HasMore = true
			return result, nil
		}
		result.Items = append(result.Items, c)
	}
}

// next returns the ID of a list that comes after another one, or is it; empty where
// there is none.
func next(tx storage.Tx, list []byte, at string, inclusive, desc bool) (string, error) {
	r := storage.Prefix(list)
	r.Reverse, r.KeysOnly, r.Limit = desc, true, 1
	key := append(bytes.Clone(list), at...)
	switch {
	case at == "":
	case desc == inclusive: // behind the key itself
		key = append(key, 0)
		fallthrough
	default:
		if desc {
			r.End = key
		} else {
			r.Start = key
		}
	}
	for e, err := range tx.Scan(r) {
		if err != nil {
			return "", err
		}
		return string(e.Key[len(list):]), nil
	}
	return "", nil
}
