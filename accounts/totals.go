package accounts

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
)

// Sums is what calls used together.
type Sums struct {
	Requests     int64
	InputTokens  int64 // cached ones included
	CachedTokens int64
	OutputTokens int64
	Cost         Micros
}

// sumsRecord is how Sums are stored.
type sumsRecord struct {
	Requests     int64  `json:"r,omitempty"`
	InputTokens  int64  `json:"i,omitempty"`
	CachedTokens int64  `json:"c,omitempty"`
	OutputTokens int64  `json:"o,omitempty"`
	Cost         Micros `json:"m,omitempty"`
}

// daysRecord is how the sums of a month are stored: by day.
type daysRecord map[int]sumsRecord

func (r daysRecord) sums() map[int]Sums {
	days := make(map[int]Sums, len(r))
	for day, sum := range r {
		days[day] = Sums(sum)
	}
	return days
}

// Plus returns both together.
func (s Sums) Plus(t Sums) Sums {
	return Sums{s.Requests + t.Requests, s.InputTokens + t.InputTokens, s.CachedTokens + t.CachedTokens,
		s.OutputTokens + t.OutputTokens, s.Cost + t.Cost}
}

// Minus returns what is left of the sums without others.
func (s Sums) Minus(t Sums) Sums {
	return Sums{s.Requests - t.Requests, s.InputTokens - t.InputTokens, s.CachedTokens - t.CachedTokens,
		s.OutputTokens - t.OutputTokens, s.Cost - t.Cost}
}

// Total is what one model, key or organization used in a month.
type Total struct {
	Name string       // the model's, or the key's or organization's ID; empty for calls without a key
	Days map[int]Sums // by day of the month, in UTC; days without calls are left out
}

// Sum returns the total of all days.
func (t Total) Sum() Sums {
	var sum Sums
	for _, day := range t.Days {
		sum = sum.Plus(day)
	}
	return sum
}

// Totals are what was used in a month.
type Totals struct {
	All           Total   // of everything; its name is the organization's ID
	Models        []Total // by model, at most [MaxTotals]
	Keys          []Total // of an organization by key, at most MaxTotals
	Organizations []Total // of the whole service by organization, at most MaxTotals; those that were deleted are left out
}

// MaxTotals is how many models, keys or organizations the totals of a month name.
// Where there are more, what the others used is in All alone.
const MaxTotals = 1000

// maxCounted is how many entries one transaction counts.
const maxCounted = 2048

// maxCountedName is the length in bytes up to which names are told apart.
const maxCountedName = 256

// The kinds of totals, as they are in keys.
const (
	totalOfAll          = "d"
	totalOfModel        = "m"
	totalOfKey          = "k"
	totalOfOrganization = "o"
)

// monthFormat is how a month is written.
const monthFormat = "2006-01"

// Totals returns what an organization used in a month, written as 2026-11, in UTC,
// with every call up to now. For the organization "" it is what all of them used,
// where calls are counted a minute later at the latest. The work is bounded by
// [MaxTotals], however many calls there were. The error is Invalid where the month
// is none, and NotFound where there is no such organization.
func (s *Service) Totals(ctx context.Context, organization, month string) (Totals, error) {
	if _, err := time.Parse(monthFormat, month); err != nil {
		return Totals{}, fault.Invalidf("month", "month must be a year and a month, such as 2026-11.")
	}
	var err error
	if organization == "" {
		s.countDue(ctx, freshTotals)
	} else {
		err = s.catchUp(ctx, organization)
	}
	if err != nil {
		return Totals{}, err
	}
	var t Totals
	err = s.store.View(ctx, system, func(tx storage.Tx) error {
		days, err := getTotal(tx, totalKey(organization, month, totalOfAll, ""))
		if err != nil {
			return err
		}
		t = Totals{All: Total{Name: organization, Days: days.sums()}}
		for kind, into := range map[string]*[]Total{totalOfModel: &t.Models, totalOfKey: &t.Keys, totalOfOrganization: &t.Organizations} {
			if *into, err = totalsOf(tx, organization, month, kind); err != nil {
				return err
			}
		}
		return nil
	})
	return t, err
}

// totalsOf reads the totals of a kind.
func totalsOf(tx storage.Tx, organization, month, kind string) (all []Total, err error) {
	prefix := totalKey(organization, month, kind, "")
	r := storage.Prefix(prefix)
	r.Limit = MaxTotals
	for e, err := range tx.Scan(r) {
		if err != nil {
			return nil, err
		}
		var days daysRecord
		if err := json.Unmarshal(e.Value, &days); err != nil {
			return nil, err
		}
		all = append(all, Total{Name: string(e.Key[len(prefix):]), Days: days.sums()})
	}
	return all, nil
}

