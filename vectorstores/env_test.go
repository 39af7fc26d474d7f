package vectorstores_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"mime/multipart"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
	"github.com/seed-506d8e5d/svc/vectorstores"
)

// env is a service with vector stores and its handler, in a bubble of synctest.
type env struct {
	t       *testing.T
	store   storage.Store
	script  *modeltest.Script
	embed   vectorstores.Embed // nil: searches are by words alone
	service *svc.Service
	stores  *vectorstores.Service
	api     *httpapi.API
	key     string
}

// ids makes IDs that tests can know.
type ids struct {
	mu   sync.Mutex
	made map[string]int
}

func (i *ids) next(prefix string) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.made[prefix]++
	return fmt.Sprintf("%s_%d", prefix, i.made[prefix])
}

func newEnv(t *testing.T, answers ...modeltest.Answer) *env {
	t.Helper()
	return newEmbeddingEnv(t, nil, answers...)
}

func newEmbeddingEnv(t *testing.T, embed vectorstores.Embed, answers ...modeltest.Answer) *env {
	t.Helper()
	e := &env{t: t, store: memstore.New(), script: modeltest.New(answers...), embed: embed}
	t.Cleanup(func() { check(t, e.store.Close()) })
	e.start(&ids{made: map[string]int{}})
	t.Cleanup(e.stop)
	var err error
	e.key, err = e.service.Bootstrap(t.Context(), "")
	check(t, err)
	return e
}

// start makes a service over the store.
func (e *env) start(i *ids) {
	e.t.Helper()
	log := slog.New(slog.DiscardHandler)
	var err error
	e.service, err = svc.New(e.t.Context(), svc.Options{Store: e.store, Backend: e.script, Logger: log, NewID: i.next})
	check(e.t, err)
	p := e.service.Parts()
	model := ""
	if e.embed != nil {
		model = "embedder"
	}
	e.stores = vectorstores.New(vectorstores.Options{
		Model: model, Embed: e.embed,
		Store: p.Store, Cluster: p.Cluster, Accounts: p.Accounts, Files: p.Files, Now: p.Now, NewID: p.NewID, Log: log,
	})
	e.service.UseFileSearch(e.stores)
	e.api = httpapi.New(e.service, httpapi.Options{Logger: log, VectorStores: e.stores, NewRequestID: func() string { return "req" }})
}

func (e *env) stop() {
	e.t.Helper()
	check(e.t, e.stores.Close())
	check(e.t, e.service.Close())
}

// do sends a request and returns the answer, which must have a status.
func (e *env) do(status int, method, path, body string) string {
	e.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+e.key)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	e.api.ServeHTTP(w, r)
	if w.Code != status {
		e.t.Errorf("%s %s %.200s: got %d %s, want %d", method, path, body, w.Code, w.Body, status)
	}
	return strings.TrimSpace(w.Body.String())
}

// want sends a request and compares the whole answer.
func (e *env) want(status int, method, path, body, want string) {
	e.t.Helper()
	if got := e.do(status, method, path, body); got != want {
		e.t.Errorf("%s %s %.200s: got\n%s\nwant\n%s", method, path, body, got, want)
	}
}

// upload uploads a file and returns its ID.
func (e *env) upload(name, mimeType, content string) string {
	e.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	check(e.t, form.WriteField("purpose", "assistants"))
	part, err := form.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="file"; filename="` + name + `"`}, "Content-Type": {mimeType},
	})
	check(e.t, err)
	_, err = part.Write([]byte(content))
	check(e.t, err)
	check(e.t, form.Close())
	r := httptest.NewRequest("POST", "/v1/files", &body)
	r.Header.Set("Authorization", "Bearer "+e.key)
	r.Header.Set("Content-Type", form.FormDataContentType())
	w := httptest.NewRecorder()
	e.api.ServeHTTP(w, r)
	var made struct{ ID string }
	if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || w.Code != 200 {
		e.t.Fatalf("upload: %d %s", w.Code, w.Body)
	}
	return made.ID
}

// filled makes the store vs_1 of files with texts.
func (e *env) filled(texts ...string) (files []string) {
	e.t.Helper()
	for i, text := range texts {
		files = append(files, e.upload(fmt.Sprintf("%d.md", i+1), "text/markdown", text))
	}
	list, err := json.Marshal(files)
	check(e.t, err)
	e.do(200, "POST", "/v1/vector_stores", `{"file_ids":`+string(list)+`}`)
	synctest.Wait()
	return files
}

// found searches vs_1 and returns the names of the files that are found.
func (e *env) found(query string) (names []string) {
	e.t.Helper()
	body, err := json.Marshal(map[string]any{"query": query})
	check(e.t, err)
	return e.search(string(body))
}

// search searches vs_1 and returns the names of the files that are found.
func (e *env) search(body string) (names []string) {
	e.t.Helper()
	var page struct {
		Data []struct{ Filename string }
	}
	check(e.t, json.Unmarshal([]byte(e.do(200, "POST", "/v1/vector_stores/vs_1/search", body)), &page))
	for _, r := range page.Data {
		names = append(names, r.Filename)
	}
	return names
}

// keys returns the keys of vector stores in the organization's namespace.
func (e *env) keys() (keys []string) {
	e.t.Helper()
	caller, err := e.service.Authenticate(e.t.Context(), e.key)
	check(e.t, err)
	check(e.t, e.store.View(e.t.Context(), caller.Namespace(), func(tx storage.Tx) error {
		for entry, err := range tx.Scan(storage.Prefix([]byte("s/"))) {
			check(e.t, err)
			keys = append(keys, string(entry.Key))
		}
		return nil
	}))
	return keys
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
