package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/storage"
)

// fileAPI is the interface with a key of one organization and one of another.
// It is 1,700,000,000, IDs are counted, and PDFs are read when the test says so.
type fileAPI struct {
	*API
	t          testing.TB
	script     *modeltest.Script
	store      storage.Store
	owner      accounts.Caller // who has the key
	key, other string
	reads      chan files.Extracted // what the next PDF has
}

func newFileAPI(t testing.TB, answers ...modeltest.Answer) *fileAPI {
	t.Helper()
	store := NewStore(t)
	a := &fileAPI{t: t, script: modeltest.New(answers...), store: store, reads: make(chan files.Extracted)}
	ctx := context.Background()
	books, err := accounts.New(ctx, accounts.Options{Store: store})
	check(t, err)
	for _, key := range []*string{&a.key, &a.other} {
		o, err := books.CreateOrganization(ctx, accounts.NewOrganization{Name: "test", Credits: accounts.Dollar})
		check(t, err)
		k, err := books.CreateKey(ctx, accounts.NewKey{OrganizationID: o.ID})
		check(t, err)
		*key = k.Secret
		if a.owner.Organization == "" {
			a.owner.Organization = o.ID
		}
	}
	check(t, books.Close())
	var mu sync.Mutex
	made := map[string]int{}
	service, err := svc.New(ctx, svc.Options{
		Store: store, Backend: a.script, Extractor: a, Logger: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return time.Unix(1_700_000_000, 0) },
		NewID: func(prefix string) string {
			mu.Lock()
			defer mu.Unlock()
			made[prefix]++
			return fmt.Sprintf("%s_%d", prefix, made[prefix])
		},
	})
	check(t, err)
	t.Cleanup(func() { check(t, errors.Join(service.Close(), store.Close())) })
	a.API = Contract(t, New(service, Options{Logger: slog.New(slog.DiscardHandler), NewRequestID: func() string { return "req_1" }}))
	return a
}

// Extract implements files.Extractor. A document with the text locked has a
// password.
func (a *fileAPI) Extract(ctx context.Context, doc io.Reader, _ int64, _ files.Format) (files.Extracted, error) {
	data, err := io.ReadAll(doc)
	if err != nil {
		return files.Extracted{}, err
	}
	if string(data) == "locked" {
		return files.Extracted{}, &files.Unreadable{Reason: files.Password}
	}
	select {
	case read := <-a.reads:
		return read, nil
	case <-ctx.Done():
		return files.Extracted{}, ctx.Err()
	}
}

// stored are the keys of what is stored of files.
func (a *fileAPI) stored() []string {
	a.t.Helper()
	found := []string{}
	for _, e := range Stored(a.t, a.store, a.owner.Namespace(), "f/") {
		found = append(found, string(e.Key))
	}
	return found
}

// do sends a request with the key.
func (a *fileAPI) do(method, path, contentType, body string) *httptest.ResponseRecorder {
	return a.as(a.key, method, path, contentType, strings.NewReader(body))
}

func (a *fileAPI) as(key, method, path, contentType string, body io.Reader) *httptest.ResponseRecorder {
	return sendAs(a.API, key, method, path, contentType, body)
}

func sendAs(a *API, key, method, path, contentType string, body io.Reader) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, body)
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

// sendForm sends a form with a key.
func sendForm(a *API, key, form string) *httptest.ResponseRecorder {
	return sendAs(a, key, "POST", "/v1/files", formType, strings.NewReader(form))
}

// expect compares an answer whole.
func expect(t testing.TB, w *httptest.ResponseRecorder, status int, body string) {
	t.Helper()
	if w.Code != status || w.Body.String() != body {
		t.Errorf("\ngot  %d %s\nwant %d %s", w.Code, w.Body, status, body)
	}
}

// formPart is a part of a form; filename and contentType may be empty.
type formPart struct{ name, filename, contentType, content string }

const formType = "multipart/form-data; boundary=b"

