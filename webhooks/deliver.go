package webhooks

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/egress"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/storage"
)

const (
	pollEvery = time.Second
	lookEvery = time.Minute // how often organizations that have no endpoints any more are looked for
	begunFor  = time.Minute // how long a delivery that was begun is left to who began it

	deadAfter     = 72 * time.Hour // of an endpoint that fails
	keptFor       = 30 * 24 * time.Hour
	removedAtOnce = 1000
	maxError      = 200 // bytes of the text of an error
)

// retries are how long after a try that failed the next one is, give or take a fifth.
var retries = []time.Duration{30 * time.Second, 5 * time.Minute, 30 * time.Minute, 4 * time.Hour, 19 * time.Hour}

// retryAfter returns when a delivery is tried again that has been tried a number of
// times, 0 for never.
func retryAfter(tries int) time.Duration {
	if tries > len(retries) {
		return 0
	}
	wait := retries[tries-1]
	return wait - wait/5 + rand.N(2*wait/5)
}

func decode(data []byte, v any) error { return json.Unmarshal(data, v) }

// due is a place in the queue of an endpoint.
type due struct {
	ns           storage.Namespace
	at           int64
	id, endpoint string
}

func (d *due) key() []byte { return queueKey(d.endpoint, d.at, d.id) }

// dispatch begins deliveries that are due until ctx ends.
func (s *Service) dispatch(ctx context.Context) {
	looked := time.Now()
	background.Every(ctx, pollEvery, s.wake, func() {
		look := time.Since(looked) >= lookEvery
		if look {
			looked = time.Now()
		}
		organizations, err := s.organizations.All(ctx)
		s.log(ctx, "", err)
		for _, ns := range organizations {
			s.log(ctx, ns, s.round(ctx, ns, look))
		}
	})
}

// log says what failed that is tried again.
func (s *Service) log(ctx context.Context, ns storage.Namespace, err error) {
	if err != nil && ctx.Err() == nil {
		s.o.Log.LogAttrs(ctx, slog.LevelError, "webhooks: what is due could not be delivered and will be tried again",
			slog.String("organization", string(ns)), slog.Any("err", err))
	}
}

// round begins what is due in a namespace.
func (s *Service) round(ctx context.Context, ns storage.Namespace, look bool) error {
	found, none, err := s.due(ctx, ns)
	if none && look {
		return s.organizations.Remove(ctx, ns)
	}
	for _, d := range found {
		if err != nil || !s.reserve(d.endpoint) {
			continue
		}
		var a *attempt
		if a, err = s.claim(ctx, d); a == nil {
			s.release(d.endpoint)
			continue
		}
		s.running.Go(func() {
			defer s.look()
			defer s.release(a.endpoint.ID)
			s.log(ctx, ns, background.Recover(func() error { return s.try(ctx, a) }))
		})
	}
	return err
}

// due returns deliveries whose time has come, of each endpoint as many as may be under
// way, and whether there are no endpoints.
func (s *Service) due(ctx context.Context, ns storage.Namespace) (found []due, none bool, err error) {
	now := s.o.Outbox.now().UnixMilli()
	err = s.o.Store.View(ctx, ns, func(tx storage.Tx) error {
		found = nil
		all, err := endpointIDs(tx)
		if none = len(all) == 0; err != nil {
			return err
		}
		for _, endpoint := range all {
			prefix := queueOf(endpoint)
			r := storage.Range{Start: prefix, End: queueKey(endpoint, now+1, ""), KeysOnly: true, Limit: perEndpoint}
			for e, err := range tx.Scan(r) {
				if err != nil {
					return err
				}
				place := e.Key[len(prefix):]
				found = append(found, due{ns, int64(binary.BigEndian.Uint64(place)), string(place[8:]), endpoint})
			}
		}
		return nil
	})
	return found, none && err == nil, err
}

// reserve takes one of the workers for an endpoint.
func (s *Service) reserve(endpoint string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total >= s.o.Workers || s.busy[endpoint] >= perEndpoint {
		return false
	}
	s.total++
	s.busy[endpoint]++
	return true
}

