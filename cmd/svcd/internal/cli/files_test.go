package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/files"
)

// TestAnUploadWaitsOnlySoLong waits for a server that gets nowhere.
func TestAnUploadWaitsOnlySoLong(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	u := &uploading{session: &session{}, wait: time.Hour}
	_, err := u.await(ctx, &sending{line: &statusLine{}}, files.File{Status: files.Uploaded})
	if err != context.DeadlineExceeded {
		t.Errorf("got %v", err)
	}
	u.wait = time.Nanosecond
	_, err = u.await(t.Context(), &sending{line: &statusLine{}}, files.File{ID: "file_1", Status: files.Uploaded})
	if want := "it is uploaded as file_1 and still not processed after 1ns"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestSendingIsShown(t *testing.T) {
	is := is.New(t)
	var terminal strings.Builder
	b := &sending{line: &statusLine{terminal: &terminal}, name: "a\x1b.pdf", total: 2_000_000}
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	is.NoErr(err)
	defer f.Close()
	is.NoErr(f.Truncate(2_000_000))
	for i := range int64(2) {
		n, err := shownFile{f, b}.ReadAt(make([]byte, 1_000_000), i*1_000_000)
		is.NoErr(err)
		is.Equal(n, 1_000_000)
	}
	b.show("reading")
	b.show("reading")
	b.line.clear()
	b.line.clear()
	const start, end = "\ra\uFFFD.pdf  ", "\x1b[K"
	is.Equal(terminal.String(), start+"[===============               ]  50% of 2.0 MB"+end+
		start+"[==============================] 100% of 2.0 MB"+end+
		start+"reading"+end+"\r"+end)
}
