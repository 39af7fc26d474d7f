package chat_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// now is when everything happens.
var now = time.Unix(1_700_000_000, 0)

// env is a service over a scripted model, and an organization with a dollar.
type env struct {
	*chat.Service
	t        *testing.T
	script   *modeltest.Script
	accounts *accounts.Service
	store    *brittle
	caller   accounts.Caller
	log      *bytes.Buffer
}

// brittle is a store in which nothing can be written while it is broken, and which
// counts the entries that are read from it.
type brittle struct {
	storage.Store
	broken bool
	read   int
}

func (b *brittle) View(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	return b.Store.View(ctx, ns, func(tx storage.Tx) error { return fn(countingTx{tx, b}) })
}

type countingTx struct {
	storage.Tx
	store *brittle
}

func (c countingTx) Scan(r storage.Range) iter.Seq2[storage.Entry, error] {
	return func(yield func(storage.Entry, error) bool) {
		for e, err := range c.Tx.Scan(r) {
			c.store.read++
			if !yield(e, err) {
				return
			}
		}
	}
}

func (b *brittle) Update(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	if b.broken {
		return storage.ErrConflict
	}
	return b.Store.Update(ctx, ns, fn)
}

func newEnv(t *testing.T, answers ...modeltest.Answer) *env {
	t.Helper()
	return newEnvOver(t, modeltest.New(answers...), inline{})
}

func newEnvOver(t *testing.T, script *modeltest.Script, documents chat.Documents) *env {
	t.Helper()
	e := &env{t: t, script: script, store: &brittle{Store: memstore.New()}, log: &bytes.Buffer{}}
	newID := counter()
	clock := func() time.Time { return now }
	log := slog.New(slog.NewTextHandler(e.log, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	var err error
	e.accounts, err = accounts.New(t.Context(), accounts.Options{Store: e.store, Now: clock, NewID: newID, Log: log})
	e.ok(err)
	t.Cleanup(func() { e.ok(e.accounts.Close()); e.ok(e.store.Close()) })
	e.Service, err = chat.New(chat.Options{
		Accounts: e.accounts, Backend: script, Store: e.store, Documents: documents, Now: clock, NewID: newID,
	})
	e.ok(err)
	e.caller = e.organization(accounts.NewOrganization{Name: "one", Credits: accounts.Dollar})
	return e
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// counter returns a function that counts the IDs of each prefix.
func counter() func(prefix string) string {
	var mu sync.Mutex
	made := map[string]int{}
	return func(prefix string) string {
		mu.Lock()
		defer mu.Unlock()
		made[prefix]++
		return fmt.Sprintf("%s_%02d", prefix, made[prefix])
	}
}

func (e *env) organization(n accounts.NewOrganization) accounts.Caller {
	e.t.Helper()
	o, err := e.accounts.CreateOrganization(context.Background(), n)
	e.ok(err)
	c, err := e.accounts.CallerFor(context.Background(), o.ID)
	e.ok(err)
	return c
}

func (e *env) ok(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

func (e *env) complete(req *chat.Request) *chat.Completion {
	e.t.Helper()
	c, err := e.Complete(e.t.Context(), e.caller, req)
	e.ok(err)
	return c
}

// stream collects a stream.
func (e *env) stream(req *chat.Request) []chat.Chunk {
	e.t.Helper()
	chunks, err := e.Stream(e.t.Context(), e.caller, req)
	e.ok(err)
	var all []chat.Chunk
	for c, err := range chunks {
		e.ok(err)
		all = append(all, c)
	}
	return all
}

// uses returns what the caller's organization was charged for.
func (e *env) uses(caller accounts.Caller) []accounts.Use {
	e.t.Helper()
	entries, err := e.accounts.Usage(context.Background(), caller.Organization, page.Params{})
	e.ok(err)
	var uses []accounts.Use
	for _, entry := range entries.Items {
		uses = append(uses, entry.Use)
	}
	return uses
}

// kept returns the keys of what the package has stored for a caller.
func (e *env) kept(caller accounts.Caller) []string {
	e.t.Helper()
	var keys []string
	err := e.store.View(context.Background(), caller.Namespace(), func(tx storage.Tx) error {
		keys = nil
		for entry, err := range tx.Scan(storage.Prefix([]byte("c/"))) {
			if err != nil {
				return err
			}
			keys = append(keys, string(entry.Key))
		}
		return nil
	})
	e.ok(err)
	return keys
}

func equal[T any](t *testing.T, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\ngot  %+v\nwant %+v", got, want)
	}
}

// ask is a request with one user message.
func ask(text string) *chat.Request {
	return &chat.Request{Model: model.DefaultGenerator, Messages: []chat.Message{user(text)}}
}

func user(text string) chat.Message { return message(model.User, text) }

func message(role model.Role, text string) chat.Message {
	return chat.Message{Role: role, Content: []chat.Part{chat.Text(text)}}
}

func calling(calls ...model.ToolCall) chat.Message {
	return chat.Message{Role: model.Assistant, ToolCalls: calls}
}

func result(id, text string) chat.Message {
	m := message(model.ToolRole, text)
	m.ToolCallID = id
	return m
}

func ptr[T any](v T) *T { return &v }

// generated is the use of a completion with the usage of the script.
func generated(object string) accounts.Use {
	return accounts.Use{
		Endpoint: "chat.completions", Model: model.DefaultGenerator, Object: object,
		Kind: accounts.Generation, InputTokens: 11, OutputTokens: 7,
	}
}

// uploads has every file.
type uploads struct{ inline }

// inline reads text and has no uploads.
type inline struct{}

func (inline) Stored(_ context.Context, _ accounts.Caller, id string) (model.Document, error) {
	return model.Document{}, fault.Missing(files.CodeFileNotFound, "file", id)
}

func (inline) Inline(_ context.Context, name, mimeType string, data []byte) (model.Document, error) {
	if mimeType == "" {
		mimeType = files.TypeByName(name)
	}
	if _, err := files.FormatOf(mimeType); err != nil {
		return model.Document{}, err
	}
	text, err := files.Text(mimeType, data)
	return model.Document{Name: name, Text: text}, err
}

func (uploads) Stored(_ context.Context, _ accounts.Caller, id string) (model.Document, error) {
	return model.Document{Name: id, Text: "its text"}, nil
}
