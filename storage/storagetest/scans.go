package storagetest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
)

var scanRules = []rule{
	{"a scan yields the keys of its range in order, or in reverse", testScanBounds},
	{"a scan of a prefix yields the keys that begin with it", testScanPrefix},
	{"a scan of keys only has nil values", func(t *testing.T, s storage.Store) {
		d := db{t, s, ns}
		d.set("a", "1", "b", "2")
		d.update(func(tx storage.Tx) error {
			if err := setAll(tx, "c", "3"); err != nil {
				return err
			}
			var keys []string
			for entry, err := range tx.Scan(storage.Range{KeysOnly: true}) {
				if err != nil {
					return err
				}
				if entry.Value != nil {
					t.Errorf("%s = %q, want a nil value", entry.Key, entry.Value)
				}
				keys = append(keys, string(entry.Key))
			}
			if want := []string{"a", "b", "c"}; !slices.Equal(keys, want) {
				t.Errorf("got %q, want %q", keys, want)
			}
			return nil
		})
	}},
	{"a scan sees what the transaction wrote before", func(t *testing.T, s storage.Store) {
		d := db{t, s, ns}
		d.set("b", "1", "d", "2", "f", "3", "h", "4")
		var forward, backward []string
		d.update(func(tx storage.Tx) (err error) {
			if err := setAll(tx, "a", "5", "d", "6", "e", "7", "x", "8"); err != nil {
				return err
			}
			for _, key := range []string{"f", "x", "y"} {
				if err := tx.Delete([]byte(key)); err != nil {
					return err
				}
			}
			if forward, err = scan(tx, storage.Range{}); err != nil {
				return err
			}
			backward, err = scan(tx, storage.Range{Reverse: true})
			return err
		})
		wantForward := []string{"a", "5", "b", "1", "d", "6", "e", "7", "h", "4"}
		wantBackward := []string{"h", "4", "e", "7", "d", "6", "b", "1", "a", "5"}
		if !slices.Equal(forward, wantForward) || !slices.Equal(backward, wantBackward) {
			t.Errorf("got %q and %q, want %q and %q", forward, backward, wantForward, wantBackward)
		}
	}},
	{"a scan does not see what is written while it is open", func(t *testing.T, s storage.Store) {
		d := db{t, s, ns}
		d.set("a", "1", "b", "2", "d", "4")
		var seen []string
		d.update(func(tx storage.Tx) error {
			seen = nil
			if err := setAll(tx, "aa", "5", "e", "5"); err != nil {
				return err
			}
			for entry, err := range tx.Scan(storage.Range{}) {
				if err != nil {
					return err
				}
				seen = append(seen, string(entry.Key), string(entry.Value))
				if err := setAll(tx, "b", "9", "c", "9", "e", "9"); err != nil {
					return err
				}
				if err := tx.Delete([]byte("d")); err != nil {
					return err
				}
			}
			return nil
		})
		if want := []string{"a", "1", "aa", "5", "b", "2", "d", "4", "e", "5"}; !slices.Equal(seen, want) {
			t.Errorf("the scan saw %q, want %q", seen, want)
		}
		d.want("a", "1", "aa", "5", "b", "9", "c", "9", "e", "9")
	}},
	{"a scan may be stopped and another one begun", func(t *testing.T, s storage.Store) {
		d := db{t, s, ns}
		d.set("a", "1", "b", "2", "c", "3")
		var first, all []string
		d.update(func(tx storage.Tx) (err error) {
			first = nil
			for _, reverse := range []bool{false, true} {
				for entry, err := range tx.Scan(storage.Range{Reverse: reverse}) {
					if err != nil {
						return err
					}
					first = append(first, string(entry.Key))
					break
				}
			}
			all, err = scan(tx, storage.Range{})
			return err
		})
		if want := []string{"a", "c"}; !slices.Equal(first, want) {
			t.Errorf("got %q, want %q", first, want)
		}
		if want := []string{"a", "1", "b", "2", "c", "3"}; !slices.Equal(all, want) {
			t.Errorf("got %q, want %q", all, want)
		}
	}},
	{"a scan with a limit yields as many entries, its own writes among them", testScanLimit},
	{"a transaction behaves like an ordered map", testModel},
}

