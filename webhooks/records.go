package webhooks

import (
	"encoding/binary"
	"encoding/json"
	"errors"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
)

// The keys in an organization's namespace:
//
//	w/e/{endpoint}              an endpoint
//	w/f/{endpoint}              since when it has failed: Unix seconds in 8 bytes
//	w/d/{endpoint}/{delivery}   a delivery
//	w/q/{endpoint}/{time}{delivery}
//	                            when it is tried next: Unix milliseconds in 8 bytes
//	w/o/{endpoint}/{object}/{delivery}
//	                            a delivery about an object that is pending: the first one is tried
const endpointPrefix = "w/e/"

func endpointKey(id string) []byte           { return []byte(endpointPrefix + id) }
func failingKey(id string) []byte            { return []byte("w/f/" + id) }
func deliveriesOf(endpoint string) []byte    { return []byte("w/d/" + endpoint + "/") }
func deliveryKey(endpoint, id string) []byte { return append(deliveriesOf(endpoint), id...) }
func queueOf(endpoint string) []byte         { return []byte("w/q/" + endpoint + "/") }
func queueKey(endpoint string, at int64, delivery string) []byte {
	return append(binary.BigEndian.AppendUint64(queueOf(endpoint), uint64(at)), delivery...)
}
func pendingOf(endpoint, object string) []byte { return []byte("w/o/" + endpoint + "/" + object + "/") }
func pendingKey(endpoint, object, delivery string) []byte {
	return append(pendingOf(endpoint, object), delivery...)
}

// Endpoint is a URL and the events that are posted to it. Times are Unix seconds.
type Endpoint struct {
	ID         string // whe_…
	Name       string
	URL        string
	EventTypes []string
	CreatedAt  int64
	UpdatedAt  int64
	DisabledAt int64  // when it was disabled because it failed; 0: it is not
	Secret     string // only in the answers that make it
	SecretHint string // how it ends
}

// endpointRecord is what is stored of an [Endpoint].
type endpointRecord struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	URL        string   `json:"url"`
	EventTypes []string `json:"event_types"`
	CreatedAt  int64    `json:"created_at"`
	UpdatedAt  int64    `json:"updated_at"`
	DisabledAt int64    `json:"disabled_at,omitempty"`
	Secret     string   `json:"secret"`
	Old        string   `json:"old,omitempty"`       // the secret before, which signs, too
	OldUntil   int64    `json:"old_until,omitempty"` // Unix seconds
}

func (r *endpointRecord) endpoint() Endpoint {
	return Endpoint{
		ID: r.ID, Name: r.Name, URL: r.URL, EventTypes: r.EventTypes, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, DisabledAt: r.DisabledAt,
		SecretHint: "…" + r.Secret[len(r.Secret)-4:],
	}
}

// secrets are those that sign at a time.
func (r *endpointRecord) secrets(now int64) []string {
	if r.Old != "" && now < r.OldUntil {
		return []string{r.Secret, r.Old}
	}
	return []string{r.Secret}
}

// Status is what has become of a delivery.
type Status string

// The statuses of deliveries.
const (
	Pending   Status = "pending"
	Delivered Status = "delivered"
	Failed    Status = "failed" // it is not tried any more
)

// Delivery is an event for one endpoint. Times are Unix seconds, 0 for what has not
// happened.
type Delivery struct {
	ID         string // whd_…
	Endpoint   string
	Event      string // evt_…, the same for all endpoints and tries
	Type       string
	Object     string // ID of what the event is about
	CreatedAt  int64
	Status     Status
	Tries      int
	TriedAt    int64  // when it was tried last
	StatusCode int    // that it was answered with then; 0: there was no answer
	Error      string // why there was none
	NextTryAt  int64
}

// deliveryRecord is what is stored of a [Delivery], whose ID is in the key.
type deliveryRecord struct {
	Endpoint   string `json:"endpoint"`
	Event      string `json:"event"`
	Type       string `json:"type"`
	Object     string `json:"object"`
	CreatedAt  int64  `json:"created_at"`
	Status     Status `json:"status"`
	Tries      int    `json:"tries,omitempty"`
	TriedAt    int64  `json:"tried_at,omitempty"`
	StatusCode int    `json:"status_code,omitempty"`
	Error      string `json:"error,omitempty"`
	NextAt     int64  `json:"next_at,omitempty"` // Unix milliseconds, as in the queue; 0: it is not in it, or waits for one before
}

