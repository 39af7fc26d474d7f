package webhooks

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/egress"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

// NewEndpoint is what an endpoint is made of.
type NewEndpoint struct {
	Name       string
	URL        string // https, of a public host or one that the operator named
	EventTypes []string
}

// EndpointUpdate is what to change of an endpoint; nil leaves a field as it is.
type EndpointUpdate struct {
	Name       *string
	URL        *string
	EventTypes []string
}

// CreateEndpoint makes an endpoint. Its Secret is shown this time only. The error is
// Invalid.
func (s *Service) CreateEndpoint(ctx context.Context, caller accounts.Caller, n NewEndpoint) (Endpoint, error) {
	r := &endpointRecord{ID: s.o.Outbox.newID("whe"), Name: n.Name, URL: n.URL, EventTypes: n.EventTypes, CreatedAt: s.now(), UpdatedAt: s.now(), Secret: newSecret()}
	if err := s.check(ctx, r); err != nil {
		return Endpoint{}, err
	}
	if err := s.organizations.Add(ctx, caller.Namespace()); err != nil {
		return Endpoint{}, err
	}
	err := s.o.Store.Update(ctx, caller.Namespace(), func(tx storage.Tx) error {
		all, err := endpoints(tx)
		if err != nil {
			return err
		}
		if len(all) >= MaxEndpoints {
			return fault.Invalidf("", "The organization has %d webhook endpoints, which is the most.", len(all))
		}
		if err := storage.SetJSON(tx, endpointKey(r.ID), r); err != nil {
			return err
		}
		return caller.Claim.Did(tx, "")
	})
	e := r.endpoint()
	e.Secret = r.Secret
	return e, err
}

func (s *Service) now() int64 { return s.o.Outbox.now().Unix() }

// check returns what is wrong with an endpoint.
func (s *Service) check(ctx context.Context, r *endpointRecord) error {
	if r.Name == "" || len(r.Name) > maxName {
		return fault.Invalidf("name", "name must have 1 to %d bytes.", maxName)
	}
	if len(r.EventTypes) == 0 {
		return fault.Invalidf("event_types", "event_types must name at least one event.")
	}
	for _, kind := range r.EventTypes {
		if err := checkType("event_types", kind); err != nil {
			return err
		}
	}
	slices.Sort(r.EventTypes)
	r.EventTypes = slices.Compact(r.EventTypes)
	u, err := url.Parse(r.URL)
	if err != nil || len(r.URL) > maxURL {
		return fault.Invalidf("url", "url must be a URL of at most %d bytes.", maxURL)
	}
	if refused, ok := errors.AsType[*egress.RefusedError](s.o.Guard.Check(ctx, u)); ok {
		return fault.Invalidf("url", "url cannot be an endpoint: %s.", refused.Reason)
	}
	return nil // a host that does not resolve now may do so later
}

func checkType(param, kind string) error {
	if !slices.Contains(EventTypes, kind) {
		return fault.Invalidf(param, "%s has %.64q, which is no event of this server; there are %s.", param, kind, strings.Join(EventTypes, ", "))
	}
	return nil
}

// Endpoint returns an endpoint. The error, here and in the methods below, is NotFound.
func (s *Service) Endpoint(ctx context.Context, caller accounts.Caller, id string) (e Endpoint, err error) {
	err = s.o.Store.View(ctx, caller.Namespace(), func(tx storage.Tx) error {
		r, err := getEndpoint(tx, id)
		if err == nil {
			e = r.endpoint()
		}
		return err
	})
	return e, err
}

// Endpoints returns a page of the organization's endpoints.
func (s *Service) Endpoints(ctx context.Context, caller accounts.Caller, p page.Params) (page.Page[Endpoint], error) {
	p, err := page.Within(p, MaxPage, "whe")
	if err != nil {
		return page.Page[Endpoint]{}, err
	}
	var all []Endpoint
	err = s.o.Store.View(ctx, caller.Namespace(), func(tx storage.Tx) error {
		records, err := endpoints(tx)
		all = make([]Endpoint, len(records))
		for i := range records {
			all[i] = records[i].endpoint()
		}
		return err
	})
	if err != nil {
		return page.Page[Endpoint]{}, err
	}
	return page.Of(all, func(e Endpoint) string { return e.ID }, p)
}

// change changes an endpoint.
func (s *Service) change(ctx context.Context, caller accounts.Caller, id string, fn func(*endpointRecord) error) (r *endpointRecord, err error) {
	err = s.o.Store.Update(ctx, caller.Namespace(), func(tx storage.Tx) (err error) {
		if r, err = getEndpoint(tx, id); err != nil {
			return err
		}
		if err := fn(r); err != nil {
			return err
		}
		r.UpdatedAt = s.now()
		if err := storage.SetJSON(tx, endpointKey(id), r); err != nil {
			return err
		}
		return caller.Claim.Did(tx, "")
	})
	return r, err
}

