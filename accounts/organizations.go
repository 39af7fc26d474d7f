package accounts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

// Status says whether an organization may use the service.
type Status string

// The statuses.
const (
	Active    Status = "active"
	Suspended Status = "suspended"
)

// UnknownFields is what becomes of the fields of requests that the interface does not
// have. An organization or a key that says nothing has them ignored and named in the
// answer. What a request says itself wins.
type UnknownFields string

// The values besides the empty one, which is IgnoreUnknown.
const (
	IgnoreUnknown UnknownFields = "ignore"
	RefuseUnknown UnknownFields = "refuse" // where the organization or the key has it
)

// checked returns the value as it is kept, or an Invalid error.
func (u UnknownFields) checked() (UnknownFields, error) {
	switch u {
	case "", IgnoreUnknown:
		return "", nil
	case RefuseUnknown:
		return u, nil
	}
	return "", fault.Invalidf("unknown_fields", "unknown_fields must be %q or %q.", IgnoreUnknown, RefuseUnknown)
}

// Organization owns keys, credits and everything that is stored with them. Its
// JSON encoding is the one that the administration interface shows.
type Organization struct {
	ID                string // org_…
	Name              string
	Status            Status
	ZeroDataRetention bool
	Credits           Micros // the balance when the organization was read
	RequestsPerMinute int    // 0 for no limit
	TokensPerMinute   int    // 0 for no limit

	ConcurrentRequests int // that each process works on at once, 0 for no limit of its own

	UnknownFields  UnknownFields // RefuseUnknown or empty
	StoreDecisions bool          // where a request does not say otherwise
	Policies       []string      // names of those that its requests are judged by
	Retention      Retention
	CreatedAt      int64 // Unix seconds
}

// organizationRecord is what is stored of an Organization: all but the credits,
// which are in its ledger.
type organizationRecord struct {
	ID                string `json:"id"`
	Name              string `json:"name"`
	Status            Status `json:"status"`
	ZeroDataRetention bool   `json:"zero_data_retention,omitempty"`
	RequestsPerMinute int    `json:"requests_per_minute,omitempty"`
	TokensPerMinute   int    `json:"tokens_per_minute,omitempty"`

	ConcurrentRequests int             `json:"concurrent_requests,omitempty"`
	UnknownFields      UnknownFields   `json:"unknown_fields,omitempty"`
	StoreDecisions     bool            `json:"store_decisions,omitempty"`
	Policies           []string        `json:"policies,omitempty"`
	Retention          retentionRecord `json:"retention,omitzero"`
	CreatedAt          int64           `json:"created_at"`
}

// retentionRecord is what is stored of a Retention.
type retentionRecord struct {
	Completions   int `json:"completions_days,omitempty"`
	Responses     int `json:"responses_days,omitempty"`
	Conversations int `json:"conversations_days,omitempty"`
	Files         int `json:"files_days,omitempty"`
	Decisions     int `json:"decisions_days,omitempty"`
}

// NewOrganization is what an organization is created with. Only Name is
// required, 1 to 256 bytes. Limits are 0 for none.
type NewOrganization struct {
	// ID is 1 to [storage.MaxNamespace] visible ASCII characters without a slash,
	// for programs that know their customers by IDs of their own; empty for a new
	// one. That there is such an organization already is a Conflict.
	ID string `json:"id,omitempty"`

	Name              string `json:"name"`
	Credits           Micros `json:"credits"` // first credits, 0 to a billion dollars
	ZeroDataRetention bool   `json:"zero_data_retention"`
	RequestsPerMinute int    `json:"requests_per_minute"`
	TokensPerMinute   int    `json:"tokens_per_minute"`

	ConcurrentRequests int           `json:"concurrent_requests,omitempty"`
	UnknownFields      UnknownFields `json:"unknown_fields,omitempty"`
	StoreDecisions     bool          `json:"store_decisions,omitempty"`
	Policies           []string      `json:"policies,omitempty"`
	Retention          Retention     `json:"retention,omitzero"`
}

// OrganizationUpdate is what to change of an organization; nil leaves a field
// as it is.
type OrganizationUpdate struct {
	Name              *string `json:"name,omitempty"`
	Status            *Status `json:"status,omitempty"`
	ZeroDataRetention *bool   `json:"zero_data_retention,omitempty"`
	RequestsPerMinute *int    `json:"requests_per_minute,omitempty"`
	TokensPerMinute   *int    `json:"tokens_per_minute,omitempty"`

	ConcurrentRequests *int           `json:"concurrent_requests,omitempty"`
	UnknownFields      *UnknownFields `json:"unknown_fields,omitempty"`
	StoreDecisions     *bool          `json:"store_decisions,omitempty"`
	Policies           *[]string      `json:"policies,omitempty"` // all of them

	Retention *Retention `json:"retention,omitempty"` // all of it
}

