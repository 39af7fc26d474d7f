package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"reflect"
	"sync"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/backup"
	"github.com/seed-506d8e5d/svc/storage/badgerstore"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newMemory(t testing.TB) storage.Store {
	s := memstore.New()
	t.Cleanup(func() { check(t, s.Close()) })
	return s
}

func newDisk(t testing.TB) storage.Store {
	s, err := badgerstore.Open(badgerstore.Options{Dir: t.TempDir()})
	check(t, err)
	t.Cleanup(func() { check(t, s.Close()) })
	return s
}

func set(t testing.TB, s storage.Store, ns storage.Namespace, key string, value []byte) {
	t.Helper()
	check(t, s.Update(context.Background(), ns, func(tx storage.Tx) error { return tx.Set([]byte(key), value) }))
}

// everything returns all that a store holds.
func everything(t testing.TB, s storage.Store) []storage.Record {
	t.Helper()
	var all []storage.Record
	check(t, storage.ReadAll(context.Background(), s, func(scan storage.ScanAll) error {
		for r, err := range scan(false) {
			if err != nil {
				return err
			}
			all = append(all, r)
		}
		return nil
	}))
	return all
}

// fill puts records of all sizes into some namespaces.
func fill(t testing.TB, s storage.Store) {
	t.Helper()
	for i := range 3 {
		ns := storage.Namespace(fmt.Sprintf("org_%d", i))
		set(t, s, ns, "empty", nil)
		set(t, s, ns, "large", bytes.Repeat([]byte{byte(i)}, 3<<20))
		check(t, s.Update(context.Background(), ns, func(tx storage.Tx) error {
			for k := range 3000 {
				if err := tx.Set(fmt.Appendf(nil, "k%05d", k), fmt.Append(nil, i, k)); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

func written(t testing.TB, s storage.Store) []byte {
	t.Helper()
	var b bytes.Buffer
	check(t, backup.Write(t.Context(), s, &b))
	return b.Bytes()
}

func restore(s storage.Store, data []byte) error {
	r, err := backup.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return backup.Restore(context.Background(), s, r)
}

func TestRestoredStoreIsTheSame(t *testing.T) {
	for name, open := range map[string]func(testing.TB) storage.Store{"memory": newMemory, "disk": newDisk} {
		t.Run(name, func(t *testing.T) {
			from, to := open(t), open(t)
			fill(t, from)
			data := written(t, from)
			check(t, restore(to, data))
			if want, got := everything(t, from), everything(t, to); !reflect.DeepEqual(got, want) {
				t.Errorf("%d records were restored, want %d", len(got), len(want))
			}
			if again := written(t, to); !bytes.Equal(again, data) {
				t.Error("a backup of what was restored is another")
			}
		})
	}
}

// TestBackupUnderWrites has writers keep two keys of their namespaces in step,
// and count in others, and takes backups meanwhile. In each of them all agree.
func TestBackupUnderWrites(t *testing.T) {
	for name, open := range map[string]func(testing.TB) storage.Store{"memory": newMemory, "disk": newDisk} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			stop := make(chan struct{})
			var writers sync.WaitGroup
			for w := range 4 {
				ns := storage.Namespace(fmt.Sprintf("org_%d", w))
				set(t, s, ns, "left", []byte{0})
				set(t, s, ns, "right", []byte{0})
				writers.Go(func() {
					for i := 1; ; i++ {
						select {
						case <-stop:
							return
						default:
						}
						err := s.Update(context.Background(), ns, func(tx storage.Tx) error {
							value := fmt.Append(nil, i)
							return errors.Join(tx.Set([]byte("left"), value), tx.Set([]byte("right"), value), tx.Set(fmt.Appendf(nil, "n%d", i), nil))
						})
						if err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			for range 5 {
				to := newMemory(t)
				check(t, restore(to, written(t, s)))
				all := map[string]string{}
				counts := map[storage.Namespace]int{}
				for _, r := range everything(t, to) {
					all[string(r.Namespace)+"/"+string(r.Key)] = string(r.Value)
					counts[r.Namespace]++
				}
				for ns, count := range counts {
					left, right := all[string(ns)+"/left"], all[string(ns)+"/right"]
					if left != right || left != "\x00" && left != fmt.Sprint(count-2) {
						t.Errorf("%s has %q, %q and %d entries more", ns, left, right, count-2)
					}
				}
			}
			close(stop)
			writers.Wait()
		})
	}
}

// TestDamage changes, cuts and lengthens a backup in every place.
func TestDamage(t *testing.T) {
	s := newMemory(t)
	set(t, s, "a", "key", []byte("value"))
	set(t, s, "ab", "k", bytes.Repeat([]byte("x"), 300))
	good := written(t, s)
	refused := func(what string, at int, data []byte) {
		t.Helper()
		if err := restore(newMemory(t), data); err == nil {
			t.Errorf("%s at byte %d was not noticed", what, at)
		} else if !errors.Is(err, backup.ErrDamaged) && at >= len("svc backup 1\n") {
			t.Errorf("%s at byte %d: %v", what, at, err)
		}
	}
	for i := range good {
		refused("a cut", i, good[:i])
		bad := bytes.Clone(good)
		bad[i] ^= 0x10
		refused("a changed bit", i, bad)
	}
	refused("an addition", len(good), append(bytes.Clone(good), 0))
	check(t, restore(newMemory(t), good))
}

func TestUnsupported(t *testing.T) {
	var b bytes.Buffer
	if err := backup.Write(t.Context(), struct{ storage.Store }{newMemory(t)}, &b); !errors.Is(err, errors.ErrUnsupported) || b.Len() > 0 {
		t.Errorf("got %v and %d bytes", err, b.Len())
	}
}

// failing is a writer with room for some bytes.
type failing struct{ room int }

func (f *failing) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestWriteErrors(t *testing.T) {
	s := newMemory(t)
	fill(t, s)
	size := len(written(t, s))
	for _, room := range []int{0, size / 2, size - 1} {
		if err := backup.Write(t.Context(), s, &failing{room}); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("with room for %d of %d bytes: got %v", room, size, err)
		}
	}
}

// losing is a store that a number of records is read from, once, before the
// database fails, for each number it has.
type losing struct {
	storage.Store
	after []int
}

func (l *losing) ReadAll(ctx context.Context, fn func(storage.ScanAll) error) error {
	left := math.MaxInt
	if len(l.after) > 0 {
		left, l.after = l.after[0], l.after[1:]
	}
	return storage.ReadAll(ctx, l.Store, func(scan storage.ScanAll) error {
		return fn(func(keysOnly bool) iter.Seq2[storage.Record, error] {
			return func(yield func(storage.Record, error) bool) {
				for r, err := range scan(keysOnly) {
					if left--; left < 0 {
						yield(storage.Record{}, storage.ErrUnavailable)
						return
					}
					if !yield(r, err) {
						return
					}
				}
			}
		})
	})
}

// TestADatabaseThatFails begins a backup again while nothing of it is written, and
// not later or for ever.
func TestADatabaseThatFails(t *testing.T) {
	s := newMemory(t)
	for _, key := range []string{"a", "b", "c"} {
		check(t, s.Update(t.Context(), "org", func(tx storage.Tx) error { return tx.Set([]byte(key), make([]byte, 300<<10)) }))
	}
	good := written(t, s)
	var b bytes.Buffer
	check(t, backup.Write(t.Context(), &losing{s, []int{0, 2, 3}}, &b))
	if !bytes.Equal(b.Bytes(), good) {
		t.Errorf("got %d bytes, want %d", b.Len(), len(good))
	}
	l := &losing{s, []int{5, 0}}
	if err := backup.Write(t.Context(), l, io.Discard); !errors.Is(err, storage.ErrUnavailable) || len(l.after) != 1 {
		t.Errorf("in its middle: got %v, and %d attempts are left", err, len(l.after))
	}
	l = &losing{s, make([]int, 100)}
	if err := backup.Write(t.Context(), l, io.Discard); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("for ever: got %v", err)
	}
}

func FuzzReader(f *testing.F) {
	s := newMemory(f)
	set(f, s, "a", "key", []byte("value"))
	f.Add(written(f, s))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := backup.NewReader(bytes.NewReader(data))
		for err == nil {
			_, err = r.Next()
		}
	})
}
