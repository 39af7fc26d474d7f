package svc_test

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/badgerstore"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// unpack puts the files of an archive into a directory.
func unpack(t *testing.T, name, dir string) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(unzipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(r)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(h.Name)), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// holds reports whether got has everything that want has: fields may have been
// added since.
func holds(got, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		for name, value := range w {
			ok = ok && holds(g[name], value)
		}
		return ok
	case []any:
		g, ok := got.([]any)
		ok = ok && len(g) == len(w)
		for i := range w {
			ok = ok && holds(g[i], w[i])
		}
		return ok
	}
	return got == want
}

// TestAStoreOfFormat0 opens a store that the program of commit de96041 wrote, and
// compares what it answers with what that program answered.
func TestAStoreOfFormat0(t *testing.T) {
	dir := t.TempDir()
	unpack(t, "testdata/format0/store.tar.gz", dir)
	for _, start := range []string{"first", "second"} {
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, nil))
		store, err := badgerstore.Open(badgerstore.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		service, err := svc.New(t.Context(), svc.Options{Store: store, Logger: logger})
		if err != nil {
			t.Fatal(err)
		}
		const adminKey = "admin-golden-key-0001"
		api := httpapi.New(service, httpapi.Options{Logger: slog.New(slog.DiscardHandler), AdminKey: adminKey})
		answers, err := os.Open("testdata/format0/answers.txt")
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(answers)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			path := lines.Text()
			lines.Scan()
			r := httptest.NewRequest("GET", path, nil)
			r.Header.Set("Authorization", "Bearer sk-golden")
			if strings.HasPrefix(path, "/admin") {
				r.Header.Set("Authorization", "Bearer "+adminKey)
			}
			w := httptest.NewRecorder()
			api.ServeHTTP(w, r)
			var got, want any
			if err := errors.Join(json.Unmarshal(w.Body.Bytes(), &got), json.Unmarshal(lines.Bytes(), &want)); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if !holds(got, want) {
				t.Errorf("%s start: GET %s: got\n%s\nbut the old program said\n%s", start, path, w.Body, lines.Bytes())
			}
		}
		if err := errors.Join(lines.Err(), answers.Close(), service.Close(), store.Close()); err != nil {
			t.Fatal(err)
		}
		if said := strings.Contains(log.String(), "brought to a newer format"); said != (start == "first") {
			t.Errorf("%s start: the log says %s", start, log.String())
		}
	}
}

func TestANewerFormatIsRefused(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	set := func(number string) {
		if err := store.Update(t.Context(), "system", func(tx storage.Tx) error { return tx.Set([]byte("format"), []byte(number)) }); err != nil {
			t.Fatal(err)
		}
	}
	set("1000")
	_, err := svc.New(t.Context(), svc.Options{Store: store})
	if err == nil || !strings.Contains(err.Error(), "it has format 1000 and this program reads up to 1") {
		t.Errorf("got %v", err)
	}
	set("nonsense")
	if _, err = svc.New(t.Context(), svc.Options{Store: store}); err == nil || !strings.Contains(err.Error(), "reading the store's format") {
		t.Errorf("got %v", err)
	}
}
