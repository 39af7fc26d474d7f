package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
)

var limitRules = []rule{
	{"the largest namespace, key and value are taken", func(t *testing.T, s storage.Store) {
		d := db{t, s, storage.Namespace(strings.Repeat("n", storage.MaxNamespace))}
		key, value := strings.Repeat("k", storage.MaxKey), strings.Repeat("v", storage.MaxValue)
		d.set(key, value, "a", "1")
		d.want("a", "1", key, value)
		d.update(func(tx storage.Tx) error { return tx.Delete([]byte(key)) })
		d.want("a", "1")
	}},
	{"the largest transaction in bytes is taken", func(t *testing.T, s storage.Store) {
		d := db{t, s, ns}
		var pairs []string
		for i := range storage.MaxTxBytes / storage.MaxValue {
			pairs = append(pairs, fmt.Sprint(i), strings.Repeat("v", storage.MaxValue-1))
		}
		d.set(pairs...)
		d.want(pairs...)
	}},
	{"the largest transaction in bytes of small values is taken", func(t *testing.T, s storage.Store) {
		d := db{t, s, ns}
		var pairs []string
		for i := range storage.MaxTxSmall / storage.SmallValue {
			pairs = append(pairs, fmt.Sprintf("%04d", i), strings.Repeat("v", storage.SmallValue-4))
		}
		d.set(pairs...)
		d.want(pairs...)
	}},
	{"the largest transaction in writes is taken", testMostWrites},
	{"what is larger is refused and nothing is written", testTooLarge},
	{"a function that ignores a refusal commits nothing", func(t *testing.T, s storage.Store) {
		err := s.Update(context.Background(), ns, func(tx storage.Tx) error {
			tx.Set([]byte("a"), make([]byte, storage.MaxValue+1)) // its error is what is ignored
			return setAll(tx, "b", "1")
		})
		if !errors.Is(err, storage.ErrTooLarge) {
			t.Errorf("Update: %v, want ErrTooLarge", err)
		}
		db{t, s, ns}.want()
	}},
	{"a namespace that is empty or too long is refused and the function not run", func(t *testing.T, s storage.Store) {
		never := func(storage.Tx) error {
			t.Error("the function ran")
			return nil
		}
		for _, name := range []string{"", strings.Repeat("n", storage.MaxNamespace+1)} {
			view := s.View(context.Background(), storage.Namespace(name), never)
			update := s.Update(context.Background(), storage.Namespace(name), never)
			if !errors.Is(view, storage.ErrTooLarge) || !errors.Is(update, storage.ErrTooLarge) {
				t.Errorf("namespace of %d bytes: View: %v, Update: %v, want ErrTooLarge", len(name), view, update)
			}
		}
	}},
}

// testMostWrites writes as often and as much as one transaction may, in a
// namespace and under keys that are long.
func testMostWrites(t *testing.T, s storage.Store) {
	d := db{t, s, storage.Namespace(strings.Repeat("n", storage.MaxNamespace))}
	const size = storage.MaxTxSmall / storage.MaxTxWrites
	key := func(i int) []byte { return fmt.Appendf(nil, "%0*d", size-2, i) }
	d.update(func(tx storage.Tx) error {
		for i := range storage.MaxTxWrites {
			if err := tx.Set(key(i), []byte("v")); err != nil {
				return err
			}
		}
		return nil
	})
	var n int
	d.view(func(tx storage.Tx) error {
		n = 0
		for entry, err := range tx.Scan(storage.Range{}) {
			if err != nil {
				return err
			}
			if !bytes.Equal(entry.Key, key(n)) {
				t.Fatalf("entry %d is %s", n, entry.Key)
			}
			n++
		}
		return nil
	})
	if n != storage.MaxTxWrites {
		t.Errorf("%d entries, want %d", n, storage.MaxTxWrites)
	}
	d.update(func(tx storage.Tx) error {
		for i := range storage.MaxTxWrites {
			if err := tx.Delete(key(i)); err != nil {
				return err
			}
		}
		return nil
	})
	d.want()
}

// fill makes a transaction that has written "b" and "1" one byte larger than
// most, with values of up to a size.
func fill(tx storage.Tx, most, size int) error {
	const key = 2
	for n, left := 0, most+1-len("b1"); left > 0; n++ {
		value := min(size, left-key)
		if err := tx.Set([]byte{byte(n >> 8), byte(n)}, make([]byte, value)); err != nil {
			return err
		}
		left -= key + value
	}
	return nil
}

func testTooLarge(t *testing.T, s storage.Store) {
	long := make([]byte, storage.MaxKey+1)
	for _, test := range []struct {
		name string
		do   func(storage.Tx) error
	}{
		{"value", func(tx storage.Tx) error { return tx.Set([]byte("a"), make([]byte, storage.MaxValue+1)) }},
		{"key set", func(tx storage.Tx) error { return tx.Set(long, nil) }},
		{"key deleted", func(tx storage.Tx) error { return tx.Delete(long) }},
		{"key read", func(tx storage.Tx) error { _, err := tx.Get(long); return err }},
		{"empty key set", func(tx storage.Tx) error { return tx.Set(nil, nil) }},
		{"empty key deleted", func(tx storage.Tx) error { return tx.Delete([]byte{}) }},
		{"empty key read", func(tx storage.Tx) error { _, err := tx.Get(nil); return err }},
		{"bytes", func(tx storage.Tx) error {
			return fill(tx, storage.MaxTxBytes, storage.MaxValue)
		}},
		{"bytes of small values", func(tx storage.Tx) error {
			return fill(tx, storage.MaxTxSmall, storage.SmallValue)
		}},
		{"writes", func(tx storage.Tx) error {
			for range storage.MaxTxWrites {
				if err := tx.Delete([]byte("a")); err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		err := s.Update(context.Background(), ns, func(tx storage.Tx) error {
			if err := setAll(tx, "b", "1"); err != nil {
				return err
			}
			return test.do(tx)
		})
		if !errors.Is(err, storage.ErrTooLarge) {
			t.Errorf("%s: %v, want ErrTooLarge", test.name, err)
		}
		db{t, s, ns}.want()
	}
}