func (s *Service) release(endpoint string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total--
	if s.busy[endpoint]--; s.busy[endpoint] == 0 {
		delete(s.busy, endpoint)
	}
}

// look has dispatch look for more that is due.
func (s *Service) look() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// attempt is a delivery that this process tries.
type attempt struct {
	due
	delivery *deliveryRecord
	endpoint *endpointRecord
}

// claim begins a delivery: nobody else tries it for a while. There is no attempt where
// somebody else has begun it, or where it is not to be delivered any more.
func (s *Service) claim(ctx context.Context, d due) (a *attempt, err error) {
	now := s.o.Outbox.now()
	err = s.o.Store.Update(ctx, d.ns, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		a = nil
		if _, err := tx.Get(d.key()); errors.Is(err, storage.ErrNotFound) {
			return nil
		} else if err != nil {
			return err
		}
		if err := tx.Delete(d.key()); err != nil {
			return err
		}
		r, err := getDelivery(tx, d.endpoint, d.id)
		if fault.Is(err, fault.NotFound) {
			return nil // the endpoint was deleted
		}
		if err != nil {
			return err
		}
		e, err := getEndpoint(tx, d.endpoint)
		if err != nil {
			return err
		}
		if e.DisabledAt != 0 {
			r.Status, r.Error = Failed, "The endpoint is disabled."
			return r.end(tx, d.id, now.UnixMilli())
		}
		r.Tries++
		r.TriedAt, r.NextAt = now.Unix(), now.Add(begunFor).UnixMilli()
		a = &attempt{d, r, e}
		return r.schedule(tx, d.id)
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

// try posts the event and stores what has become of it.
func (s *Service) try(ctx context.Context, a *attempt) error {
	code, err := s.post(ctx, a.endpoint, a.delivery.Event, a.delivery.Type, a.delivery.Object, a.delivery.CreatedAt)
	if ctx.Err() != nil {
		return nil // it is tried again
	}
	dead := false
	storeErr := s.o.Store.Update(ctx, a.ns, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		dead = false
		r, getErr := getDelivery(tx, a.delivery.Endpoint, a.id)
		if fault.Is(getErr, fault.NotFound) || getErr == nil && r.NextAt != a.delivery.NextAt {
			return nil // it was deleted, or is somebody else's by now
		}
		if getErr != nil {
			return getErr
		}
		if err := r.unschedule(tx, a.id); err != nil {
			return err
		}
		now := s.o.Outbox.now()
		r.StatusCode, r.Error = code, textOf(err)
		if code/100 == 2 {
			r.Status = Delivered
			return errors.Join(r.end(tx, a.id, now.UnixMilli()), tx.Delete(failingKey(r.Endpoint)), s.sweep(tx, r.Endpoint))
		}
		var failErr error
		if dead, failErr = s.failing(tx, r.Endpoint); failErr != nil {
			return failErr
		}
		if wait := retryAfter(r.Tries); wait > 0 {
			r.NextAt = now.Add(wait).UnixMilli()
			return errors.Join(r.schedule(tx, a.id), s.sweep(tx, r.Endpoint))
		}
		r.Status = Failed
		return errors.Join(r.end(tx, a.id, now.UnixMilli()), s.sweep(tx, r.Endpoint))
	})
	if storeErr != nil || !dead {
		return storeErr
	}
	return s.disable(ctx, a)
}

// ActionDisable is the action of the audit log for an endpoint that was disabled. Its
// subject is the organization.
const ActionDisable = "webhook_endpoint.disable"

// failing notes that an endpoint fails, and reports whether it has for too long.
func (s *Service) failing(tx storage.Tx, id string) (dead bool, err error) {
	since, err := tx.Get(failingKey(id))
	if errors.Is(err, storage.ErrNotFound) {
		return false, tx.Set(failingKey(id), binary.BigEndian.AppendUint64(nil, uint64(s.now())))
	}
	return err == nil && len(since) == 8 && s.now()-int64(binary.BigEndian.Uint64(since)) >= int64(deadAfter/time.Second), err
}

// disable disables the endpoint of an attempt. The audit log is written first: where
// the process dies in between, the next attempt that fails disables it.
func (s *Service) disable(ctx context.Context, a *attempt) error {
	id := a.endpoint.ID
	err := s.o.Accounts.As(accounts.Actor{By: "webhooks"}).Record(ctx, ActionDisable, string(a.ns), map[string]string{"webhook_endpoint": id, "url": a.endpoint.URL})
	if err != nil {
		return err
	}
	return s.o.Store.Update(ctx, a.ns, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		e, err := getEndpoint(tx, id)
		if fault.Is(err, fault.NotFound) || err == nil && e.UpdatedAt != a.endpoint.UpdatedAt {
			return nil // somebody has looked after it meanwhile
		}
		if err != nil {
			return err
		}
		e.DisabledAt = s.now()
		return errors.Join(storage.SetJSON(tx, endpointKey(id), e), tx.Delete(failingKey(id)))
	})
}