// catchUp compacts and counts all that there is of an organization.
func (s *Service) catchUp(ctx context.Context, organization string) error {
	err := s.store.View(ctx, system, func(tx storage.Tx) error {
		_, err := getOrganization(tx, organization)
		return err
	})
	if err != nil {
		return err
	}
	l := s.ledger(organization)
	if err := s.compact(ctx, l); err != nil {
		// While the store cannot be written, what was counted before is shown.
		s.log.WarnContext(ctx, "accounts: the latest calls are not counted yet", "err", err)
		return nil
	}
	return s.count(ctx, organization)
}

// Count counts what organizations used and nobody has counted yet: that of
// processes that have died, and of stores of versions that did not count. It is
// called now and then, and reads little of organizations that have nothing new.
func (s *Service) Count(ctx context.Context, organization string) error {
	var counted uint64
	err := s.store.View(ctx, system, func(tx storage.Tx) (err error) {
		counted, err = getCounted(tx, organization)
		return err
	})
	if err != nil {
		return err
	}
	due := false
	err = s.store.View(ctx, storage.Namespace(organization), func(tx storage.Tx) error {
		lanes, err := none(tx, storage.Prefix([]byte(lanePrefix)))
		if err != nil {
			return err
		}
		log, err := none(tx, storage.Range{Start: entryKey(counted + 1), End: storage.After([]byte(entryPrefix))})
		due = !lanes || !log
		return err
	})
	if err != nil || !due {
		return err
	}
	return s.catchUp(ctx, organization)
}

const (
	countEvery  = time.Minute // in which calls are counted, where fewer came than are compacted at once
	freshTotals = 20          // organizations that are counted while somebody waits for the totals of all
)

// countDue compacts and counts the ledgers, at most so many, to which this process
// has added since it was done last.
func (s *Service) countDue(ctx context.Context, most int) {
	s.ledgers.Range(func(_, value any) bool {
		l := value.(*ledger)
		if l.uncompacted.Load() <= 0 || !l.loaded.Load() {
			return true
		}
		s.compactNow(ctx, l)
		most--
		return most > 0 && ctx.Err() == nil
	})
}

// count adds the entries of an organization's log that are not counted yet to the
// totals, each once: the number of the last one is written with them.
func (s *Service) count(ctx context.Context, organization string) error {
	for {
		more, err := s.countSome(ctx, organization)
		if err != nil || !more {
			return err
		}
	}
}

// countSome counts up to maxCounted entries and writes what they say of credits into
// the audit log: each entry once, as the number of the last one is written with that.
// The log is in the organization's namespace and the totals are in the service's:
// entries do not change, so that they can be read before.
func (s *Service) countSome(ctx context.Context, organization string) (more bool, err error) {
	var from uint64
	err = s.store.View(ctx, system, func(tx storage.Tx) (err error) {
		from, err = getCounted(tx, organization)
		return err
	})
	if err != nil {
		return false, err
	}
	counted, err := s.readUncounted(ctx, organization, from)
	if err != nil || counted.n == 0 {
		return false, err
	}
	sums := map[string]map[int]Sums{}
	for who, all := range counted.used {
		who.addTo(sums, organization, all)
	}
	n := counted.n
	err = s.store.Update(ctx, system, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		now, err := getCounted(tx, organization)
		if err != nil || now != from {
			return err // another one was faster
		}
		if _, err := tx.Get(organizationKey(organization)); errors.Is(err, storage.ErrNotFound) {
			n = 0 // it was deleted
			return nil
		} else if err != nil {
			return err
		}
		if _, err := tx.Get(deletionKey(organization)); !errors.Is(err, storage.ErrNotFound) {
			n = 0
			return err
		}
		for _, key := range slices.Sorted(maps.Keys(sums)) {
			if err := addTotal(tx, []byte(key), sums[key]); err != nil {
				return err
			}
		}
		for _, entry := range counted.credits {
			if err := s.recordCredits(tx, organization, entry); err != nil {
				return err
			}
		}
		return tx.Set(countedKey(organization), binary.BigEndian.AppendUint64(nil, counted.to))
	})
	return n == maxCounted, err
}

// uncounted is what entries of a ledger come to.
type uncounted struct {
	n       int
	to      uint64 // number of the last one
	used    map[spender]Sums
	credits []entryRecord // that the audit log is to have
}

