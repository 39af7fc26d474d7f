package storagetest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
)

var valueRules = []rule{
	{"a value that was set is read back", func(t *testing.T, s storage.Store) {
		d := db{t, s, ns}
		d.set("a", "1", "b", "2")
		d.want("a", "1", "b", "2")
	}},
	{"a key that does not exist is not found", func(t *testing.T, s storage.Store) {
		err := s.View(context.Background(), ns, func(tx storage.Tx) error {
			_, err := tx.Get([]byte("a"))
			return err
		})
		if !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("Get: %v, want ErrNotFound", err)
		}
	}},
	{"setting a key again replaces its value", func(t *testing.T, s storage.Store) {
		d := db{t, s, ns}
		d.set("a", "1", "a", "2")
		d.want("a", "2")
		d.set("a", "3")
		d.want("a", "3")
	}},
	{"a deleted key is gone and can be set again", func(t *testing.T, s storage.Store) {
		d := db{t, s, ns}
		d.set("a", "1", "b", "2")
		d.update(func(tx storage.Tx) error { return tx.Delete([]byte("a")) })
		d.want("b", "2")
		d.set("a", "3")
		d.want("a", "3", "b", "2")
	}},
	{"deleting a key that does not exist is no error", func(t *testing.T, s storage.Store) {
		d := db{t, s, ns}
		d.update(func(tx storage.Tx) error { return tx.Delete([]byte("a")) })
		d.want()
	}},
	{"keys that a transaction says it will read are read as without", testPrefetch},
	{"an empty value exists and a nil value is an empty one", testEmptyValues},
	{"keys and values may hold any bytes", testAnyBytes},
	{"a transaction reads its own writes", func(t *testing.T, s storage.Store) {
		d := db{t, s, ns}
		d.set("a", "1", "b", "2")
		var got [3]string
		d.update(func(tx storage.Tx) (err error) {
			if err := errors.Join(setAll(tx, "a", "3", "c", "4"), tx.Delete([]byte("b"))); err != nil {
				return err
			}
			for i, key := range []string{"a", "b", "c"} {
				if got[i], err = get(tx, key); err != nil {
					return err
				}
			}
			return nil
		})
		if want := [3]string{"3", "-", "4"}; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}},
	{"the bytes that a read returns are the caller's", testReadOwnership},
	{"the caller may reuse keys and values when the transaction has ended", func(t *testing.T, s storage.Store) {
		d := db{t, s, ns}
		key, value := []byte("a"), []byte("1")
		d.update(func(tx storage.Tx) error { return tx.Set(key, value) })
		key[0], value[0] = 'z', '9'
		d.want("a", "1")
	}},
	{"Get does not keep its key", func(t *testing.T, s storage.Store) {
		d := db{t, s, ns}
		d.set("a", "1")
		runs, overtaken := 0, false
		d.update(func(tx storage.Tx) error {
			runs++
			key := []byte("a")
			if _, err := tx.Get(key); err != nil {
				return err
			}
			key[0] = 'z'
			if !overtaken {
				d.overtake("b", "a", "2")
				overtaken = true
			}
			return setAll(tx, "b", "3")
		})
		if runs < 2 {
			t.Errorf("the function ran %d times, want 2 or more: it read a key that changed", runs)
		}
	}},
	{"a View cannot write", func(t *testing.T, s storage.Store) {
		d := db{t, s, ns}
		var set, del error
		d.view(func(tx storage.Tx) error {
			set, del = tx.Set([]byte("a"), nil), tx.Delete([]byte("a"))
			return nil
		})
		if !errors.Is(set, storage.ErrReadOnly) || !errors.Is(del, storage.ErrReadOnly) {
			t.Errorf("Set: %v, Delete: %v, want ErrReadOnly", set, del)
		}
	}},
}