// MarshalJSON writes the organization as the administration interface shows it.
func (o Organization) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID                string `json:"id"`
		Object            string `json:"object"`
		Name              string `json:"name"`
		Status            Status `json:"status"`
		ZeroDataRetention bool   `json:"zero_data_retention"`
		Credits           Micros `json:"credits"`
		RequestsPerMinute int    `json:"requests_per_minute"`
		TokensPerMinute   int    `json:"tokens_per_minute"`

		ConcurrentRequests int           `json:"concurrent_requests,omitempty"`
		UnknownFields      UnknownFields `json:"unknown_fields,omitempty"`
		StoreDecisions     bool          `json:"store_decisions,omitempty"`
		Policies           []string      `json:"policies,omitempty"`
		Retention          Retention     `json:"retention,omitzero"`
		CreatedAt          int64         `json:"created_at"`
	}{
		o.ID, "organization", o.Name, o.Status, o.ZeroDataRetention, o.Credits,
		o.RequestsPerMinute, o.TokensPerMinute, o.ConcurrentRequests, o.UnknownFields, o.StoreDecisions, o.Policies, o.Retention, o.CreatedAt,
	})
}

// maxName is the longest name of an organization or key, in bytes.
const maxName = 256

func checkName(name string) error {
	if name == "" || len(name) > maxName || !utf8.ValidString(name) {
		return fault.Invalidf("name", "name must be 1 to %d bytes of text.", maxName)
	}
	return nil
}

// check returns an Invalid error where a field that can be set is out of bounds.
func (r *organizationRecord) check() (err error) {
	if r.UnknownFields, err = r.UnknownFields.checked(); err != nil {
		return err
	}
	if err := checkName(r.Name); err != nil {
		return err
	}
	if r.Status != Active && r.Status != Suspended {
		return fault.Invalidf("status", "status must be %q or %q.", Active, Suspended)
	}
	if r.RequestsPerMinute < 0 {
		return fault.Invalidf("requests_per_minute", "requests_per_minute must be at least 0.")
	}
	if r.TokensPerMinute < 0 {
		return fault.Invalidf("tokens_per_minute", "tokens_per_minute must be at least 0.")
	}
	if r.ConcurrentRequests < 0 {
		return fault.Invalidf("concurrent_requests", "concurrent_requests must be at least 0.")
	}
	if len(r.Policies) > maxPolicies {
		return fault.Invalidf("policies", "policies must have at most %d names.", maxPolicies)
	}
	return Retention(r.Retention).check()
}

// maxPolicies is how many policies an organization may have.
const maxPolicies = 16

// CreateOrganization creates an active organization with its first credits. The
// error is Invalid where a field is out of bounds.
func (s *Service) CreateOrganization(ctx context.Context, n NewOrganization) (Organization, error) {
	record := organizationRecord{
		ID:                n.ID,
		Name:              n.Name,
		Status:            Active,
		ZeroDataRetention: n.ZeroDataRetention,
		RequestsPerMinute: n.RequestsPerMinute,
		TokensPerMinute:   n.TokensPerMinute,
		Retention:         retentionRecord(n.Retention),
		CreatedAt:         s.now().Unix(),

		ConcurrentRequests: n.ConcurrentRequests,
		UnknownFields:      n.UnknownFields,
		StoreDecisions:     n.StoreDecisions,
		Policies:           n.Policies,
	}
	if n.ID == "" {
		record.ID = s.newID("org")
	}
	if err := errors.Join(CheckID(record.ID), record.check()); err != nil {
		return Organization{}, err
	}
	if n.Credits < 0 || n.Credits > maxAmount {
		return Organization{}, fault.Invalidf("credits", "credits must be 0 to %s dollars.", maxAmount)
	}
	if err := s.store.View(ctx, system, func(tx storage.Tx) error { return absent(tx, record.ID) }); err != nil {
		return Organization{}, err
	}
	// The credits come first: should the process die before the organization is
	// written, there is a ledger that nobody knows of, and not an organization
	// without the credits it was created with.
	if n.Credits != 0 {
		if _, err := s.post(ctx, Caller{}, s.credit(record.ID, n.Credits), nil); err != nil {
			return Organization{}, err
		}
	}
	err := s.store.Update(ctx, system, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		if err := absent(tx, record.ID); err != nil {
			return err
		}
		if err := storage.SetJSON(tx, organizationKey(record.ID), record); err != nil {
			return err
		}
		if err := s.record(tx, ActionCreateOrganization, record.ID, n); err != nil {
			return err
		}
		return s.actor.Claim.Did(tx, record.ID)
	})
	if err != nil {
		return Organization{}, err
	}
	return s.withCredits(ctx, record)
}

// CheckID returns an Invalid error for what is no ID of an organization: the name
// of its namespace, and a part of keys and paths.
func CheckID(id string) error {
	if !wellFormed(id) || len(id) > storage.MaxNamespace || strings.ContainsRune(id, '/') || storage.Namespace(id) == system {
		return fault.Invalidf("id", "id must be 1 to %d visible ASCII characters without a slash, and not %q.", storage.MaxNamespace, system)
	}
	return nil
}

