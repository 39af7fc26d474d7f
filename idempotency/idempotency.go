// Package idempotency lets a request be sent again without being done again: the
// first answer to a key is kept for a day and given to whoever sends the same
// again.
//
// [Service.Begin] takes a [Request]. It returns a [Claim] where the request is the
// first with its key, which then ends with an answer or without; and the answer of
// the first one otherwise, for which it waits while that one runs. Claims are in
// the store, so that they hold in every process on it. A claim is renewed while it
// is held: that of a process that died is free again after half a minute.
//
// What a request does it says with [Claim.Did], in the transaction that does it: from
// then on nobody does it again, whatever becomes of the process and its answer.
//
// An answer is kept sealed with the key that it was asked for with, of which the
// store has only a hash: nobody reads it without the request's sender.
package idempotency

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/storage"
)

// CodeReused is the code of the Conflict error for a key that stands for another
// request.
const CodeReused = "idempotency_key_reused"

const (
	keep     = 24 * time.Hour         // how long an answer is kept
	lease    = 30 * time.Second       // how long a claim holds that nobody renews
	renewal  = 10 * time.Second       // how often it is renewed
	look     = 250 * time.Millisecond // how often one that waits looks
	swept    = 16                     // expired records that a claim takes away
	piece    = 4 << 20                // bytes of an answer in one value
	maxBytes = 12 << 20               // bytes of an answer that is kept
)

// Options are what a Service is made of. Only Store is required.
type Options struct {
	Store storage.Store
	Now   func() time.Time // the clock; nil: time.Now
	Log   *slog.Logger     // where failures go that nobody can be told; nil: slog.Default()
}

// Service keeps claims and answers. Its methods may be called concurrently.
type Service struct {
	store *storage.DB
	now   func() time.Time
	log   *slog.Logger
}

// New returns a Service over a store, which it does not close.
func New(o Options) *Service {
	s := &Service{store: storage.Use(o.Store)}
	if o.Now == nil {
		o.Now = time.Now
	}
	s.now, s.log = o.Now, cmp.Or(o.Log, slog.Default())
	return s
}

// Request is what must not be done twice.
type Request struct {
	Namespace storage.Namespace // of whom it is done for
	Route     string            // where it was sent
	Key       string            // of its sender
	Body      [sha256.Size]byte // hash of what was sent

	// Forget keeps no answer, only that there was one: for those who must not have
	// theirs kept.
	Forget bool
}

// Answer is what the first request was answered. Where that is lost, Object is the
// ID of what it has made and all else is empty.
type Answer struct {
	Status      int
	ContentType string
	Body        []byte
	Object      string

	Unread bool // nobody was there to read it: it is kept only where [Claim.Did] was called
}

// record is what is stored of a claim.
type record struct {
	Body    []byte `json:"body"`              // hash of the request
	Until   int64  `json:"until"`             // Unix milliseconds: when it is free again
	Holder  int64  `json:"holder"`            // tells claims of one key apart
	Did     bool   `json:"did,omitempty"`     // what was asked for is done
	Object  string `json:"object,omitempty"`  // the ID of what that made
	Done    bool   `json:"done,omitempty"`    // there was an answer, or there will be none
	Status  int    `json:"status,omitempty"`  // of the answer; 0 where it is not kept
	Kind    string `json:"kind,omitempty"`    // its content type
	Pieces  int    `json:"pieces,omitempty"`  // of its sealed body
	Expires int64  `json:"expires,omitempty"` // as in its place in the index
}

// The keys in a namespace:
//
//	idem/r/{hash}          a record
//	idem/p/{hash}{n}       a piece of its sealed answer
//	idem/x/{expires}{hash} where records are that expire, in Unix milliseconds
func recordKey(id []byte) []byte { return append([]byte("idem/r/"), id...) }

func pieceKey(id []byte, n int) []byte {
	return binary.BigEndian.AppendUint32(append([]byte("idem/p/"), id...), uint32(n))
}

func expiryKey(at int64, id []byte) []byte {
	return append(binary.BigEndian.AppendUint64([]byte("idem/x/"), uint64(at)), id...)
}

// id names a request's record: nothing in the store tells the key.
func (r *Request) id() []byte {
	sum := sha256.Sum256([]byte("svc idempotency\x00" + r.Route + "\x00" + r.Key))
	return sum[:]
}

