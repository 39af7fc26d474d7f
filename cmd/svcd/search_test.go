package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestSearchFindsPassages(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"whale.md": "# Whales\n\nAll whales are mammals.", "shark.txt": "A shark is a fish.", "odd.txt": "\xff", "photo.jpg": "whale", ".hidden/whale.txt": "whale",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, complaints bytes.Buffer
	e := environment{getenv: func(string) string { return "" }, stdout: &out, stderr: &complaints}
	e.args = []string{"search", dir, "what", "whales", "are"}
	if err := e.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := "0.24  whale.md    \n    # Whales\n    \n    All whales are mammals.\n"; out.String() != want {
		t.Errorf("got  %q\nwant %q", out.String(), want)
	}
	if want := filepath.Join(dir, "odd.txt") + ": The file could not be read. It is not text in UTF-8, nor in UTF-16 with a byte order mark.\n"; complaints.String() != want {
		t.Errorf("got  %q\nwant %q", complaints.String(), want)
	}
}
