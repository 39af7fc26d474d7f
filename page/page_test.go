package page_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

func TestWithin(t *testing.T) {
	for name, test := range map[string]struct {
		params page.Params
		want   page.Params
		param  string // at fault
	}{
		"default":  {page.Params{After: "file_x"}, page.Params{Limit: 20, After: "file_x"}, ""},
		"smallest": {page.Params{Limit: 1}, page.Params{Limit: 1}, ""},
		"largest":  {page.Params{Limit: 100, Desc: true}, page.Params{Limit: 100, Desc: true}, ""},
		"negative": {page.Params{Limit: -1}, page.Params{}, "limit"},
		"over":     {page.Params{Limit: 101}, page.Params{}, "limit"},
		"cursor":   {page.Params{After: "file_" + strings.Repeat("x", 252)}, page.Params{}, "after"},
		"kind":     {page.Params{After: "files_x"}, page.Params{}, "after"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := page.Within(test.params, 100, "file")
			if test.param != "" {
				if e := fault.From(err); e == nil || e.Kind != fault.Invalid || e.Param != test.param {
					t.Errorf("got %+v, want an Invalid error about %s", e, test.param)
				}
			} else if err != nil || got != test.want {
				t.Errorf("got %+v, %v, want %+v", got, err, test.want)
			}
		})
	}
	if _, err := page.Within(page.Params{After: "x"}, 100, ""); err != nil {
		t.Errorf("a list without a kind: %v", err)
	}
}

func TestRead(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	err := store.Update(context.Background(), "ns", func(tx storage.Tx) error {
		for _, key := range []string{"k/", "k0", "l/a", "l/b", "l/bb", "l/c", "l/skip", "l/z", "l0", "m/a"} {
			if err := tx.Set([]byte(key), nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		params page.Params
		want   string // the items
		more   bool
	}{
		"all":                 {page.Params{Limit: 9}, "a b bb c z", false},
		"just all":            {page.Params{Limit: 5}, "a b bb c z", false},
		"first":               {page.Params{Limit: 2}, "a b", true},
		"next":                {page.Params{Limit: 2, After: "b"}, "bb c", true},
		"last":                {page.Params{Limit: 2, After: "c"}, "z", false},
		"past the last":       {page.Params{Limit: 2, After: "z"}, "", false},
		"after a deleted one": {page.Params{Limit: 1, After: "ba"}, "bb", true},
		"descending":          {page.Params{Limit: 2, Desc: true}, "z c", true},
		"descending, next":    {page.Params{Limit: 2, Desc: true, After: "c"}, "bb b", true},
		"descending, last":    {page.Params{Limit: 2, Desc: true, After: "b"}, "a", false},
		"descending, past it": {page.Params{Limit: 2, Desc: true, After: "a"}, "", false},
		"skipped one is last": {page.Params{Limit: 1, After: "c"}, "z", false},
	} {
		t.Run(name, func(t *testing.T) {
			var after []byte
			if test.params.After != "" {
				after = []byte("l/" + test.params.After)
			}
			got, err := read(store, page.Range(test.params, []byte("l/"), after), test.params.Limit)
			want := page.Page[string]{Items: append([]string{}, strings.Fields(test.want)...), HasMore: test.more}
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		})
	}
}

// read pages through names, leaving out the one called skip.
func read(store storage.Store, r storage.Range, limit int) (result page.Page[string], err error) {
	err = store.View(context.Background(), "ns", func(tx storage.Tx) error {
		var err error
		result, err = page.Read(tx, r, limit, func(e storage.Entry) (string, bool, error) {
			name := strings.TrimPrefix(string(e.Key), "l/")
			return name, name != "skip", nil
		})
		return err
	})
	return result, err
}

func TestReadReturnsTheErrorOfAnObject(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	broken := errors.New("broken")
	err := store.Update(context.Background(), "ns", func(tx storage.Tx) error {
		if err := tx.Set([]byte("a"), nil); err != nil {
			return err
		}
		_, err := page.Read(tx, storage.Range{}, 1, func(storage.Entry) (int, bool, error) { return 0, true, broken })
		return err
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

func TestOf(t *testing.T) {
	all := []string{"a", "b", "c", "d"}
	for name, test := range map[string]struct {
		params page.Params
		want   string
		more   bool
	}{
		"all":                 {page.Params{Limit: 9}, "a b c d", false},
		"just all":            {page.Params{Limit: 4}, "a b c d", false},
		"first":               {page.Params{Limit: 3}, "a b c", true},
		"next":                {page.Params{Limit: 1, After: "b"}, "c", true},
		"last":                {page.Params{Limit: 3, After: "c"}, "d", false},
		"past the last":       {page.Params{Limit: 3, After: "d"}, "", false},
		"descending":          {page.Params{Limit: 3, Desc: true}, "d c b", true},
		"descending, next":    {page.Params{Limit: 1, Desc: true, After: "c"}, "b", true},
		"descending, last":    {page.Params{Limit: 3, Desc: true, After: "b"}, "a", false},
		"descending, past it": {page.Params{Limit: 3, Desc: true, After: "a"}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := page.Of(all, strings.Clone, test.params)
			want := page.Page[string]{Items: append([]string{}, strings.Fields(test.want)...), HasMore: test.more}
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		})
	}
	if strings.Join(all, "") != "abcd" {
		t.Errorf("the list has become %v", all)
	}
	empty, err := page.Of(nil, strings.Clone, page.Params{Limit: 1})
	if err != nil || empty.Items == nil || len(empty.Items) > 0 || empty.HasMore {
		t.Errorf("got %+v, %v", empty, err)
	}
	_, err = page.Of(all, strings.Clone, page.Params{Limit: 1, After: "e"})
	if want := fault.Invalidf("after", "after is not the ID of an object in this list."); !reflect.DeepEqual(err, error(want)) {
		t.Errorf("got %v, want %v", err, want)
	}
}