// Begin claims the request's key. Exactly one of the claim and the answer is not
// nil where the error is. The error is a Conflict where the key stands for another
// request, or where the answer to it was not kept, and the context's.
func (s *Service) Begin(ctx context.Context, r Request) (*Claim, *Answer, error) {
	for {
		claim, answer, err := s.try(ctx, &r)
		if err != nil || claim != nil || answer != nil {
			return claim, answer, err
		}
		if !background.Sleep(ctx, look) {
			return nil, nil, ctx.Err()
		}
	}
}

// try claims the key, or reads the answer to it. With neither another one holds
// it.
func (s *Service) try(ctx context.Context, r *Request) (*Claim, *Answer, error) {
	id := r.id()
	var found record
	var sealed []byte
	claimed := false
	err := s.store.Update(ctx, r.Namespace, func(tx storage.Tx) error {
		found, sealed, claimed = record{}, nil, false
		err := storage.GetJSON(tx, recordKey(id), &found)
		now := s.now().UnixMilli()
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
		if err == nil && (now < found.Until || found.Did && now < found.Expires) {
			sealed, err = pieces(tx, id, found.Pieces)
			return err
		}
		claimed = true
		if err := errors.Join(sweep(tx, now), remove(tx, id, found.Pieces)); err != nil {
			return err
		}
		found = record{Body: r.Body[:], Until: now + lease.Milliseconds(), Holder: rand.Int64()}
		return s.write(tx, id, &found, now)
	})
	switch {
	case err != nil:
		return nil, nil, err
	case claimed:
		return s.hold(ctx, r, id, found), nil, nil
	case string(found.Body) != string(r.Body[:]):
		return nil, nil, conflict("The Idempotency-Key was sent with another request before.")
	case !found.Done && s.now().UnixMilli() < found.Until:
		return nil, nil, nil
	case found.Status == 0 && found.Object != "":
		return nil, &Answer{Object: found.Object}, nil
	case found.Status == 0:
		return nil, nil, NotKept("")
	}
	body, err := open(r.Key, sealed)
	if err != nil {
		return nil, nil, fault.From(err)
	}
	return nil, &Answer{Status: found.Status, ContentType: found.Kind, Body: body}, nil
}

// NotKept is the Conflict error for a request that is done and whose answer
// nobody has; object is the ID of what it made, if it has one.
func NotKept(object string) error {
	made := ""
	if object != "" {
		made = " It made " + object + "."
	}
	return conflict("The Idempotency-Key was sent before, and the answer to it was not kept." + made)
}

func conflict(message string) error {
	return &fault.Error{Kind: fault.Conflict, Code: CodeReused, Message: message}
}

// write stores a record under a place in the index of those that expire.
func (s *Service) write(tx storage.Tx, id []byte, r *record, now int64) error {
	if r.Expires == 0 {
		r.Expires = now + keep.Milliseconds()
	}
	if err := tx.Set(expiryKey(r.Expires, id), nil); err != nil {
		return err
	}
	return storage.SetJSON(tx, recordKey(id), r)
}

