package httpapi_test

import (
	"context"
	"io"
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

// TestAnAnswerThatIsLost is that of a request which is done and whose client has
// left: it is not done again.
func TestAnAnswerThatIsLost(t *testing.T) {
	const chat = `{"model":"svc-preview","messages":[{"role":"user","content":"Hi"}]`
	for _, test := range []struct{ path, body, left string }{
		{"/v1/conversations", "", `"object":"conversation"`},
		{"/v1/responses", plain(`"store":true`), `"status":"completed"`},
		{"/v1/responses", plain(`"store":false`), `"status":"completed"`},
		{"/v1/responses", plain(`"stream":true`), `event: response.completed`},
		{"/v1/chat/completions", chat + `}`, `"finish_reason":"stop"`},
		{"/v1/chat/completions", chat + `,"stream":true}`, `"finish_reason":"stop"`},
	} {
		a := newTurns(t, modeltest.Text("Once."))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w := &leaver{httptest.NewRecorder(), test.left, cancel}
		r := httptest.NewRequestWithContext(ctx, "POST", test.path, strings.NewReader(test.body))
		r.Header.Set("Authorization", "Bearer "+a.key)
		r.Header.Set("Idempotency-Key", "k")
		a.ServeHTTP(w, r)
		is := is.New(t)
		is.True(ctx.Err() != nil)
		got, replayed := a.once("k", test.path, test.body)
		is.Equal(got.status, 200)
		is.True(replayed)
		is.Equal(got.body, w.Body.String())
	}
}

// breaking is a client whose connection breaks when it is sent a text.
type breaking struct {
	*httptest.ResponseRecorder
	text string
}

func (b *breaking) Write(p []byte) (int, error) {
	if strings.Contains(string(p), b.text) {
		return 0, io.ErrClosedPipe
	}
	return b.ResponseRecorder.Write(p)
}

// TestAnAnswerThatIsMadeAgain is made of what the request has made, where its own
// was cut.
func TestAnAnswerThatIsMadeAgain(t *testing.T) {
	for _, test := range []struct{ path, body, cut, want string }{
		{"/v1/responses", plain(`"stream":true`), `event: response.completed`, `"text":"Once."`},
		{"/v1/responses", plain(`"stream":true,"background":true`), `event: response.output_text.delta`, `"delta":"Once."`},
		{"/v1/chat/completions", `{"model":"svc-preview","messages":[{"role":"user","content":"Hi"}],"stream":true}`, `[DONE]`,
			`{"error":{"message":"The Idempotency-Key was sent before, and the answer to it was not kept. It made chatcmpl_00001.","type":"invalid_request_error","param":null,"code":"idempotency_key_reused"}}`},
	} {
		a := newTurns(t, modeltest.Text("Once."))
		w := &breaking{httptest.NewRecorder(), test.cut}
		r := httptest.NewRequestWithContext(t.Context(), "POST", test.path, strings.NewReader(test.body))
		r.Header.Set("Authorization", "Bearer "+a.key)
		r.Header.Set("Idempotency-Key", "k")
		func() {
			defer func() { _ = recover() }()
			a.ServeHTTP(w, r)
		}()
		got, _ := a.once("k", test.path, test.body)
		if !strings.Contains(got.body, test.want) {
			t.Errorf("%s: got %d %s, want %s", test.body, got.status, got.body, test.want)
		}
		if n := len(a.script.Requests()); n != 1 {
			t.Errorf("%s: the model was asked %d times", test.body, n)
		}
	}
}

// TestTheSameUploadAgain is one file, whatever the form's boundary.
func TestTheSameUploadAgain(t *testing.T) {
	a := newTurns(t)
	is := is.New(t)
	upload := func(boundary, text string) (got answer, replayed bool) {
		body := strings.NewReplacer("\n", "\r\n", "BOUNDARY", boundary, "TEXT", text).Replace("--BOUNDARY\nContent-Disposition: form-data; name=\"purpose\"\n\nassistants\n" +
			"--BOUNDARY\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\nContent-Type: text/plain\n\nTEXT\n--BOUNDARY--\n")
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/files", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+a.key)
		r.Header.Set("Idempotency-Key", "k")
		r.Header.Set("Content-Type", "multipart/form-data; boundary="+boundary)
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		return answer{status: w.Code, body: w.Body.String(), header: w.Header()}, w.Header().Get("Idempotent-Replay") == "true"
	}
	first, replayed := upload("one", "text")
	is.Equal(first.status, 200)
	is.True(!replayed)
	again, replayed := upload("two", "text")
	is.Equal(again.body, first.body)
	is.True(replayed)
	other, _ := upload("one", "texts")
	is.Equal(other.status, 409)
	var list struct{ Data []struct{ ID string } }
	decode(t, a.want(200, "GET", "/v1/files", ""), &list)
	is.Equal(len(list.Data), 1)
}
