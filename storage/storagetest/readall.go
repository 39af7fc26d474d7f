package storagetest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
)

// readAllRules are the rules of a storage.Snapshotter.
var readAllRules = []rule{
	{"everything is every namespace's entries, in key order", func(t *testing.T, s storage.Store) {
		long := storage.Namespace(strings.Repeat("n", storage.MaxNamespace))
		for _, ns := range []storage.Namespace{"b", "a", long, "ab"} {
			db{t, s, ns}.set("k2", string(ns)+"2", "k1", "", "\xff\xff", "3", "\x00", "0")
		}
		db{t, s, "b"}.update(func(tx storage.Tx) error { return tx.Delete([]byte("k2")) })
		whole(t, s, "a/\x00=0", "a/k1=", "a/k2=a2", "a/\xff\xff=3", "b/\x00=0", "b/k1=", "b/\xff\xff=3",
			"ab/\x00=0", "ab/k1=", "ab/k2=ab2", "ab/\xff\xff=3",
			string(long)+"/\x00=0", string(long)+"/k1=", string(long)+"/k2="+string(long)+"2", string(long)+"/\xff\xff=3")
	}},
	{"everything of an empty store is nothing", func(t *testing.T, s storage.Store) { whole(t, s) }},
	{"everything is as it was when reading began", func(t *testing.T, s storage.Store) {
		d := db{t, s, ns}
		now := []string{"org/a=1", "org/b=2"}
		d.set("a", "1", "b", "2")
		var want, got []string
		readAll(t, s, func(scan storage.ScanAll) error {
			want = now
			for r, err := range scan(true) {
				if err != nil {
					return err
				}
				if r.Value != nil {
					t.Errorf("a scan of keys yields %+v", r)
				}
				d.set("a", "changed", "a1", "new")
				db{t, s, "other"}.set("a", "1")
				now = []string{"org/a=changed", "org/a1=new", "org/b=2", "other/a=1"}
			}
			var err error
			got, err = list(t, scan)
			return err
		})
		if !slices.Equal(byNamespace(got), byNamespace(want)) {
			t.Errorf("got %q, want %q", got, want)
		}
		whole(t, s, "org/a=changed", "org/a1=new", "org/b=2", "other/a=1")
	}},
	{"reading everything returns the function's error", func(t *testing.T, s storage.Store) {
		again(t, func() error {
			err := storage.ReadAll(context.Background(), s, func(storage.ScanAll) error { return errTest })
			if err == errTest {
				return nil
			}
			return err
		})
	}},
	{"reading everything ends with its context", func(t *testing.T, s storage.Store) {
		db{t, s, ns}.set("a", "1", "b", "2")
		again(t, func() error {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var last error
			count := 0
			err := storage.ReadAll(ctx, s, func(scan storage.ScanAll) error {
				for _, last = range scan(false) {
					if ctx.Err() == nil && last != nil {
						return last
					}
					count++
					cancel()
				}
				return nil
			})
			if ctx.Err() != nil && (!errors.Is(err, context.Canceled) || !errors.Is(last, context.Canceled) || count != 2) {
				t.Errorf("got %v, the scan yielded %d and at last %v", err, count, last)
			}
			if ctx.Err() != nil {
				return nil
			}
			return err
		})
	}},
	{"a closed store cannot be read", func(t *testing.T, s storage.Store) {
		closeStore(t, s)
		if err := storage.ReadAll(context.Background(), s, func(storage.ScanAll) error { return nil }); !errors.Is(err, storage.ErrClosed) {
			t.Errorf("got %v", err)
		}
	}},
}

// again calls do until it has no error that a network may have: what reads
// everything is not run again by a store, because nobody knows where it puts it.
func again(t *testing.T, do func() error) {
	t.Helper()
	err := do()
	for range 100 {
		if !errors.Is(err, storage.ErrUnavailable) && !errors.Is(err, storage.ErrConflict) {
			break
		}
		err = do()
	}
	if err != nil {
		t.Error(err)
	}
}

// readAll has fn read everything, again where the store cannot go on.
func readAll(t *testing.T, s storage.Store, fn func(storage.ScanAll) error) {
	t.Helper()
	again(t, func() error { return storage.ReadAll(context.Background(), s, fn) })
}

// whole compares everything that a store holds with namespace/key=value.
func whole(t *testing.T, s storage.Store, want ...string) {
	t.Helper()
	var got []string
	readAll(t, s, func(scan storage.ScanAll) (err error) {
		got, err = list(t, scan)
		return err
	})
	if got, want = byNamespace(got), byNamespace(want); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// list returns namespace/key=value of everything.
func list(t *testing.T, scan storage.ScanAll) (all []string, err error) {
	t.Helper()
	for r, err := range scan(false) {
		if err != nil {
			return nil, err
		}
		if r.Value == nil {
			t.Errorf("%s/%s has a nil value", r.Namespace, r.Key)
		}
		all = append(all, string(r.Namespace)+"/"+string(bytes.Join([][]byte{r.Key, r.Value}, []byte("="))))
	}
	return all, nil
}

// byNamespace brings records into the order of their namespaces and leaves those
// of one as they are, unless they do not stand together.
func byNamespace(records []string) []string {
	ns := func(record string) string { name, _, _ := strings.Cut(record, "/"); return name }
	var seen []string
	for i, r := range records {
		if i > 0 && ns(records[i-1]) == ns(r) {
			continue
		}
		if slices.Contains(seen, ns(r)) {
			return append([]string{"torn apart"}, records...)
		}
		seen = append(seen, ns(r))
	}
	sorted := slices.Clone(records)
	slices.SortStableFunc(sorted, func(a, b string) int { return strings.Compare(ns(a), ns(b)) })
	return sorted
}
