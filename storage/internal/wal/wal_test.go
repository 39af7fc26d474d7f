package wal_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/seed-506d8e5d/svc/storage/internal/wal"
	"github.com/seed-506d8e5d/svc/storage/internal/waltest"
)

var losses = flag.Int("losses", 300, "how many losses of power to survive")

const segment = 8 << 10

// open opens a log and returns the versions and payloads of its records.
func open(fs wal.FS, salvage bool) (*wal.Log, []string, []error, error) {
	var lost []error
	l, err := wal.Open(wal.Options{FS: fs, SegmentSize: segment, Salvage: salvage, Lost: func(err error) { lost = append(lost, err) }})
	if err != nil {
		return nil, nil, lost, err
	}
	var got []string
	err = l.Replay(func(version uint64, payload []byte) error {
		got = append(got, fmt.Sprintf("%d %s", version, payload))
		return nil
	})
	return l, got, lost, err
}

// add appends a record, in a new segment where it does not fit.
func add(l *wal.Log, version uint64, payload []byte) error {
	if !l.Fits(len(payload)) {
		if err := l.Rotate(version-1, version, len(payload)); err != nil {
			return err
		}
	}
	return l.Append(version, payload)
}

// text returns the payload of a version, of many sizes.
func text(version uint64) []byte {
	n := map[uint64]int{0: 1500, 1: 3, 2: 480, 3: 700}[version%4]
	if version%19 == 0 {
		n = 2 * segment
	}
	return bytes.Repeat([]byte{byte('a' + version%26)}, n)
}

func want(from, to uint64) []string {
	var list []string
	for v := from; v <= to; v++ {
		list = append(list, fmt.Sprintf("%d %s", v, text(v)))
	}
	return list
}

func TestLog(t *testing.T) {
	for name, fs := range map[string]wal.FS{"directory": wal.Dir(t.TempDir()), "memory": &waltest.FS{}} {
		t.Run(name, func(t *testing.T) {
			next := uint64(1)
			for range 3 {
				l, got, _, err := open(fs, false)
				if err != nil || !slices.Equal(got, want(1, next-1)) {
					t.Fatalf("%d records, %v, want %d", len(got), err, next-1)
				}
				for range 25 {
					if err := add(l, next, text(next)); err != nil {
						t.Fatal(err)
					}
					next++
				}
				l.Close()
				if err := l.Append(next, nil); err == nil {
					t.Error("a closed log takes records")
				}
			}
			l, _, _, err := open(fs, false)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.TruncateThrough(40); err != nil {
				t.Fatal(err)
			}
			if first := l.First(); first < 2 || first > 41 || l.Mark() != first {
				t.Errorf("the log begins with version %d and mark %d", first, l.Mark())
			}
			if _, got, _, err := open(fs, false); err != nil || !slices.Equal(got, want(l.First(), next-1)) {
				t.Errorf("%d records, %v, want those from %d", len(got), err, l.First())
			}
		})
	}
}

// TestDamage flips a byte in each part of a log, and removes files.
func TestDamage(t *testing.T) {
	for _, test := range []struct {
		name   string
		damage func(*waltest.FS)
		want   string // the error
		rest   []string
	}{
		{"in a record with others behind it", func(fs *waltest.FS) { fs.Flip("00000002.log", 545) },
			"the log is damaged: 00000002.log at offset 512: a record cannot be read, and the one of version 6 at offset 1024 can",
			slices.Concat(want(1, 4), want(6, 12))},
		{"in the last record", func(fs *waltest.FS) { fs.Flip("00000003.log", 3000) }, "", want(1, 11)},
		{"in the last record of another segment", func(fs *waltest.FS) { fs.Flip("00000001.log", 3600) },
			"the log is damaged: 00000002.log at offset 0: it begins with version 5, and the one before it ended with 3",
			slices.Concat(want(1, 3), want(5, 12))},
		{"in a header", func(fs *waltest.FS) { fs.Flip("00000002.log", 20) },
			"the log is damaged: 00000002.log at offset 0: the header cannot be read", want(1, 12)},
		{"in the last header", func(fs *waltest.FS) { fs.Flip("00000003.log", 20) },
			"the log is damaged: 00000003.log at offset 0: the header cannot be read", want(1, 12)},
		{"a missing segment", func(fs *waltest.FS) { fs.Delete("00000002.log") },
			"the log is damaged: 00000003.log at offset 0: it begins with version 9, and the one before it ended with 4",
			slices.Concat(want(1, 4), want(9, 12))},
		{"behind the last record", func(fs *waltest.FS) { fs.Flip("00000003.log", 8000) }, "", want(1, 12)},
	} {
		t.Run(test.name, func(t *testing.T) {
			fs := &waltest.FS{}
			l, _, _, err := open(fs, false)
			if err != nil {
				t.Fatal(err)
			}
			for v := uint64(1); v <= 12; v++ {
				if v%4 == 1 {
					if err := l.Rotate(v-1, 0, 0); err != nil {
						t.Fatal(err)
					}
				}
				if err := l.Append(v, text(v)); err != nil {
					t.Fatal(err)
				}
			}
			test.damage(fs)
			_, _, _, err = open(fs, false)
			if got := fmt.Sprint(err); test.want == "" && err != nil || test.want != "" && got != test.want {
				t.Errorf("Open: %v, want %s", err, test.want)
			}
			_, got, lost, err := open(fs, true)
			if err != nil || !slices.Equal(got, test.rest) {
				t.Errorf("salvaged %d records, %v, want %d", len(got), err, len(test.rest))
			}
			if (len(lost) > 0) != (test.want != "") {
				t.Errorf("lost: %v", lost)
			}
		})
	}
}

