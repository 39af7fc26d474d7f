package svc

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

const (
	// recoverPage is how many organizations recoverAll reads at once.
	recoverPage = 1000
	// recoverEvery is the interval of recovery, if no process is seen to end.
	recoverEvery = 10 * time.Second
	// recoverLease is the name of the lease of who recovers.
	recoverLease = "recovery"
)

// recoverAlways finishes or fails the work that dead processes have left: at the
// start, when another process has ended or died, and every recoverEvery. One process
// does it for all, under a lease.
func (s *Service) recoverAlways(ctx context.Context) {
	once := func() {
		if err := s.recover(ctx); err != nil {
			s.recoveryFailed(ctx, "", err)
		}
	}
	once()
	background.Every(ctx, recoverEvery, s.cluster.PeerGone(), once)
}

// recover finishes or fails the work that dead processes registered before they
// died, organization by organization, beside the work that has begun since. What
// fails for one organization is tried again the next time.
func (s *Service) recover(ctx context.Context) error {
	left, all, err := s.cluster.Orphans(ctx)
	if err != nil || len(left) == 0 && !all {
		return err
	}
	if held, err := s.cluster.AcquireLease(ctx, recoverLease); err != nil || !held {
		return err
	}
	if all {
		if err := s.recoverAll(ctx); err != nil {
			return err
		}
	}
	for failed := 0; len(left) > failed && ctx.Err() == nil; {
		failed = 0
		for _, l := range left {
			err := s.recoverIn(ctx, l.Namespace)
			if err == nil {
				err = s.cluster.FinishOrphan(ctx, l)
			}
			if err != nil {
				failed++
				s.recoveryFailed(ctx, string(l.Namespace), err)
			}
		}
		if left, _, err = s.cluster.Orphans(ctx); err != nil {
			return err
		}
	}
	return nil
}

// recoverAll does that for all organizations, once for each store: the first format
// had no register of work.
func (s *Service) recoverAll(ctx context.Context) error {
	for p := (page.Params{Limit: recoverPage}); ; {
		organizations, err := s.accounts.OrganizationIDs(ctx, p)
		if err != nil {
			return err
		}
		for _, id := range organizations.Items {
			if err := s.recoverIn(ctx, accounts.Caller{Organization: id}.Namespace()); err != nil {
				s.recoveryFailed(ctx, id, err)
			}
			p.After = id
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !organizations.HasMore {
			return s.cluster.FinishFullScan(ctx)
		}
	}
}

// recoverIn finishes or fails what was left in a namespace.
func (s *Service) recoverIn(ctx context.Context, ns storage.Namespace) error {
	return errors.Join(s.conversations.Recover(ctx, ns), s.responses.Recover(ctx, ns), s.files.Recover(ctx, ns))
}

func (s *Service) recoveryFailed(ctx context.Context, organization string, err error) {
	if ctx.Err() != nil {
		return
	}
	level := slog.LevelError
	if errors.Is(err, storage.ErrFull) {
		level = slog.LevelWarn // nothing is wrong with what was left: it is taken up once there is room
	}
	s.log.Log(ctx, level, "svc: what an earlier process left could not be taken up", "organization", organization, "err", err)
}
