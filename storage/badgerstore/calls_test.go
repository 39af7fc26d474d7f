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
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/internal/wal"
)

var callKills = flag.Int("call-kills", 0, "at how many of each kind of system call to kill a process; 0: at none")

// callChild names the variable that makes the test binary a child of
// TestKillAtCalls.
const callChild = "BADGERSTORE_TEST_CALL_CHILD"

// calls are the system calls that change a directory.
var calls = []string{"openat", "ftruncate", "fallocate", "pwrite64", "write", "fdatasync", "fsync", "msync", "unlinkat", "renameat", "munmap"}

// TestKillAtCalls lets a process open a store, write so that everything rotates,
// reclaim what is unused, and close it, and kills it when it enters the nth system call of a kind, for
// each kind and one n after the other. It needs strace.
//
//	go test ./storage/badgerstore -run KillAtCalls -call-kills 100
func TestKillAtCalls(t *testing.T) {
	if *callKills == 0 {
		t.Skip("without -call-kills")
	}
	killed := 0
	for _, call := range calls {
		dir := t.TempDir()
		acked := map[string]bool{}
		for n := 1; n <= *callKills; n++ {
			survived := killAtCall(t, dir, call, n, acked)
			checkKilled(t, dir, acked)
			if survived {
				break
			}
			killed++
		}
	}
	t.Logf("%d kills", killed)
}

// killAtCall runs a child until the nth call of a kind, and adds what it
// acknowledged. It returns true for a child that ended by itself.
func killAtCall(t *testing.T, dir, call string, n int, acked map[string]bool) bool {
	child := exec.Command("strace", "-f", "-qqq", "-o", "/dev/null", "-e", "trace="+call,
		"-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n), os.Args[0])
	child.Env = append(os.Environ(), callChild+"="+dir, fmt.Sprintf("BADGERSTORE_TEST_ROUND=%s%d", call, n))
	var diagnostics bytes.Buffer
	child.Stderr = &diagnostics
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
	if diagnostics.Len() > 0 {
		t.Fatalf("%s %d: %v: %s", call, n, err, diagnostics.String())
	}
	return err == nil
}

// checkKilled opens the store and finds everything that was acknowledged.
func checkKilled(t *testing.T, dir string, acked map[string]bool) {
	t.Helper()
	s, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
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
		t.Fatal(err)
	}
}

// runCallChild opens a store with which badger writes tables all the time, writes,
// and closes it.
func runCallChild(dir string) error {
	log := slog.New(slog.DiscardHandler)
	opts := badgerOptions(dir, log).WithMemTableSize(1 << 20).WithValueLogFileSize(1 << 20)
	s, err := open(settings{dir: dir, badger: opts, fs: wal.Dir(dir), segment: 256 << 10, disk: disk{freeBytes}, log: log})
	if err != nil {
		return err
	}
	for i := range 40 {
		name := fmt.Sprintf("%s-%05d", os.Getenv("BADGERSTORE_TEST_ROUND"), i)
		err := s.Update(context.Background(), "n", func(tx storage.Tx) error {
			filler := []byte(strings.Repeat("f", 50_000))
			large := bytes.Repeat([]byte{byte(i)}, 2*valueThreshold) // of which all but the last are waste
			return errors.Join(tx.Set([]byte("a/"+name), killValue(name)), tx.Set([]byte("b/"+name), killValue(name)), tx.Set(fmt.Append([]byte("c/"), i), filler), tx.Set([]byte("large"), large))
		})
		if err != nil {
			return err
		}
		os.Stdout.WriteString(name + "\n")
		if i%20 == 19 {
			s.db.deletes = reclaimDeletes
			if err := s.db.reclaim(context.Background()); err != nil {
				return err
			}
		}
	}
	return s.Close()
}
