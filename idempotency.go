package svc

import (
	"context"

	"github.com/seed-506d8e5d/svc/idempotency"
	"github.com/seed-506d8e5d/svc/storage"
)

// administration is whose claims those of the administration are: nobody's that
// has a key.
const administration storage.Namespace = "system"

// Once claims the key of a request that must not be done twice, or returns the
// answer to the first one; see [idempotency.Service.Begin]. It sets the request's
// Namespace, to the administration's where the caller has no organization, and
// its Forget.
func (s *Service) Once(ctx context.Context, caller Caller, r idempotency.Request) (*idempotency.Claim, *idempotency.Answer, error) {
	r.Namespace, r.Forget = caller.Namespace(), caller.ZeroDataRetention
	if caller.Organization == "" {
		r.Namespace = administration
	}
	return s.idempotency.Begin(ctx, r)
}