func form(parts ...formPart) string {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if err := w.SetBoundary("b"); err != nil {
		panic(err)
	}
	for _, p := range parts {
		h := textproto.MIMEHeader{}
		disposition := `form-data; name="` + p.name + `"`
		if p.filename != "" {
			disposition += `; filename="` + p.filename + `"`
		}
		h.Set("Content-Disposition", disposition)
		if p.contentType != "" {
			h.Set("Content-Type", p.contentType)
		}
		part, err := w.CreatePart(h)
		if err != nil {
			panic(err)
		}
		if _, err := io.WriteString(part, p.content); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

var (
	purpose = formPart{name: "purpose", content: "assistants"}
	notes   = formPart{"file", "notes.txt", "text/plain", "Some notes."}
	report  = formPart{"file", "report.pdf", "application/pdf", "a PDF"}
)

func (a *fileAPI) upload(parts ...formPart) *httptest.ResponseRecorder {
	return sendForm(a.API, a.key, form(parts...))
}

const notesObject = `{"id":"file_1","object":"file","bytes":11,"created_at":1700000000,"expires_at":null,"filename":"notes.txt","purpose":"assistants","status":"processed"}`

func TestUploadText(t *testing.T) {
	for _, parts := range [][]formPart{
		{purpose, notes},
		{notes, purpose},
		{{name: "unknown", content: strings.Repeat("x", 10_000)}, notes, {name: "", content: "x"}, purpose},
	} {
		a := newFileAPI(t)
		expect(t, a.upload(parts...), 200, notesObject)
		expect(t, a.do("GET", "/v1/files/file_1", "", ""), 200, notesObject)
	}
}

func TestTheLastLineNeedsNoEnd(t *testing.T) {
	a := newFileAPI(t)
	expect(t, a.do("POST", "/v1/files", formType, strings.TrimSuffix(form(purpose, notes), "\r\n")), 200, notesObject)
}

func TestUploadPDF(t *testing.T) {
	a := newFileAPI(t, modeltest.Text("ok"))
	object := `{"id":"file_1","object":"file","bytes":5,"created_at":1700000000,"expires_at":null,"filename":"report.pdf","purpose":"assistants","status":`
	expect(t, a.upload(purpose, report), 200, object+`"uploaded"}`)
	expect(t, a.do("GET", "/v1/files/file_1", "", ""), 200, object+`"uploaded"}`)
	a.reads <- files.Extracted{Text: "It went well."}
	a.chat(`{"type":"file","file_id":"file_1"}`) // waits for the file
	expect(t, a.do("GET", "/v1/files/file_1", "", ""), 200, object+`"processed"}`)
}

// TestWhatThereIsToSayAboutAFile tells a person and the model the same.
func TestWhatThereIsToSayAboutAFile(t *testing.T) {
	const scan = "No text was found in this file. It may be a scan: pictures of pages."
	for _, c := range []struct {
		read    files.Extracted
		details string
	}{
		{files.Extracted{Text: "\f"}, scan},
		{files.Extracted{Partial: true}, scan},
		{files.Extracted{Text: "Half", Partial: true}, "Some of this file could not be read. Its text is what is left."},
		{files.Extracted{Text: "Please wait", Dynamic: true}, "This file is a dynamic form (XFA), whose contents could not be read. Its text is what other programs show instead."},
	} {
		a := newFileAPI(t, modeltest.Text("ok"), modeltest.Text("ok"))
		a.pass(a.upload(purpose, report))
		a.reads <- c.read
		a.pass(a.chat(`{"type":"file","file_id":"file_1"}`))
		expect(t, a.do("GET", "/v1/files/file_1", "", ""), 200, `{"id":"file_1","object":"file","bytes":5,"created_at":1700000000,"expires_at":null,`+
			`"filename":"report.pdf","purpose":"assistants","status":"processed","status_details":"`+c.details+`"}`)
		go func() { a.reads <- c.read }()
		a.pass(a.chat(`{"type":"file","filename":"report.pdf","mime_type":"application/pdf","file_data":"YSBQREY="}`))
		want := []model.Document{{Name: "report.pdf", Text: c.read.Text, Note: c.details}}
		a.expectSeen(want, want)
	}
	a := newFileAPI(t)
	a.pass(a.upload(purpose, formPart{"file", "a.txt", "text/plain", "\xff"}))
	expect(t, a.do("GET", "/v1/files/file_1", "", ""), 200, `{"id":"file_1","object":"file","bytes":1,"created_at":1700000000,"expires_at":null,`+
		`"filename":"a.txt","purpose":"assistants","status":"error","status_details":"It is not text in UTF-8, nor in UTF-16 with a byte order mark."}`)
}

func TestAnUploadThatExpires(t *testing.T) {
	a := newFileAPI(t)
	w := a.upload(purpose, formPart{name: "expires_after[anchor]", content: "created_at"}, formPart{name: "expires_after[seconds]", content: "3600"}, notes)
	expect(t, w, 200, strings.Replace(notesObject, "null", "1700003600", 1))
}

func errorA(message, param, code string) string {
	if param != "null" {
		param = `"` + param + `"`
	}
	return `{"error":{"message":"` + message + `","type":"invalid_request_error","param":` + param + `,"code":"` + code + `"}}`
}

func TestUploadErrors(t *testing.T) {
	whole := form(purpose, notes)
	typeNeeded := errorA(`The file part needs a Content-Type that says what the file is, such as text/markdown or application/pdf; `+
		`application/octet-stream does not. With curl: -F 'file=@notes.md;type=text/markdown'.`, "file", "unsupported_file_type")
	unreadable := errorA("The form could not be read; it may have been cut off.", "null", "validation_error")
	seconds := errorA("expires_after[seconds] must be a number of seconds between 3600 and 2592000.", "expires_after[seconds]", "validation_error")
	expires := func(anchor, seconds string) string {
		parts := []formPart{notes, purpose}
		if anchor != "" {
			parts = append(parts, formPart{name: "expires_after[anchor]", content: anchor})
		}
		if seconds != "" {
			parts = append(parts, formPart{name: "expires_after[seconds]", content: seconds})
		}
		return form(parts...)
	}
	many := make([]formPart, 101)
	for _, c := range []struct {
		rule, contentType, body string
		status                  int
		want                    string
	}{
		{"no purpose", formType, form(notes), 400, errorA(`purpose is required; it must be \"assistants\" or \"batch\".`, "purpose", "validation_error")},
		{"another purpose", formType, form(formPart{name: "purpose", content: "user_data"}, notes), 400,
			errorA(`purpose must be \"assistants\" or \"batch\", not \"user_data\".`, "purpose", "validation_error")},
		{"two purposes", formType, form(purpose, purpose, notes), 400, errorA("purpose was sent twice.", "purpose", "validation_error")},
		{"an endless purpose", formType, form(formPart{name: "purpose", content: strings.Repeat("x", 1025)}), 400,
			errorA("purpose is longer than 1024 bytes.", "purpose", "validation_error")},
		{"no file", formType, form(purpose), 400, errorA("The form has no part named file.", "file", "validation_error")},
		{"nothing", formType, form(), 400, errorA("The form has no part named file.", "file", "validation_error")},
		{"two files", formType, form(purpose, notes, notes), 400, errorA("The form has two files; one file is uploaded per request.", "file", "validation_error")},
		{"a part without a type", formType, form(purpose, formPart{name: "file", filename: "a.txt", content: "x"}), 400, typeNeeded},
		{"octet-stream", formType, form(purpose, formPart{"file", "a.txt", "application/octet-stream", "x"}), 400, typeNeeded},
		{"Octet-Stream with a parameter", formType, form(purpose, formPart{"file", "a.txt", "Application/Octet-Stream ; x=y", "x"}), 400, typeNeeded},
		{"an image", formType, form(purpose, formPart{"file", "a.png", "image/png", "x"}), 400,
			errorA(`Files of the type \"image/png\" are not supported; plain text, Markdown, CSV, TSV, JSON, JSONL, XML, PDF and Word documents are.`, "file", "unsupported_file_type")},
		{"JSON", "application/json", `{"purpose":"assistants"}`, 400, errorA("The request must be multipart/form-data with a boundary.", "null", "validation_error")},
		{"no boundary", "multipart/form-data", whole, 400, errorA("The request must be multipart/form-data with a boundary.", "null", "validation_error")},
		{"another boundary", "multipart/form-data; boundary=c", whole, 400, unreadable},
		{"an empty body", formType, "", 400, unreadable},
		{"cut off in the file", formType, whole[:strings.Index(whole, "notes.\r\n")+3], 400, unreadable},
		{"cut off in a header", formType, whole[:strings.Index(whole, "text/plain")], 400, unreadable},
		{"cut off in a later header", formType, whole[:len(whole)-len("--\r\n")] + "\r\nContent-Disp", 400, unreadable},
		{"cut off in the last boundary", formType, strings.TrimSuffix(whole, "-\r\n"), 400, unreadable},
		{"cut off before the last boundary", formType, strings.TrimSuffix(whole, "\r\n--b--\r\n"), 400, unreadable},
		{"an endless header", formType, "--b\r\nX: " + strings.Repeat("x", 1<<20), 400, errorA("The form has too much beside its file.", "null", "validation_error")},
		{"an endless field", formType, form(formPart{name: "x", content: strings.Repeat("x", 1<<20)}), 400, errorA("The form has too much beside its file.", "null", "validation_error")},
		{"many fields", formType, form(many...), 400, errorA("The form has more than 100 fields.", "null", "validation_error")},
		{"another anchor", formType, expires("now", "3600"), 400, errorA("expires_after[anchor] must be created_at.", "expires_after[anchor]", "validation_error")},
		{"no anchor", formType, expires("", "3600"), 400, errorA("expires_after[anchor] must be created_at.", "expires_after[anchor]", "validation_error")},
		{"no seconds", formType, expires("created_at", ""), 400, seconds},
		{"seconds of letters", formType, expires("created_at", "1h"), 400, seconds},
		{"a second too few", formType, expires("created_at", "3599"), 400, errorA("expires_after[seconds] must be between 3600 and 2592000.", "expires_after[seconds]", "validation_error")},
		{"a second too many", formType, expires("created_at", "2592001"), 400, errorA("expires_after[seconds] must be between 3600 and 2592000.", "expires_after[seconds]", "validation_error")},
		{"no seconds at all", formType, expires("created_at", "0"), 400, seconds},
	} {
		t.Run(c.rule, func(t *testing.T) {
			a := newFileAPI(t)
			expect(t, a.do("POST", "/v1/files", c.contentType, c.body), c.status, c.want)
			if stored := a.stored(); len(stored) > 0 {
				t.Errorf("it leaves %q", stored)
			}
		})
	}
}

// endless is a form whose file never ends. It counts what is read of it.
type endless struct {
	head io.Reader
	read int
}

func (e *endless) Read(p []byte) (int, error) {
	n, err := e.head.Read(p)
	if err == io.EOF {
		n = copy(p, bytes.Repeat([]byte("x"), len(p)))
	}
	e.read += n
	return n, nil
}

func TestAFileOver50MB(t *testing.T) {
	tooLarge := errorA("The file is larger than 50 MB (50,000,000 bytes).", "file", "file_too_large")
	a := newFileAPI(t)
	body := &endless{head: strings.NewReader(strings.TrimSuffix(form(purpose, notes), "\r\n--b--\r\n"))}
	expect(t, a.as(a.key, "POST", "/v1/files", formType, body), 413, tooLarge)
	if body.read > 50_000_000+32<<10 {
		t.Errorf("%d bytes were read", body.read)
	}

	r := httptest.NewRequest("POST", "/v1/files", brokenBody{})
	r.Header.Set("Authorization", "Bearer "+a.key)
	r.Header.Set("Content-Type", formType)
	r.ContentLength = 202_000_000
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	expect(t, w, 413, errorA("The file is larger than 200 MB (200,000,000 bytes).", "file", "file_too_large"))
}

// brokenBody must not be read.
type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { panic("read") }

func TestAFileOfExactly50MB(t *testing.T) {
	content := strings.Repeat("x", 50_000_000)
	for size, status := range map[int]int{50_000_000: 200, 50_000_001: 413} {
		a := newFileAPI(t)
		w := a.upload(formPart{"file", "a.txt", "text/plain", content[:min(size, len(content))] + strings.Repeat("x", size-50_000_000)}, purpose)
		if w.Code != status {
			t.Errorf("%d bytes: got %d %s", size, w.Code, w.Body)
		}
	}
}

func TestListFiles(t *testing.T) {
	a := newFileAPI(t)
	for range 3 {
		a.upload(notes, purpose)
	}
	object := func(n string) string { return strings.Replace(notesObject, "file_1", "file_"+n, 1) }
	list := func(first, last, more string, ns ...string) string {
		var data []string
		for _, n := range ns {
			data = append(data, object(n))
		}
		return `{"object":"list","data":[` + strings.Join(data, ",") + `],"first_id":"file_` + first + `","last_id":"file_` + last + `","has_more":` + more + `}`
	}
	empty := `{"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false}`
	for query, want := range map[string]string{
		"":                               list("3", "1", "false", "3", "2", "1"),
		"order=desc&limit=2":             list("3", "2", "true", "3", "2"),
		"limit=2&after=file_2":           list("1", "1", "false", "1"),
		"order=asc&limit=1":              list("1", "1", "true", "1"),
		"order=asc&limit=1&after=file_1": list("2", "2", "true", "2"),
		"after=file_1":                   empty,
		"after=file_12":                  list("1", "1", "false", "1"), // of a file that is not there any more
		"purpose=assistants&limit=10000": list("3", "1", "false", "3", "2", "1"),
		"purpose=batch":                  empty,
	} {
		expect(t, a.do("GET", "/v1/files?"+query, "", ""), 200, want)
	}
	for query, want := range map[string]string{
		"limit=0":     errorA("limit must be between 1 and 10000.", "limit", "validation_error"),
		"limit=10001": errorA("limit must be between 1 and 10000.", "limit", "validation_error"),
		"limit=x":     errorA("limit must be an integer.", "limit", "validation_error"),
		"order=up":    errorA("order must be asc or desc.", "order", "validation_error"),
		"after=3":     errorA("after is not the ID of an object in this list.", "after", "validation_error"),
	} {
		expect(t, a.do("GET", "/v1/files?"+query, "", ""), 400, want)
	}
	expect(t, a.as(a.other, "GET", "/v1/files", "", nil), 200, empty)
}

func TestDeleteFile(t *testing.T) {
	a := newFileAPI(t)
	a.upload(notes, purpose)
	expect(t, a.do("DELETE", "/v1/files/file_1", "", ""), 200, `{"id":"file_1","object":"file","deleted":true}`)
	for _, request := range [][2]string{{"GET", ""}, {"DELETE", ""}, {"GET", "/content"}} {
		expect(t, a.do(request[0], "/v1/files/file_1"+request[1], "", ""), 404, errorA(`No file found with id \"file_1\".`, "null", "not_found"))
	}
}

func TestAnotherOrganizationsFile(t *testing.T) {
	a := newFileAPI(t)
	a.upload(notes, purpose)
	for _, request := range [][2]string{{"GET", ""}, {"DELETE", ""}, {"GET", "/content"}} {
		expect(t, a.as(a.other, request[0], "/v1/files/file_1"+request[1], "", nil), 404, errorA(`No file found with id \"file_1\".`, "null", "not_found"))
	}
	for path, body := range map[string]string{"/v1/responses": inResponses("file_1"), "/v1/chat/completions": inChat(`{"type":"file","file_id":"file_1"}`)} {
		w := a.as(a.other, "POST", path, "application/json", strings.NewReader(body))
		if w.Code != 404 || !strings.Contains(w.Body.String(), `"code":"file_not_found"`) {
			t.Errorf("%s: got %d %s", path, w.Code, w.Body)
		}
	}
	expect(t, a.do("GET", "/v1/files/file_1", "", ""), 200, notesObject)
}

func TestFilesNeedAKey(t *testing.T) {
	a := newDecisionAPI(t, &modeltest.Script{})
	for key, want := range map[string]struct {
		status int
		body   string
	}{
		a.unassigned: {401, `{"error":{"message":"The API key is missing or invalid.","type":"authentication_error","param":null,"code":"invalid_api_key"}}`},
		a.orphan:     {403, `{"error":{"message":"The API key does not belong to an organization.","type":"permission_error","param":null,"code":"access_denied"}}`},
		a.suspended:  {403, `{"error":{"message":"The organization is suspended.","type":"permission_error","param":null,"code":"org_suspended"}}`},
	} {
		for _, request := range [][2]string{{"GET", ""}, {"POST", ""}, {"GET", "/file_1"}, {"DELETE", "/file_1"}, {"GET", "/file_1/content"}} {
			expect(t, sendAs(a.API, key, request[0], "/v1/files"+request[1], "", nil), want.status, want.body)
		}
	}
	a.broken.Store(true)
	expect(t, sendAs(a.API, a.poor, "GET", "/v1/files", "", nil), 503,
		`{"error":{"message":"The API key could not be looked up. Try again.","type":"server_error","param":null,"code":"authorization_failed"}}`)
}

func TestFileContent(t *testing.T) {
	a := newFileAPI(t)
	content := "\xef\xbb\xbf" + strings.Repeat("Zürich\n", 100_000)
	a.upload(formPart{"file", `n\"ötes.md`, "Text/Markdown; charset=UTF-8", content}, purpose)
	for _, method := range []string{"GET", "HEAD"} {
		w := a.do(method, "/v1/files/file_1/content", "", "")
		want := http.Header{
			"Content-Type":           {"text/markdown; charset=utf-8"},
			"Content-Length":         {fmt.Sprint(len(content))},
			"Content-Disposition":    {`attachment; filename*=utf-8''n%22%C3%B6tes.md`},
			"X-Content-Type-Options": {"nosniff"},
			"X-Request-Id":           {"req_1"},
		}
		if fmt.Sprint(w.Header()) != fmt.Sprint(want) || w.Code != 200 {
			t.Errorf("%s: got %d %v\nwant %v", method, w.Code, w.Header(), want)
		}
		if got := w.Body.String(); method == "GET" && got != content || method == "HEAD" && got != "" {
			t.Errorf("%s: got %d bytes, want %d", method, len(got), len(content))
		}
	}
}

// TestFileContentThatIsLost reads a file of which the store has lost the beginning, which
// is an answer, and one that has lost its end: what was sent is not taken for the whole.
func TestFileContentThatIsLost(t *testing.T) {
	a := newFileAPI(t)
	content := strings.Repeat("a", 300<<10)
	a.upload(formPart{"file", "a.txt", "text/plain", content}, purpose)
	chunks := slices.DeleteFunc(Stored(t, a.store, a.owner.Namespace(), ""), func(e storage.Entry) bool {
		return !strings.Contains(content, string(e.Value)) || len(e.Value) < 1<<10
	})
	if len(chunks) != 2 {
		t.Fatalf("%d chunks", len(chunks))
	}
	lose := func(key []byte) {
		check(t, a.store.Update(t.Context(), a.owner.Namespace(), func(tx storage.Tx) error { return tx.Delete(key) }))
	}
	lose(chunks[1].Key)
	func() {
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("the connection ends with %v", p)
			}
		}()
		a.do("GET", "/v1/files/file_1/content", "", "")
	}()
	lose(chunks[0].Key)
	for _, method := range []string{"GET", "HEAD"} {
		if w := a.do(method, "/v1/files/file_1/content", "", ""); w.Code != 500 || w.Header().Get("Content-Disposition") != "" {
			t.Errorf("%s: got %d %v %s", method, w.Code, w.Header(), w.Body)
		}
	}
}

