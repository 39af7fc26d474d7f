package accounts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// start is the time at which the clock of the tests stands.
var start = time.Unix(1_700_000_000, 0)

// newStore returns an empty store. It is closed when the test ends.
func newStore(t testing.TB) storage.Store {
	store := memstore.New()
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return store
}

// newService returns a Service over the store with a clock that stands still
// and IDs that count. It is closed when the test ends.
func newService(t testing.TB, store storage.Store) *Service {
	t.Helper()
	var count atomic.Int64
	s, err := New(t.Context(), Options{
		Store: store,
		Now:   func() time.Time { return start },
		NewID: func(prefix string) string { return fmt.Sprintf("%s_%04d", prefix, count.Add(1)) },
		Log:   slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// newOrganization creates an organization with that many dollars.
func newOrganization(t testing.TB, s *Service, credits Micros) Organization {
	t.Helper()
	o, err := s.CreateOrganization(t.Context(), NewOrganization{Name: "Acme", Credits: credits})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func newKey(t testing.TB, s *Service, n NewKey) APIKey {
	t.Helper()
	k, err := s.CreateKey(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func wantJSON(t *testing.T, v any, want string) {
	t.Helper()
	got, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("\ngot  %s\nwant %s", got, want)
	}
}

// wantFault fails the test unless err has the kind, code and parameter.
func wantFault(t *testing.T, err error, want fault.Error) {
	t.Helper()
	var got fault.Error
	if e := fault.From(err); e != nil {
		got = fault.Error{Kind: e.Kind, Code: e.Code, Param: e.Param, RetryAfter: e.RetryAfter}
	}
	if err == nil || got != want {
		t.Errorf("error %v: got %+v, want %+v", err, got, want)
	}
}

func invalid(param string) fault.Error {
	return fault.Error{Kind: fault.Invalid, Code: fault.CodeValidation, Param: param}
}

var errDisk = errors.New("disk on fire")

// brittleStore is a store that fails when it is told to.
type brittleStore struct {
	storage.Store
	before func(storage.Namespace) error // error instead of a transaction
	after  func(storage.Namespace) error // error instead of the result of an Update that was committed
}

func (b *brittleStore) View(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	if b.before != nil {
		if err := b.before(ns); err != nil {
			return err
		}
	}
	return b.Store.View(ctx, ns, fn)
}

func (b *brittleStore) Update(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	if b.before != nil {
		if err := b.before(ns); err != nil {
			return err
		}
	}
	err := b.Store.Update(ctx, ns, fn)
	if err == nil && b.after != nil {
		err = b.after(ns)
	}
	return err
}

// failing is a brittleStore's hook that always fails.
func failing(storage.Namespace) error { return errDisk }

func TestNewRefusesWrongOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"no store":               {},
		"negative price":         {Store: newStore(t), Prices: map[string]Prices{"m": {Output: -1}}},
		"enormous price":         {Store: newStore(t), Prices: map[string]Prices{"m": {Input: maxAmount + 1}}},
		"negative default price": {Store: newStore(t), DefaultPrices: &Prices{DecisionInput: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			if s, err := New(t.Context(), o); err == nil {
				s.Close()
				t.Error("New accepted it")
			}
		})
	}
}

func TestOrganizationLifeCycle(t *testing.T) {
	s := newService(t, newStore(t))
	o, err := s.CreateOrganization(t.Context(), NewOrganization{
		Name: "Acme", Credits: 12_500_000, ZeroDataRetention: true, RequestsPerMinute: 60, TokensPerMinute: 100_000,
	})
	if err != nil {
		t.Fatal(err)
	}
	wantJSON(t, o, `{"id":"org_0001","object":"organization","name":"Acme","status":"active","zero_data_retention":true,`+
		`"credits":"12.5","requests_per_minute":60,"tokens_per_minute":100000,"created_at":1700000000}`)

	name, status, limit := "Acme & Co", Suspended, 0
	if o, err = s.UpdateOrganization(t.Context(), o.ID, OrganizationUpdate{Name: &name, Status: &status, TokensPerMinute: &limit}); err != nil {
		t.Fatal(err)
	}
	if o, err = s.AddCredits(t.Context(), o.ID, -13*Dollar); err != nil {
		t.Fatal(err)
	}
	want := Organization{
		ID: "org_0001", Name: name, Status: Suspended, ZeroDataRetention: true, Credits: -500_000,
		RequestsPerMinute: 60, CreatedAt: start.Unix(),
	}
	if !reflect.DeepEqual(o, want) {
		t.Errorf("after the changes: got %+v, want %+v", o, want)
	}
	if o, err = s.Organization(t.Context(), o.ID); err != nil || !reflect.DeepEqual(o, want) {
		t.Errorf("Organization: got %+v, %v, want %+v", o, err, want)
	}

	log, err := s.AuditLog(t.Context(), page.Params{})
	if err != nil {
		t.Fatal(err)
	}
	wantJSON(t, records(log.Items), `[`+
		`{"id":"audit_0002","action":"organization.create","subject":"org_0001","change":{"name":"Acme","credits":"12.5",`+
		`"zero_data_retention":true,"requests_per_minute":60,"tokens_per_minute":100000},"created_at":1700000000},`+
		`{"id":"audit_0003","action":"organization.update","subject":"org_0001","change":{"name":"Acme \u0026 Co",`+
		`"status":"suspended","tokens_per_minute":0},"created_at":1700000000},`+
		`{"id":"audit_0004","action":"organization.credits","subject":"org_0001","change":{"amount":"-13"},"created_at":1700000000}]`)
}

func TestOrganizationRefusals(t *testing.T) {
	s := newService(t, newStore(t))
	o := newOrganization(t, s, Dollar)
	missing := fault.Error{Kind: fault.NotFound, Code: CodeOrganizationNotFound}
	long := string(make([]byte, 1000))
	create := func(n NewOrganization) error { _, err := s.CreateOrganization(t.Context(), n); return err }
	update := func(id string, u OrganizationUpdate) error {
		_, err := s.UpdateOrganization(t.Context(), id, u)
		return err
	}
	add := func(id string, amount Micros) error { _, err := s.AddCredits(t.Context(), id, amount); return err }
	get := func(id string) error { _, err := s.Organization(t.Context(), id); return err }
	empty, wrong, negative := "", Status("asleep"), -1
	for name, test := range map[string]struct {
		err  error
		want fault.Error
	}{
		"create without name":         {create(NewOrganization{}), invalid("name")},
		"create with long name":       {create(NewOrganization{Name: long}), invalid("name")},
		"create with broken name":     {create(NewOrganization{Name: "\xff"}), invalid("name")},
		"create with negative credit": {create(NewOrganization{Name: "a", Credits: -1}), invalid("credits")},
		"create with endless credit":  {create(NewOrganization{Name: "a", Credits: maxAmount + 1}), invalid("credits")},
		"create with negative limit":  {create(NewOrganization{Name: "a", RequestsPerMinute: -1}), invalid("requests_per_minute")},
		"update to no name":           {update(o.ID, OrganizationUpdate{Name: &empty}), invalid("name")},
		"update to unknown status":    {update(o.ID, OrganizationUpdate{Status: &wrong}), invalid("status")},
		"update to negative limit":    {update(o.ID, OrganizationUpdate{TokensPerMinute: &negative}), invalid("tokens_per_minute")},
		"update of none":              {update("org_none", OrganizationUpdate{}), missing},
		"add nothing":                 {add(o.ID, 0), invalid("amount")},
		"add too much":                {add(o.ID, maxAmount+1), invalid("amount")},
		"take too much":               {add(o.ID, -maxAmount-1), invalid("amount")},
		"add to none":                 {add("org_none", 1), missing},
		"get none":                    {get("org_none"), missing},
		"get without id":              {get(""), missing},
		"get with long id":            {get(long), missing},
	} {
		t.Run(name, func(t *testing.T) { wantFault(t, test.err, test.want) })
	}
	if got, err := s.Organization(t.Context(), o.ID); err != nil || !reflect.DeepEqual(got, o) {
		t.Errorf("after refused changes: got %+v, %v, want %+v", got, err, o)
	}
}

func TestBalanceHasBounds(t *testing.T) {
	s := newService(t, newStore(t))
	o := newOrganization(t, s, maxAmount)
	l := s.ledger(o.ID)
	for _, sign := range []Micros{1, -1} {
		l.mine.Store(int64(sign * maxBalance))
		l.others.Store(0)
		_, err := s.AddCredits(t.Context(), o.ID, sign)
		wantFault(t, err, invalid("amount"))
	}
}

func TestOrganizationsArePaged(t *testing.T) {
	s := newService(t, newStore(t))
	var want []Organization
	for range 5 {
		want = append(want, newOrganization(t, s, Dollar))
	}
	first, err := s.Organizations(t.Context(), page.Params{Limit: 3})
	if err != nil || !reflect.DeepEqual(first, page.Page[Organization]{Items: want[:3], HasMore: true}) {
		t.Errorf("first page: got %+v, %v", first, err)
	}
	second, err := s.Organizations(t.Context(), page.Params{Limit: 3, After: want[2].ID})
	if err != nil || !reflect.DeepEqual(second, page.Page[Organization]{Items: want[3:]}) {
		t.Errorf("second page: got %+v, %v", second, err)
	}
	newest, err := s.Organizations(t.Context(), page.Params{Limit: 1, After: want[1].ID, Desc: true})
	if err != nil || !reflect.DeepEqual(newest, page.Page[Organization]{Items: want[:1]}) {
		t.Errorf("descending page: got %+v, %v", newest, err)
	}
	_, err = s.Organizations(t.Context(), page.Params{Limit: maxPage + 1})
	wantFault(t, err, invalid("limit"))
}

func TestAFailedGrantLeavesNoOrganization(t *testing.T) {
	store := &brittleStore{Store: newStore(t)}
	s := newService(t, store)
	store.before = func(ns storage.Namespace) error {
		if ns != system {
			return errDisk
		}
		return nil
	}
	_, err := s.CreateOrganization(t.Context(), NewOrganization{Name: "Acme", Credits: Dollar})
	wantFault(t, err, fault.Error{Kind: fault.Internal, Code: fault.CodeInternal})
	if list, err := s.Organizations(t.Context(), page.Params{}); err != nil || len(list.Items) != 0 {
		t.Errorf("got %+v, %v, want no organization", list, err)
	}
}

// records are entries of the audit log as they are stored.
func records(entries []AuditEntry) []auditRecord {
	all := make([]auditRecord, len(entries))
	for i, e := range entries {
		all[i] = auditRecord(e)
	}
	return all
}
