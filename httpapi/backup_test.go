package httpapi

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/storage/backup"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

func TestBackup(t *testing.T) {
	a := newAdminAPI(t, svc.Options{}, Options{})
	newOwner(t, a)
	w := send(a, adminKey, "GET", "/admin/v1/backup", "")
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/octet-stream" {
		t.Fatalf("got %d %v", w.Code, w.Header())
	}
	r, err := backup.NewReader(w.Body)
	for err == nil {
		_, err = r.Next()
	}
	if err != io.EOF || r.Done() < 10 {
		t.Errorf("the backup has %d records and ends with %v", r.Done(), err)
	}
}

func TestBackupOfAnotherStore(t *testing.T) {
	a := newAdminAPI(t, svc.Options{Store: &brokenStore{Store: memstore.New()}}, Options{})
	exchange{"unsupported", "GET", "/admin/v1/backup", "", 409,
		`{"error":{"message":"The service's store cannot be backed up.","type":"invalid_request_error","param":null,"code":"backup_unsupported"}}`}.run(t, a, adminKey)
}

// brokenPipe is a connection that takes some bytes and no more.
type brokenPipe struct {
	http.ResponseWriter
	room int
}

func (b *brokenPipe) Write(p []byte) (int, error) {
	if b.room -= len(p); b.room < 0 {
		return 0, io.ErrClosedPipe
	}
	return b.ResponseWriter.Write(p)
}

// TestBackupIsAborted has a backup fail on the way: a clean end would look like
// a whole one.
func TestBackupIsAborted(t *testing.T) {
	a := newAdminAPI(t, svc.Options{}, Options{})
	r := httptest.NewRequest("GET", "/admin/v1/backup", strings.NewReader(""))
	r.Header.Set("Authorization", "Bearer "+adminKey)
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("the handler ended with %v", p)
		}
	}()
	a.ServeHTTP(&brokenPipe{httptest.NewRecorder(), 30}, r)
}
