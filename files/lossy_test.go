package files

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage/memstore"
	"github.com/seed-506d8e5d/svc/storage/storagetest"
)

// readFunc is a reader that does something and has nothing.
type readFunc func() error

func (f readFunc) Read([]byte) (int, error) {
	if err := f(); err != nil {
		return 0, err
	}
	return 0, io.EOF
}

// TestAStoreThatLosesChunks has the store lose the middle of an upload while the
// rest is on its way. Nobody is told that it is stored; one of which nothing was
// lost is.
func TestAStoreThatLosesChunks(t *testing.T) {
	store := &storagetest.Lossy{Store: memstore.New()}
	t.Cleanup(func() { ok(t, store.Close()) })
	e := newEnvOver(t, store, Options{Extractor: shouting, Now: func() time.Time { return start }})
	batch := bytes.Repeat([]byte("a"), batchSize)
	for lost, want := range []bool{true, false} {
		content := io.MultiReader(bytes.NewReader(batch), bytes.NewReader(batch),
			readFunc(func() error { return store.Lose(t.Context(), store.Commits()-lost) }), bytes.NewReader(batch))
		f, err := e.Create(t.Context(), one, Upload{Filename: "a.txt", MIMEType: "text/plain", Purpose: Purpose, Content: content})
		if stored := err == nil; stored != want || err != nil && !fault.Is(err, fault.Unavailable) {
			t.Errorf("with %d commits lost the upload is %+v, %v", lost, f, err)
		}
	}
}
