package accounts

import (
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/limits"
)

// CodeRateLimited is the code of the RateLimited errors of [Service.Admit] and
// [Service.Afford].
const CodeRateLimited = fault.CodeRateLimited

// What is left of limits; see package limits.
type (
	// Quota is how much of a limit an organization has left.
	Quota = limits.Quota
	// Quotas are the quotas of an organization.
	Quotas = limits.Quotas
)

// Admit counts one request of the caller and returns the quotas of its
// organization, or of its key where less is left of those. The error is RateLimited
// (rate_limit_exceeded) where one has no requests left; such a request is not
// counted.
func (s *Service) Admit(c Caller) (Quotas, error) {
	if s.own != nil {
		return s.own.Admit(c)
	}
	if c.RequestsPerMinute == 0 && c.TokensPerMinute == 0 && c.KeyLimits == (KeyLimits{}) {
		return Quotas{}, nil
	}
	return s.limits.Admit(limitsOf(c)...)
}

// limitsOf are the limits that hold for a caller: those of its organization, then
// those of its key.
func limitsOf(c Caller) []limits.Subject {
	all := []limits.Subject{{ID: c.Organization, Name: "The organization's", Requests: c.RequestsPerMinute, Tokens: c.TokensPerMinute}}
	if c.Key != "" {
		all = append(all, limits.Subject{ID: c.Key, Name: "The API key's", Requests: c.KeyLimits.RequestsPerMinute, Tokens: c.KeyLimits.TokensPerMinute})
	}
	return all
}

// hasTokenLimit reports whether the caller's tokens are limited at all.
func hasTokenLimit(c Caller) bool { return c.TokensPerMinute != 0 || c.KeyLimits.TokensPerMinute != 0 }

// checkTokens returns a RateLimited error where the caller's organization, or its
// key, has used up its tokens.
func (s *Service) checkTokens(c Caller) error {
	if !hasTokenLimit(c) {
		return nil
	}
	return s.limits.CheckTokens(limitsOf(c)...)
}

// spendTokens takes what a call used from the tokens of the caller's organization
// and key.
func (s *Service) spendTokens(c Caller, use Use) {
	if hasTokenLimit(c) {
		s.limits.SpendTokens(use.InputTokens+use.OutputTokens, limitsOf(c)...)
	}
}