// FuzzUpload sends any body: the answer is an error of the interface, or a file
// that reads back.
func FuzzUpload(f *testing.F) {
	f.Add(formType, []byte(form(purpose, notes)))
	f.Add(formType, []byte(form(report, purpose)))
	f.Add(formType, []byte(form(notes, notes)))
	f.Add(formType, []byte("--b\nContent-Disposition: form-data; name=file; filename*=utf-8''%FF%2F\nContent-Type: text/csv\n\n\n--b--"))
	f.Add(formType, []byte("--b\r\nContent-Disposition: form-data; name=file\r\nContent-Transfer-Encoding: quoted-printable\r\nContent-Type: text/csv\r\n\r\n=\r\n--b--"))
	f.Add("multipart/mixed; boundary=b", []byte(form(purpose, notes)))
	f.Add("multipart/form-data; boundary=\"\"", []byte("----\r\n\r\n"))
	a := newFileAPI(f)
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		w := a.as(a.key, "POST", "/v1/files", contentType, bytes.NewReader(body))
		switch {
		case w.Code == 400 && strings.HasPrefix(w.Body.String(), `{"error":{"message":"`):
		case w.Code == 200 && strings.HasPrefix(w.Body.String(), `{"id":"file_`):
			id := strings.Split(w.Body.String(), `"`)[3]
			if got := a.do("GET", "/v1/files/"+id+"/content", "", ""); got.Code != 200 || !bytes.Contains(body, got.Body.Bytes()) && !bytes.Contains(body, []byte("=")) {
				t.Errorf("the content is %d %q", got.Code, got.Body)
			}
			if got := a.do("DELETE", "/v1/files/"+id, "", ""); got.Code != 200 {
				t.Errorf("deleting it: %d %s", got.Code, got.Body)
			}
		default:
			t.Errorf("got %d %s", w.Code, w.Body)
		}
	})
}

