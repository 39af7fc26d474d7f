package batches_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"mime/multipart"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/batches"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// env is a service with batches and its handler, in a bubble of synctest.
type env struct {
	t       *testing.T
	store   storage.Store
	script  *modeltest.Script
	service *svc.Service
	batches *batches.Service
	api     *httpapi.API
	key     string
	events  []string
}

// options change what newEnv makes.
type options struct {
	store   storage.Store
	price   float64
	workers int
	backend model.Backend

	perOrganization int
	lines           int // to a model
}

func newEnv(t *testing.T, o options, answers ...modeltest.Answer) *env {
	t.Helper()
	e := &env{t: t, store: o.store, script: modeltest.New(answers...)}
	if e.store == nil {
		e.store = memstore.New()
		t.Cleanup(func() { check(t, e.store.Close()) })
	}
	if o.backend == nil {
		o.backend = e.script
	}
	var mu sync.Mutex
	made := map[string]int{}
	log := slog.New(slog.DiscardHandler)
	service, err := svc.New(t.Context(), svc.Options{Store: e.store, Backend: o.backend, Logger: log, NewID: func(prefix string) string {
		mu.Lock()
		defer mu.Unlock()
		made[prefix]++
		return fmt.Sprintf("%s_%d", prefix, made[prefix])
	}})
	check(t, err)
	parts := service.Parts()
	e.service = service
	e.batches = batches.New(batches.Options{
		Store: parts.Store, Cluster: parts.Cluster, Accounts: parts.Accounts, Files: parts.Files, Now: parts.Now, NewID: parts.NewID, Log: log,
		Price: o.price, Workers: o.workers, LinesOfOrganization: o.perOrganization,
		Lines: func(string) int { return o.lines },
		Model: func(ctx context.Context, caller svc.Caller, id string) error {
			_, err := service.Model(ctx, caller, id)
			return err
		},
		Ended: func(tx storage.Tx, kind, id string) error {
			mu.Lock()
			defer mu.Unlock()
			e.events = append(e.events, kind+" "+id)
			return tx.Set([]byte("test/event/"+id), []byte(kind))
		},
	})
	requests := 0
	e.api = httpapi.New(service, httpapi.Options{Logger: log, Batches: e.batches, NewRequestID: func() string {
		mu.Lock()
		defer mu.Unlock()
		requests++
		return fmt.Sprintf("req_%d", requests)
	}})
	e.batches.Start(e.api.Answer)
	t.Cleanup(func() {
		check(t, e.batches.Close())
		check(t, service.Close())
	})
	e.key = e.organization(accounts.Dollar).Secret
	return e
}

// organization makes one with a key.
func (e *env) organization(credits accounts.Micros) accounts.APIKey {
	e.t.Helper()
	books := e.service.Parts().Accounts
	o, err := books.CreateOrganization(e.t.Context(), accounts.NewOrganization{Name: "test", Credits: credits})
	check(e.t, err)
	k, err := books.CreateKey(e.t.Context(), accounts.NewKey{OrganizationID: o.ID})
	check(e.t, err)
	return k
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// send sends a request with a key and returns the status and the body.
func (e *env) send(key, method, path, contentType, body string) (int, string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		r.Header.Set("Content-Type", contentType)
	}
	w := httptest.NewRecorder()
	e.api.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// do sends a request that must be answered with 200 and returns the object.
func (e *env) do(method, path, body string) map[string]any {
	e.t.Helper()
	status, answer := e.send(e.key, method, path, "application/json", body)
	if status != 200 {
		e.t.Fatalf("%s %s: got %d %s", method, path, status, answer)
	}
	object := map[string]any{}
	check(e.t, json.Unmarshal([]byte(answer), &object))
	return object
}

// upload uploads the lines of a batch and returns the ID of the file.
func (e *env) upload(lines ...string) string {
	e.t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	check(e.t, w.WriteField("purpose", "batch"))
	part, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="file"; filename="in.jsonl"`}, "Content-Type": {"application/jsonl"}})
	check(e.t, err)
	fmt.Fprint(part, strings.Join(lines, "\n"))
	check(e.t, w.Close())
	status, answer := e.send(e.key, "POST", "/v1/files", w.FormDataContentType(), b.String())
	var file struct{ ID string }
	check(e.t, json.Unmarshal([]byte(answer), &file))
	if status != 200 {
		e.t.Fatalf("uploading: got %d %s", status, answer)
	}
	return file.ID
}

// create makes a batch of lines to an endpoint and returns its ID.
func (e *env) create(endpoint string, lines ...string) string {
	e.t.Helper()
	return e.do("POST", "/v1/batches", `{"input_file_id":"`+e.upload(lines...)+`","endpoint":"`+endpoint+`","completion_window":"24h"}`)["id"].(string)
}

// ended waits for a batch to end.
func (e *env) ended(id string) map[string]any {
	e.t.Helper()
	for range 48 * 3600 {
		switch b := e.do("GET", "/v1/batches/"+id, ""); b["status"] {
		case "completed", "failed", "expired", "cancelled":
			return b
		}
		time.Sleep(time.Second)
	}
	e.t.Fatal("the batch does not end")
	return nil
}

// content returns the lines of a file of a batch, none for no file.
func (e *env) content(id any) []string {
	e.t.Helper()
	if id == nil {
		return nil
	}
	status, text := e.send(e.key, "GET", "/v1/files/"+id.(string)+"/content", "", "")
	if status != 200 || !strings.HasSuffix(text, "\n") {
		e.t.Fatalf("got %d %q", status, text)
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

const chat = "/v1/chat/completions"

// ask is a line of Chat.
func ask(name, text string) string {
	return fmt.Sprintf(`{"custom_id":%q,"method":"POST","url":%q,"body":{"model":%q,"messages":[{"role":"user","content":%q}]}}`, name, chat, model.DefaultGenerator, text)
}

// document uploads a file for prompts.
func (e *env) document() string {
	e.t.Helper()
	form := "--b\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nassistants\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\ntext\r\n--b--\r\n"
	_, answer := e.send(e.key, "POST", "/v1/files", "multipart/form-data; boundary=b", form)
	var file struct{ ID string }
	check(e.t, json.Unmarshal([]byte(answer), &file))
	return file.ID
}

// stored are the keys of a namespace that begin with a prefix.
func stored(t *testing.T, e *env, ns storage.Namespace, prefix string) (keys []string) {
	t.Helper()
	check(t, e.store.View(t.Context(), ns, func(tx storage.Tx) error {
		keys = nil
		for entry, err := range tx.Scan(storage.Prefix([]byte(prefix))) {
			if err != nil {
				return err
			}
			keys = append(keys, string(entry.Key))
		}
		return nil
	}))
	return keys
}

// said is an answer of 10 input tokens and 1 output token.
func said(text string) modeltest.Answer {
	return modeltest.Events(model.TextDelta{Text: text}, model.Usage{InputTokens: 10, OutputTokens: 1}, model.Finish{Reason: model.Stop})
}
