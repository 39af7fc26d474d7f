package httpapi_test

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/storage"
)

// shared is a store that several processes have open, with a clock.
type shared struct{ storage.Store }

func (shared) Shared() bool { return true }

func (shared) Now() time.Time { return time.Now() }

// textFile is an upload of a file.
const (
	textFile = "--b\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nassistants\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\ntext\r\n--b--\r\n"
	textFileType = "multipart/form-data; boundary=b"
)

// TestOrderOverServicesWhoseClocksDiffer has three services on one store, on machines
// with clocks hours apart, that make objects in turn. Lists are in the order in which
// they were made, and a reader that follows after the last one it knows misses none.
func TestOrderOverServicesWhoseClocksDiffer(t *testing.T) {
	store := httpapi.NewStore(t)
	if _, ok := store.(storage.MultiProcess); !ok {
		store = shared{store}
	}
	t.Cleanup(func() { must(t, store.Close()) })
	var apis []*httpapi.API
	var services []*svc.Service
	var key string
	for _, ahead := range []time.Duration{time.Hour, 0, -time.Hour} {
		var answers []modeltest.Answer
		for range 3 {
			answers = append(answers, modeltest.Text("Hello"))
		}
		service, err := svc.New(t.Context(), svc.Options{
			Store: store, Backend: modeltest.New(answers...), Logger: slog.New(slog.DiscardHandler),
			Now: func() time.Time { return time.Now().Add(ahead) },
		})
		must(t, err)
		t.Cleanup(func() { must(t, service.Close()) })
		made, err := service.Bootstrap(t.Context(), "")
		must(t, err)
		key = cmp.Or(key, made)
		services = append(services, service)
		apis = append(apis, httpapi.Contract(t, httpapi.New(service, httpapi.Options{Logger: slog.New(slog.DiscardHandler)})))
	}
	ask := func(t *testing.T, n int, method, path, kind, body string, v any) {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Header = http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {kind}}
		w := httptest.NewRecorder()
		apis[n%len(apis)].ServeHTTP(w, r)
		if err := json.Unmarshal(w.Body.Bytes(), v); err != nil || w.Code != 200 {
			t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
	}
	follow := func(t *testing.T, make func(n int) string, list func(n int, after string) []string) {
		var made, followed []string
		after := ""
		for n := range 9 {
			made = append(made, make(n))
			if followed = append(followed, list(n+1, after)...); len(followed) > 0 {
				after = followed[len(followed)-1]
			}
		}
		if !slices.Equal(followed, made) {
			t.Errorf("the reader met\n%q, made were\n%q", followed, made)
		}
	}
	for _, test := range []struct{ path, kind, body string }{
		{"/v1/files", textFileType, textFile},
		{"/v1/chat/completions", "application/json", `{"model":"svc-preview","store":true,"messages":[{"role":"user","content":"Hi"}]}`},
	} {
		t.Run(test.path, func(t *testing.T) {
			follow(t, func(n int) string {
				var object struct{ ID string }
				ask(t, n, "POST", test.path, test.kind, test.body, &object)
				return object.ID
			}, func(n int, after string) (ids []string) {
				var l listed
				ask(t, n, "GET", test.path+"?order=asc&after="+after, "", "", &l)
				for _, o := range l.Data {
					ids = append(ids, o.ID)
				}
				return ids
			})
		})
	}
	t.Run("conversations", func(t *testing.T) { // which have a list in Go and in the console
		caller, err := services[0].LocalCaller(t.Context())
		must(t, err)
		follow(t, func(n int) string {
			var object struct{ ID string }
			ask(t, n, "POST", path, "application/json", "{}", &object)
			return object.ID
		}, func(n int, after string) (ids []string) {
			list, err := services[n%len(services)].Conversations(t.Context(), caller, svc.Page{Limit: 20, After: after})
			must(t, err)
			for _, c := range list.Items {
				ids = append(ids, c.ID)
			}
			return ids
		})
	})
}