// TestForgery lets payloads hold what looks like records: what a crash leaves of
// one is no record for that.
func TestForgery(t *testing.T) {
	other := &waltest.FS{}
	l, _, _, _ := open(other, false)
	if err := add(l, 1, text(1)); err != nil {
		t.Fatal(err)
	}
	if err := add(l, 2, text(2)); err != nil {
		t.Fatal(err)
	}
	image, err := other.ReadFile("00000001.log")
	if err != nil {
		t.Fatal(err)
	}
	payload := append(make([]byte, 512-32), image[1024:3000]...)
	fs := &waltest.FS{}
	l, _, _, _ = open(fs, false)
	if err := add(l, 1, payload); err != nil {
		t.Fatal(err)
	}
	fs.Flip("00000001.log", 700)
	if _, got, _, err := open(fs, false); err != nil || len(got) != 0 {
		t.Errorf("%d records, %v, want none", len(got), err)
	}
}

// TestFailures lets each call fail once: what was acknowledged is there, nothing
// is acknowledged after a failure that leaves open what is on the disk.
func TestFailures(t *testing.T) {
	for call := 0; ; call++ {
		opened := -4 // the last call of Open
		harmless := false
		fs := &waltest.FS{Fail: func(n int, name string) bool {
			if name == "Open" {
				opened = n
			}
			harmless = harmless || n == call && n < opened+4
			return n == call
		}}
		acked, err := write(fs, 1, 30)
		fs.Fail = nil
		if fs.Calls() <= call {
			if call < 60 {
				t.Fatalf("only %d calls failed", call)
			}
			return
		}
		if err == nil && !harmless { // a recycled file that cannot be used is given up
			t.Errorf("call %d: no error", call)
		}
		survives(t, fs.Lose(rand.New(rand.NewPCG(1, uint64(call)))), acked)
	}
}

// write opens a log and appends records from a version on, dropping some. It
// returns the last version that was acknowledged.
func write(fs wal.FS, from, to uint64) (uint64, error) {
	acked := from - 1
	l, _, _, err := open(fs, false)
	if err != nil {
		return acked, err
	}
	var failed error
	for v := from; v <= to; v++ {
		err := add(l, v, text(v))
		if errors.Is(err, wal.ErrRefused) {
			failed = err
			err = add(l, v, text(v))
		}
		if err != nil {
			if add(l, v, text(v)) == nil {
				return acked, errors.New("a record was taken after a failure")
			}
			return acked, err
		}
		acked = v
		if v%10 == 0 {
			if err := l.TruncateThrough(v - 5); err != nil {
				failed = err
			}
		}
	}
	return acked, failed
}

// survives checks that the log opens and ends with the last version that was
// acknowledged, or one more.
func survives(t *testing.T, fs wal.FS, acked uint64) uint64 {
	t.Helper()
	l, got, _, err := open(fs, false)
	if err != nil {
		t.Fatalf("after %d: %v", acked, err)
	}
	last := l.Last()
	if last < acked || last > acked+1 || len(got) > 0 && !slices.Equal(got, want(l.First(), last)) {
		t.Fatalf("the log has %d to %d in %d records, want up to %d", l.First(), last, len(got), acked)
	}
	return last
}

// TestLosses loses the power again and again, at any call, with what it tears.
func TestLosses(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	fs := &waltest.FS{}
	last := uint64(0)
	for range *losses {
		crash := fs.Calls() + r.IntN(90)
		fs.Fail = func(n int, _ string) bool { return n >= crash }
		acked, _ := write(fs, last+1, last+uint64(r.IntN(25)))
		fs = fs.Lose(r)
		last = survives(t, fs, acked)
	}
	t.Logf("%d records survived %d losses", last, *losses)
}

