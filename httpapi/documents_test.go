package httpapi

import (
	"encoding/base64"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

func inChat(part string) string {
	return `{"model":"svc-preview","messages":[{"role":"user","content":[{"type":"text","text":"Read."},` + part + `]}]}`
}

func inResponses(id string) string {
	return `{"model":"svc-preview","input":[{"type":"input_text","text":"Read."},{"type":"input_file","file_id":"` + id + `"}]}`
}

func (a *fileAPI) chat(part string) *httptest.ResponseRecorder {
	return a.do("POST", "/v1/chat/completions", "application/json", inChat(part))
}

// seen are the documents in the prompts that the model got.
func (a *fileAPI) seen() [][]model.Document {
	var all [][]model.Document
	for _, request := range a.script.Requests() {
		var documents []model.Document
		for _, m := range request.Messages {
			for _, p := range m.Parts {
				if d, ok := p.(model.Document); ok {
					documents = append(documents, d)
				}
			}
		}
		all = append(all, documents)
	}
	return all
}

func (a *fileAPI) expectSeen(want ...[]model.Document) {
	a.t.Helper()
	if got := a.seen(); !reflect.DeepEqual(got, want) {
		a.t.Errorf("the model saw\n%+v\nwant\n%+v", got, want)
	}
}

// pass fails the test unless an answer is 200.
func (a *fileAPI) pass(w *httptest.ResponseRecorder) string {
	a.t.Helper()
	if w.Code != 200 {
		a.t.Fatalf("got %d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

var theNotes = model.Document{Name: "notes.txt", Text: "Some notes."}

func TestAnUploadedFileInChat(t *testing.T) {
	a := newFileAPI(t, modeltest.Text("ok"), modeltest.Text("ok"))
	a.pass(a.upload(notes, purpose))
	a.pass(a.chat(`{"type":"file","file_id":"file_1"}`))
	a.pass(a.chat(`{"type":"file","file":{"file_id":"file_1"}}`))
	a.expectSeen([]model.Document{theNotes}, []model.Document{theNotes})
}

func TestAnInlineFileInChat(t *testing.T) {
	data := base64.StdEncoding.EncodeToString([]byte("Some notes."))
	a := newFileAPI(t, modeltest.Text("ok"), modeltest.Text("ok"))
	a.pass(a.chat(`{"type":"file","filename":"notes.txt","mime_type":"text/plain","file_data":"` + data + `"}`))
	a.pass(a.chat(`{"type":"file","file":{"filename":"notes.txt","file_data":"data:text/plain;base64,` + data + `"}}`))
	a.expectSeen([]model.Document{theNotes}, []model.Document{theNotes})
}

func TestAnInlinePDFInChat(t *testing.T) {
	a := newFileAPI(t, modeltest.Text("ok"))
	go func() { a.reads <- files.Extracted{Text: "It went well."} }()
	a.pass(a.chat(`{"type":"file","filename":"report.pdf","mime_type":"application/pdf","file_data":"YSBQREY="}`))
	a.expectSeen([]model.Document{{Name: "report.pdf", Text: "It went well."}})
	expect(t, a.chat(`{"type":"file","filename":"report.pdf","mime_type":"application/pdf","file_data":"bG9ja2Vk"}`), 400,
		errorA("The document cannot be read. It is protected by a password.", "messages[0].content[1]", "validation_error"))
}

// TestAFileInATurn is seen the same in every later turn, and said to be deleted
// once it is.
func TestAFileInATurn(t *testing.T) {
	a := newFileAPI(t, modeltest.Text("ok"), modeltest.Text("ok"), modeltest.Text("ok"))
	a.pass(a.upload(report, purpose))
	a.reads <- files.Extracted{Text: "It went well."}
	a.pass(a.do("POST", "/v1/responses", "application/json", inResponses("file_1")))
	next := func(id string) {
		a.pass(a.do("POST", "/v1/responses", "application/json", `{"model":"svc-preview","input":"And?","previous_response_id":"`+id+`"}`))
	}
	next("resp_1")
	a.pass(a.do("DELETE", "/v1/files/file_1", "", ""))
	next("resp_2")
	read := model.Document{Name: "report.pdf", Text: "It went well."}
	a.expectSeen([]model.Document{read}, []model.Document{read}, []model.Document{{Name: "file_1", Text: "[This file has been deleted.]"}})
	if first, second := a.script.Requests()[0].Messages, a.script.Requests()[1].Messages; !reflect.DeepEqual(first, second[:len(first)]) {
		t.Errorf("the second prompt does not begin with the first:\n%+v\n%+v", first, second)
	}
}

func TestFilesThatCannotBeInAPrompt(t *testing.T) {
	a := newFileAPI(t)
	a.pass(a.upload(formPart{"file", "a.pdf", "application/pdf", "locked"}, purpose))
	a.pass(a.upload(formPart{"file", "a.txt", "text/plain", "\xff"}, purpose))
	for _, c := range []struct{ rule, path, body, code, message string }{
		{"a locked file in chat", "/v1/chat/completions", inChat(`{"type":"file","file_id":"file_1"}`), "400 validation_error", `The file \"file_1\" could not be read. It is protected by a password.`},
		{"a locked file", "/v1/responses", inResponses("file_1"), "400 validation_error", `The file \"file_1\" could not be read. It is protected by a password.`},
		{"a file that is no text", "/v1/responses", inResponses("file_2"), "400 validation_error", `The file \"file_2\" could not be read. It is not text in UTF-8, nor in UTF-16 with a byte order mark.`},
		{"no such file in chat", "/v1/chat/completions", inChat(`{"type":"file","file_id":"file_9"}`), "404 file_not_found", `No file found with id \"file_9\".`},
		{"no such file", "/v1/responses", inResponses("file_9"), "404 file_not_found", `No file found with id \"file_9\".`},
		{"no file_id", "/v1/responses", strings.Replace(inResponses("x"), `,"file_id":"x"`, "", 1), "400 validation_error", ""},
		{"inline data", "/v1/responses", strings.Replace(inResponses("x"), `"file_id":"x"`, `"file_data":"eA=="`, 1), "400 validation_error", ""},
		{"a file_id and inline data", "/v1/responses", strings.Replace(inResponses("file_1"), `"file_id"`, `"file_data":"eA==","file_id"`, 1), "400 validation_error", ""},
	} {
		w := a.do("POST", c.path, "application/json", c.body)
		status, code, _ := strings.Cut(c.code, " ")
		if status != strings.TrimSpace(strings.SplitN(w.Result().Status, " ", 2)[0]) ||
			!strings.Contains(w.Body.String(), `"code":"`+code+`"`) || !strings.Contains(w.Body.String(), `"message":"`+c.message) {
			t.Errorf("%s: got %d %s", c.rule, w.Code, w.Body)
		}
	}
	a.expectSeen()
}
