//go:build unix

package files

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/seed-506d8e5d/svc/storage/badgerstore"
)

// openChild opens the store in a directory and a service over it, in a child.
func openChild(dir string, e Extractor) (*Service, error) {
	store, err := badgerstore.Open(badgerstore.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	return New(Options{Store: store, Extractor: e, NewID: counter()})
}

// uploadForever uploads a file, stages half of another, and waits to be killed.
func uploadForever(args []string) error {
	s, err := openChild(args[0], nil)
	if err != nil {
		return err
	}
	if _, err := s.Create(context.Background(), one, upload("text/plain", "whole")); err != nil {
		return err
	}
	_, err = s.Stage(context.Background(), one, "b", "text/plain", io.MultiReader(&zeros{n: 5 * batchSize}, hang{}))
	return err
}

// readForever uploads a file whose extraction waits to be killed.
func readForever(args []string) error {
	s, err := openChild(args[0], extractorFunc(func(context.Context, []byte, Format) (Extracted, error) {
		_, err := hang{}.Read(nil)
		return Extracted{}, err
	}))
	if err != nil {
		return err
	}
	if _, err := s.Create(context.Background(), one, upload("application/pdf", "text")); err != nil {
		return err
	}
	select {}
}

// hang is a reader that says that it was reached and never returns.
type hang struct{}

func (hang) Read([]byte) (int, error) {
	fmt.Println("reached")
	select {}
}

// killChild runs a child over a directory until it has said a line, and kills it.
func killChild(t *testing.T, name, dir string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], name, dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	ok(t, err)
	ok(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "reached\n" {
		t.Errorf("the child said %q, %v", line, err)
	}
	ok(t, cmd.Process.Kill())
	if err := cmd.Wait(); err == nil {
		t.Error("the child ended by itself")
	}
}

func openDir(t testing.TB, dir string) *badgerstore.Store {
	t.Helper()
	store, err := badgerstore.Open(badgerstore.Options{Dir: dir})
	ok(t, err)
	t.Cleanup(func() { ok(t, store.Close()) })
	return store
}

// TestAKillDuringAnUploadLeavesNothing finds the chunks in the store after the
// kill, and none after the next start.
func TestAKillDuringAnUploadLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	killChild(t, "child-upload", dir)
	store := openDir(t, dir)
	if left := len(keys(t, store)); left < 4*batchSize/chunkSize {
		t.Errorf("the kill left %d keys: %q", left, keys(t, store))
	}
	e := newEnvOver(t, store, Options{})
	equal(t, keys(t, store), []string{"f/b/blob_00001/\x00\x00\x00\x00", "f/m/file_00001"})
	equal(t, e.content("file_00001"), "whole")
}

func TestAKillDuringAnExtractionIsMadeUpFor(t *testing.T) {
	dir := t.TempDir()
	killChild(t, "child-reads", dir)
	e := newEnvOver(t, openDir(t, dir), Options{Extractor: shouting})
	equal(t, e.settle("file_00001").Status, Processed)
	text, err := e.Text(t.Context(), one, "file_00001")
	ok(t, err)
	equal(t, text, "TEXT")
}
