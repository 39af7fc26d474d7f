package decisions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/generation"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

// The keys of stored decisions in an organization's namespace:
//
//	k/d/{decision}    a decision
//	k/l/{decision}    no value, where the decision has labels
const (
	keptPrefix    = "k/d/"
	labeledPrefix = "k/l/"
)

func keptKey(id string) []byte    { return []byte(keptPrefix + id) }
func labeledKey(id string) []byte { return []byte(labeledPrefix + id) }

// CodeNotFound is the code of the error about a stored decision that does not exist.
const CodeNotFound = "decision_not_found"

// MaxPage is how many stored decisions a page of a list may have.
const MaxPage = 100

// maxKept is how many bytes a decision may have to be stored, answers not included.
const maxKept = storage.MaxValue / 2

// Kept is a stored decision.
type Kept struct {
	ID        string // dec_…
	CreatedAt int64  // Unix seconds
	State     json.RawMessage
	Images    int // how many the decision had; they are not stored
	Questions []Question
	Response
	Labels   []Label // in the order of the questions
	Metadata map[string]string
	Trace    accounts.Trace
}

// Label is the right answer to a question of a stored decision, as that of a
// [LabelledRow]. To set one, null removes it.
type Label struct {
	Question string
	Answer   json.RawMessage
}

// Filter says which stored decisions a list has. The zero value has all.
type Filter struct {
	Question string // decisions with a question of that name
	Model    string
	Labeled  *bool // decisions with a label or more, or with none
}

// keeps reports whether the answer to a request is stored.
func (s *Service) keeps(c accounts.Caller, req *Request) bool {
	asked := c.StoreDecisions
	if req.Store != nil {
		asked = *req.Store
	}
	return asked && s.store != nil && !c.ZeroDataRetention
}

// checkKept returns an Invalid error where a request is too large to be stored.
func checkKept(req *Request, p *parsed) error {
	size := len(p.raw)
	for i := range req.Questions {
		q := &req.Questions[i]
		size += len(q.Instructions) + len(q.Criteria)
	}
	if size > maxKept {
		return invalid("store", "the state and the questions have %d bytes, but at most %d can be stored; send store false", size, maxKept)
	}
	return generation.CheckMetadata(req.Metadata)
}

// keep returns what stores a decision, and marks the claim of its request with it, in the
// transaction of its charge, and sets its
// ID.
func (s *Service) keep(c accounts.Caller, req *Request, p *parsed, resp *Response, trace accounts.Trace) func(storage.Tx) error {
	resp.ID = s.newID("dec")
	record := newKeptRecord(req, p, resp)
	if req.Tags != nil {
		record.Metadata = maps.Clone(record.Metadata)
		if record.Metadata == nil {
			record.Metadata = map[string]string{}
		}
		maps.Copy(record.Metadata, req.Tags(resp))
	}
	record.CreatedAt, record.Trace = s.now().Unix(), trace
	return func(tx storage.Tx) error {
		if err := storage.SetJSON(tx, keptKey(resp.ID), record); err != nil {
			return err
		}
		return c.Claim.Did(tx, resp.ID)
	}
}

// Get returns a stored decision. The error of this method and the ones below is
// NotFound where there is none with that ID.
func (s *Service) Get(ctx context.Context, c accounts.Caller, id string) (found *Kept, err error) {
	err = s.view(ctx, c, func(tx storage.Tx) error {
		record, err := getKept(tx, id)
		if err == nil {
			found, err = record.kept(id)
		}
		return err
	})
	return found, keptError(err, id)
}

// keptError returns the error about a stored decision for one of the store.
func keptError(err error, id string) error {
	if errors.Is(err, storage.ErrNotFound) {
		return fault.Missing(CodeNotFound, "decision", id)
	}
	return err
}

func getKept(tx storage.Tx, id string) (record keptRecord, err error) {
	err = storage.GetJSON(tx, keptKey(id), &record)
	return record, err
}

// List returns a page of the stored decisions of the caller's organization, up to
// [MaxPage].
func (s *Service) List(ctx context.Context, c accounts.Caller, f Filter, p page.Params) (page.Page[Kept], error) {
	found := page.Page[Kept]{Items: []Kept{}}
	p, err := page.Within(p, MaxPage, "dec")
	if err != nil || s.store == nil {
		return found, err
	}
	prefix := keptPrefix
	if f.Labeled != nil && *f.Labeled {
		prefix = labeledPrefix
	}
	var after []byte
	if p.After != "" {
		after = []byte(prefix + p.After)
	}
	err = s.view(ctx, c, func(tx storage.Tx) error {
		var err error
		found, err = page.Read(tx, page.Range(p, []byte(prefix), after), p.Limit, func(e storage.Entry) (Kept, bool, error) {
			return f.decode(tx, string(e.Key[len(prefix):]), e.Value)
		})
		return err
	})
	return found, err
}

