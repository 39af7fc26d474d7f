package accounts

import "context"

// maxUnpaid is how many charges of calls that ended while the store was away wait
// for it to come back.
const maxUnpaid = 1024

// keepUnpaid reports whether there was room to keep a charge for later.
func (s *Service) keepUnpaid(p *posting) bool {
	select {
	case s.unpaid <- p:
		return true
	default:
		return false
	}
}

// writeUnpaid writes the charges that the store did not take before. It stops at the
// first that it does not take now.
func (s *Service) writeUnpaid(ctx context.Context) error {
	for range len(s.unpaid) {
		p := <-s.unpaid
		err := p.try(ctx)
		switch {
		case p.storeAway(err) && s.keepUnpaid(p):
			return err
		case err != nil:
			s.logUnpaid(ctx, p.entry.Organization, p.entry.Use, err)
		}
	}
	return nil
}

// dropUnpaid tells the operator of the charges that the store has not taken when the
// process ends.
func (s *Service) dropUnpaid(ctx context.Context) {
	err := s.writeUnpaid(ctx)
	for range len(s.unpaid) {
		p := <-s.unpaid
		s.logUnpaid(ctx, p.entry.Organization, p.entry.Use, err)
	}
}

// logUnpaid tells the operator of a use that was not charged, or of which nobody
// knows whether it was.
func (s *Service) logUnpaid(ctx context.Context, organization string, use Use, err error) {
	s.log.ErrorContext(ctx, "accounts: usage of a failed call was not charged", "organization", organization, "use", use, "err", err)
}
