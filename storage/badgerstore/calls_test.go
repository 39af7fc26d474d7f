package badgerstore

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/wal"
)

var callKills = flag.Int("call-kills", 0, "at how many of each kind of system call to kill a process; 0: at none")

// callChild names the variable that makes the test binary a child of
// TestKillAtCalls.
const callChild = "BADGERSTORE_TEST_CALL_CHILD"

// calls are the system calls that change a directory.
var calls = []string{"openat", "ftruncate", "fallocate", "pwrite64", "write", "fdatasync", "fsync", "msync", "unlinkat", "renameat", "munmap"}

// TestKillAtCalls lets a process open a store, write so that everything rotates and is
// compacted, and close it, and kills it when it enters the nth system call of a kind, for
// each kind and one n after the other. It needs strace.
//
//	TMPDIR=/dev/shm go test ./storage/badgerstore -run KillAtCalls -call-kills 400 -timeout 1h -v
func TestKillAtCalls(t *testing.T) {
	if *callKills == 0 {
		t.Skip("without -call-kills")
	}
	for _, call := range calls {
		t.Run(call, func(t *testing.T) {
			s := &callStore{t: t}
			killed := 0
			for n := 1; n <= *callKills; n++ {
				s.next()
				survived := killAtCall(t, s.dir, call, n, s.acked)
				checkKilled(t, s.dir, fmt.Sprint(call, n), s.acked)
				if survived {
					break
				}
				killed++
			}
			t.Logf("%d kills", killed)
		})
	}
}

// survivable are the calls of which each may fail.
var survivable = append([]string{"mmap"}, calls...)

// TestFailAtCalls lets the process of TestKillAtCalls go on, with the nth system call
// of a kind failing for want of a disk or of space.
// Whether it goes on or ends with an error: what it has
// acknowledged is there. It needs strace.
//
//	TMPDIR=/dev/shm go test ./storage/badgerstore -run FailAtCalls -call-kills 400 -timeout 3h -v
//	TMPDIR=/dev/shm go test ./storage/badgerstore -run 'FailAtCalls/munmap' -call-kills 400 -v
func TestFailAtCalls(t *testing.T) {
	if *callKills == 0 {
		t.Skip("without -call-kills")
	}
	for _, call := range survivable {
		for _, reason := range []string{"EIO", "ENOSPC"} {
			t.Run(call+" "+reason, func(t *testing.T) {
				s := &callStore{t: t}
				failed, ended := 0, 0
				for n := 1; n <= *callKills; n++ {
					s.next()
					round := fmt.Sprint(call, reason, n)
					trace, _, err := traced(t, s.dir, call, fmt.Sprintf("error=%s:when=%d", reason, n), round, s.acked)
					checkKilled(t, s.dir, round, s.acked)
					if !strings.Contains(trace, "(INJECTED)") {
						break
					}
					if failed++; err != nil {
						ended++
					}
				}
				t.Logf("%d calls failed, %d of which ended the process", failed, ended)
			})
		}
	}
}

// callStore is the store of one child after another. What they leave is read whole each
// time, so that now and then there is a new one.
type callStore struct {
	t      *testing.T
	dir    string
	acked  map[string]bool // what is in it
	rounds int
}

const callStoreRounds = 40

// next is called before each round.
func (s *callStore) next() {
	if s.rounds%callStoreRounds == 0 {
		if err := os.RemoveAll(s.dir); err != nil {
			s.t.Fatal(err)
		}
		s.dir, s.acked = s.t.TempDir(), map[string]bool{}
	}
	s.rounds++
}

// killAtCall runs a child until the nth call of a kind, and adds what it
// acknowledged. It returns true for a child that ended by itself.
func killAtCall(t *testing.T, dir, call string, n int, acked map[string]bool) bool {
	_, diagnostics, err := traced(t, dir, call, fmt.Sprintf("signal=KILL:when=%d", n), fmt.Sprint(call, n), acked)
	if diagnostics != "" {
		t.Fatalf("%s %d: %v: %s", call, n, err, diagnostics)
	}
	return err == nil
}

// traced runs a child in which something is injected into a kind of call, and adds
// what it acknowledged. It returns the trace and what the child said.
func traced(t *testing.T, dir, call, inject, round string, acked map[string]bool) (trace, diagnostics string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	file := filepath.Join(t.TempDir(), "trace")
	child := exec.CommandContext(ctx, "strace", "-f", "-qqq", "-o", file, "-e", "trace="+call, "-e", "inject="+call+":"+inject, os.Args[0])
	child.Env = append(os.Environ(), callChild+"="+dir, "BADGERSTORE_TEST_ROUND="+round)
	var said bytes.Buffer
	child.Stderr = &said
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Skip("no strace: ", err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		acked[lines.Text()] = true
	}
	err = child.Wait()
	if ctx.Err() != nil {
		t.Fatalf("%s with %s does not end: %s", call, inject, said.String())
	}
	data, failed := os.ReadFile(file)
	if failed != nil {
		t.Fatal(failed)
	}
	return string(data), said.String(), err
}

// checkKilled opens the store and finds everything that was acknowledged.
func checkKilled(t *testing.T, dir, round string, acked map[string]bool) {
	t.Helper()
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatalf("%s: %v", round, err)
	}
	err = s.View(context.Background(), "n", func(tx storage.Tx) error {
		for name := range acked {
			if value, err := tx.Get([]byte("a/" + name)); err != nil || !bytes.Equal(value, killValue(name)) {
				return fmt.Errorf("%s has %d bytes: %w", name, len(value), err)
			}
		}
		return checkPairs(tx)
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatalf("%s: %v", round, err)
	}
}

// runCallChild opens a store that writes tables all the time, writes,
// and closes it.
func runCallChild(dir string) error {
	s, err := open(settings{dir: dir, fs: wal.Dir(dir), segment: 256 << 10, memtableSize: 512 << 10, disk: disk{freeBytes}, log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	for i := range 40 {
		name := fmt.Sprintf("%s-%05d", os.Getenv("BADGERSTORE_TEST_ROUND"), i)
		err := s.Update(context.Background(), "n", func(tx storage.Tx) error {
			filler := []byte(strings.Repeat("f", 50_000))
			large := bytes.Repeat([]byte{byte(i)}, 2*blobThreshold) // of which all but the last are waste
			return errors.Join(tx.Set([]byte("a/"+name), killValue(name)), tx.Set([]byte("b/"+name), killValue(name)), tx.Set(fmt.Append([]byte("c/"), i), filler), tx.Set([]byte("large"), large))
		})
		if err != nil {
			return err
		}
		os.Stdout.WriteString(name + "\n")
	}
	return s.Close()
}
