package badgerstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
)

// childDir names the variable that makes the test binary a child of TestKill,
// which writes to the store in that directory until it is killed.
const childDir = "BADGERSTORE_TEST_CHILD_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		fmt.Fprintln(os.Stderr, writeForever(dir))
		os.Exit(1)
	}
	if dir := os.Getenv("BADGERSTORE_TEST_CALL_CHILD"); dir != "" { // of TestKillAtCalls
		if err := runCallChild(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// writeForever writes from several goroutines and prints, for each transaction
// that was acknowledged, its name on a line.
func writeForever(dir string) error {
	s, err := Open(Options{Dir: dir})
	if err != nil {
		return err
	}
	failed := make(chan error)
	for worker := range 8 {
		go func() {
			for i := 0; ; i++ {
				name := fmt.Sprintf("%d-%05d", worker, i)
				err := s.Update(context.Background(), "n", func(tx storage.Tx) error {
					value := killValue(name)
					return errors.Join(tx.Set([]byte("a/"+name), value), tx.Set([]byte("b/"+name), value))
				})
				if err == nil {
					_, err = os.Stdout.WriteString(name + "\n")
				}
				if err != nil {
					failed <- err
				}
			}
		}()
	}
	return <-failed
}

// killValue returns the value of a transaction, sometimes one for the value log.
func killValue(name string) []byte {
	if strings.HasSuffix(name, "7") {
		return []byte(strings.Repeat(name, (blobThreshold+1)/len(name)+1))
	}
	return []byte(name)
}

// TestKill kills a process that writes to a store and finds everything that was
// acknowledged, and of all else both keys or none.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	for round := range 2 {
		acked := killChild(t, dir)
		s := openDir(t, dir)
		for name := range acked {
			err := s.View(context.Background(), "n", func(tx storage.Tx) error {
				for _, prefix := range []string{"a/", "b/"} {
					value, err := tx.Get([]byte(prefix + name))
					if err != nil || string(value) != string(killValue(name)) {
						return fmt.Errorf("%s%s has %d bytes, %w", prefix, name, len(value), err)
					}
				}
				return nil
			})
			if err != nil {
				t.Errorf("round %d: %v", round, err)
			}
		}
		if err := s.View(context.Background(), "n", checkPairs); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// checkPairs checks that the keys that begin with a and those that begin with b
// go on in the same way and have whole values.
func checkPairs(tx storage.Tx) error {
	var names [2][]string
	for i, prefix := range []string{"a/", "b/"} {
		for entry, err := range tx.Scan(storage.Prefix([]byte(prefix))) {
			if err != nil {
				return err
			}
			name := string(entry.Key[len(prefix):])
			if string(entry.Value) != string(killValue(name)) {
				return fmt.Errorf("%s has %d bytes", entry.Key, len(entry.Value))
			}
			names[i] = append(names[i], name)
		}
	}
	if strings.Join(names[0], " ") != strings.Join(names[1], " ") {
		return fmt.Errorf("%d transactions have their first key and %d their second", len(names[0]), len(names[1]))
	}
	return nil
}

// killChild runs a child, kills it after some hundred transactions and returns
// the names of all that it printed. While it runs, the directory is in use.
func killChild(t *testing.T, dir string) map[string]bool {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	acked := make(map[string]bool)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		acked[lines.Text()] = true
		if len(acked) != 400 {
			continue
		}
		_, err := Open(Options{Dir: dir})
		want := fmt.Sprintf("badgerstore: %s is in use by another process (pid %d)", dir, child.Process.Pid)
		if !errors.Is(err, ErrInUse) || err.Error() != want {
			t.Errorf("Open: %v, want %s", err, want)
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	if err := child.Wait(); err == nil || len(acked) < 400 {
		t.Fatalf("the child ended by itself after %d transactions: %v", len(acked), err)
	}
	return acked
}
