package idempotency

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"

	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/storage"
)

// localClaims are the claims of a process that has the store for itself.
type localClaims struct {
	mu   sync.Mutex
	held map[string][sha256.Size]byte // the hash of the request, by namespace and ID
}

func localKey(c *Claim) string { return string(c.request.Namespace) + "/" + string(c.id) }

// add claims the key and reports whether nobody else has. The error is a Conflict
// where it is claimed for another request.
func (l *localClaims) add(c *Claim) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	body, held := l.held[localKey(c)]
	if held && body != c.request.Body {
		return false, errOther
	}
	l.held[localKey(c)] = c.request.Body
	return !held, nil
}

// remove ends a claim. No local claims, nil, have none.
func (l *localClaims) remove(c *Claim) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, localKey(c))
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

// record is what is stored of a claim that has begun.
func (c *Claim) record(now int64) record {
	return record{Body: c.request.Body[:], Until: now + lease.Milliseconds(), Holder: c.holder}
}

// renew renews a claim that is in the store until it is ended.
func (c *Claim) renew(ctx context.Context) {
	ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	c.renewed.Go(func() {
		background.Every(ctx, renewal, nil, func() {
			c.update(ctx, func(tx storage.Tx, rec record, now int64) error {
				rec.Until = now + lease.Milliseconds()
				return c.service.write(tx, c.id, &rec, now)
			})
		})
	})
}

// End ends the claim with the answer that everybody with the key gets from now
// on. Without one the key is free again, unless the request is done.
func (c *Claim) End(ctx context.Context, a *Answer) {
	c.stop()
	c.renewed.Wait()
	defer c.service.local.remove(c)
	var sealed []byte
	if a != nil && !c.request.Forget {
		sealed = sealAnswer(c.request.Key, a.Body)
	}
	c.update(context.WithoutCancel(ctx), func(tx storage.Tx, rec record, now int64) error {
		if !rec.Did && (a == nil || a.Unread) {
			if rec.Expires == 0 {
				return nil // nothing is stored of it
			}
			if err := remove(tx, c.id, 0); err != nil {
				return err
			}
			return tx.Delete(expiryKey(rec.Expires, c.id))
		}
		if c.service.local != nil {
			if err := sweep(tx, now); err != nil {
				return err
			}
		}
		if rec.Expires == 0 {
			rec.Expires = now + keep.Milliseconds()
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
		now := c.service.now().UnixMilli()
		found, held, err := c.read(tx, now)
		if err != nil {
			return err
		}
		if !held || found.Done || found.Expires == 0 && c.service.local == nil {
			return nil
		}
		return change(tx, found, now)
	})
	if err != nil && ctx.Err() == nil {
		c.service.log.ErrorContext(ctx, "idempotency: a claim was not kept", "err", err)
	}
}

// read reads the record of the key, and says whether it is this claim's. Where there
// is none it is the one of a claim that has begun, with no place in the index yet: the
// claim is in memory alone, or the store has lost it. A record that blocks nobody any
// more is removed.
func (c *Claim) read(tx storage.Tx, now int64) (found record, held bool, err error) {
	err = storage.GetJSON(tx, recordKey(c.id), &found)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return c.record(now), true, nil
	case err != nil || found.Holder == c.holder:
		return found, err == nil, err
	case c.service.local != nil && !found.blocks(now):
		if err := remove(tx, c.id, found.Pieces); err != nil {
			return found, false, err
		}
		return c.record(now), true, tx.Delete(expiryKey(found.Expires, c.id))
	}
	return found, false, nil
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
	now := c.service.now().UnixMilli()
	found, held, err := c.read(tx, now)
	if err != nil {
		return err
	}
	if !held {
		return conflict("The Idempotency-Key was sent again, and the request is done by that.")
	}
	if found.Did {
		return nil
	}
	found.Did, found.Object = true, object
	return c.service.write(tx, c.id, &found, now)
}
