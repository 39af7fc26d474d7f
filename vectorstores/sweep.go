package vectorstores

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
)

const (
	// deleteBudget is how many records of chunks the transaction deletes that removes a
	// file, and sweepPiece how many each transaction of the background work does.
	deleteBudget = 5000
	sweepPiece   = 2000
)

// expiring is work that has no record but the time at which a store may have expired,
// which is its object.
const expiring kind = "x"

// caller is who the background work of an organization reads for.
func caller(ns storage.Namespace) accounts.Caller { return accounts.Caller{Organization: string(ns)} }

func parseExpiry(key []byte) (at int64, store string) {
	rest := key[len(expiryPrefix):]
	if len(rest) < 8 {
		return 0, ""
	}
	return int64(binary.BigEndian.Uint64(rest)), string(rest[8:])
}

// deleteData deletes chunks and their words, as many as the budget allows, and leaves
// the rest to the sweep.
func deleteData(tx storage.Tx, store, data string, budget *int) error {
	for _, prefix := range [][]byte{blocksOf(store, data), segmentsOf(store, data), vectorsOf(store, data)} {
		n, err := deletePrefix(tx, prefix, *budget)
		if err != nil {
			return err
		}
		if *budget -= n; *budget <= 0 {
			return tx.Set(work{sweeping, store, data}.key(), nil)
		}
	}
	return nil
}

// deletePrefix deletes keys with a prefix, up to most, and returns how many.
func deletePrefix(tx storage.Tx, prefix []byte, most int) (n int, err error) {
	if most <= 0 {
		return 0, nil
	}
	r := storage.Prefix(prefix)
	r.KeysOnly, r.Limit = true, most
	var keys [][]byte
	for e, err := range tx.Scan(r) {
		if err != nil {
			return 0, err
		}
		if keys = append(keys, e.Key); len(keys) == most {
			break
		}
	}
	for _, key := range keys {
		if err := tx.Delete(key); err != nil {
			return 0, err
		}
	}
	return len(keys), nil
}

// sweep deletes chunks that belong to no file.
func (s *Service) sweep(ctx context.Context, ns storage.Namespace, w work) error {
	return s.clear(ctx, ns, w, blocksOf(w.store, w.object), segmentsOf(w.store, w.object), vectorsOf(w.store, w.object))
}

// clear deletes all keys with the prefixes, in pieces, and with the last piece the
// work.
func (s *Service) clear(ctx context.Context, ns storage.Namespace, w work, prefixes ...[]byte) error {
	for done := false; !done; {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := s.o.Store.Update(ctx, ns, func(tx storage.Tx) error {
			storage.UseReserve(tx)
			left := sweepPiece
			for _, prefix := range prefixes {
				n, err := deletePrefix(tx, prefix, left)
				if err != nil {
					return err
				}
				left -= n
			}
			if done = left > 0; done {
				return tx.Delete(w.key())
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// drop removes what a store has had.
func (s *Service) drop(ctx context.Context, ns storage.Namespace, w work) error {
	for left := true; left; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if left, err = s.dropFiles(ctx, ns, w.store); err != nil {
			return err
		}
	}
	store := w.store
	return s.clear(ctx, ns, w, batchesOf(store), listsOf(store), entriesOf(store), []byte("s/c/"+store+"/"), []byte("s/p/"+store+"/"), []byte("s/u/"+store+"/"),
		[]byte(workPrefix+string(sweeping)+"/"+store+"/"), []byte(workPrefix+string(indexing)+"/"+store+"/"))
}

// dropFiles removes some files of a store and reports whether there may be more.
func (s *Service) dropFiles(ctx context.Context, ns storage.Namespace, store string) (left bool, err error) {
	prefix := filesOf(store)
	err = s.o.Store.Update(ctx, ns, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		r := storage.Prefix(prefix)
		r.KeysOnly, r.Limit = true, sweepPiece
		var names []string
		for e, err := range tx.Scan(r) {
			if err != nil {
				return err
			}
			if names = append(names, string(e.Key[len(prefix):])); len(names) == sweepPiece {
				break
			}
		}
		left = len(names) == sweepPiece
		for _, file := range names {
			err := errors.Join(tx.Delete(fileKey(store, file)), tx.Delete(memberKey(file, store)), tx.Delete(work{indexing, store, file}.key()))
			if err != nil {
				return err
			}
		}
		return nil
	})
	return left, err
}

// expire looks at a store that may have expired: if it has, its files leave it.
func (s *Service) expire(ctx context.Context, ns storage.Namespace, w work) error {
	at := int64(binary.BigEndian.Uint64([]byte(w.object)))
	return s.o.Store.Update(ctx, ns, func(tx storage.Tx) error {
		storage.UseReserve(tx)
		if err := tx.Delete(expiryKey(at, w.store)); err != nil {
			return err
		}
		r, err := getStore(tx, w.store)
		if fault.Is(err, fault.NotFound) {
			return nil
		}
		if err != nil || r.Expired || r.ExpiryDays == 0 {
			return err
		}
		if !r.expired(s.o.Now().Unix()) {
			return r.schedule(tx, w.store) // it was used meanwhile
		}
		r.Expired, r.Files, r.Bytes, r.Chunks = true, Counts{}, 0, 0
		r.Changed++
		return errors.Join(r.set(tx, w.store), tx.Set(work{kind: dropping, store: w.store}.key(), nil))
	})
}