// sweep removes some deliveries that have been kept for long enough.
func (s *Service) sweep(tx storage.Tx, endpoint string) error {
	_, err := removeOldest(tx, endpoint, 4, s.now()-int64(keptFor/time.Second))
	return err
}

// removeOldest removes up to a number of deliveries that were made before a time, 0 for
// as many as fit into a transaction. It reports whether there may be more.
func removeOldest(tx storage.Tx, endpoint string, most int, before int64) (more bool, err error) {
	if most == 0 {
		most = removedAtOnce
	}
	prefix := deliveriesOf(endpoint)
	old := storage.Prefix(prefix)
	old.Limit = most
	count := 0
	for e, err := range tx.Scan(old) {
		var r deliveryRecord
		if err == nil {
			err = decode(e.Value, &r)
		}
		if err != nil || r.CreatedAt >= before {
			return false, err
		}
		id := string(e.Key[len(prefix):])
		if err := errors.Join(tx.Delete(e.Key), r.unschedule(tx, id), tx.Delete(pendingKey(endpoint, r.Object, id))); err != nil {
			return false, err
		}
		count++
	}
	return count == most, nil
}

// post posts an event to an endpoint and returns the status of the answer.
func (s *Service) post(ctx context.Context, e *endpointRecord, event, kind, object string, created int64) (code int, err error) {
	body, err := jsonout.Marshal(wire.WebhookEvent{ID: event, Object: "event", CreatedAt: created, Type: kind, Data: wire.WebhookData{ID: object}})
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	now := s.now()
	signature, err := sign(e.secrets(now), event, now, body)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "svc-webhooks")
	req.Header.Set("Webhook-Id", event)
	req.Header.Set("Webhook-Timestamp", strconv.FormatInt(now, 10))
	req.Header.Set("Webhook-Signature", signature)
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // the status has said all
	return resp.StatusCode, nil
}

// textOf says to the endpoint's owner why there was no answer.
func textOf(err error) string {
	if err == nil {
		return ""
	}
	if refused, ok := errors.AsType[*egress.RefusedError](err); ok {
		return refused.Reason
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		if e.Timeout() {
			return "The endpoint did not answer in time."
		}
		err = e.Err
	}
	text := err.Error()
	return strings.ToValidUTF8(text[:min(len(text), maxError)], "")
}

// Test posts an event about no object to an endpoint and returns the status of its
// answer. The error is NotFound, Invalid for an event that there is not, and Upstream
// where there is no answer.
func (s *Service) Test(ctx context.Context, caller accounts.Caller, id, kind string) (statusCode int, err error) {
	if err := checkType("event_type", kind); err != nil {
		return 0, err
	}
	var e *endpointRecord
	err = s.o.Store.View(ctx, caller.Namespace(), func(tx storage.Tx) (err error) {
		e, err = getEndpoint(tx, id)
		return err
	})
	if err != nil {
		return 0, err
	}
	noun, _, _ := strings.Cut(kind, ".")
	object := map[string]string{"response": "resp_test", "batch": "batch_test"}[noun]
	code, err := s.post(ctx, e, s.o.Outbox.newID("evt"), kind, object, s.now())
	if err != nil {
		return 0, &fault.Error{Kind: fault.Upstream, Code: "webhook_endpoint_unreachable", Message: "The endpoint could not be reached: " + textOf(err), Err: err}
	}
	return code, nil
}
