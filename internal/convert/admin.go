package convert

import (
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
		TokensPerMinute: w.TokensPerMinute, ConcurrentRequests: w.ConcurrentRequests, Retention: value(fromRetention(w.Retention)),
	}, err
}

// FromOrganizationUpdate returns what is to be changed.
func FromOrganizationUpdate(w *wire.OrganizationUpdate) accounts.OrganizationUpdate {
	return accounts.OrganizationUpdate{
		Name: w.Name, Status: (*accounts.Status)(w.Status), ZeroDataRetention: w.ZeroDataRetention, RequestsPerMinute: w.RequestsPerMinute,
		TokensPerMinute: w.TokensPerMinute, ConcurrentRequests: w.ConcurrentRequests, Retention: fromRetention(w.Retention),
	}
}

func fromRetention(w *wire.Retention) *accounts.Retention {
	if w == nil {
		return nil
	}
	return &accounts.Retention{Completions: w.CompletionsDays, Responses: w.ResponsesDays, Conversations: w.ConversationsDays, Files: w.FilesDays}
}

// ToOrganization returns an organization as it is answered.
func ToOrganization(o *accounts.Organization) wire.Organization {
	r := o.Retention
	return wire.Organization{
		ID: o.ID, Object: "organization", Name: o.Name, Status: string(o.Status), ZeroDataRetention: o.ZeroDataRetention,
		Credits: toDollars(o.Credits), RequestsPerMinute: o.RequestsPerMinute, TokensPerMinute: o.TokensPerMinute, ConcurrentRequests: o.ConcurrentRequests,
		Retention: wire.Retention{CompletionsDays: r.Completions, ResponsesDays: r.Responses, ConversationsDays: r.Conversations, FilesDays: r.Files},
		CreatedAt: o.CreatedAt,
	}
}

// FromKeyRequest returns the key that is to be made.
func FromKeyRequest(w *wire.KeyRequest) (accounts.NewKey, error) {
	budget, err := FromDollars("budget", w.Budget)
	return accounts.NewKey{OrganizationID: w.OrganizationID, Name: w.Name, Models: w.Models, KeyLimits: accounts.KeyLimits{
		RequestsPerMinute: w.RequestsPerMinute, TokensPerMinute: w.TokensPerMinute, Budget: budget, BudgetPeriod: accounts.Period(w.BudgetPeriod)}}, err
}

// FromKeyUpdate returns what is to be changed.
func FromKeyUpdate(w *wire.KeyUpdate) (accounts.KeyUpdate, error) {
	u := accounts.KeyUpdate{Name: w.Name, RequestsPerMinute: w.RequestsPerMinute, TokensPerMinute: w.TokensPerMinute, BudgetPeriod: (*accounts.Period)(w.BudgetPeriod)}
	budget, err := FromDollars("budget", w.Budget)
	if w.Budget != nil {
		u.Budget = &budget
	}
	return u, err
}

// ToKey returns a key as it is answered.
func ToKey(k *accounts.APIKey) wire.APIKey {
	w := wire.APIKey{
		ID: k.ID, Object: "api_key", OrganizationID: optional(k.OrganizationID), Name: k.Name, Models: k.Models, Prefix: k.Prefix,
		CreatedAt: k.CreatedAt, LastUsedAt: optional(k.LastUsedAt), RequestsPerMinute: k.RequestsPerMinute, TokensPerMinute: k.TokensPerMinute,
		Budget: toOptionalDollars(k.Budget), BudgetPeriod: string(k.BudgetPeriod), Key: k.Secret,
	}
	if k.Budget != 0 {
		spent := toDollars(k.Spent)
		w.BudgetSpent = &spent
	}
	return w
}

// ToUsageRecord returns a charge as it is answered.
func ToUsageRecord(e *accounts.Entry) wire.UsageRecord {
	return wire.UsageRecord{
		ID: e.ID, Object: "usage", OrganizationID: e.Organization, APIKeyID: optional(e.Key), Endpoint: e.Use.Endpoint, Model: e.Use.Model,
		ObjectID: optional(e.Use.Object), InputTokens: e.Use.InputTokens, CachedTokens: e.Use.CachedTokens, OutputTokens: e.Use.OutputTokens,
		ReasoningTokens: e.Use.ReasoningTokens, Cost: toDollars(e.Cost()), CreatedAt: e.CreatedAt,
	}
}

// ToAuditEntry returns an entry of the audit log as it is answered.
func ToAuditEntry(e *accounts.AuditEntry) wire.AuditEntry {
	return wire.AuditEntry{ID: e.ID, Object: "audit_entry", Action: e.Action, Subject: e.Subject, Change: e.Change, By: e.By, CreatedAt: e.CreatedAt}
}