func testScanBounds(t *testing.T, s storage.Store) {
	d := db{t, s, ns}
	d.set("b", "", "bb", "", "c", "", "d", "")
	empty := []byte{}
	for _, test := range []struct {
		name       string
		start, end []byte
		want       []string
	}{
		{"all", nil, nil, []string{"b", "bb", "c", "d"}},
		{"an empty start is the first key", empty, nil, []string{"b", "bb", "c", "d"}},
		{"start is in the range", []byte("bb"), nil, []string{"bb", "c", "d"}},
		{"start need not exist", []byte("bbb"), nil, []string{"c", "d"}},
		{"end is not in the range", nil, []byte("c"), []string{"b", "bb"}},
		{"end need not exist", nil, []byte("cc"), []string{"b", "bb", "c"}},
		{"both", []byte("bb"), []byte("d"), []string{"bb", "c"}},
		{"between keys", []byte("ba"), []byte("bab"), nil},
		{"before the first", nil, []byte("a"), nil},
		{"after the last", []byte("e"), nil, nil},
		{"nothing is before an empty end", nil, empty, nil},
		{"start is end", []byte("c"), []byte("c"), nil},
		{"start is after end", []byte("d"), []byte("b"), nil},
	} {
		for _, reverse := range []bool{false, true} {
			want := slices.Clone(test.want)
			if reverse {
				slices.Reverse(want)
			}
			var got []string
			d.view(func(tx storage.Tx) error {
				got = nil
				r := storage.Range{Start: test.start, End: test.end, Reverse: reverse, KeysOnly: true}
				for entry, err := range tx.Scan(r) {
					if err != nil {
						return err
					}
					got = append(got, string(entry.Key))
				}
				return nil
			})
			if !slices.Equal(got, want) {
				t.Errorf("%s, reverse %t: got %q, want %q", test.name, reverse, got, want)
			}
		}
	}
}

func testScanLimit(t *testing.T, s storage.Store) {
	d := db{t, s, ns}
	d.set("a", "1", "c", "1", "e", "1", "g", "1")
	for _, test := range []struct {
		name  string
		limit int
		write func(storage.Tx) error

		want, reverse []string
	}{
		{"none", 0, nil, []string{"a", "c", "e", "g"}, []string{"g", "e", "c", "a"}},
		{"less than there are", 2, nil, []string{"a", "c"}, []string{"g", "e"}},
		{"more than there are", 9, nil, []string{"a", "c", "e", "g"}, []string{"g", "e", "c", "a"}},
		{"as many as there are", 4, nil, []string{"a", "c", "e", "g"}, []string{"g", "e", "c", "a"}},
		{"with others that were deleted", 2, func(tx storage.Tx) error {
			return errors.Join(tx.Delete([]byte("a")), tx.Delete([]byte("g")))
		}, []string{"c", "e"}, []string{"e", "c"}},
		{"with others that were added", 3, func(tx storage.Tx) error { return setAll(tx, "b", "2", "g", "2", "h", "2") },
			[]string{"a", "b", "c"}, []string{"h", "g", "e"}},
	} {
		for _, reverse := range []bool{false, true} {
			var got []string
			err := s.Update(t.Context(), ns, func(tx storage.Tx) error {
				got = nil
				if test.write != nil {
					if err := test.write(tx); err != nil {
						return err
					}
				}
				r := storage.Range{Limit: test.limit, Reverse: reverse, KeysOnly: true}
				for entry, err := range tx.Scan(r) {
					if err != nil {
						return err
					}
					got = append(got, string(entry.Key))
				}
				return errTest
			})
			want := test.want
			if reverse {
				want = test.reverse
			}
			if err != errTest || !slices.Equal(got, want) {
				t.Errorf("%s, reverse %t: got %q, %v, want %q", test.name, reverse, got, err, want)
			}
		}
	}
}

