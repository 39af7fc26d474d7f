package badgerstore

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
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

// machine is a store on a disk that loses its power.
type machine struct {
	t   *testing.T
	r   *rand.Rand
	fs  *waltest.FS // the log's
	dir string      // badger's

	// want is what the store has where it has the last transaction, and last where
	// that one may be missing.
	want, last map[string]string

	mu      sync.Mutex
	durable map[string]int64 // of the files of large values, how many bytes

	off atomic.Bool // the power is cut

	// cut is held while a step is counted and the power cut by it: badger's messages
	// and syncs are steps while space is reclaimed.
	cut     sync.Mutex
	steps   int              // to the cut; 0 for none
	left    string           // the directory as it was then
	lasting map[string]int64 // and what of it was durable
	within  int              // cuts of this kind
}

// Enabled implements slog.Handler.
func (m *machine) Enabled(context.Context, slog.Level) bool {
	m.cut.Lock()
	defer m.cut.Unlock()
	return m.steps > 0
}

// Handle implements slog.Handler: what badger logs is a step.
func (m *machine) Handle(context.Context, slog.Record) error {
	m.step()
	return nil
}

// WithAttrs implements slog.Handler.
func (m *machine) WithAttrs([]slog.Attr) slog.Handler { return m }

// WithGroup implements slog.Handler.
func (m *machine) WithGroup(string) slog.Handler { return m }

// step cuts the power where it is time.
func (m *machine) step() {
	m.cut.Lock()
	defer m.cut.Unlock()
	if m.steps == 0 {
		return
	}
	if m.steps--; m.steps == 0 {
		m.off.Store(true)
		m.left, m.lasting = m.copied()
	}
}

// count sets after how many steps the power is cut.
func (m *machine) count(steps int) {
	m.cut.Lock()
	defer m.cut.Unlock()
	m.steps = steps
}

// copied returns a copy of badger's directory as it is at one moment, and what of
// it is durable.
func (m *machine) copied() (string, map[string]int64) {
	for {
		before := m.lasts()
		dir := copyStore(m.t, m.dir)
		if maps.Equal(before, m.lasts()) {
			return dir, before
		}
		os.RemoveAll(dir)
	}
}

// lasts returns what is durable.
func (m *machine) lasts() map[string]int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.durable)
}

// small returns settings with which badger writes tables all the time.
func (m *machine) small() settings {
	log := slog.New(m)
	opts := badgerOptions(m.dir, log).WithMemTableSize(1 << 20).WithValueLogFileSize(1 << 20)
	return settings{dir: m.dir, badger: opts, fs: m.fs, segment: 128 << 10, disk: disk{freeBytes}, log: log}
}

