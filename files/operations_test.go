package files

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

func listed(p page.Page[File]) string {
	var names []string
	for _, f := range p.Items {
		names = append(names, strings.TrimPrefix(f.ID, "file_0000"))
	}
	if p.HasMore {
		names = append(names, "…")
	}
	return strings.Join(names, " ")
}

func TestList(t *testing.T) {
	e := newEnv(t, nil)
	for range 5 {
		e.create("text/plain", "x")
	}
	for _, c := range []struct {
		rule, purpose string
		params        page.Params
		want          string
	}{
		{"oldest first", "", page.Params{}, "1 2 3 4 5"},
		{"newest first", "", page.Params{Desc: true}, "5 4 3 2 1"},
		{"limit", "", page.Params{Limit: 2}, "1 2 …"},
		{"after", "", page.Params{Limit: 2, After: "file_00002"}, "3 4 …"},
		{"after, newest first", "", page.Params{Limit: 2, After: "file_00003", Desc: true}, "2 1"},
		{"after the last", "", page.Params{After: "file_00005"}, ""},
		{"the purpose of all", Purpose, page.Params{}, "1 2 3 4 5"},
		{"the purpose of none", "batch", page.Params{}, ""},
	} {
		got, err := e.List(t.Context(), one, c.purpose, c.params)
		if s := listed(got); s != c.want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", c.rule, s, err, c.want)
		}
	}
	got, err := e.List(t.Context(), other, "", page.Params{})
	ok(t, err)
	equal(t, got, page.Page[File]{Items: []File{}})
	for _, limit := range []int{-1, 10_001} {
		_, err := e.List(t.Context(), one, "", page.Params{Limit: limit})
		equal(t, err, error(fault.Invalidf("limit", "limit must be between 1 and 10000.")))
	}
}

// countingStore counts the entries that scans yield.
type countingStore struct {
	storage.Store
	scanned atomic.Int64
}

func (s *countingStore) View(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	return s.Store.View(ctx, ns, func(tx storage.Tx) error { return fn(countingTx{tx, &s.scanned}) })
}

type countingTx struct {
	storage.Tx
	scanned *atomic.Int64
}

func (tx countingTx) Scan(r storage.Range) iter.Seq2[storage.Entry, error] {
	return func(yield func(storage.Entry, error) bool) {
		for entry, err := range tx.Tx.Scan(r) {
			tx.scanned.Add(1)
			if !yield(entry, err) {
				return
			}
		}
	}
}

// TestAPageCostsTheSameAtAnyDepth pages through two thousand files in both
// orders and counts what each page reads.
func TestAPageCostsTheSameAtAnyDepth(t *testing.T) {
	store := &countingStore{Store: memstore.New()}
	defer store.Close()
	e := newEnvOver(t, store, Options{})
	const count, limit = 2000, 100
	for range count {
		e.create("text/plain", "")
	}
	for _, desc := range []bool{false, true} {
		var all []string
		for p := (page.Params{Limit: limit, Desc: desc}); ; {
			store.scanned.Store(0)
			got, err := e.List(t.Context(), one, "", p)
			ok(t, err)
			for _, f := range got.Items {
				all = append(all, f.ID)
			}
			if scanned := store.scanned.Load(); scanned > limit+1 {
				t.Fatalf("the page after %q reads %d entries", p.After, scanned)
			}
			if !got.HasMore {
				break
			}
			p.After = got.Items[limit-1].ID
		}
		if desc {
			slices.Reverse(all)
		}
		if !slices.IsSorted(all) || len(slices.Compact(all)) != count {
			t.Errorf("desc %v: got %d files, sorted: %v", desc, len(all), slices.IsSorted(all))
		}
	}
}

func TestAnotherOrganizationsFileIsMissing(t *testing.T) {
	e := newEnv(t, nil)
	id := e.create("text/plain", "x").ID
	for _, id := range []string{id, "", "file_9", strings.Repeat("f", 1000)} {
		for name, call := range map[string]func() error{
			"Get":     func() error { _, err := e.Get(t.Context(), other, id); return err },
			"Delete":  func() error { return e.Delete(t.Context(), other, id) },
			"Content": func() error { _, _, err := e.Content(t.Context(), other, id); return err },
			"Text":    func() error { _, err := e.Text(t.Context(), other, id); return err },
		} {
			if err := call(); fmt.Sprint(err) != missing("not_found", id).Error() || fault.From(err).Code != "not_found" {
				t.Errorf("%s of %q: %v", name, id, err)
			}
		}
	}
	equal(t, e.content(id), "x")
}

func TestDeleteRemovesEverything(t *testing.T) {
	e := newEnv(t, shouting)
	u := upload("application/pdf", "")
	u.Content, u.ExpiresAfter = &zeros{n: 3 * batchSize}, time.Hour
	f, err := e.Create(t.Context(), one, u)
	ok(t, err)
	equal(t, e.settle(f.ID).Status, Processed)
	ok(t, e.Delete(t.Context(), one, f.ID))
	equal(t, keys(t, e.store), []string{})
	equal(t, e.Delete(t.Context(), one, f.ID), missing("not_found", f.ID))
}

