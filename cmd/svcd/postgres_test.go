package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/storage/pgstore/pgtest"
)

// TestMovingToPostgresAndBack moves a server's data from a directory to a
// database and from there to another directory, with backup and restore.
func TestMovingToPostgresAndBack(t *testing.T) {
	database := pgtest.Database(t)
	dir := t.TempDir()
	url, stop := start(t, empty, "-data", filepath.Join(dir, "0"), "-api-key", "user-key", "-admin-key", testAdminKey)
	status, created := ask(t, "POST", url+"/v1/conversations", `{"metadata":{"a":"b"},"items":[{"role":"user","content":"Hi"}]}`)
	if status != 200 {
		t.Fatalf("got %d %s", status, created)
	}
	id, _, _ := strings.Cut(strings.SplitN(created, `"id":"`, 2)[1], `"`)
	_, want := ask(t, "GET", url+"/v1/conversations/"+id+"/items", "")
	for i, data := range []string{database, filepath.Join(dir, "2")} {
		file := filepath.Join(dir, "backup"+string(rune('1'+i)))
		if _, _, err := svcd(t, url, "backup "+file); err != nil {
			t.Fatal(err)
		}
		stop()
		if _, _, err := svcd(t, "", "restore -data "+data+" "+file); err != nil {
			t.Fatal(err)
		}
		if _, _, err := svcd(t, "", "restore -data "+data+" "+file); err == nil {
			t.Errorf("%s: a restore over data has no error", data)
		}
		url, stop = start(t, empty, "-data", data, "-admin-key", testAdminKey)
		if status, got := ask(t, "GET", url+"/v1/conversations/"+id+"/items", ""); status != 200 || got != want {
			t.Errorf("%s: got %d %s, want %s", data, status, got, want)
		}
	}
	stop()
}