// TestLosses runs a store, cuts the power at any call of the log's disk or while
// space is reclaimed, and opens what is left, again and again: what was
// acknowledged is there, and of all else whole transactions or nothing. Most of
// the time goes into syncs where the temporary directory is on a disk:
//
//	TMPDIR=/dev/shm go test ./storage/badgerstore -run TestLosses -losses 10000 -timeout 1h
func TestLosses(t *testing.T) {
	r := rand.New(rand.NewPCG(3, *lossesSeed))
	within := 0
	defer func() { synced = nil }()
	for left := *losses; left > 0; left -= lossesOfOne {
		m := &machine{t: t, r: r, fs: &waltest.FS{}, dir: t.TempDir(), want: map[string]string{}, last: map[string]string{}}
		synced = m.synced
		for range min(left, lossesOfOne) {
			crash := m.fs.Calls() + m.r.IntN(250)
			m.off.Store(false)
			m.fs.Fail = func(n int, _ string) bool { return n >= crash || m.off.Load() }
			m.run()
			m.fs = m.fs.Lose(m.r)
			m.survived()
		}
		within += m.within
		if err := os.RemoveAll(m.dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d losses, %d of them while space was reclaimed", *losses, within)
}

// synced notes that a file is durable as it is.
func (m *machine) synced(path string) {
	defer m.step()
	if filepath.Ext(path) != valueExtension {
		return
	}
	f, err := os.Open(path)
	if err != nil {
		return // removed meanwhile
	}
	defer f.Close()
	size, _ := f.Seek(0, io.SeekEnd)
	if end, err := lastByte(f, size); err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.durable[filepath.Base(path)] = end
	}
}

const (
	// lossesOfOne is how many losses a machine has before there is another one. Each
	// leaves large values that nothing refers to.
	lossesOfOne = 25

	reclaimEvery = 60 // transactions, about
	maxSteps     = 60 // of reclaiming, about
)

// run writes until the power is cut, which leaves what was not synced in doubt.
func (m *machine) run() {
	m.durable = map[string]int64{}
	names, _ := filepath.Glob(filepath.Join(m.dir, "*"+valueExtension))
	for _, name := range names {
		m.synced(name) // badger has closed them
	}
	s, err := open(m.small())
	if err != nil {
		m.lose(m.dir)
		return
	}
	for i, at := 0, m.r.IntN(2*reclaimEvery); err == nil && !m.off.Load(); i++ {
		if err = m.write(s); i == at && err == nil {
			m.count(1 + m.r.IntN(maxSteps))
			s.db.deletes = reclaimDeletes
			s.db.reclaim(m.t.Context()) // fails where it comes to need the log
			m.count(0)
		}
	}
	left, durable := m.left, m.lasting
	if left == "" {
		left, durable = m.copied()
	} else {
		m.within++
	}
	m.left = ""
	s.Close() // fails: the power is off
	if err := os.RemoveAll(m.dir); err != nil {
		m.t.Fatal(err)
	}
	m.durable = durable
	m.dir = left
	m.lose(left)
}

// write writes a transaction, and notes what the store must have.
func (m *machine) write(s *Store) error {
	changes := map[string]string{}
	for range 1 + m.r.IntN(3) {
		size := []int{0, 10, 300, 5000, 40_000, valueThreshold + m.r.IntN(9000)}[m.r.IntN(6)]
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

// lose takes from badger's files what was not synced. Its tables and manifest are
// when they are named.
func (m *machine) lose(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		from, ok := m.durable[e.Name()]
		switch filepath.Ext(e.Name()) {
		case memExtension:
		case valueExtension:
			if !ok {
				from = valueHeader
			}
		default:
			continue
		}
		if !ok && m.r.IntN(3) == 0 {
			err = os.Remove(path)
		} else if m.r.IntN(8) == 0 && !ok {
			err = os.Truncate(path, 0)
		} else {
			err = m.tear(path, from)
		}
		if err != nil {
			m.t.Fatal(err)
		}
	}
}

// tear loses pages of a file from an offset on.
func (m *machine) tear(path string, from int64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	end, err := lastByte(f, size)
	if err != nil {
		return err
	}
	for at := from; at < end; at += 4096 - at%4096 {
		if m.r.IntN(3) == 0 {
			if _, err := f.WriteAt(make([]byte, min(4096-at%4096, end-at)), at); err != nil {
				return err
			}
		}
	}
	return nil
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
	m := &machine{t: t, fs: &waltest.FS{}, dir: t.TempDir()}
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
		m := &machine{t: t, r: rand.New(rand.NewPCG(5, uint64(call))), fs: &waltest.FS{}, dir: t.TempDir(), want: map[string]string{}, last: map[string]string{}}
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

// TestValueReader reads what badger has written.
func TestValueReader(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, false)
	names, err := filepath.Glob(filepath.Join(dir, "*"+valueExtension))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := checkValues(t.Context(), dir, filepath.Base(name)); err != nil {
			t.Error(err)
		}
	}
	data, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	for at := valueHeader; at < len(data)-8; at += 4999 {
		bad := bytes.Clone(data)
		bad[at] ^= 1
		if err := os.WriteFile(names[0], bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := checkValues(t.Context(), dir, filepath.Base(names[0])); !errors.Is(err, storage.ErrDamaged) {
			t.Errorf("a byte at %d is changed: %v", at, err)
		}
	}
}