// UpdateEndpoint changes an endpoint and enables it, where it was disabled. The error
// is Invalid, too.
func (s *Service) UpdateEndpoint(ctx context.Context, caller accounts.Caller, id string, u EndpointUpdate) (Endpoint, error) {
	var changed endpointRecord
	err := s.o.Store.View(ctx, caller.Namespace(), func(tx storage.Tx) error {
		r, err := getEndpoint(tx, id)
		changed = *r
		return err
	})
	if err != nil {
		return Endpoint{}, err
	}
	if u.Name != nil {
		changed.Name = *u.Name
	}
	if u.URL != nil {
		changed.URL = *u.URL
	}
	if u.EventTypes != nil {
		changed.EventTypes = u.EventTypes
	}
	if err := s.check(ctx, &changed); err != nil {
		return Endpoint{}, err
	}
	r, err := s.change(ctx, caller, id, func(r *endpointRecord) error {
		r.Name, r.URL, r.EventTypes, r.DisabledAt = changed.Name, changed.URL, changed.EventTypes, 0
		return nil
	})
	if err != nil {
		return Endpoint{}, err
	}
	return r.endpoint(), nil
}

// oldSecretKept is how long a secret that was replaced may sign.
const oldSecretKept = 24 * time.Hour

// RotateSecret replaces the secret of an endpoint. With keepOld the old one signs for a
// day, too. The Secret of the answer is shown this time only.
func (s *Service) RotateSecret(ctx context.Context, caller accounts.Caller, id string, keepOld bool) (Endpoint, error) {
	secret := newSecret()
	r, err := s.change(ctx, caller, id, func(r *endpointRecord) error {
		r.Old, r.OldUntil = "", 0
		if keepOld {
			r.Old, r.OldUntil = r.Secret, s.now()+int64(oldSecretKept/time.Second)
		}
		r.Secret = secret
		return nil
	})
	if err != nil {
		return Endpoint{}, err
	}
	e := r.endpoint()
	e.Secret = r.Secret
	return e, nil
}

// DeleteEndpoint removes an endpoint with its deliveries. What is due is not delivered
// any more.
func (s *Service) DeleteEndpoint(ctx context.Context, caller accounts.Caller, id string) error {
	for {
		left := false
		err := s.o.Store.Update(ctx, caller.Namespace(), func(tx storage.Tx) error {
			storage.UseReserve(tx)
			_, err := getEndpoint(tx, id)
			if err != nil {
				return err
			}
			if left, err = removeOldest(tx, id, 0, s.now()+1); err != nil || left {
				return err
			}
			return errors.Join(tx.Delete(endpointKey(id)), tx.Delete(failingKey(id)))
		})
		if err != nil || !left {
			return err
		}
	}
}

// Deliveries returns a page of what was delivered, or is to be, to an endpoint.
func (s *Service) Deliveries(ctx context.Context, caller accounts.Caller, endpoint string, p page.Params) (result page.Page[Delivery], err error) {
	if p, err = page.Within(p, MaxPage, "whd"); err != nil {
		return result, err
	}
	var after []byte
	if p.After != "" {
		after = deliveryKey(endpoint, p.After)
	}
	err = s.o.Store.View(ctx, caller.Namespace(), func(tx storage.Tx) error {
		if _, err := getEndpoint(tx, endpoint); err != nil {
			return err
		}
		prefix := deliveriesOf(endpoint)
		result, err = page.Read(tx, page.Range(p, prefix, after), p.Limit, func(e storage.Entry) (Delivery, bool, error) {
			var r deliveryRecord
			err := decode(e.Value, &r)
			return r.delivery(string(e.Key[len(prefix):])), true, err
		})
		return err
	})
	return result, err
}

// Resend delivers an event again, now and with all its tries, whatever has become of
// it.
func (s *Service) Resend(ctx context.Context, caller accounts.Caller, endpoint, id string) (d Delivery, err error) {
	err = s.o.Store.Update(ctx, caller.Namespace(), func(tx storage.Tx) error {
		if _, err := getEndpoint(tx, endpoint); err != nil {
			return err
		}
		r, err := getDelivery(tx, endpoint, id)
		if err != nil {
			return err
		}
		if err := r.unschedule(tx, id); err != nil {
			return err
		}
		r.Status, r.Tries, r.NextAt = Pending, 0, s.o.Outbox.now().UnixMilli()
		d = r.delivery(id)
		if err := r.schedule(tx, id); err != nil {
			return err
		}
		return caller.Claim.Did(tx, "")
	})
	return d, err
}
