package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// start is when everything happens, where a test has no clock of its own.
var start = time.Unix(1_700_000_000, 0)

var (
	one   = accounts.Caller{Organization: "org_1"}
	other = accounts.Caller{Organization: "org_2"}
)

// extractorFunc is an Extractor made of a function that is given the bytes.
type extractorFunc func(ctx context.Context, data []byte, format Format) (Extracted, error)

func (f extractorFunc) Extract(ctx context.Context, doc io.Reader, size int64, format Format) (Extracted, error) {
	data, err := io.ReadAll(doc)
	if err != nil || int64(len(data)) != size {
		return Extracted{}, fmt.Errorf("got %d of %d bytes: %w", len(data), size, err)
	}
	return f(ctx, data, format)
}

// shouting is an extractor whose text is the bytes in upper case.
var shouting = extractorFunc(func(_ context.Context, data []byte, _ Format) (Extracted, error) {
	return Extracted{Text: strings.ToUpper(string(data)), Pages: 1}, nil
})

// env is a service over a store in memory.
type env struct {
	*Service
	t     testing.TB
	store storage.Store
	logs  *logs
}

func newEnv(t testing.TB, e Extractor) *env {
	t.Helper()
	store := memstore.New()
	t.Cleanup(func() { ok(t, store.Close()) })
	return newEnvOver(t, store, Options{Extractor: e, Now: func() time.Time { return start }})
}

// newEnvOver makes a service over a store and recovers both organizations.
func newEnvOver(t testing.TB, store storage.Store, o Options) *env {
	t.Helper()
	e := &env{t: t, store: store, logs: new(logs)}
	o.Store, o.Log = store, slog.New(slog.NewTextHandler(e.logs, nil))
	if o.NewID == nil {
		o.NewID = counter()
	}
	var err error
	e.Service, err = New(o)
	ok(t, err)
	t.Cleanup(func() { ok(t, e.Close()) })
	for _, c := range []accounts.Caller{one, other} {
		ok(t, e.Recover(context.Background(), c.Namespace()))
	}
	return e
}

// logs collects what is logged.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// counter returns a function that counts the IDs of each prefix.
func counter() func(prefix string) string {
	var mu sync.Mutex
	made := map[string]int{}
	return func(prefix string) string {
		mu.Lock()
		defer mu.Unlock()
		made[prefix]++
		return fmt.Sprintf("%s_%05d", prefix, made[prefix])
	}
}

// create uploads a file for the caller one.
func (e *env) create(mimeType, content string) File {
	e.t.Helper()
	f, err := e.Create(context.Background(), one, upload(mimeType, content))
	ok(e.t, err)
	return f
}

func upload(mimeType, content string) Upload {
	return Upload{Filename: "a", MIMEType: mimeType, Content: strings.NewReader(content), Purpose: Purpose}
}

// settle waits until a file is neither waiting nor worked on, and returns it.
func (e *env) settle(id string) File {
	e.t.Helper()
	if over := e.queue.done(job{one.Namespace(), id}); over != nil {
		<-over
	}
	f, err := e.Get(context.Background(), one, id)
	ok(e.t, err)
	return f
}

// keys are all keys of the caller one, chunk numbers and times as hexadecimal.
func keys(t testing.TB, store storage.Store) []string {
	t.Helper()
	found := []string{}
	err := store.View(context.Background(), one.Namespace(), func(tx storage.Tx) error {
		found = []string{}
		for entry, err := range tx.Scan(storage.Range{KeysOnly: true}) {
			if err != nil {
				return err
			}
			found = append(found, string(entry.Key))
		}
		return nil
	})
	ok(t, err)
	return found
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T any](t testing.TB, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\ngot  %+v\nwant %+v", got, want)
	}
}

// content returns the bytes of a file.
func (e *env) content(id string) string {
	e.t.Helper()
	_, r, err := e.Content(context.Background(), one, id)
	ok(e.t, err)
	data, err := io.ReadAll(r)
	ok(e.t, err)
	return string(data)
}

func missing(code, id string) error { return fault.Missing(code, "file", id) }

var errBroken = errors.New("broken")
