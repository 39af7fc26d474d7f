package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/badgerstore"
)

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	s, err := badgerstore.Open(badgerstore.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		err := s.Update(t.Context(), "n", func(tx storage.Tx) error { return tx.Set(fmt.Append(nil, i), make([]byte, 100)) })
		if err != nil {
			t.Fatal(err)
		}
	}
	check := func() (string, error) {
		var out bytes.Buffer
		e := environment{args: []string{"check", dir}, getenv: func(string) string { return "" }, stdout: &out, stderr: &out}
		err := e.run(t.Context())
		return out.String(), err
	}
	if _, err := check(); !errors.Is(err, badgerstore.ErrInUse) {
		t.Errorf("beside a server: %v, want %v", err, badgerstore.ErrInUse)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := check(); err != nil || out != dir+": 100 records, no damage\n" {
		t.Errorf("%q, %v", out, err)
	}
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal("no table", err)
	}
	data, err := os.ReadFile(tables[0])
	if err != nil {
		t.Fatal(err)
	}
	data[100] ^= 1
	if err := os.WriteFile(tables[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := check(); err == nil || !strings.Contains(err.Error(), "the data is damaged") || !strings.Contains(out, filepath.Base(tables[0])) {
		t.Errorf("%q, %v, want %s", out, err, filepath.Base(tables[0]))
	}

	to := filepath.Join(t.TempDir(), "new")
	var out bytes.Buffer
	e := environment{args: []string{"salvage", dir, to}, getenv: func(string) string { return "" }, stdout: &out, stderr: &out}
	if err := e.run(t.Context()); err != nil || !strings.Contains(out.String(), "records of "+dir) {
		t.Errorf("%q, %v", out.String(), err)
	}
	if err := e.run(t.Context()); err == nil {
		t.Error("a store was salvaged into one that is there")
	}
}

// TestCheckOfNothing checks directories that are no stores: nothing is made there.
func TestCheckOfNothing(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "mistyped")} {
		var out bytes.Buffer
		e := environment{args: []string{"check", dir}, getenv: func(string) string { return "" }, stdout: &out, stderr: &out}
		if err := e.run(t.Context()); !errors.Is(err, badgerstore.ErrNoStore) {
			t.Errorf("%s: %q, %v", dir, out.String(), err)
		}
		if entries, _ := os.ReadDir(dir); len(entries) > 0 {
			t.Errorf("there is something in %s: %v", dir, entries)
		}
	}
}