func (r *deliveryRecord) delivery(id string) Delivery {
	return Delivery{
		ID: id, Endpoint: r.Endpoint, Event: r.Event, Type: r.Type, Object: r.Object, CreatedAt: r.CreatedAt, Status: r.Status,
		Tries: r.Tries, TriedAt: r.TriedAt, StatusCode: r.StatusCode, Error: r.Error, NextTryAt: r.NextAt / 1000,
	}
}

// schedule stores a delivery that is pending, with its place in the queue if it has one.
func (r *deliveryRecord) schedule(tx storage.Tx, id string) error {
	if r.NextAt != 0 {
		if err := tx.Set(queueKey(r.Endpoint, r.NextAt, id), nil); err != nil {
			return err
		}
	}
	if err := tx.Set(pendingKey(r.Endpoint, r.Object, id), nil); err != nil {
		return err
	}
	return storage.SetJSON(tx, deliveryKey(r.Endpoint, id), r)
}

// unschedule takes a delivery out of the queue.
func (r *deliveryRecord) unschedule(tx storage.Tx, id string) error {
	if r.NextAt == 0 {
		return nil
	}
	return tx.Delete(queueKey(r.Endpoint, r.NextAt, id))
}

// end stores a delivery that is out of the queue and not tried any more. The next one
// about the same object is tried from now on.
func (r *deliveryRecord) end(tx storage.Tx, id string, now int64) error {
	r.NextAt = 0
	if err := storage.SetJSON(tx, deliveryKey(r.Endpoint, id), r); err != nil {
		return err
	}
	if err := tx.Delete(pendingKey(r.Endpoint, r.Object, id)); err != nil {
		return err
	}
	next, err := firstPending(tx, r.Endpoint, r.Object)
	if err != nil || next == "" {
		return err
	}
	waiting, err := getDelivery(tx, r.Endpoint, next)
	if err != nil || waiting.NextAt != 0 {
		return err
	}
	waiting.NextAt = now
	return waiting.schedule(tx, next)
}

// firstPending returns the oldest delivery about an object that is pending, empty for
// none.
func firstPending(tx storage.Tx, endpoint, object string) (id string, err error) {
	first := storage.Prefix(pendingOf(endpoint, object))
	first.KeysOnly, first.Limit = true, 1
	for e, err := range tx.Scan(first) {
		return string(e.Key[len(first.Start):]), err
	}
	return "", nil
}

// The codes of NotFound errors.
const (
	CodeNotFound         = "webhook_endpoint_not_found"
	CodeDeliveryNotFound = "webhook_delivery_not_found"
)

func getEndpoint(tx storage.Tx, id string) (*endpointRecord, error) {
	r := &endpointRecord{}
	err := storage.GetJSON(tx, endpointKey(id), r)
	if errors.Is(err, storage.ErrNotFound) {
		err = fault.Missing(CodeNotFound, "webhook endpoint", id)
	}
	return r, err
}

func getDelivery(tx storage.Tx, endpoint, id string) (*deliveryRecord, error) {
	r := &deliveryRecord{}
	err := storage.GetJSON(tx, deliveryKey(endpoint, id), r)
	if errors.Is(err, storage.ErrNotFound) {
		err = fault.Missing(CodeDeliveryNotFound, "webhook delivery", id)
	}
	return r, err
}

// endpoints returns those of a namespace.
func endpoints(tx storage.Tx) (found []endpointRecord, err error) {
	for e, err := range tx.Scan(storage.Prefix([]byte(endpointPrefix))) {
		if err != nil {
			return nil, err
		}
		var r endpointRecord
		if err := json.Unmarshal(e.Value, &r); err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	return found, nil
}

// endpointIDs returns the IDs of the endpoints of a namespace.
func endpointIDs(tx storage.Tx) (ids []string, err error) {
	r := storage.Prefix([]byte(endpointPrefix))
	r.KeysOnly = true
	for e, err := range tx.Scan(r) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, string(e.Key[len(endpointPrefix):]))
	}
	return ids, nil
}
