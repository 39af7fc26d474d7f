package storagetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
)

var isolationRules = []rule{
	{"no namespace sees another's keys", testNamespaces},
	{"an error of the function rolls back and is returned as it is", func(t *testing.T, s storage.Store) {
		d := db{t, s, ns}
		d.set("a", "1")
		fail := func(tx storage.Tx) error {
			if err := errors.Join(setAll(tx, "a", "2", "b", "2"), tx.Delete([]byte("a"))); err != nil {
				t.Error(err)
			}
			return errTest
		}
		if err := s.Update(context.Background(), ns, fail); err != errTest {
			t.Errorf("Update: %v, want the function's error", err)
		}
		if err := s.View(context.Background(), ns, func(storage.Tx) error { return errTest }); err != errTest {
			t.Errorf("View: %v, want the function's error", err)
		}
		d.want("a", "1")
	}},
	{"a panic of the function rolls back and the store goes on", func(t *testing.T, s storage.Store) {
		d := db{t, s, ns}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic did not reach the caller")
				}
			}()
			d.update(func(tx storage.Tx) error {
				if err := setAll(tx, "a", "1"); err != nil {
					return err
				}
				for range tx.Scan(storage.Range{}) {
					panic("test")
				}
				return nil
			})
		}()
		d.want()
		d.set("b", "2")
		d.want("b", "2")
	}},
	{"a View reads one snapshot", func(t *testing.T, s storage.Store) {
		d := db{t, s, ns}
		now := []string{"a", "1", "b", "2"} // what the store has, and before that what the View has to see
		d.set(now...)
		var want, pairs []string
		var got string
		d.view(func(tx storage.Tx) (err error) {
			want = now
			if _, err := get(tx, "b"); err != nil { // a snapshot is taken by the first read at the latest
				return err
			}
			d.update(func(tx storage.Tx) error {
				return errors.Join(setAll(tx, "a", "3", "c", "4"), tx.Delete([]byte("b")))
			})
			now = []string{"a", "3", "c", "4"}
			if got, err = get(tx, "a"); err != nil {
				return err
			}
			pairs, err = scan(tx, storage.Range{})
			return err
		})
		if got != want[1] || !slices.Equal(pairs, want) {
			t.Errorf("got %s and %q, want %s and %q", got, pairs, want[1], want)
		}
		d.want("a", "3", "c", "4")
	}},
	{"a View reads one snapshot while a scan is open", func(t *testing.T, s storage.Store) {
		d := db{t, s, ns}
		now := []string{"a", "1", "b", "2", "c", "3"}
		d.set(now...)
		var want, pairs []string
		d.view(func(tx storage.Tx) error {
			want, pairs = now, nil
			for entry, err := range tx.Scan(storage.Range{}) {
				if err != nil {
					return err
				}
				d.set("b", "9", "bb", "9")
				now = []string{"a", "1", "b", "9", "bb", "9", "c", "3"}
				pairs = append(pairs, string(entry.Key), string(entry.Value))
			}
			return nil
		})
		if !slices.Equal(pairs, want) {
			t.Errorf("got %q, want %q", pairs, want)
		}
	}},
	conflict("a key that was read and changed is a conflict", []string{"a", "1"}, []string{"a", "2"},
		func(tx storage.Tx) error { _, err := get(tx, "a"); return err }),
	conflict("a key that was missing and appeared is a conflict", nil, []string{"a", "2"},
		func(tx storage.Tx) error { _, err := get(tx, "a"); return err }),
	conflict("a key that appears in a scanned range is a conflict", []string{"a", "1", "c", "1"}, []string{"b", "2"},
		func(tx storage.Tx) error { _, err := scan(tx, storage.Range{}); return err }),
	conflict("a key that appears in a range that was empty is a conflict", nil, []string{"b", "2"},
		func(tx storage.Tx) error { _, err := scan(tx, storage.Prefix([]byte("b"))); return err }),
	conflict("a key that appears beyond the last of a range is a conflict", []string{"a", "1"}, []string{"b", "2"},
		func(tx storage.Tx) error { _, err := scan(tx, storage.Range{Reverse: true}); return err }),
	conflict("a value that changes in a range whose keys were scanned is a conflict", []string{"a", "1"}, []string{"a", "2"},
		func(tx storage.Tx) error { _, err := scan(tx, storage.Range{KeysOnly: true}); return err }),
	conflict("a key that appears before the one a scan stopped at is a conflict", []string{"b", "1", "c", "1"}, []string{"a", "2"},
		func(tx storage.Tx) error { return scanOne(tx, storage.Range{}) }),
	conflict("a key that appears behind the one a reverse scan stopped at is a conflict", []string{"a", "1", "b", "1"}, []string{"c", "2"},
		func(tx storage.Tx) error { return scanOne(tx, storage.Range{Reverse: true}) }),
	{"write skew over keys is prevented", func(t *testing.T, s storage.Store) {
		testSkew(t, s, func(tx storage.Tx) (int, error) {
			n := 0
			for _, key := range []string{"on/a", "on/b"} {
				value, err := get(tx, key)
				if err != nil {
					return 0, err
				}
				if value != "-" {
					n++
				}
			}
			return n, nil
		})
	}},
	{"write skew over a range is prevented", func(t *testing.T, s storage.Store) {
		testSkew(t, s, func(tx storage.Tx) (int, error) {
			pairs, err := scan(tx, storage.Prefix([]byte("on/")))
			return len(pairs) / 2, err
		})
	}},
	{"transactions of different namespaces do not conflict", func(t *testing.T, s storage.Store) {
		d, other := db{t, s, "org"}, db{t, s, "org2"}
		runs := 0
		d.update(func(tx storage.Tx) error { // it would always lose
			runs++
			if _, err := scan(tx, storage.Range{}); err != nil {
				return err
			}
			other.overtake("b", "a", strconv.Itoa(runs))
			return setAll(tx, "b", strconv.Itoa(runs))
		})
		d.want("b", strconv.Itoa(runs))
	}},
	{"a transaction that always loses ends with ErrConflict", func(t *testing.T, s storage.Store) {
		d := db{t, s, ns}
		runs := 0
		err := s.Update(context.Background(), ns, func(tx storage.Tx) error {
			if _, err := get(tx, "a"); err != nil {
				return err
			}
			runs++
			d.overtake("b", "a", strconv.Itoa(runs))
			return setAll(tx, "b", "1")
		})
		if !errors.Is(err, storage.ErrConflict) || runs < 2 {
			t.Errorf("Update: %v after %d runs, want ErrConflict after some", err, runs)
		}
		d.want("a", strconv.Itoa(runs))
	}},
	{"1,000 concurrent increments of one key lose nothing", testIncrements},
	{"concurrent transfers keep the total at all times", testTransfers},
}

