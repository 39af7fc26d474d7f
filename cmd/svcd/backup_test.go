package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// names returns what is in a directory.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return strings.Join(list, " ")
}

// ask sends a request of a user and returns the status and the answer.
func ask(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer user-key")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

// TestBackupAndRestore backs a server up while it is written to, and starts
// another from the backup.
func TestBackupAndRestore(t *testing.T) {
	dir := t.TempDir()
	file, data := filepath.Join(dir, "svc.backup"), filepath.Join(dir, "new", "data")
	url, stop := start(t, empty, "-data", filepath.Join(dir, "old"), "-api-key", "user-key", "-admin-key", testAdminKey)
	status, created := ask(t, "POST", url+"/v1/conversations", `{"metadata":{"a":"b"},"items":[{"role":"user","content":"Hi"}]}`)
	if status != 200 {
		t.Fatalf("got %d %s", status, created)
	}
	id, _, _ := strings.Cut(strings.SplitN(created, `"id":"`, 2)[1], `"`)
	paths := []string{"/v1/conversations/" + id, "/v1/conversations/" + id + "/items"}
	var before []string
	for _, path := range paths {
		_, answer := ask(t, "GET", url+path, "")
		before = append(before, answer)
	}

	ended, quit := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-quit:
				return
			default:
				ask(t, "POST", url+"/v1/conversations", fmt.Sprintf(`{"metadata":{"n":"%d"}}`, i))
			}
		}
	}()
	stdout, _, err := svcd(t, url, "backup "+file)
	close(quit)
	<-ended
	if err != nil || !strings.HasPrefix(stdout, file+" has ") {
		t.Fatalf("backup: got %v and %q", err, stdout)
	}
	if _, _, err := svcd(t, url, "backup "+file); err == nil || err.Error() != file+" exists already" {
		t.Errorf("backup over a file: got %v", err)
	}
	stop()

	if _, _, err := svcd(t, "", "restore -data "+data+" "+file); err != nil {
		t.Fatalf("restore: %v", err)
	}
	if _, _, err := svcd(t, "", "restore -data "+data+" "+file); err == nil || err.Error() != data+" is not empty" {
		t.Errorf("restore over data: got %v", err)
	}
	url, _ = start(t, empty, "-data", data, "-admin-key", testAdminKey)
	for i, path := range paths {
		if status, after := ask(t, "GET", url+path, ""); status != 200 || after != before[i] {
			t.Errorf("%s: got %d %s, want %s", path, status, after, before[i])
		}
	}
	if got := names(t, dir); got != "new old svc.backup" {
		t.Errorf("there is %s", got)
	}
}

// TestDamagedBackups has a server whose answer breaks off, and files with the
// same fault. Nothing is left of either.
func TestDamagedBackups(t *testing.T) {
	good := newServer(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "good")
	if _, _, err := svcd(t, good, "backup "+file); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Clone(whole)
	changed[len(changed)-1]++
	const damaged = "backup: cut short or damaged"
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":     {nil, damaged},
		"cut":       {whole[:len(whole)-1], damaged},
		"head":      {whole[:20], damaged},
		"changed":   {changed, damaged},
		"no-backup": {bytes.Repeat([]byte("x"), 100), "backup: this is no backup, or one of another version"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(c.data) }))
			defer server.Close()
			if _, _, err := svcd(t, server.URL, "backup "+filepath.Join(dir, "file")); err == nil || err.Error() != c.want {
				t.Errorf("backup: got %v, want %s", err, c.want)
			}
			if got := names(t, dir); got != "" {
				t.Errorf("the backup has left %s", got)
			}
			file := filepath.Join(dir, "bad")
			if err := os.WriteFile(file, c.data, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, _, err := svcd(t, "", "restore -data "+filepath.Join(dir, "data")+" "+file); err == nil || err.Error() != c.want {
				t.Errorf("restore: got %v, want %s", err, c.want)
			}
			if got := names(t, dir); got != "bad" {
				t.Errorf("the restore has left %s", got)
			}
		})
	}
}