func testScanPrefix(t *testing.T, s storage.Store) {
	d := db{t, s, ns}
	keys := []string{"a", "a\x00", "a\xfe", "a\xff", "a\xff\xff", "b", "\xfe\xff", "\xff", "\xff\x00", "\xff\xff", "\xff\xff\xff"}
	for _, key := range keys {
		d.set(key, "")
	}
	for prefix, want := range map[string][]string{
		"a":            {"a", "a\x00", "a\xfe", "a\xff", "a\xff\xff"},
		"a\xff":        {"a\xff", "a\xff\xff"},
		"\xff":         {"\xff", "\xff\x00", "\xff\xff", "\xff\xff\xff"},
		"\xff\xff":     {"\xff\xff", "\xff\xff\xff"},
		"\xff\xff\xff": {"\xff\xff\xff"},
		"c":            nil,
		"":             keys,
	} {
		for _, reverse := range []bool{false, true} {
			want := slices.Clone(want)
			if reverse {
				slices.Reverse(want)
			}
			r := storage.Prefix([]byte(prefix))
			r.Reverse = reverse
			var got []string
			d.view(func(tx storage.Tx) error {
				got = nil
				for entry, err := range tx.Scan(r) {
					if err != nil {
						return err
					}
					got = append(got, string(entry.Key))
				}
				return nil
			})
			if !slices.Equal(got, want) {
				t.Errorf("prefix %q, reverse %t: got %q, want %q", prefix, reverse, got, want)
			}
		}
	}
}

// testModel compares random transactions with a map, with a fixed seed.
func testModel(t *testing.T, s storage.Store) {
	d := db{t, s, ns}
	random := rand.New(rand.NewPCG(1, 2))
	key := func() string {
		return string([]byte{'a' + byte(random.IntN(3)), byte(random.IntN(256))})[:1+random.IntN(2)]
	}
	committed := map[string]string{}
	for step := range 60 {
		var model map[string]string
		abandon := random.IntN(4) == 0
		err := s.Update(t.Context(), ns, func(tx storage.Tx) error {
			model = maps.Clone(committed)
			for range random.IntN(60) {
				k, v := key(), fmt.Sprint(random.IntN(1000))
				if random.IntN(3) == 0 {
					delete(model, k)
					if err := tx.Delete([]byte(k)); err != nil {
						return err
					}
					continue
				}
				model[k] = v
				if err := tx.Set([]byte(k), []byte(v)); err != nil {
					return err
				}
			}
			r := storage.Range{Start: []byte(key()), End: []byte(key()), Reverse: random.IntN(2) == 0}
			got, err := scan(tx, r)
			if err != nil {
				return err
			}
			if want := modelScan(model, r); !slices.Equal(got, want) {
				t.Errorf("step %d: %+v yields %q, want %q", step, r, got, want)
			}
			if abandon {
				return errTest
			}
			return nil
		})
		if abandon != (err == errTest) || (!abandon && err != nil) {
			t.Fatalf("step %d: Update: %v", step, err)
		}
		if !abandon {
			committed = model
		}
		d.want(modelScan(committed, storage.Range{})...)
	}
}

// modelScan returns what a scan of the range must yield.
func modelScan(model map[string]string, r storage.Range) []string {
	keys := slices.Sorted(maps.Keys(model))
	if r.Reverse {
		slices.Reverse(keys)
	}
	var pairs []string
	for _, k := range keys {
		if k >= string(r.Start) && (r.End == nil || k < string(r.End)) {
			pairs = append(pairs, k, model[k])
		}
	}
	return pairs
}
