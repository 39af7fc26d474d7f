package accounts

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
)

// CodeBudgetExceeded is the code of the NoCredits error of a key whose budget is
// used up.
const CodeBudgetExceeded = "budget_exceeded"

// Period is how long a budget is for: a day or a month of the calendar, in UTC.
type Period string

// The periods.
const (
	Day   Period = "day"
	Month Period = "month"
)

// at returns the period that a time is in, such as 2026-11-22 or 2026-11.
func (p Period) at(t time.Time) string {
	if p == Day {
		return t.UTC().Format(time.DateOnly)
	}
	return t.UTC().Format(monthFormat)
}

// ends returns when the period that a time is in is over.
func (p Period) ends(t time.Time) time.Time {
	year, month, day := t.UTC().Date()
	if p == Day {
		return time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC)
	}
	return time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC)
}

// KeyLimits are what a key may use besides the limits of its organization. The
// zero value is no limit.
type KeyLimits struct {
	RequestsPerMinute int    `json:"requests_per_minute,omitempty"`
	TokensPerMinute   int    `json:"tokens_per_minute,omitempty"`
	Budget            Micros `json:"budget,omitempty"`        // that it may spend in each period; calls that run when it is reached may go above it
	BudgetPeriod      Period `json:"budget_period,omitempty"` // Month where there is a budget and nothing is said
}

// checked returns the limits with the default period, or an Invalid error.
func (l KeyLimits) checked() (KeyLimits, error) {
	if l.RequestsPerMinute < 0 {
		return l, fault.Invalidf("requests_per_minute", "requests_per_minute must be at least 0.")
	}
	if l.TokensPerMinute < 0 {
		return l, fault.Invalidf("tokens_per_minute", "tokens_per_minute must be at least 0.")
	}
	if l.Budget < 0 || l.Budget > maxAmount {
		return l, fault.Invalidf("budget", "budget must be 0 to %s dollars.", maxAmount)
	}
	if l.BudgetPeriod != "" && l.BudgetPeriod != Day && l.BudgetPeriod != Month {
		return l, fault.Invalidf("budget_period", "budget_period must be %q or %q.", Day, Month)
	}
	switch {
	case l.Budget == 0:
		l.BudgetPeriod = ""
	case l.BudgetPeriod == "":
		l.BudgetPeriod = Month
	}
	return l, nil
}

// spending is what a key has spent in the period that it last spent in.
type spending struct {
	reading *semaphore.Weighted // one, held by who reads it from the store

	mu     sync.Mutex
	period string    // guarded by mu, as are the others
	spent  Micros    // in that period, where known
	known  bool      // whether it was read from the store since the period began
	read   time.Time // when
}

// add counts a charge. Of what is not known yet the store will say it.
func (p *spending) add(period string, cost Micros) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known && p.period == period {
		p.spent += cost
	}
}

// has returns what was spent in a period, where that is known and was read after
// a time.
func (p *spending) has(period string, after time.Time) (Micros, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spent, p.known && p.period == period && p.read.After(after)
}

func (l *ledger) spending(key string) *spending {
	return under(&l.spendings, key, func() *spending { return &spending{reading: semaphore.NewWeighted(1)} })
}

// spend counts what a call of a key with a budget cost. Its entry is written, and
// the ledger's lock is held.
func (l *ledger) spend(c Caller, e Entry) {
	if c.KeyLimits.Budget > 0 && c.Key != "" {
		l.spending(c.Key).add(c.KeyLimits.BudgetPeriod.at(time.Unix(e.CreatedAt, 0)), e.Cost())
	}
}

// checkBudget returns a NoCredits error where the key's budget is used up.
func (s *Service) checkBudget(ctx context.Context, who watched) error {
	if who.limits.Budget == 0 || who.key == "" {
		return nil
	}
	now := s.now()
	spent, err := s.spent(ctx, who.organization, who.key, who.limits.BudgetPeriod, now)
	if err != nil || spent < who.limits.Budget {
		return err
	}
	return &fault.Error{
		Kind: fault.NoCredits,
		Code: CodeBudgetExceeded,
		Message: fmt.Sprintf("The budget of this API key, %s dollars a %s, is used up until %s.",
			who.limits.Budget, who.limits.BudgetPeriod, who.limits.BudgetPeriod.ends(now).Format(time.RFC3339)),
	}
}

// spent returns what a key has spent in the period of a time. It is read from the
// store once a period and from memory after that; what other processes spend is
// known a second later.
func (s *Service) spent(ctx context.Context, organization, key string, p Period, at time.Time) (Micros, error) {
	l, period := s.ledger(organization), p.at(at)
	one := l.spending(key)
	var oldest time.Time
	if s.cluster.Shared() {
		oldest = time.Now().Add(-lookEvery)
	}
	if spent, ok := one.has(period, oldest); ok {
		return spent, nil
	}
	// Nothing is charged between the reading and its being known, so that each charge
	// is counted once; among several processes a second may pass until it is.
	if !s.cluster.Shared() {
		if err := l.mu.Acquire(ctx, all); err != nil {
			return 0, err
		}
		defer l.mu.Release(all)
	}
	if err := one.reading.Acquire(ctx, 1); err != nil {
		return 0, err
	}
	defer one.reading.Release(1)
	if spent, ok := one.has(period, oldest); ok {
		return spent, nil
	}
	read := time.Now()
	spent, err := s.readSpent(ctx, organization, key, period)
	if err != nil {
		return 0, err
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	one.period, one.spent, one.known, one.read = period, spent, true, read
	return spent, nil
}

// readSpent adds up what a key has spent in a period: what is counted, and the
// entries of the log and the lanes that are not yet.
func (s *Service) readSpent(ctx context.Context, organization, key, period string) (Micros, error) {
	month, day := cutDay(period)
	var spent Micros
	var counted uint64
	err := s.store.View(ctx, system, func(tx storage.Tx) error {
		spent = 0
		var err error
		if counted, err = getCounted(tx, organization); err != nil {
			return err
		}
		days, err := getTotal(tx, totalKey(organization, month, totalOfKey, key))
		if err != nil {
			return err
		}
		for d, sum := range days {
			if day == 0 || d == day {
				spent += sum.Cost
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	before := spent
	err = s.store.View(ctx, storage.Namespace(organization), func(tx storage.Tx) error {
		spent = before
		for _, r := range []storage.Range{
			{Start: entryKey(counted + 1), End: storage.After([]byte(entryPrefix))}, storage.Prefix([]byte(lanePrefix)),
		} {
			for e, err := range tx.Scan(r) {
				if err != nil {
					return err
				}
				w, err := readEntry(e.Value)
				if err != nil {
					return err
				}
				if w.Type == EntryCharge && w.Key == key && strings.HasPrefix(time.Unix(w.CreatedAt, 0).UTC().Format(time.DateOnly), period) {
					spent -= w.Amount
				}
			}
		}
		return nil
	})
	return spent, err
}

// cutDay splits a period into its month and its day, 0 for a whole month.
func cutDay(period string) (month string, day int) {
	at, err := time.Parse(time.DateOnly, period)
	if err != nil {
		return period, 0
	}
	return at.Format(monthFormat), at.Day()
}
