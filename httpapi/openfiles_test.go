package httpapi

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/model"
)

// zipped is a container of names and contents in turn.
func zipped(t *testing.T, parts ...string) string {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for i := 0; i < len(parts); i += 2 {
		f, err := w.Create(parts[i])
		check(t, err)
		_, err = f.Write([]byte(parts[i+1]))
		check(t, err)
	}
	check(t, w.Close())
	return buf.String()
}

// deckAndBook are a presentation and a workbook, each with the text Hello.
func deckAndBook(t *testing.T) (deck, book string) {
	t.Helper()
	const relation = `<Relationships><Relationship Id="a" Type="x/%s" Target="%s"/></Relationships>`
	deck = zipped(t, "ppt/presentation.xml", `<p:presentation><p:sldIdLst><p:sldId r:id="a"/></p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels", fmt.Sprintf(relation, "slide", "s.xml"), "ppt/s.xml", `<p:sld><p:sp><a:p><a:t>Hello</a:t></a:p></p:sp></p:sld>`)
	book = zipped(t, "xl/workbook.xml", `<workbook><sheets><sheet name="S" r:id="a"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", fmt.Sprintf(relation, "worksheet", "s.xml"), "xl/s.xml", `<worksheet><row><c t="str"><v>Hello</v></c></row></worksheet>`)
	return deck, book
}

// TestOpenFiles uploads files as clients of OpenAI's API do, of every purpose, without a
// type and of types that the strict interface has no reader for: the model reads each.
func TestOpenFiles(t *testing.T) {
	deck, book := deckAndBook(t)
	for i, c := range []struct {
		purpose, name, kind, content string
		text                         string // empty: a 400
	}{
		{"user_data", "a.txt", "text/plain", "Hello", "Hello"},
		{"vision", "a.md", "", "Hello", "Hello"},
		{"evals", "a.py", "text/x-python", "print('Hello')", "print('Hello')"},
		{"fine-tune", "a.jsonl", "application/octet-stream", "{}\n", "{}\n"},
		{"assistants", "noname", "", "Grüße", "Grüße"},
		{"assistants", "noname", "", "\xff\xfeH\x00i\x00", "Hi"},
		{"assistants", "page", "", "<!DOCTYPE html><h1>Hello</h1>", "# Hello\n"},
		{"assistants", "page.html", "", "<p>Hello", "Hello\n"},
		{"assistants", "page.bin", "text/html", "<p>Hello", "Hello\n"},
		{"assistants", "letter", "", `{\rtf1\ansi Hello}`, "Hello\n"},
		{"assistants", "deck.pptx", "", deck, "# Slide 1\nHello\n"},
		{"assistants", "deck", "application/octet-stream", deck, "# Slide 1\nHello\n"},
		{"assistants", "book.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", book, "# S\n| Hello |\n| --- |\n"},
		{"assistants", "book", "", book, "# S\n| Hello |\n| --- |\n"},
		{"assistants", "book.txt", "", book, "# S\n| Hello |\n| --- |\n"},
		{"assistants", "a.bin", "", "\x00\x01\x02", ""},
		{"assistants", "a.png", "image/png", "\x89PNG\x00", ""},
		{"something", "a.txt", "text/plain", "Hello", ""},
		{"batch", "a.txt", "text/plain", "Hello", ""},
	} {
		t.Run(fmt.Sprint(i, c.name), func(t *testing.T) {
			a, script, key := newOpen(t, true)
			w := sendForm(a, key, form(formPart{name: "purpose", content: c.purpose}, formPart{"file", c.name, c.kind, c.content}))
			if c.text == "" {
				if w.Code != 400 {
					t.Errorf("got %d %s", w.Code, w.Body)
				}
				return
			}
			var file struct{ ID, Purpose string }
			check(t, json.Unmarshal(w.Body.Bytes(), &file))
			if w.Code != 200 || file.Purpose != c.purpose {
				t.Fatalf("got %d %s", w.Code, w.Body)
			}
			send(a, key, "POST", "/v1/responses", inResponses(file.ID))
			want := model.Document{Name: c.name, Text: c.text}
			if got := script.Requests()[0].Messages[0].Parts[1]; got != want {
				t.Errorf("the model read %+v, want %+v", got, want)
			}
			if strict, _, key := newOpen(t, false); c.purpose == "assistants" || c.purpose == "batch" {
				if w := sendForm(strict, key, form(purpose, formPart{"file", c.name, c.kind, c.content})); w.Code != 400 {
					t.Errorf("the strict interface answers %d %s", w.Code, w.Body)
				}
			}
		})
	}
}

// TestOpenDocumentsInChat sends files inline in a chat: their types are found, too.
func TestOpenDocumentsInChat(t *testing.T) {
	deck, _ := deckAndBook(t)
	for name, c := range map[string][2]string{"deck": {deck, "# Slide 1\nHello\n"}, "page.html": {"<p>Hello", "Hello\n"}, "notes": {"Hello", "Hello"}} {
		a, script, key := newOpen(t, true)
		body := inChat(`{"type":"file","file":{"filename":"` + name + `","file_data":"` + base64.StdEncoding.EncodeToString([]byte(c[0])) + `"}}`)
		if w := send(a, key, "POST", "/v1/chat/completions", body); w.Code != 200 {
			t.Fatalf("got %d %s", w.Code, w.Body)
		}
		if got, want := script.Requests()[0].Messages[0].Parts[1], (model.Document{Name: name, Text: c[1]}); got != want {
			t.Errorf("the model read %+v, want %+v", got, want)
		}
	}
}

// TestInlineFilesInResponses sends a file with its message, and with the output of a tool:
// the model reads it in the turn and in those behind it, the item has its name, and
// nothing is kept as a file.
func TestInlineFilesInResponses(t *testing.T) {
	is := is.New(t)
	deck, _ := deckAndBook(t)
	a, script, key := newOpen(t, true)
	data := "data:application/vnd.openxmlformats-officedocument.presentationml.presentation;base64," + base64.StdEncoding.EncodeToString([]byte(deck))
	asked := `{"role":"user","content":[{"type":"input_text","text":"Read."},{"type":"input_file","filename":"deck.pptx","file_data":"` + data + `"}]}`
	w := send(a, key, "POST", "/v1/responses", `{"model":"svc-preview","input":[`+asked+`,{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},
		{"type":"function_call_output","call_id":"c","output":[{"type":"input_file","filename":"a.html","file_data":"PHA+SGk="}]}]}`)
	is.Equal(w.Code, 200)
	read := model.Document{Name: "deck.pptx", Text: "# Slide 1\nHello\n"}
	is.Equal(script.Requests()[0].Messages[0].Parts, []model.Part{model.Text("Read."), read})
	is.Equal(script.Requests()[0].Messages[2].Parts, []model.Part{model.Document{Name: "a.html", Text: "Hi\n"}})
	w = send(a, key, "GET", "/v1/responses/resp_0001/input_items?order=asc", "")
	is.True(strings.Contains(w.Body.String(), `[{"type":"input_text","text":"Read."},{"type":"input_file","filename":"deck.pptx"}]`))
	is.Equal(send(a, key, "GET", "/v1/files", "").Body.String(), `{"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false}`)

	w = send(a, key, "POST", "/v1/responses", `{"model":"svc-preview","previous_response_id":"resp_0001","input":"Again?"}`)
	is.Equal(w.Code, 200)
	is.Equal(script.Requests()[1].Messages[0].Parts, []model.Part{model.Text("Read."), read})
}

// TestInlineFilesThatAreRefused has what is no file, in either interface.
func TestInlineFilesThatAreRefused(t *testing.T) {
	input := func(part string) string {
		return `{"model":"svc-preview","input":[{"role":"user","content":[{"type":"input_file",` + part + `}]}]}`
	}
	for _, c := range []struct {
		open              bool
		path, body, wants string
	}{
		{false, "/v1/responses", input(`"file_data":"SGk=","filename":"a.txt"`), "input[0].content[0].file_data is not accepted: upload the file and send its file_id."},
		{true, "/v1/responses", input(`"file_url":"https://example.com/a.txt"`), "input[0].content[0].file_url is not accepted: upload the file and send its file_id."},
		{true, "/v1/responses", input(`"file_data":"SGk=","file_id":"file_1"`), "input[0].content[0].file_data may not be sent with file_id."},
		{true, "/v1/responses", input(`"file_data":"https://example.com/a.txt"`), "input[0].content[0].file_data must be base64."},
		{true, "/v1/responses", input(`"filename":"a.txt"`), "input[0].content[0].file_id is required."},
		{true, "/v1/responses", input(`"file_data":"AAEC","filename":"a.bin"`), "Files of the type \\\"\\\" are not supported"},
		{true, "/v1/responses", input(`"filename":"a.txt","file_data":"` + base64.StdEncoding.EncodeToString(make([]byte, 11<<20)) + `"`), "at most 10 MiB together"},
		{true, "/v1/conversations", `{"items":[{"role":"user","content":[{"type":"input_file","file_data":"SGk="}]}]}`, "items[0].content[0].file_data is read in the input of a response alone"},
	} {
		a, script, key := newOpen(t, c.open)
		w := send(a, key, "POST", c.path, c.body)
		if w.Code/100 != 4 || !strings.Contains(w.Body.String(), c.wants) || len(script.Requests()) > 0 {
			t.Errorf("%s %.100s: got %d %s", c.path, c.body, w.Code, w.Body)
		}
	}
}