// readUncounted reads up to maxCounted entries behind a number.
func (s *Service) readUncounted(ctx context.Context, organization string, from uint64) (u uncounted, err error) {
	err = s.store.View(ctx, storage.Namespace(organization), func(tx storage.Tx) error {
		u = uncounted{to: from, used: map[spender]Sums{}}
		r := storage.Range{Start: entryKey(from + 1), End: storage.After([]byte(entryPrefix)), Limit: maxCounted}
		for e, err := range tx.Scan(r) {
			if err != nil {
				return err
			}
			entry, err := readEntry(e.Value)
			if err != nil {
				return err
			}
			u.to, u.n = entrySequence(e.Key), u.n+1
			if entry.Audited {
				u.credits = append(u.credits, entry)
			}
			if entry.Type == EntryCharge {
				who := spender{entry.CreatedAt / secondsOfDay, entry.Use.Model, entry.Key}
				u.used[who] = u.used[who].Plus(entry.sums())
			}
		}
		return nil
	})
	return u, err
}

// spender is whose sums are added up before they are added to totals.
type spender struct {
	day        int64 // since 1970, in UTC
	model, key string
}

const secondsOfDay = 24 * 3600

// sums is what a charge is in totals.
func (r *entryRecord) sums() Sums {
	return Sums{1, int64(r.Use.InputTokens), int64(min(r.Use.CachedTokens, r.Use.InputTokens)), int64(r.Use.OutputTokens), -r.Amount}
}

// addTo adds what a key used of a model in a day to all the totals that it is part
// of, by their keys.
func (who spender) addTo(sums map[string]map[int]Sums, organization string, used Sums) {
	at := time.Unix(who.day*secondsOfDay, 0).UTC()
	month, model := at.Format(monthFormat), who.model
	if len(model) > maxCountedName {
		model = strings.ToValidUTF8(model[:maxCountedName], "")
	}
	for _, key := range [][]byte{
		totalKey(organization, month, totalOfAll, ""),
		totalKey(organization, month, totalOfModel, model),
		totalKey(organization, month, totalOfKey, who.key),
		totalKey("", month, totalOfAll, ""),
		totalKey("", month, totalOfModel, model),
		totalKey("", month, totalOfOrganization, organization),
	} {
		days := sums[string(key)]
		if days == nil {
			days = map[int]Sums{}
			sums[string(key)] = days
		}
		days[at.Day()] = days[at.Day()].Plus(used)
	}
}

// getTotal reads what was used in a month; nothing where nothing is counted.
func getTotal(tx storage.Tx, key []byte) (daysRecord, error) {
	days := daysRecord{}
	err := storage.GetJSON(tx, key, &days)
	if errors.Is(err, storage.ErrNotFound) {
		return days, nil
	}
	return days, err
}

func addTotal(tx storage.Tx, key []byte, more map[int]Sums) error {
	days, err := getTotal(tx, key)
	if err != nil {
		return err
	}
	for day, sum := range more {
		days[day] = sumsRecord(Sums(days[day]).Plus(sum))
	}
	return storage.SetJSON(tx, key, days)
}

// getCounted returns the number of the last entry that was counted of an
// organization.
func getCounted(tx storage.Tx, organization string) (uint64, error) {
	data, err := tx.Get(countedKey(organization))
	if errors.Is(err, storage.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(data), nil
}

// eraseTotals removes the totals of an organization that is being deleted. Those
// of the whole service keep what it used, without its name.
func (s *Service) eraseTotals(ctx context.Context, organization string) error {
	prefix := totalsOfOrganization(organization)
	for {
		found := 0
		err := s.store.Update(ctx, system, func(tx storage.Tx) error {
			storage.UseReserve(tx)
			found = 0
			var keys [][]byte
			for e, err := range tx.Scan(storage.Range{Start: prefix, End: storage.After(prefix), KeysOnly: true, Limit: eraseBatch}) {
				if err != nil {
					return err
				}
				keys = append(keys, e.Key)
			}
			found = len(keys)
			for _, key := range keys {
				month, _, _ := strings.Cut(string(key[len(prefix):]), "/")
				if err := tx.Delete(key); err != nil {
					return err
				}
				if err := tx.Delete(totalKey("", month, totalOfOrganization, organization)); err != nil {
					return err
				}
			}
			return tx.Delete(countedKey(organization))
		})
		if err != nil || found == 0 {
			return err
		}
	}
}
