package svc

import (
	"context"
	"slices"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/internal/background"
)

// sweepEvery is the interval at which expired objects are removed.
const sweepEvery = 10 * time.Minute

// sweepLease is the name of the lease of the process that sweeps for all.
const sweepLease = "retention"

// sweep calls Sweep at an interval until ctx ends, in one process for all. A failure
// is logged, and the next round tries again.
func (s *Service) sweep(ctx context.Context) {
	background.Every(ctx, sweepEvery, nil, func() {
		held, err := s.cluster.AcquireLease(ctx, sweepLease)
		if err != nil {
			s.sweepFailed(ctx, "", err)
		}
		if held {
			s.Sweep(ctx)
			if err := s.cluster.RemoveDeadPeers(ctx); err != nil {
				s.sweepFailed(ctx, "", err)
			}
		}
	})
}

// Sweep removes what organizations do not keep any longer, by their
// [accounts.Retention], and what requests that ran at the time left of those that
// were deleted. It counts what organizations used where nobody has yet, and puts
// the credits that they were given into the audit log. The service does it
// every ten minutes; a program or a test that cannot wait may call it. Failures go
// to the log.
func (s *Service) Sweep(ctx context.Context) {
	if err := s.accounts.SweepDeleted(ctx); err != nil && ctx.Err() == nil {
		s.log.ErrorContext(ctx, "svc: deleted organizations could not be swept", "err", err)
	}
	for p := (Page{Limit: recoverPage}); ; {
		organizations, err := s.accounts.Retentions(ctx, p)
		if err != nil {
			s.sweepFailed(ctx, "", err)
			return
		}
		for _, o := range organizations.Items {
			if err := s.forget(ctx, o); err != nil {
				s.sweepFailed(ctx, o.Organization, err)
			}
			if err := s.chat.IndexTags(ctx, Caller{Organization: o.Organization}); err != nil && ctx.Err() == nil {
				s.log.ErrorContext(ctx, "svc: tags of stored completions could not be indexed", "organization", o.Organization, "err", err)
			}
			if err := s.accounts.Count(ctx, o.Organization); err != nil && ctx.Err() == nil {
				s.log.ErrorContext(ctx, "svc: what an organization used could not be counted", "organization", o.Organization, "err", err)
			}
			p.After = o.Organization
		}
		if !organizations.HasMore || ctx.Err() != nil {
			return
		}
	}
}

func (s *Service) sweepFailed(ctx context.Context, organization string, err error) {
	if ctx.Err() == nil {
		s.log.ErrorContext(ctx, "svc: what is not kept any longer could not be removed", "organization", organization, "err", err)
	}
}

// forget removes the expired objects of an organization, suspended or not.
func (s *Service) forget(ctx context.Context, o accounts.Kept) error {
	caller := Caller{Organization: o.Organization}
	for _, kind := range []struct {
		days int
		old  func(before int64, p Page) (ids []string, next string, err error)
		drop func(ids []string) error
	}{
		{o.Retention.Completions, s.oldCompletions(ctx, caller), func(ids []string) error { return s.chat.DeleteMany(ctx, caller, ids) }},
		{o.Retention.Responses, s.oldResponses(ctx, caller), func(ids []string) error { return s.responses.DeleteMany(ctx, caller, ids) }},
		{o.Retention.Conversations, s.idleConversations(ctx, caller), each(func(id string) error { return s.DeleteConversation(ctx, caller, id) })},
		{o.Retention.Decisions, s.oldDecisions(ctx, caller), func(ids []string) error { return s.decisions.DeleteMany(ctx, caller, ids) }},
		{o.Retention.Files, s.oldFiles(ctx, caller), each(func(id string) error { return s.DeleteFile(ctx, caller, id) })},
	} {
		if kind.days == 0 {
			continue
		}
		before := s.now().AddDate(0, 0, -kind.days).Unix()
		for p := (Page{Limit: conversations.MaxPage}); ; {
			ids, next, err := kind.old(before, p)
			if err != nil {
				return err
			}
			for some := range slices.Chunk(ids, forgetAtOnce) {
				if err := kind.drop(some); err != nil {
					return err
				}
			}
			if next == "" || ctx.Err() != nil {
				break
			}
			p.After = next
		}
	}
	return ctx.Err()
}

// forgetAtOnce is how many objects are deleted in one transaction.
const forgetAtOnce = 25

// each deletes one object at a time. One that is not there is no error.
func each(drop func(id string) error) func(ids []string) error {
	return func(ids []string) error {
		for _, id := range ids {
			if err := drop(id); err != nil && !fault.Is(err, fault.NotFound) {
				return err
			}
		}
		return nil
	}
}

// The lists of what is old, oldest first: IDs, and the cursor to go on behind.

func (s *Service) oldCompletions(ctx context.Context, caller Caller) func(int64, Page) ([]string, string, error) {
	return func(before int64, p Page) ([]string, string, error) {
		page, err := s.ChatCompletions(ctx, caller, chat.Filter{}, p)
		ids, next := old(page, before, func(c chat.Completion) (string, int64) { return c.ID, c.Created })
		return ids, next, err
	}
}

func (s *Service) oldResponses(ctx context.Context, caller Caller) func(int64, Page) ([]string, string, error) {
	return func(before int64, p Page) ([]string, string, error) {
		return s.responses.Expired(ctx, caller, before, p)
	}
}

func (s *Service) idleConversations(ctx context.Context, caller Caller) func(int64, Page) ([]string, string, error) {
	return func(before int64, p Page) ([]string, string, error) {
		return s.conversations.ListIdle(ctx, caller, before, p)
	}
}

func (s *Service) oldFiles(ctx context.Context, caller Caller) func(int64, Page) ([]string, string, error) {
	return func(before int64, p Page) ([]string, string, error) {
		page, err := s.Files(ctx, caller, "", p)
		ids, next := old(page, before, func(f files.File) (string, int64) { return f.ID, f.CreatedAt })
		return ids, next, err
	}
}

func (s *Service) oldDecisions(ctx context.Context, caller Caller) func(int64, Page) ([]string, string, error) {
	return func(before int64, p Page) ([]string, string, error) {
		page, err := s.decisions.List(ctx, caller, decisions.Filter{}, p)
		ids, next := old(page, before, func(k decisions.Kept) (string, int64) { return k.ID, k.CreatedAt })
		return ids, next, err
	}
}

// old are the objects of a page that were made before a time.
func old[T any](page List[T], before int64, of func(T) (string, int64)) (ids []string, next string) {
	for _, item := range page.Items {
		id, at := of(item)
		if at >= before {
			return ids, ""
		}
		ids, next = append(ids, id), id
	}
	if !page.HasMore {
		next = ""
	}
	return ids, next
}