// absent returns a Conflict where there is an organization with the ID, or one is
// being deleted.
func absent(tx storage.Tx, id string) error {
	_, err := tx.Get(organizationKey(id))
	if errors.Is(err, storage.ErrNotFound) {
		_, err = tx.Get(deletionKey(id))
	}
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = &fault.Error{Kind: fault.Conflict, Code: CodeOrganizationExists, Param: "id", Message: fmt.Sprintf("There is an organization %q already.", id)}
	}
	return err
}

// Organization returns the organization with that ID, or NotFound.
func (s *Service) Organization(ctx context.Context, id string) (Organization, error) {
	var record organizationRecord
	err := s.store.View(ctx, system, func(tx storage.Tx) error {
		var err error
		record, err = getOrganization(tx, id)
		return err
	})
	if err != nil {
		return Organization{}, err
	}
	return s.withCredits(ctx, record)
}

// Organizations returns a page of all organizations, 1 to 1,000, by the time of
// their creation.
func (s *Service) Organizations(ctx context.Context, p page.Params) (page.Page[Organization], error) {
	records, err := listSystem(ctx, s, organizationPrefix, "", p, func(_ storage.Tx, e storage.Entry) (organizationRecord, error) {
		var record organizationRecord
		err := json.Unmarshal(e.Value, &record)
		return record, err
	})
	result := page.Page[Organization]{Items: make([]Organization, len(records.Items)), HasMore: records.HasMore}
	if err != nil {
		return result, err
	}
	for i, record := range records.Items {
		if result.Items[i], err = s.withCredits(ctx, record); err != nil {
			return page.Page[Organization]{}, err
		}
	}
	return result, nil
}

// OrganizationIDs is Organizations that returns their IDs alone and reads no
// ledger.
func (s *Service) OrganizationIDs(ctx context.Context, p page.Params) (page.Page[string], error) {
	return listSystem(ctx, s, organizationPrefix, "", p, func(_ storage.Tx, e storage.Entry) (string, error) {
		return strings.TrimPrefix(string(e.Key), organizationPrefix), nil
	})
}

// UpdateOrganization changes what u names and returns the organization as it is
// then. It holds for every call that begins after it returned. The error is
// NotFound, or Invalid where a field is out of bounds.
func (s *Service) UpdateOrganization(ctx context.Context, id string, u OrganizationUpdate) (Organization, error) {
	defer s.forget() // after an error, too: nobody may know whether it was written
	var record organizationRecord
	err := s.store.Update(ctx, system, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		var err error
		if record, err = getOrganization(tx, id); err != nil {
			return err
		}
		set(&record.Name, u.Name)
		set(&record.Status, u.Status)
		set(&record.ZeroDataRetention, u.ZeroDataRetention)
		set(&record.RequestsPerMinute, u.RequestsPerMinute)
		set(&record.TokensPerMinute, u.TokensPerMinute)
		set(&record.ConcurrentRequests, u.ConcurrentRequests)
		set(&record.UnknownFields, u.UnknownFields)
		set(&record.StoreDecisions, u.StoreDecisions)
		set(&record.Policies, u.Policies)
		set(&record.Retention, (*retentionRecord)(u.Retention))
		if err := record.check(); err != nil {
			return err
		}
		if err := storage.SetJSON(tx, organizationKey(id), record); err != nil {
			return err
		}
		if err := s.record(tx, ActionUpdateOrganization, id, u); err != nil {
			return err
		}
		return s.cluster.InvalidateCaches(tx)
	})
	if err != nil {
		return Organization{}, err
	}
	return s.withCredits(ctx, record)
}

// set changes a field to the value that an update has for it, if any.
func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// getOrganization returns what is stored of an organization, or NotFound.
func getOrganization(tx storage.Tx, id string) (organizationRecord, error) {
	var record organizationRecord
	err := storage.GetJSON(tx, organizationKey(id), &record)
	if errors.Is(err, storage.ErrNotFound) {
		err = fault.Missing(CodeOrganizationNotFound, "organization", id)
	}
	return record, err
}

// withCredits completes a stored organization with its balance.
func (s *Service) withCredits(ctx context.Context, r organizationRecord) (Organization, error) {
	balance, err := s.Balance(ctx, r.ID)
	return Organization{
		ID:                r.ID,
		Name:              r.Name,
		Status:            r.Status,
		ZeroDataRetention: r.ZeroDataRetention,
		Credits:           balance,
		RequestsPerMinute: r.RequestsPerMinute,
		TokensPerMinute:   r.TokensPerMinute,
		Retention:         Retention(r.Retention),
		CreatedAt:         r.CreatedAt,

		ConcurrentRequests: r.ConcurrentRequests,
		UnknownFields:      r.UnknownFields,
		StoreDecisions:     r.StoreDecisions,
		Policies:           r.Policies,
	}, err
}
