package httpapi_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// once sends a request with an Idempotency-Key.
func (a *turns) once(key, path, body string) (got answer, replayed bool) {
	a.t.Helper()
	r := httptest.NewRequestWithContext(a.t.Context(), "POST", path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+a.key)
	r.Header.Set("Idempotency-Key", key)
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return answer{status: w.Code, body: w.Body.String(), header: w.Header()}, w.Header().Get("Idempotent-Replay") == "true"
}

func TestTheSameRequestAgainGetsTheFirstAnswer(t *testing.T) {
	a := newTurns(t, modeltest.Text("1"), modeltest.Text("2"), modeltest.Text("3"), modeltest.Text("4"), modeltest.Text("5"))
	is := is.New(t)
	const chat = `{"model":"svc-preview","messages":[{"role":"user","content":"Hi"}]}`
	for path, body := range map[string]string{
		"/v1/responses":        plain(`"store":true`),
		"/v1/chat/completions": chat,
		"/v1/conversations":    `{"metadata":{"a":"b"}}`,
	} {
		if path == "/v1/responses" {
			body = plain(`"stream":true`)
		}
		first, replayed := a.once("k1", path, body)
		is.Equal(first.status, 200)
		is.True(!replayed)
		again, replayed := a.once("k1", path, body)
		is.True(replayed)
		is.Equal(again.body, first.body)
		is.Equal(again.header.Get("Content-Type"), first.header.Get("Content-Type"))
		other, _ := a.once("k1", path, strings.Replace(body, `"`, ` "`, 1))
		is.Equal(other.status, 409)
		is.Equal(other.body, `{"error":{"message":"The Idempotency-Key was sent with another request before.","type":"invalid_request_error","param":null,"code":"idempotency_key_reused"}}`)
	}
	is.Equal(len(a.script.Requests()), 2)
	other, replayed := a.as("other").once("k1", "/v1/chat/completions", chat)
	is.Equal(other.status, 200)
	is.True(!replayed) // another organization's key is another key

	bad, _ := a.once("a b", "/v1/chat/completions", chat)
	is.Equal(bad.body, `{"error":{"message":"The Idempotency-Key must be 1 to 255 visible ASCII characters.","type":"invalid_request_error","param":"Idempotency-Key","code":"validation_error"}}`)

	// What says no is not kept: it may be tried again.
	refused, _ := a.once("k2", "/v1/chat/completions", `{}`)
	is.Equal(refused.status, 400)
	fine, replayed := a.once("k2", "/v1/chat/completions", chat)
	is.Equal(fine.status, 200)
	is.True(!replayed)

	// Nothing is kept for those who must not have anything kept.
	forgetful := a.as("forgetful")
	first, _ := forgetful.once("k1", "/v1/chat/completions", chat)
	is.Equal(first.status, 200)
	again, _ := forgetful.once("k1", "/v1/chat/completions", chat)
	is.Equal(again.status, 409)
}

// TestTheSameRequestMeanwhile waits for the first one.
func TestTheSameRequestMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := modeltest.Text("Done.")
		slow.Before = func(ctx context.Context) error {
			time.Sleep(2 * time.Minute) // much longer than a claim holds unless it is renewed
			return nil
		}
		a := newTurns(t, slow)
		var group sync.WaitGroup
		bodies := make([]string, 3)
		for i := range bodies {
			group.Go(func() {
				got, _ := a.once("k", "/v1/responses", plain(`"store":true`))
				bodies[i] = got.body
			})
		}
		group.Wait()
		is := is.New(t)
		is.Equal(len(a.script.Requests()), 1)
		is.True(strings.Contains(bodies[0], `"status":"completed"`))
		is.Equal(bodies[1], bodies[0])
		is.Equal(bodies[2], bodies[0])
	})
}

// TestARequestThatWasCut is tried anew.
func TestARequestThatWasCut(t *testing.T) {
	a := newTurns(t, modeltest.Block(model.TextDelta{Text: "Half"}), modeltest.Text("Whole."))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := &leaver{httptest.NewRecorder(), "Half", cancel}
	r := httptest.NewRequestWithContext(ctx, "POST", "/v1/responses", strings.NewReader(plain(`"stream":true`)))
	r.Header.Set("Authorization", "Bearer "+a.key)
	r.Header.Set("Idempotency-Key", "k")
	func() {
		defer func() { _ = recover() }()
		a.ServeHTTP(w, r)
	}()
	got, replayed := a.once("k", "/v1/responses", plain(`"stream":true`))
	is := is.New(t)
	is.True(!replayed)
	is.True(strings.Contains(got.body, "Whole."))
}