// TestRecycledFiles lets files be segments again and again: few are made, none brings
// back what it had before, also where its header and first record are damaged and
// the log is salvaged.
func TestRecycledFiles(t *testing.T) {
	created := 0
	fs := &waltest.FS{Fail: func(_ int, name string) bool {
		if name == "Create" {
			created++
		}
		return false
	}}
	l, _, _, err := open(fs, false)
	if err != nil {
		t.Fatal(err)
	}
	for v := uint64(1); v <= 200; v++ {
		if err := add(l, v, bytes.Repeat([]byte{byte(v)}, 900)); err != nil {
			t.Fatal(err)
		}
		if err := l.TruncateThrough(v - 1); err != nil {
			t.Fatal(err)
		}
	}
	if created > 2 {
		t.Errorf("%d files were made, want 2", created)
	}
	if err := l.Rotate(200, 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := l.TruncateThrough(200); err != nil {
		t.Fatal(err)
	}
	if _, got, _, err := open(fs, false); err != nil || len(got) != 0 {
		t.Errorf("an empty log has %d records, %v", len(got), err)
	}
	for v := uint64(201); v <= 202; v++ {
		if err := errors.Join(l.Rotate(v-1, 0, 0), l.TruncateThrough(200)); err != nil {
			t.Fatal(err)
		}
		if err := l.Append(v, text(v)); err != nil {
			t.Fatal(err)
		}
	}
	names, err := fs.List()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	for _, at := range []int64{20, 540} {
		fs.Flip(names[len(names)-1], at)
	}
	if _, _, _, err := open(fs, false); err == nil {
		t.Error("a log with a damaged header was opened")
	}
	if _, got, _, err := open(fs, true); err != nil || !slices.Equal(got, want(201, 201)) {
		t.Errorf("salvaged %.20q, %v, want version 201", got, err)
	}
}

// TestRecycledFilesOfOtherSizes opens a log with larger segments than it had.
func TestRecycledFilesOfOtherSizes(t *testing.T) {
	fs := &waltest.FS{}
	l, _, _, err := open(fs, false)
	if err == nil {
		err = errors.Join(l.Rotate(0, 0, 0), l.Rotate(0, 0, 0), l.TruncateThrough(0), l.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if l, err = wal.Open(wal.Options{FS: fs, SegmentSize: 2 * segment}); err != nil {
		t.Fatal(err)
	}
	if err := l.Rotate(0, 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(1, make([]byte, segment)); err != nil {
		t.Error(err)
	}
	if names, err := fs.List(); err != nil || len(names) != 2 {
		t.Errorf("there are %q, %v, want two segments", names, err)
	}
}

// TestRecycledFileStillNamed cuts the power where a file becomes a segment of which the
// disk may still know as another.
func TestRecycledFileStillNamed(t *testing.T) {
	for seed := range uint64(50) {
		fs := &waltest.FS{}
		l, _, _, err := open(fs, false)
		if err != nil {
			t.Fatal(err)
		}
		for v := uint64(1); v <= 10; v++ {
			if v%5 == 1 {
				if err := l.Rotate(v-1, 0, 0); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.Append(v, text(v)); err != nil {
				t.Fatal(err)
			}
		}
		fs.Fail = func(_ int, name string) bool { return name == "Sync" }
		if err := l.TruncateThrough(5); err == nil {
			t.Fatal("no error")
		}
		off := false
		fs.Fail = func(_ int, name string) bool {
			off = off || name == "Rename"
			return off
		}
		if err := l.Rotate(10, 0, 0); err == nil {
			t.Fatal("no error")
		}
		fs.Fail = nil
		survives(t, fs.Lose(rand.New(rand.NewPCG(4, seed))), 10)
	}
}

func TestRefusal(t *testing.T) {
	fs := &waltest.FS{Fail: func(_ int, name string) bool { return name == "Create" }}
	l, _, _, err := open(fs, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Rotate(0, 0, 0); !errors.Is(err, wal.ErrRefused) {
		t.Errorf("Start: %v, want %v", err, wal.ErrRefused)
	}
	fs.Fail = nil
	if err := add(l, 1, text(1)); err != nil {
		t.Errorf("after a refusal: %v", err)
	}
}

func TestFilesArePrivate(t *testing.T) {
	dir := t.TempDir()
	l, _, _, err := open(wal.Dir(dir), false)
	if err != nil {
		t.Fatal(err)
	}
	if err := add(l, 1, nil); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(dir + "/00000001.log")
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
}