// sweep removes some of what has expired.
func sweep(tx storage.Tx, now int64) error {
	const prefix = len("idem/x/") + 8
	var expired [][]byte
	for e, err := range tx.Scan(storage.Range{Start: expiryKey(0, nil), End: expiryKey(now, nil), KeysOnly: true, Limit: swept}) {
		if err != nil {
			return err
		}
		expired = append(expired, e.Key)
	}
	for _, key := range expired {
		id := key[prefix:]
		var r record
		err := storage.GetJSON(tx, recordKey(id), &r)
		if err == nil && r.Expires <= now { // and not another one of the key since
			err = remove(tx, id, r.Pieces)
		}
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
		if err := tx.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a record and its answer.
func remove(tx storage.Tx, id []byte, pieces int) error {
	for n := range pieces {
		if err := tx.Delete(pieceKey(id, n)); err != nil {
			return err
		}
	}
	return tx.Delete(recordKey(id))
}

func pieces(tx storage.Tx, id []byte, n int) ([]byte, error) {
	var whole []byte
	for i := range n {
		value, err := tx.Get(pieceKey(id, i))
		if err != nil {
			return nil, err
		}
		whole = append(whole, value...)
	}
	return whole, nil
}

// Claim is the right to do a request. It must be ended.
type Claim struct {
	service *Service
	request Request
	id      []byte
	holder  int64
	stop    context.CancelFunc
	renewed sync.WaitGroup
}

// hold renews a claim until it is ended.
func (s *Service) hold(ctx context.Context, r *Request, id []byte, rec record) *Claim {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	c := &Claim{service: s, request: *r, id: id, holder: rec.Holder, stop: stop}
	c.renewed.Go(func() {
		background.Every(ctx, renewal, nil, func() {
			c.update(ctx, func(tx storage.Tx, rec record, now int64) error {
				rec.Until = now + lease.Milliseconds()
				return s.write(tx, id, &rec, now)
			})
		})
	})
	return c
}

// End ends the claim with the answer that everybody with the key gets from now
// on. Without one the key is free again, unless the request is done.
func (c *Claim) End(ctx context.Context, a *Answer) {
	c.stop()
	c.renewed.Wait()
	var sealed []byte
	if a != nil {
		sealed = seal(c.request.Key, a.Body)
	}
	c.update(context.WithoutCancel(ctx), func(tx storage.Tx, rec record, now int64) error {
		if !rec.Did && (a == nil || a.Unread) {
			return errors.Join(remove(tx, c.id, 0), tx.Delete(expiryKey(rec.Expires, c.id)))
		}
		rec.Done, rec.Until = true, rec.Expires
		if a != nil && !c.request.Forget && len(sealed) <= maxBytes {
			rec.Status, rec.Kind = a.Status, a.ContentType
			for rest := sealed; len(rest) > 0; rec.Pieces++ {
				n := min(len(rest), piece)
				if err := tx.Set(pieceKey(c.id, rec.Pieces), rest[:n]); err != nil {
					return err
				}
				rest = rest[n:]
			}
		}
		return c.service.write(tx, c.id, &rec, now)
	})
}

// update changes the claim's record unless another one holds the key by now. A
// failure is logged: the request has been done, and who sent it has its answer.
func (c *Claim) update(ctx context.Context, change func(tx storage.Tx, rec record, now int64) error) {
	err := c.service.store.Update(ctx, c.request.Namespace, func(tx storage.Tx) error {
		found, held, err := c.read(tx)
		if errors.Is(err, storage.ErrNotFound) || err == nil && (!held || found.Done) {
			return nil
		}
		if err != nil {
			return err
		}
		return change(tx, found, c.service.now().UnixMilli())
	})
	if err != nil && ctx.Err() == nil {
		c.service.log.ErrorContext(ctx, "idempotency: a claim was not kept", "err", err)
	}
}

// read reads the record of the key, and says whether it is still this claim's. The
// error is storage.ErrNotFound where there is none.
func (c *Claim) read(tx storage.Tx) (found record, held bool, err error) {
	err = storage.GetJSON(tx, recordKey(c.id), &found)
	return found, err == nil && found.Holder == c.holder, err
}

// Doing returns what calls [Claim.Did] for a request that makes nothing which can be
// read; nil for no claim.
func (c *Claim) Doing() func(storage.Tx) error {
	if c == nil {
		return nil
	}
	return func(tx storage.Tx) error { return c.Did(tx, "") }
}

// Did says that a transaction in the request's namespace does what the request
// asks for: once it is committed the request is never done again, whether or not
// its answer is kept. object is the ID of what it makes, empty where that cannot
// be read. The error is a Conflict where the claim has run out and another one
// has the key: the transaction is not to be committed then. No claim, a nil one,
// has nothing to say.
func (c *Claim) Did(tx storage.Tx, object string) error {
	if c == nil {
		return nil
	}
	found, held, err := c.read(tx)
	switch {
	case errors.Is(err, storage.ErrNotFound): // the store has lost it, and nobody else has the key
		now := c.service.now().UnixMilli()
		found = record{Body: c.request.Body[:], Until: now + lease.Milliseconds(), Holder: c.holder, Did: true, Object: object}
		return c.service.write(tx, c.id, &found, now)
	case err != nil:
		return err
	case !held:
		return conflict("The Idempotency-Key was sent again, and the request is done by that.")
	case found.Did:
		return nil
	}
	found.Did, found.Object = true, object
	return storage.SetJSON(tx, recordKey(c.id), found)
}