// TestAFileThatIsDeletedWhileItIsRead loses what the extraction finds.
func TestAFileThatIsDeletedWhileItIsRead(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	e := newEnv(t, extractorFunc(func(context.Context, []byte, Format) (Extracted, error) {
		close(begun)
		<-end
		return Extracted{Text: "text"}, nil
	}))
	f := e.create("application/pdf", "x")
	over := e.queue.done(job{one.Namespace(), f.ID})
	<-begun
	ok(t, e.Delete(t.Context(), one, f.ID))
	close(end)
	<-over
	equal(t, keys(t, e.store), []string{})
}

func TestContentOfADeletedFileBreaksOff(t *testing.T) {
	e := newEnv(t, nil)
	f := e.create("text/plain", strings.Repeat("x", 2*chunkSize))
	_, r, err := e.Content(t.Context(), one, f.ID)
	ok(t, err)
	first := make([]byte, chunkSize)
	_, err = r.Read(first)
	ok(t, err)
	ok(t, e.Delete(t.Context(), one, f.ID))
	if n, err := r.Read(first); err == nil {
		t.Errorf("read %d bytes of a deleted file", n)
	}
}

func TestAFileExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		defer store.Close()
		e := newEnvOver(t, store, Options{})
		defer e.Close()
		u := upload("text/plain", "x")
		u.ExpiresAfter = 2 * time.Hour
		f, err := e.Create(t.Context(), one, u)
		ok(t, err)
		equal(t, f.ExpiresAt, f.CreatedAt+7200)
		u = upload("text/plain", "y")
		u.ExpiresAfter = time.Hour
		_, err = e.Create(t.Context(), one, u)
		ok(t, err)
		kept := e.create("text/plain", "z")

		time.Sleep(time.Hour)
		synctest.Wait()
		equal(t, keys(t, store), []string{
			"f/b/blob_00001/\x00\x00\x00\x00", "f/b/blob_00003/\x00\x00\x00\x00", "f/m/file_00001", "f/m/file_00003",
			string(expiryKey(f.ExpiresAt, f.ID)),
		})
		time.Sleep(time.Hour)
		synctest.Wait()
		equal(t, keys(t, store), []string{"f/b/blob_00003/\x00\x00\x00\x00", "f/m/" + kept.ID})
	})
}

func TestExpiryOfSeveralNamespaces(t *testing.T) {
	e := newExpiry()
	for _, n := range []struct {
		ns storage.Namespace
		at int64
	}{{"a", 20}, {"b", 10}, {"a", 15}, {"b", 12}} {
		e.note(n.ns, n.at)
	}
	at, found := e.earliest()
	equal(t, []any{at, found}, []any{int64(10), true})
	equal(t, e.due(9), nil)
	equal(t, e.due(10), []storage.Namespace{"b"})
	at, found = e.earliest()
	equal(t, []any{at, found}, []any{int64(15), true})
	equal(t, e.due(20), []storage.Namespace{"a"})
	_, found = e.earliest()
	equal(t, found, false)
}

// TestAnExpiredFileIsGone looks at a file that has expired and is not removed.
func TestAnExpiredFileIsGone(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	var late atomic.Int64
	e := newEnvOver(t, store, Options{Now: func() time.Time { return start.Add(time.Duration(late.Load())) }})
	u := upload("text/plain", "x")
	u.ExpiresAfter = time.Hour
	f, err := e.Create(t.Context(), one, u)
	ok(t, err)
	late.Store(int64(time.Hour - 1))
	_, err = e.Get(t.Context(), one, f.ID)
	ok(t, err)
	late.Store(int64(time.Hour))
	_, err = e.Get(t.Context(), one, f.ID)
	equal(t, err, missing("not_found", f.ID))
	_, err = e.Stored(t.Context(), one, f.ID)
	equal(t, err, missing("file_not_found", f.ID))
	got, err := e.List(t.Context(), one, "", page.Params{})
	ok(t, err)
	equal(t, got, page.Page[File]{Items: []File{}})
	equal(t, e.Delete(t.Context(), one, f.ID), missing("not_found", f.ID))
	equal(t, keys(t, store), []string{})
}

func TestExpiryGoesOnAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		defer store.Close()
		e := newEnvOver(t, store, Options{})
		u := upload("text/plain", "x")
		u.ExpiresAfter = time.Hour
		_, err := e.Create(t.Context(), one, u)
		ok(t, err)
		ok(t, e.Close())
		e = newEnvOver(t, store, Options{})
		defer e.Close()
		time.Sleep(time.Hour)
		synctest.Wait()
		equal(t, keys(t, store), []string{})
	})
}
