package txn

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/seed-506d8e5d/svc/storage"
)

// fake is a database in memory whose Apply waits for the test where gate is set,
// and fails with err.
type fake struct {
	mu       sync.Mutex
	tree     *Tree
	applied  []int // writes of each Apply
	versions []uint64
	oldest   uint64
	gate     chan struct{}
	err      error
	full     func(reserved bool) error
}

func newFake() *fake { return &fake{tree: NewTree()} }

func (f *fake) Snapshot(uint64) Snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tree.Snapshot()
}

func (f *fake) Apply(version uint64, writes []Write) error {
	if f.gate != nil {
		<-f.gate
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.applied = append(f.applied, len(writes))
	f.versions = append(f.versions, version)
	if f.err != nil {
		return f.err
	}
	next := f.tree.Copy()
	for _, w := range writes {
		next.Set(w)
	}
	f.tree = next
	return nil
}

func (f *fake) Room(reserved bool) error {
	if f.full != nil {
		return f.full(reserved)
	}
	return nil
}

func (f *fake) Forget(version uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.oldest = version
}

func (f *fake) Close() error { return nil }

func set(key string) func(storage.Tx) error {
	return func(tx storage.Tx) error { return tx.Set([]byte(key), nil) }
}

// TestGroups commits while an Apply is under way: all that wait share the next.
func TestGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.gate = make(chan struct{})
		s := NewStore(f, 7)
		var wg sync.WaitGroup
		commit := func(key string) {
			wg.Go(func() {
				if err := s.Update(t.Context(), "n", set(key)); err != nil {
					t.Error(err)
				}
			})
		}
		commit("first")
		synctest.Wait() // now the first waits in Apply
		for i := range 100 {
			commit(fmt.Sprint(i))
		}
		synctest.Wait()
		close(f.gate)
		wg.Wait()
		if want := []int{1, 100}; !slices.Equal(f.applied, want) {
			t.Errorf("the groups have %d writes, want %d", f.applied, want)
		}
		if want := []uint64{8, 9}; !slices.Equal(f.versions, want) {
			t.Errorf("the versions are %d, want %d", f.versions, want)
		}
		if got, want := s.Stats(), (Stats{Commits: 101, Applies: 2}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestGroupSize commits three transactions of which two fit into one group.
func TestGroupSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.gate = make(chan struct{})
		s := NewStore(f, 0)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				err := s.Update(t.Context(), "n", func(tx storage.Tx) error {
					for i := range storage.MaxTxWrites / 2 {
						if err := tx.Delete(fmt.Append(nil, i)); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
			synctest.Wait() // the first is in Apply, the others wait
		}
		close(f.gate)
		wg.Wait()
		const n = storage.MaxTxWrites / 2
		if want := []int{n, 2 * n, n}; !slices.Equal(f.applied, want) {
			t.Errorf("the groups have %d writes, want %d", f.applied, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestGroupConflict lets two transactions that wait together change what both
// have read: the later one runs again.
func TestGroupConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.gate = make(chan struct{})
		s := NewStore(f, 0)
		var wg sync.WaitGroup
		wg.Go(func() { s.Update(t.Context(), "n", set("first")) })
		synctest.Wait()
		runs := make([]int, 2)
		for i := range runs {
			wg.Go(func() {
				err := s.Update(t.Context(), "n", func(tx storage.Tx) error {
					runs[i]++
					if _, err := tx.Get([]byte("a")); err != nil && !errors.Is(err, storage.ErrNotFound) {
						return err
					}
					return tx.Set([]byte("a"), nil)
				})
				if err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		close(f.gate)
		wg.Wait()
		if want := []int{1, 2}; !slices.Equal(runs, want) {
			t.Errorf("the functions ran %d times, want %d", runs, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestFailedApply(t *testing.T) {
	for _, test := range []struct {
		name string
		err  error
		goOn bool
	}{
		{"refused", fmt.Errorf("%w: no space", ErrRefused), true},
		{"unknown outcome", errors.New("disk on fire"), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFake()
			s := NewStore(f, 0)
			defer s.Close()
			f.err = test.err
			if err := s.Update(t.Context(), "n", set("a")); !errors.Is(err, test.err) {
				t.Errorf("Update: %v, want %v", err, test.err)
			}
			f.err = nil
			if err := s.Update(t.Context(), "n", set("b")); (err == nil) != test.goOn {
				t.Errorf("the next Update: %v", err)
			}
			if calls := len(f.applied); (calls == 2) != test.goOn {
				t.Errorf("Apply was called %d times", calls)
			}
			if err := s.View(t.Context(), "n", func(storage.Tx) error { return nil }); err != nil {
				t.Errorf("View: %v", err)
			}
		})
	}
}

// TestRefusedWritesDoNotConflict refuses writes of a key: nobody who has read it
// loses for that.
func TestRefusedWritesDoNotConflict(t *testing.T) {
	f := newFake()
	s := NewStore(f, 0)
	defer s.Close()
	runs := 0
	err := s.Update(t.Context(), "n", func(tx storage.Tx) error {
		if runs++; runs == 1 {
			f.err = fmt.Errorf("%w: no space", ErrRefused)
			if err := s.Update(t.Context(), "n", set("a")); !errors.Is(err, ErrRefused) {
				t.Errorf("Update: %v, want %v", err, ErrRefused)
			}
			f.err = nil
		}
		if _, err := tx.Get([]byte("a")); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("what was refused: %v", err)
		}
		return tx.Set([]byte("b"), nil)
	})
	if err != nil || runs != 1 || s.Stats().Conflicts != 0 {
		t.Errorf("%d runs and %d conflicts, %v, want one and none", runs, s.Stats().Conflicts, err)
	}
}

// TestRoom gives room to none, to deletions and what may use the reserve, and to
// all, in one group.
func TestRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.gate = make(chan struct{}, 1)
		f.full = func(reserved bool) error {
			if reserved {
				return nil
			}
			return storage.ErrFull
		}
		s := NewStore(f, 0)
		defer s.Close()
		reserved := func(tx storage.Tx) error {
			storage.UseReserve(tx)
			return set("b")(tx)
		}
		for name, test := range map[string]struct {
			fn   func(storage.Tx) error
			want error
		}{
			"a write":                {set("a"), storage.ErrFull},
			"one that may":           {reserved, nil},
			"a deletion":             {func(tx storage.Tx) error { return tx.Delete([]byte("a")) }, nil},
			"a deletion and a write": {func(tx storage.Tx) error { return errors.Join(tx.Delete([]byte("a")), tx.Set([]byte("c"), nil)) }, storage.ErrFull},
			"the same, where it may": {func(tx storage.Tx) error {
				storage.UseReserve(tx)
				return errors.Join(tx.Delete([]byte("a")), tx.Set([]byte("c"), nil))
			}, nil},
		} {
			if test.want == nil {
				f.gate <- struct{}{}
			}
			if err := s.Update(t.Context(), "n", test.fn); !errors.Is(err, test.want) {
				t.Errorf("%s: %v, want %v", name, err, test.want)
			}
		}
	})
}

// TestNoConflict interleaves transactions that need not run again.
func TestNoConflict(t *testing.T) {
	scanned := func(r storage.Range) func(storage.Tx) error {
		return func(tx storage.Tx) error {
			for _, err := range tx.Scan(r) {
				return err
			}
			return nil
		}
	}
	for _, test := range []struct {
		name   string
		read   func(storage.Tx) error
		change string
	}{
		{"blind writes", func(storage.Tx) error { return nil }, "own"},
		{"own writes are not read from the store", func(tx storage.Tx) error {
			err := tx.Set([]byte("own"), nil)
			_, get := tx.Get([]byte("own"))
			return errors.Join(err, get)
		}, "own"},
		{"a scan reads up to where it stops", scanned(storage.Range{}), "c"},
		{"a reverse scan reads up to where it stops", scanned(storage.Range{Reverse: true}), "a"},
		{"end is not read", scanned(storage.Range{Start: []byte("x"), End: []byte("y")}), "y"},
		{"before the start is not read", scanned(storage.Range{Start: []byte("x"), Reverse: true}), "w"},
		{"an empty range is not read", scanned(storage.Range{Start: []byte("y"), End: []byte("x")}), "x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := NewStore(newFake(), 0)
			defer s.Close()
			if err := errors.Join(s.Update(t.Context(), "n", set("b")), s.Update(t.Context(), "n", set("bb"))); err != nil {
				t.Fatal(err)
			}
			runs := 0
			err := s.Update(t.Context(), "n", func(tx storage.Tx) error {
				runs++
				if err := test.read(tx); err != nil {
					return err
				}
				if runs == 1 {
					if err := s.Update(t.Context(), "n", set(test.change)); err != nil {
						return err
					}
				}
				return tx.Set([]byte("own"), nil)
			})
			if err != nil || runs != 1 {
				t.Errorf("%d runs, %v, want one", runs, err)
			}
		})
	}
}

// TestOpenScans keeps scans open beyond what is allowed.
func TestOpenScans(t *testing.T) {
	s := NewStore(newFake(), 0)
	defer s.Close()
	var next func() (storage.Entry, error, bool)
	err := s.Update(t.Context(), "n", func(tx storage.Tx) error {
		if err := set("a")(tx); err != nil {
			return err
		}
		var stop func()
		next, stop = iter.Pull2(tx.Scan(storage.Range{}))
		t.Cleanup(stop)
		if _, err, ok := next(); err != nil || !ok {
			t.Errorf("the scan yields %v, %t", err, ok)
		}
		for _, err := range tx.Scan(storage.Range{}) {
			if !errors.Is(err, ErrScan) {
				t.Errorf("a second scan yields %v, want %v", err, ErrScan)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if _, err, _ := next(); !errors.Is(err, ErrEnded) {
		t.Errorf("the scan yields %v after the transaction, want %v", err, ErrEnded)
	}
}

// TestForget holds the oldest snapshot that is open against the database.
func TestForget(t *testing.T) {
	f := newFake()
	s := NewStore(f, 0)
	defer s.Close()
	var got []uint64
	update := func(key string) {
		if err := s.Update(t.Context(), "n", set(key)); err != nil {
			t.Error(err)
		}
		got = append(got, f.oldest)
	}
	update("a")
	err := s.View(t.Context(), "n", func(storage.Tx) error {
		update("b")
		update("c")
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	update("d")
	if want := []uint64{1, 1, 1, 4}; !slices.Equal(got, want) {
		t.Errorf("the oldest versions are %d, want %d", got, want)
	}
}

func TestRecentCommits(t *testing.T) {
	key := func(i int) []byte { return fmt.Append(nil, i) }
	var l recentCommits
	for i := 1; i <= recentCount+10; i++ {
		l.add(uint64(i), []Write{{Key: key(i)}})
	}
	if len(l.entries) != recentCount || l.floor != 10 {
		t.Errorf("%d entries above version %d, want %d above 10", len(l.entries), l.floor, recentCount)
	}
	for _, test := range []struct {
		name string
		c    commit
		want bool
	}{
		{"nothing read", commit{version: 1}, false},
		{"older than what is known", commit{version: 9, reads: [][]byte{[]byte("x")}}, true},
		{"as old as what is known", commit{version: 10, reads: [][]byte{[]byte("x")}}, false},
		{"changed since", commit{version: 10, reads: [][]byte{key(11)}}, true},
		{"changed before", commit{version: 11, reads: [][]byte{key(11)}}, false},
		{"range changed since", commit{version: 10, spans: []Span{{Start: key(11), End: key(110)}}}, true},
		{"range not changed", commit{version: 10, spans: []Span{{Start: []byte("x"), End: []byte("y")}}}, false},
	} {
		if got := l.conflicts(&test.c); got != test.want {
			t.Errorf("%s: %t, want %t", test.name, got, test.want)
		}
	}
	l.add(recentCount+11, []Write{{Key: make([]byte, recentBytes+1)}})
	if len(l.entries) != 0 || l.size != 0 || l.floor != recentCount+11 {
		t.Errorf("%d entries of %d bytes above version %d, want none above %d", len(l.entries), l.size, l.floor, recentCount+11)
	}
}