// overtake commits a transaction that reads a key, which one under way is going
// to write, and changes what that one has read. Without the read the two could
// stand in the order in which they began, and a store may leave it at that.
func (d db) overtake(read string, change ...string) {
	d.t.Helper()
	d.update(func(tx storage.Tx) error {
		if _, err := get(tx, read); err != nil {
			return err
		}
		return setAll(tx, change...)
	})
}

// conflict returns the rule that a transaction which read something is run
// again, from the new state, when another one overtakes it.
func conflict(name string, before, change []string, read func(storage.Tx) error) rule {
	return rule{name, func(t *testing.T, s storage.Store) {
		d := db{t, s, ns}
		if before != nil {
			d.set(before...)
		}
		runs, overtaken := 0, false
		var fresh string
		d.update(func(tx storage.Tx) (err error) {
			runs++
			if err := read(tx); err != nil {
				return err
			}
			if fresh, err = get(tx, change[0]); err != nil {
				return err
			}
			own, err := get(tx, "z")
			if err != nil {
				return err
			}
			if own != "-" {
				t.Errorf("run %d sees what an earlier one wrote: %s", runs, own)
			}
			if !overtaken {
				d.overtake("z", change...)
				overtaken = true
			}
			return setAll(tx, "z", "9")
		})
		if runs < 2 || fresh != change[1] {
			t.Errorf("%d runs, the last read %q, want 2 or more and %q", runs, fresh, change[1])
		}
	}}
}

