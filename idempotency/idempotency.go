// Package idempotency lets a request be sent again without being done again: the
// first answer to a key is kept for a day and given to whoever sends the same
// again.
//
// [Service.Begin] takes a [Request]. It returns a [Claim] where the request is the
// first with its key, which then ends with an answer or without; and the answer of
// the first one otherwise, for which it waits while that one runs. Where several
// processes share the store, claims are in it and are renewed while they are held:
// that of a process that died is free again after half a minute. A process that has
// the store for itself keeps its claims in memory.
//
// What a request does it says with [Claim.Did], in the transaction that does it: from
// then on nobody does it again, whatever becomes of the process and its answer. A
// request so costs one transaction besides its own, which keeps the answer.
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
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/internal/seal"
	"github.com/seed-506d8e5d/svc/storage"
)

// CodeReused is the code of the Conflict error for a key that stands for another
// request.
const CodeReused = fault.CodeKeyReused

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
	local *localClaims // nil where several processes share the store
}

// New returns a Service over a store, which it does not close.
func New(o Options) *Service {
	s := &Service{store: storage.Use(o.Store)}
	if o.Now == nil {
		o.Now = time.Now
	}
	s.now, s.log = o.Now, cmp.Or(o.Log, slog.Default())
	if !s.store.Shared() {
		s.local = &localClaims{held: map[string][sha256.Size]byte{}}
	}
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
	c := &Claim{service: s, request: *r, id: r.id(), holder: rand.Int64(), stop: func() {}}
	claimed := true
	if s.local != nil {
		var err error
		if claimed, err = s.local.add(c); err != nil {
			return nil, nil, err
		}
	}
	find := s.claim
	if s.local != nil {
		find = s.find
	}
	found, sealed, err := find(ctx, c)
	now := s.now().UnixMilli()
	blocked := found.Holder != c.holder && found.blocks(now)
	if claimed && (err != nil || blocked) {
		s.local.remove(c)
	}
	switch {
	case err != nil:
		return nil, nil, err
	case claimed && !blocked:
		if s.local == nil {
			c.renew(ctx)
		}
		return c, nil, nil
	case !blocked: // by a request of this process that has stored nothing yet
		return nil, nil, nil
	case string(found.Body) != string(r.Body[:]):
		return nil, nil, errOther
	case !found.Done && now < found.Until:
		return nil, nil, nil
	case found.Status == 0 && found.Object != "":
		return nil, &Answer{Object: found.Object}, nil
	case found.Status == 0:
		return nil, nil, NotKept("")
	}
	body, err := openAnswer(r.Key, sealed)
	if err != nil {
		return nil, nil, fault.From(err)
	}
	return nil, &Answer{Status: found.Status, ContentType: found.Kind, Body: body}, nil
}

// blocks reports whether nobody else may claim the key of a record.
func (r *record) blocks(now int64) bool { return now < r.Until || r.Did && now < r.Expires }

// find reads the record of a claim's key and the answer, the zero record where there
// is none.
func (s *Service) find(ctx context.Context, c *Claim) (found record, sealed []byte, err error) {
	err = s.store.View(ctx, c.request.Namespace, func(tx storage.Tx) error {
		found, sealed = record{}, nil
		err := storage.GetJSON(tx, recordKey(c.id), &found)
		if errors.Is(err, storage.ErrNotFound) || err == nil && !found.blocks(s.now().UnixMilli()) {
			return nil
		}
		if err == nil {
			sealed, err = pieces(tx, c.id, found.Pieces)
		}
		return err
	})
	return found, sealed, err
}

// claim is find that stores the claim where nothing blocks it.
func (s *Service) claim(ctx context.Context, c *Claim) (found record, sealed []byte, err error) {
	err = s.store.Update(ctx, c.request.Namespace, func(tx storage.Tx) error {
		found, sealed = record{}, nil
		err := storage.GetJSON(tx, recordKey(c.id), &found)
		now := s.now().UnixMilli()
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
		if err == nil && found.blocks(now) {
			sealed, err = pieces(tx, c.id, found.Pieces)
			return err
		}
		if err := sweep(tx, now); err != nil {
			return err
		}
		if err := remove(tx, c.id, found.Pieces); err != nil {
			return err
		}
		found = c.record(now)
		return s.write(tx, c.id, &found, now)
	})
	return found, sealed, err
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

var errOther = conflict("The Idempotency-Key was sent with another request before.")

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

// answerKey is what the answers to a key are sealed with.
func answerKey(key string) []byte {
	sum := sha256.Sum256([]byte("svc idempotent answer\x00" + key))
	return sum[:]
}

func sealAnswer(key string, body []byte) []byte {
	sealed, err := seal.Seal(answerKey(key), body, nil)
	if err != nil {
		panic(err) // the key has the length of one
	}
	return sealed
}

func openAnswer(key string, sealed []byte) ([]byte, error) {
	return seal.Open(answerKey(key), sealed, nil)
}
