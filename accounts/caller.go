package accounts

import (
	"fmt"
	"slices"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/idempotency"
	"github.com/seed-506d8e5d/svc/storage"
)

// Caller is who an operation is done for. Every operation of the service takes
// one; [Service.Authenticate] makes it from an API key and [Service.CallerFor]
// from an organization's ID. It is a value and says what was true when it was
// made.
type Caller struct {
	Organization      string   // org_… ID
	Key               string   // key_… ID, empty where a program acts for the organization itself
	Models            []string // model IDs that may be used, nil for every model; shared, not to be changed
	ZeroDataRetention bool     // whether the organization forbids storing conversations

	RequestsPerMinute int // the organization's limit, 0 for none
	TokensPerMinute   int // the organization's limit, 0 for none

	ConcurrentRequests int // that a process works on at once for the organization, 0 for no limit of its own

	KeyLimits KeyLimits // of the key

	StoreDecisions bool // decisions are stored where the request does not say otherwise

	Policies []string // names of the policies that its requests are judged by; shared, not to be changed

	// ReadOnly is a caller that may only read: packages httpapi and console refuse what
	// creates, changes or deletes something, or calls a model.
	ReadOnly bool

	RefuseUnknown bool // requests with members that are not known are refused, by the organization or the key

	// Claim is that of the request's Idempotency-Key: what is stored or charged for
	// the caller marks it in the same transaction. nil is none.
	Claim *idempotency.Claim

	// Deferred collects what is charged to the caller, for who writes it with a result.
	// nil is none: charges are written at once.
	Deferred *Deferred

	// Background says that nobody waits for the work: models do it only in what others
	// leave free.
	Background bool
}

// Namespace returns the key space of the caller's organization.
func (c Caller) Namespace() storage.Namespace { return storage.Namespace(c.Organization) }

// Allow returns nil where the caller may use the model with that ID, and a
// Denied error with the code model_access_denied otherwise.
func (c Caller) Allow(model string) error {
	if c.Models == nil || slices.Contains(c.Models, model) {
		return nil
	}
	return &fault.Error{
		Kind:    fault.Denied,
		Code:    CodeModelAccess,
		Param:   "model",
		Message: fmt.Sprintf("This API key may not use the model %q.", model),
	}
}
