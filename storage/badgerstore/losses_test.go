package badgerstore

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/wal"
	"github.com/seed-506d8e5d/svc/storage/internal/waltest"
)

var (
	losses     = flag.Int("losses", 12, "how many losses of power to survive")
	lossesSeed = flag.Uint64("losses-seed", 9, "what the losses of power differ by")
)

// machine is a store on a disk that loses its power. The log is on a disk of waltest's.
// Of the directory with the tables, which is a real one, it is known what was synced.
type machine struct {
	t   *testing.T
	r   *rand.Rand
	fs  *waltest.FS
	dir string

	// want is what the store has where it has the last transaction, and last where
	// that one may be missing.
	want, last map[string]string

	off   atomic.Bool // the power is cut
	mu    sync.Mutex
	steps int             // syncs of the directory to the cut; 0 for none
	whole map[string]bool // names of files that were synced
	names map[string]bool // and those that a sync of the directory made durable
	list  []byte          // the list of tables that was durable last
	left  string          // the directory as it was when the power was cut
}

func newMachine(t *testing.T, seed uint64) *machine {
	return &machine{t: t, r: rand.New(rand.NewPCG(3, seed)), fs: &waltest.FS{}, dir: t.TempDir(), want: map[string]string{}, last: map[string]string{}}
}

// synced notes what is durable, and cuts the power where it is time. Syncs come from
// one goroutine at a time for each path.
func (m *machine) synced(path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.off.Load() {
		return
	}
	if path != m.dir {
		m.whole[strings.TrimSuffix(filepath.Base(path), ".new")] = true
	} else {
		m.nameAll()
	}
	if m.steps > 0 {
		if m.steps--; m.steps == 0 {
			m.off.Store(true)
			m.left = copyStore(m.t, m.dir)
		}
	}
}

// nameAll notes that the names in the directory are durable.
func (m *machine) nameAll() {
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		m.t.Error(err)
	}
	m.names = map[string]bool{}
	for _, e := range entries {
		m.names[e.Name()] = true
	}
	if list, err := os.ReadFile(filepath.Join(m.dir, listName)); err == nil {
		m.list = list
	}
}

// small returns settings with which tables are written all the time.
func (m *machine) small() settings {
	return settings{dir: m.dir, fs: m.fs, segment: 128 << 10, memtableSize: 256 << 10, disk: disk{freeBytes}, log: slog.New(slog.DiscardHandler)}
}