func scanOne(tx storage.Tx, r storage.Range) error {
	for _, err := range tx.Scan(r) {
		return err
	}
	return nil
}

// testSkew lets two transactions each take one of two away, if count says that
// there are two. Only one may succeed.
func testSkew(t *testing.T, s storage.Store, count func(storage.Tx) (int, error)) {
	d := db{t, s, ns}
	d.set("on/a", "1", "on/b", "1")
	leave := func(key string, between func()) {
		d.update(func(tx storage.Tx) error {
			n, err := count(tx)
			if err != nil || n < 2 {
				return err
			}
			if between != nil {
				between()
			}
			return tx.Delete([]byte(key))
		})
	}
	leave("on/a", func() { leave("on/b", nil) })
	d.want("on/a", "1")
}

func testNamespaces(t *testing.T, s storage.Store) {
	names := []storage.Namespace{"a", "b", "ab", "a\x00", "\x00", "\x01a", "\x81a", "\xff", "!badger!", "a\xff"}
	for i, name := range names {
		db{t, s, name}.set("b", strconv.Itoa(i), "a", strconv.Itoa(i), "\xff", strconv.Itoa(i))
	}
	for i, name := range names {
		d := db{t, s, name}
		n := strconv.Itoa(i)
		d.want("a", n, "b", n, "\xff", n)
		var reverse []string
		d.view(func(tx storage.Tx) (err error) {
			reverse, err = scan(tx, storage.Range{Reverse: true})
			return err
		})
		if want := []string{"\xff", n, "b", n, "a", n}; !slices.Equal(reverse, want) {
			t.Errorf("namespace %q in reverse: %q, want %q", name, reverse, want)
		}
	}
	db{t, s, names[0]}.update(func(tx storage.Tx) error { return tx.Delete([]byte("b")) })
	db{t, s, names[2]}.want("a", "2", "b", "2", "\xff", "2")
}

func testIncrements(t *testing.T, s storage.Store) {
	var wg sync.WaitGroup
	for range 1000 {
		wg.Go(func() {
			err := s.Update(context.Background(), ns, func(tx storage.Tx) error { return add(tx, "n", 1) })
			if err != nil {
				t.Errorf("Update: %v", err)
			}
		})
	}
	wg.Wait()
	db{t, s, ns}.want("n", "1000")
}

// add adds delta to the number under key.
func add(tx storage.Tx, key string, delta int) error {
	text, err := get(tx, key)
	if err != nil {
		return err
	}
	n := 0
	if text != "-" {
		if n, err = strconv.Atoi(text); err != nil {
			return err
		}
	}
	return setAll(tx, key, strconv.Itoa(n+delta))
}

func testTransfers(t *testing.T, s storage.Store) {
	const accounts, total = 8, 800
	d := db{t, s, ns}
	for i := range accounts {
		d.set(fmt.Sprintf("acc/%d", i), strconv.Itoa(total/accounts))
	}
	check := func(tx storage.Tx) error {
		pairs, err := scan(tx, storage.Prefix([]byte("acc/")))
		if err != nil {
			return err
		}
		sum := 0
		for pair := range slices.Chunk(pairs, 2) {
			n, err := strconv.Atoi(pair[1])
			if err != nil {
				return err
			}
			sum += n
		}
		if sum != total {
			return fmt.Errorf("the total is %d, want %d", sum, total)
		}
		return nil
	}
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 25 {
				from, to := fmt.Sprintf("acc/%d", (worker+i)%accounts), fmt.Sprintf("acc/%d", (worker*3+i*5+1)%accounts)
				err := s.Update(context.Background(), ns, func(tx storage.Tx) error {
					return errors.Join(check(tx), add(tx, from, -1), add(tx, to, 1))
				})
				if err := errors.Join(err, s.View(context.Background(), ns, check)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	d.view(check)
}