func TestFilesOfBatches(t *testing.T) {
	a := newFileAPI(t)
	lines := func(filename, contentType string) formPart { return formPart{"file", filename, contentType, "{}\n"} }
	forBatch := formPart{name: "purpose", content: "batch"}
	const octets, jsonl = "application/octet-stream", "application/jsonl"
	upload := func(parts ...formPart) *httptest.ResponseRecorder {
		return a.as(a.key, "POST", "/v1/files", formType, strings.NewReader(form(parts...)))
	}
	for _, w := range []*httptest.ResponseRecorder{
		upload(lines("a.jsonl", jsonl), forBatch), upload(forBatch, lines("b", jsonl)), upload(lines("c.jsonl", octets), forBatch), upload(forBatch, lines("d.jsonl", "")),
	} {
		if w.Code != 200 || !strings.Contains(w.Body.String(), `"purpose":"batch"`) || !strings.Contains(w.Body.String(), `"status":"processed"`) {
			t.Errorf("got %d %s", w.Code, w.Body)
		}
	}
	const untyped = "The file part needs a Content-Type that says what the file is, such as text/markdown or application/pdf; application/octet-stream does not. With curl: -F 'file=@notes.md;type=text/markdown'."
	expect(t, upload(lines("a.jsonl", octets), purpose), 400, errorA(untyped, "file", "unsupported_file_type"))
	expect(t, upload(lines("a.json", octets), forBatch), 400, errorA(untyped, "file", "unsupported_file_type"))
	expect(t, upload(lines("a.json", "application/json"), forBatch), 400,
		errorA("The file of a batch must be JSON Lines: send it with the type application/jsonl.", "file", "unsupported_file_type"))
	list := a.as(a.key, "GET", "/v1/files?purpose=batch", "", nil)
	if n := strings.Count(list.Body.String(), `"id":"file_`); n != 4 {
		t.Errorf("got %d files in %s", n, list.Body)
	}
}