// decode returns a stored decision where the filter has it. data is empty for an
// entry of the labeled ones.
func (f Filter) decode(tx storage.Tx, id string, data []byte) (Kept, bool, error) {
	var record keptRecord
	var err error
	if len(data) > 0 {
		err = json.Unmarshal(data, &record)
	} else {
		record, err = getKept(tx, id)
	}
	if err != nil {
		return Kept{}, false, fmt.Errorf("decisions: record of %s: %w", id, err)
	}
	asked := func(q questionRecord) bool { return q.Name == f.Question }
	if f.Model != "" && record.Model != f.Model || f.Question != "" && !slices.ContainsFunc(record.Questions, asked) ||
		f.Labeled != nil && *f.Labeled != (len(record.Labels) > 0) {
		return Kept{}, false, nil
	}
	found, err := record.kept(id)
	if err != nil {
		return Kept{}, false, err
	}
	return *found, true, nil
}

// Delete removes a stored decision and its labels.
func (s *Service) Delete(ctx context.Context, c accounts.Caller, id string) error {
	if s.store == nil {
		return fault.Missing(CodeNotFound, "decision", id)
	}
	err := s.store.Update(ctx, c.Namespace(), func(tx storage.Tx) error {
		if _, err := getKept(tx, id); err != nil {
			return err
		}
		return removeKept(tx, id)
	})
	return keptError(err, id)
}

// DeleteMany removes stored decisions in one transaction. Those that are not there
// are no error.
func (s *Service) DeleteMany(ctx context.Context, c accounts.Caller, ids []string) error {
	return s.store.Update(ctx, c.Namespace(), func(tx storage.Tx) error {
		for _, id := range ids {
			if err := removeKept(tx, id); err != nil {
				return err
			}
		}
		return nil
	})
}

func removeKept(tx storage.Tx, id string) error {
	storage.UseReserve(tx)
	if err := tx.Delete(keptKey(id)); err != nil {
		return err
	}
	return tx.Delete(labeledKey(id))
}

// Label replaces the labels of the questions that labels name and returns the
// decision. The error is NotFound, or Unprocessable for a question or an answer that
// the decision does not have, which changes nothing.
func (s *Service) Label(ctx context.Context, c accounts.Caller, id string, labels []Label) (*Kept, error) {
	if s.store == nil {
		return nil, fault.Missing(CodeNotFound, "decision", id)
	}
	var found *Kept
	err := s.store.Update(ctx, c.Namespace(), func(tx storage.Tx) error {
		record, err := getKept(tx, id)
		if err != nil {
			return err
		}
		if err := record.label(labels); err != nil {
			return err
		}
		if found, err = record.kept(id); err != nil {
			return err
		}
		if err := storage.SetJSON(tx, keptKey(id), record); err != nil {
			return err
		}
		if len(record.Labels) == 0 {
			return tx.Delete(labeledKey(id))
		}
		return tx.Set(labeledKey(id), nil)
	})
	return found, keptError(err, id)
}

// label sets labels, or returns an Unprocessable error.
func (r *keptRecord) label(labels []Label) error {
	set := maps.Clone(r.Labels)
	if set == nil {
		set = map[string]json.RawMessage{}
	}
	for _, l := range labels {
		param := "labels." + l.Question
		at := slices.IndexFunc(r.Questions, func(q questionRecord) bool { return q.Name == l.Question })
		if at < 0 {
			return unprocessable(param, "The decision has no question %.128q.", l.Question)
		}
		if len(l.Answer) == 0 || shapeOf(l.Answer) == jsonNull {
			delete(set, l.Question)
			continue
		}
		q, err := r.Questions[at].parse()
		if err != nil {
			return err
		}
		if q.kind == Labels {
			return unprocessable(param, "A question of type labels takes no label; ask a noul question about each option.")
		}
		if _, err := q.find(param, l.Answer); err != nil {
			return unprocessable(param, "%s.", fault.From(err).Message)
		}
		set[l.Question] = l.Answer
	}
	r.Labels = set
	return nil
}

func unprocessable(param, format string, args ...any) error {
	e := fault.Invalidf(param, format, args...)
	e.Kind = fault.Unprocessable
	return e
}