// TestLosses runs a store, cuts the power at any call of the log's disk or at any sync of
// a table or of the directory, and opens what is left, again and again: what was
// acknowledged is there, and of all else whole transactions or nothing. Most of
// the time goes into syncs where the temporary directory is on a disk:
//
//	TMPDIR=/dev/shm go test ./storage/badgerstore -run TestLosses -losses 10000 -timeout 1h
func TestLosses(t *testing.T) {
	r := rand.New(rand.NewPCG(3, *lossesSeed))
	t.Logf("-losses-seed %d", *lossesSeed)
	within := 0
	defer func() { synced = nil }()
	for left := *losses; left > 0; left -= lossesOfOne {
		m := newMachine(t, r.Uint64())
		synced = m.synced
		for range min(left, lossesOfOne) {
			m.run()
			within += len(m.left) / max(len(m.left), 1)
			m.fs = m.fs.Lose(m.r)
			m.survived()
		}
		if err := os.RemoveAll(m.dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d losses, %d of them while tables were written or compacted", *losses, within)
}

// lossesOfOne is how many losses a machine has before there is another one.
const lossesOfOne = 25

// run writes until the power is cut, which leaves what was not synced in doubt.
func (m *machine) run() {
	crash := m.fs.Calls() + m.r.IntN(900)
	m.mu.Lock()
	m.whole, m.left, m.steps = map[string]bool{}, "", 0
	m.nameAll()
	for name := range m.names {
		m.whole[name] = true // from before the start
	}
	if m.r.IntN(2) == 0 {
		m.steps = 1 + m.r.IntN(60)
	}
	m.mu.Unlock()
	m.off.Store(false)
	m.fs.Fail = func(n int, _ string) bool { return n >= crash || m.off.Load() }
	s, err := open(m.small())
	for err == nil && !m.off.Load() {
		err = m.write(s)
	}
	m.mu.Lock()
	m.off.Store(true)
	if m.left == "" {
		defer func() { m.left = "" }()
		m.left = copyStore(m.t, m.dir)
	}
	m.mu.Unlock()
	if s != nil {
		s.Close() // fails: the power is off
	}
	if err := os.RemoveAll(m.dir); err != nil {
		m.t.Fatal(err)
	}
	m.dir = m.left
	m.lose()
}

// write writes a transaction, and notes what the store must have.
func (m *machine) write(s *Store) error {
	changes := map[string]string{}
	for range 1 + m.r.IntN(3) {
		size := []int{0, 10, 300, 5000, 40_000, blobThreshold + 1 + m.r.IntN(9000)}[m.r.IntN(6)]
		changes[fmt.Sprint(m.r.IntN(60))] = strings.Repeat(string(rune('a'+m.r.IntN(26))), size)
	}
	err := s.Update(m.t.Context(), "n", func(tx storage.Tx) error {
		for _, key := range slices.Sorted(maps.Keys(changes)) {
			var err error
			if value := changes[key]; value == "" {
				err = tx.Delete([]byte(key))
			} else {
				err = tx.Set([]byte(key), []byte(value))
			}
			if err != nil {
				return err
			}
		}
		return tx.Set([]byte("last"), fmt.Append(nil, m.r.Uint64()))
	})
	m.last = m.want
	m.want = maps.Clone(m.want)
	for key, value := range changes {
		if m.want[key] = value; value == "" {
			delete(m.want, key)
		}
	}
	switch {
	case err == nil:
		m.last = m.want
	case errors.Is(err, wal.ErrRefused):
		m.want = m.last
	}
	return err
}

// lose takes from the directory what was not synced: the contents of files, new names
// of files, and the list of tables that replaced another.
func (m *machine) lose() {
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, e := range entries {
		path := filepath.Join(m.dir, e.Name())
		switch {
		case !m.names[e.Name()] && m.r.IntN(2) == 0:
			err = os.Remove(path)
		case !m.whole[e.Name()]:
			err = os.Truncate(path, m.r.Int64N(100))
		case e.Name() == listName && m.r.IntN(2) == 0:
			err = os.WriteFile(path, m.list, 0o600)
		}
		if err != nil {
			m.t.Fatal(err)
		}
	}
}

// survived opens the store and compares. The last transaction may be there, too:
// then the next comparison expects it.
func (m *machine) survived() {
	s, err := open(m.small())
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			m.t.Fatal(err)
		}
	}()
	got := map[string]string{}
	err = s.View(m.t.Context(), "n", func(tx storage.Tx) error {
		clear(got)
		for e, err := range tx.Scan(storage.Range{}) {
			if err != nil {
				return err
			}
			got[string(e.Key)] = string(e.Value)
		}
		return nil
	})
	if err != nil {
		m.t.Fatal(err)
	}
	delete(got, "last")
	if !maps.Equal(got, m.want) && !maps.Equal(got, m.last) {
		m.t.Fatalf("%d keys are there, want %d or %d", len(got), len(m.last), len(m.want))
	}
	m.want, m.last = got, got
}

// TestFailedSync fails a sync of the log: the write is not acknowledged, none is
// taken after it, the health says so, and the next start has what was
// acknowledged.
func TestFailedSync(t *testing.T) {
	m := newMachine(t, 1)
	s, err := open(m.small())
	if err != nil {
		t.Fatal(err)
	}
	set := func(key string) error {
		return s.Update(t.Context(), "n", func(tx storage.Tx) error { return tx.Set([]byte(key), nil) })
	}
	if err := set("a"); err != nil {
		t.Fatal(err)
	}
	m.fs.Fail = func(_ int, name string) bool { return name == "File.Sync" }
	if err := set("b"); !errors.Is(err, waltest.ErrFailed) {
		t.Errorf("a write whose sync fails: %v", err)
	}
	m.fs.Fail = nil
	if err := set("c"); err == nil {
		t.Error("a write after a failed sync was taken")
	}
	if err := s.Healthy(t.Context()); !errors.Is(err, storage.ErrFailed) {
		t.Errorf("the health is %v, want %v", err, storage.ErrFailed)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	m.fs = m.fs.Lose(rand.New(rand.NewPCG(1, 1)))
	if s, err = open(m.small()); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.View(t.Context(), "n", func(tx storage.Tx) error {
		_, err := tx.Get([]byte("a"))
		_, gone := tx.Get([]byte("c"))
		if !errors.Is(gone, storage.ErrNotFound) {
			t.Errorf("what was refused: %v", gone)
		}
		return err
	})
	if err != nil {
		t.Errorf("what was acknowledged: %v", err)
	}
}

// TestFailingDisk fails each call of the log's disk once, while a store is opened,
// written, and closed.
func TestFailingDisk(t *testing.T) {
	for call := 0; ; call++ {
		m := newMachine(t, uint64(call))
		m.fs.Fail = func(n int, _ string) bool { return n == call }
		s, err := open(m.small())
		for i := 0; i < 12 && err == nil; i++ {
			err = m.write(s)
			if errors.Is(err, wal.ErrRefused) {
				err = nil
			}
		}
		if s != nil {
			s.Close() // may fail where the log did
		}
		over := m.fs.Calls() <= call
		m.fs.Fail = nil
		m.survived()
		if over {
			return
		}
	}
}
