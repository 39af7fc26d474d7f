package convert

import (
	"errors"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

// FromDollars returns the amount that the field param has; nil is nothing. The error
// is Invalid.
func FromDollars(param string, d *wire.Dollars) (accounts.Micros, error) {
	if d == nil {
		return 0, nil
	}
	amount, err := accounts.ParseDollars(string(*d))
	if err != nil {
		return 0, fault.Invalidf(param, `%s must be a decimal number of US dollars with at most 6 digits after the point, such as "12.50".`, param)
	}
	return amount, nil
}

func toDollars(m accounts.Micros) wire.Dollars { return wire.Dollars(accounts.FormatDollars(m)) }

// fromDollars returns the amount of an answer.
func fromDollars(d *wire.Dollars) (accounts.Micros, error) {
	if d == nil {
		return 0, nil
	}
	return accounts.ParseDollars(string(*d))
}

func toOptionalDollars(m accounts.Micros) *wire.Dollars {
	if m == 0 {
		return nil
	}
	d := toDollars(m)
	return &d
}

// FromOrganizationRequest returns the organization that is to be made.
func FromOrganizationRequest(w *wire.OrganizationRequest) (accounts.NewOrganization, error) {
	credits, err := FromDollars("credits", w.Credits)
	return accounts.NewOrganization{
		Name: w.Name, Credits: credits, ZeroDataRetention: w.ZeroDataRetention, RequestsPerMinute: w.RequestsPerMinute,
		TokensPerMinute: w.TokensPerMinute, ConcurrentRequests: w.ConcurrentRequests,
		UnknownFields: accounts.UnknownFields(w.UnknownFields), Retention: value(fromRetention(w.Retention)),
		StoreDecisions: w.StoreDecisions, Policies: w.Policies,
	}, err
}

// ToOrganizationRequest returns the body that makes an organization.
func ToOrganizationRequest(n *accounts.NewOrganization) *wire.OrganizationRequest {
	w := &wire.OrganizationRequest{
		Name: n.Name, Credits: toOptionalDollars(n.Credits), ZeroDataRetention: n.ZeroDataRetention, RequestsPerMinute: n.RequestsPerMinute,
		TokensPerMinute: n.TokensPerMinute, ConcurrentRequests: n.ConcurrentRequests, UnknownFields: string(n.UnknownFields),
		StoreDecisions: n.StoreDecisions, Policies: n.Policies,
	}
	if n.Retention != (accounts.Retention{}) {
		w.Retention = toRetention(&n.Retention)
	}
	return w
}

// FromOrganizationUpdate returns what is to be changed.
func FromOrganizationUpdate(w *wire.OrganizationUpdate) accounts.OrganizationUpdate {
	return accounts.OrganizationUpdate{
		Name: w.Name, Status: (*accounts.Status)(w.Status), ZeroDataRetention: w.ZeroDataRetention, RequestsPerMinute: w.RequestsPerMinute,
		TokensPerMinute: w.TokensPerMinute, ConcurrentRequests: w.ConcurrentRequests,
		UnknownFields: (*accounts.UnknownFields)(w.UnknownFields), Retention: fromRetention(w.Retention), StoreDecisions: w.StoreDecisions, Policies: w.Policies,
	}
}

// ToOrganizationUpdate returns the body that changes an organization.
func ToOrganizationUpdate(u *accounts.OrganizationUpdate) *wire.OrganizationUpdate {
	return &wire.OrganizationUpdate{
		Name: u.Name, Status: (*string)(u.Status), ZeroDataRetention: u.ZeroDataRetention, RequestsPerMinute: u.RequestsPerMinute,
		TokensPerMinute: u.TokensPerMinute, ConcurrentRequests: u.ConcurrentRequests,
		UnknownFields: (*string)(u.UnknownFields), Retention: toRetention(u.Retention), StoreDecisions: u.StoreDecisions, Policies: u.Policies,
	}
}

// ToCreditsRequest returns the body that adds credits.
func ToCreditsRequest(amount accounts.Micros) *wire.CreditsRequest {
	d := toDollars(amount)
	return &wire.CreditsRequest{Amount: &d}
}

func fromRetention(w *wire.Retention) *accounts.Retention {
	if w == nil {
		return nil
	}
	return &accounts.Retention{Completions: w.CompletionsDays, Responses: w.ResponsesDays, Conversations: w.ConversationsDays, Files: w.FilesDays, Decisions: w.DecisionsDays}
}

func toRetention(r *accounts.Retention) *wire.Retention {
	if r == nil {
		return nil
	}
	return &wire.Retention{CompletionsDays: r.Completions, ResponsesDays: r.Responses, ConversationsDays: r.Conversations, FilesDays: r.Files, DecisionsDays: r.Decisions}
}

// ToOrganization returns an organization as it is answered.
func ToOrganization(o *accounts.Organization) wire.Organization {
	return wire.Organization{
		ID: o.ID, Object: "organization", Name: o.Name, Status: string(o.Status), ZeroDataRetention: o.ZeroDataRetention,
		Credits: toDollars(o.Credits), RequestsPerMinute: o.RequestsPerMinute, TokensPerMinute: o.TokensPerMinute, ConcurrentRequests: o.ConcurrentRequests,
		UnknownFields: string(o.UnknownFields), StoreDecisions: o.StoreDecisions, Policies: o.Policies, Retention: *toRetention(&o.Retention), CreatedAt: o.CreatedAt,
	}
}

// FromOrganization returns what an answer says.
func FromOrganization(w *wire.Organization) (accounts.Organization, error) {
	credits, err := fromDollars(&w.Credits)
	return accounts.Organization{
		ID: w.ID, Name: w.Name, Status: accounts.Status(w.Status), ZeroDataRetention: w.ZeroDataRetention, Credits: credits, RequestsPerMinute: w.RequestsPerMinute,
		TokensPerMinute: w.TokensPerMinute, ConcurrentRequests: w.ConcurrentRequests,
		UnknownFields: accounts.UnknownFields(w.UnknownFields), StoreDecisions: w.StoreDecisions, Policies: w.Policies, Retention: *fromRetention(&w.Retention), CreatedAt: w.CreatedAt,
	}, err
}

// FromKeyRequest returns the key that is to be made.
func FromKeyRequest(w *wire.KeyRequest) (accounts.NewKey, error) {
	budget, err := FromDollars("budget", w.Budget)
	return accounts.NewKey{OrganizationID: w.OrganizationID, Name: w.Name, Models: w.Models, UnknownFields: accounts.UnknownFields(w.UnknownFields), StoreDecisions: w.StoreDecisions, CreatedBy: w.CreatedBy, KeyLimits: accounts.KeyLimits{
		RequestsPerMinute: w.RequestsPerMinute, TokensPerMinute: w.TokensPerMinute, Budget: budget, BudgetPeriod: accounts.Period(w.BudgetPeriod)}}, err
}

// ToKeyRequest returns the body that makes a key.
func ToKeyRequest(n *accounts.NewKey) *wire.KeyRequest {
	return &wire.KeyRequest{OrganizationID: n.OrganizationID, Name: n.Name, Models: n.Models, RequestsPerMinute: n.RequestsPerMinute,
		TokensPerMinute: n.TokensPerMinute, Budget: toOptionalDollars(n.Budget), BudgetPeriod: string(n.BudgetPeriod), UnknownFields: string(n.UnknownFields), StoreDecisions: n.StoreDecisions, CreatedBy: n.CreatedBy}
}

// FromKeyUpdate returns what is to be changed.
func FromKeyUpdate(w *wire.KeyUpdate) (accounts.KeyUpdate, error) {
	u := accounts.KeyUpdate{Name: w.Name, RequestsPerMinute: w.RequestsPerMinute, TokensPerMinute: w.TokensPerMinute, BudgetPeriod: (*accounts.Period)(w.BudgetPeriod),
		UnknownFields: (*accounts.UnknownFields)(w.UnknownFields), StoreDecisions: w.StoreDecisions}
	budget, err := FromDollars("budget", w.Budget)
	if w.Budget != nil {
		u.Budget = &budget
	}
	return u, err
}

// ToKeyUpdate returns the body that changes a key.
func ToKeyUpdate(u *accounts.KeyUpdate) *wire.KeyUpdate {
	w := &wire.KeyUpdate{Name: u.Name, RequestsPerMinute: u.RequestsPerMinute, TokensPerMinute: u.TokensPerMinute, BudgetPeriod: (*string)(u.BudgetPeriod),
		UnknownFields: (*string)(u.UnknownFields), StoreDecisions: u.StoreDecisions}
	if u.Budget != nil {
		d := toDollars(*u.Budget)
		w.Budget = &d
	}
	return w
}

// ToKey returns a key as it is answered.
func ToKey(k *accounts.APIKey) wire.APIKey {
	w := wire.APIKey{
		ID: k.ID, Object: "api_key", OrganizationID: optional(k.OrganizationID), Name: k.Name, Models: k.Models, Prefix: k.Prefix,
		CreatedAt: k.CreatedAt, LastUsedAt: optional(k.LastUsedAt), RequestsPerMinute: k.RequestsPerMinute, TokensPerMinute: k.TokensPerMinute,
		Budget: toOptionalDollars(k.Budget), BudgetPeriod: string(k.BudgetPeriod), UnknownFields: string(k.UnknownFields), StoreDecisions: k.StoreDecisions, CreatedBy: k.CreatedBy, Key: k.Secret,
	}
	if k.Budget != 0 {
		spent := toDollars(k.Spent)
		w.BudgetSpent = &spent
	}
	return w
}

// FromKey returns what an answer says.
func FromKey(w *wire.APIKey) (accounts.APIKey, error) {
	budget, err := fromDollars(w.Budget)
	spent, wrong := fromDollars(w.BudgetSpent)
	return accounts.APIKey{
		ID: w.ID, OrganizationID: value(w.OrganizationID), Name: w.Name, Models: w.Models, Prefix: w.Prefix, CreatedAt: w.CreatedAt, LastUsedAt: value(w.LastUsedAt),
		KeyLimits: accounts.KeyLimits{RequestsPerMinute: w.RequestsPerMinute, TokensPerMinute: w.TokensPerMinute, Budget: budget, BudgetPeriod: accounts.Period(w.BudgetPeriod)},
		Spent:     spent, UnknownFields: accounts.UnknownFields(w.UnknownFields), StoreDecisions: w.StoreDecisions, CreatedBy: w.CreatedBy, Secret: w.Key,
	}, errors.Join(err, wrong)
}

// ToUsageRecord returns a charge as it is answered.
func ToUsageRecord(e *accounts.Entry) wire.UsageRecord {
	return wire.UsageRecord{
		ID: e.ID, Object: "usage", OrganizationID: e.Organization, APIKeyID: optional(e.Key), Endpoint: e.Use.Endpoint, Model: e.Use.Model,
		ObjectID: optional(e.Use.Object), InputTokens: e.Use.InputTokens, CachedTokens: e.Use.CachedTokens, OutputTokens: e.Use.OutputTokens,
		ReasoningTokens: e.Use.ReasoningTokens, Cost: toDollars(e.Cost()), CreatedAt: e.CreatedAt,
	}
}

// FromUsageRecord returns what an answer says.
func FromUsageRecord(w *wire.UsageRecord) (accounts.Entry, error) {
	cost, err := fromDollars(&w.Cost)
	return accounts.Entry{
		ID: w.ID, Organization: w.OrganizationID, Key: value(w.APIKeyID), Type: accounts.EntryCharge, Amount: -cost, CreatedAt: w.CreatedAt,
		Use: accounts.Use{Endpoint: w.Endpoint, Model: w.Model, Object: value(w.ObjectID), InputTokens: w.InputTokens, CachedTokens: w.CachedTokens,
			OutputTokens: w.OutputTokens, ReasoningTokens: w.ReasoningTokens},
	}, err
}

// ToAuditEntry returns an entry of the audit log as it is answered.
func ToAuditEntry(e *accounts.AuditEntry) wire.AuditEntry {
	return wire.AuditEntry{ID: e.ID, Object: "audit_entry", Action: e.Action, Subject: e.Subject, Change: e.Change, By: e.By, CreatedAt: e.CreatedAt}
}

// FromAuditEntry returns what an answer says.
func FromAuditEntry(w *wire.AuditEntry) accounts.AuditEntry {
	e := accounts.AuditEntry{ID: w.ID, Action: w.Action, Subject: w.Subject, Change: w.Change, By: w.By, CreatedAt: w.CreatedAt}
	if string(e.Change) == "null" {
		e.Change = nil
	}
	return e
}