func testEmptyValues(t *testing.T, s storage.Store) {
	d := db{t, s, ns}
	check := func(tx storage.Tx) error {
		for _, key := range []string{"empty", "nil"} {
			value, err := tx.Get([]byte(key))
			if err != nil {
				return err
			}
			if value == nil || len(value) != 0 {
				t.Errorf("Get(%s) = %#v, want []byte{}", key, value)
			}
		}
		for entry, err := range tx.Scan(storage.Range{}) {
			if err != nil {
				return err
			}
			if entry.Value == nil || len(entry.Value) != 0 {
				t.Errorf("Scan yields %s = %#v, want []byte{}", entry.Key, entry.Value)
			}
		}
		return nil
	}
	d.update(func(tx storage.Tx) error {
		err := errors.Join(tx.Set([]byte("empty"), []byte{}), tx.Set([]byte("nil"), nil))
		return errors.Join(err, check(tx))
	})
	d.view(check)
	d.want("empty", "", "nil", "")
}

func testAnyBytes(t *testing.T, s storage.Store) {
	d := db{t, s, ns}
	pairs := []string{
		"\x00", "\x00", "\x00\x00", "\xff", "!badger!", "x", "a", "", "a\x00", "1", "a\x00b", "2",
		"a\xff", "3", "\x80", "4", "\xff", "5", "\xff\xff", "6",
	}
	d.set(pairs...)
	d.want(pairs...)
}

func testReadOwnership(t *testing.T, s storage.Store) {
	d := db{t, s, ns}
	d.set("a", "1", "b", "2")
	spoil := func(tx storage.Tx) error {
		for _, key := range []string{"a", "b"} {
			value, err := tx.Get([]byte(key))
			if err != nil {
				return err
			}
			value[0] = 'x'
		}
		var kept []storage.Entry
		for _, reverse := range []bool{false, true} {
			for entry, err := range tx.Scan(storage.Range{Reverse: reverse}) {
				if err != nil {
					return err
				}
				entry.Key[0]++
				entry.Value[0]++
				kept = append(kept, entry)
			}
		}
		want := []storage.Entry{
			{Key: []byte("b"), Value: []byte("2")}, {Key: []byte("c"), Value: []byte("3")}, // forwards
			{Key: []byte("c"), Value: []byte("3")}, {Key: []byte("b"), Value: []byte("2")}, // and back
		}
		for i := range want {
			if !bytes.Equal(kept[i].Key, want[i].Key) || !bytes.Equal(kept[i].Value, want[i].Value) {
				t.Errorf("entry %d became %s = %s, want %s = %s",
					i, kept[i].Key, kept[i].Value, want[i].Key, want[i].Value)
			}
		}
		return nil
	}
	d.view(spoil)
	d.update(func(tx storage.Tx) error {
		if err := setAll(tx, "a", "1", "b", "2"); err != nil { // now they are the transaction's own
			return err
		}
		return spoil(tx)
	})
	d.want("a", "1", "b", "2")
}

func testPrefetch(t *testing.T, s storage.Store) {
	d := db{t, s, ns}
	large := string(bytes.Repeat([]byte("x"), 100_000))
	d.set("a", "1", "b", "2", "c", "", "large", large, "own", "3", "gone", "4")
	keys := [][]byte{[]byte("own"), []byte("a"), []byte("none"), []byte("c"), []byte("large"), []byte("gone")}
	read := func(tx storage.Tx) (got []string, err error) {
		for _, key := range []string{"b", "a", "none", "c", "large", "own", "gone", "a", "large", "none", "new"} {
			value, err := get(tx, key)
			if err != nil {
				return nil, err
			}
			got = append(got, value)
		}
		return got, nil
	}
	var got []string
	d.update(func(tx storage.Tx) (err error) {
		if err := errors.Join(setAll(tx, "own", "5", "new", "6"), tx.Delete([]byte("gone"))); err != nil {
			return err
		}
		storage.Prefetch(tx, keys...)
		storage.Prefetch(tx, []byte("new"), []byte("b"))
		got, err = read(tx)
		return err
	})
	if want := []string{"2", "1", "-", "", large, "5", "-", "1", large, "-", "6"}; !slices.Equal(got, want) {
		t.Errorf("a transaction that writes read %q, want %q", clip(got), clip(want))
	}
	d.view(func(tx storage.Tx) (err error) {
		storage.Prefetch(tx)
		storage.Prefetch(tx, []byte("a"))
		got, err = read(tx)
		return err
	})
	if want := []string{"2", "1", "-", "", large, "5", "-", "1", large, "-", "6"}; !slices.Equal(got, want) {
		t.Errorf("a transaction that reads read %q, want %q", clip(got), clip(want))
	}
}
