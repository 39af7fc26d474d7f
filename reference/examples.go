package reference

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"text/template"
)

// Example is a request of one operation as a program. It finds the server in the
// environment variable SVC_URL and the key in SVC_API_KEY or SVC_ADMIN_KEY. IDs in it
// are made up, such as file_123; the one of an upload reads notes.md.
type Example struct {
	Operation    string // its ID in the document
	Method, Path string // as the document has them
	Language     string // curl, Python, JavaScript or Go
	Code         string
}

// Languages are the languages of examples.
var Languages = []string{"curl", "Python", "JavaScript", "Go"}

// Examples returns the examples of a document, in its order. Operations that need more
// than a request have none: those whose answer is another protocol, and those with a
// body of which the document has no example.
func Examples(openAPI []byte) ([]Example, error) {
	var d document
	if err := json.Unmarshal(openAPI, &d); err != nil {
		return nil, err
	}
	operations, err := d.operations()
	if err != nil {
		return nil, err
	}
	var all []Example
	for _, o := range operations {
		examples, err := o.examples()
		if err != nil {
			return nil, err
		}
		all = append(all, examples...)
	}
	return all, nil
}

// call is what the template of an example gets.
type call struct {
	Method, Path string
	Key          string // the variable with the key, empty where none is needed
	Body         string // indented JSON, empty where there is none
	Upload       bool   // the body is a form with a file
}

func (o operation) examples() ([]Example, error) {
	c := call{Method: o.Method, Path: pathOf(o.Path)}
	if _, other := o.Responses.get("101"); other {
		return nil, nil
	}
	for _, s := range o.Security {
		for name := range s {
			c.Key = map[string]string{"apiKey": "SVC_API_KEY", "adminKey": "SVC_ADMIN_KEY"}[name]
		}
	}
	_, c.Upload = o.Body.Content.get("multipart/form-data")
	if body, ok := o.Body.Content.get("application/json"); ok {
		if body.Example == nil {
			return nil, nil
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, body.Example, "", "  "); err != nil {
			return nil, err
		}
		c.Body = indented.String()
	}
	var all []Example
	for _, language := range Languages {
		var code strings.Builder
		if err := languages.ExecuteTemplate(&code, language, c); err != nil {
			return nil, err
		}
		all = append(all, Example{o.ID, o.Method, o.Path, language, strings.TrimSpace(code.String()) + "\n"})
	}
	return all, nil
}

var variable = regexp.MustCompile(`\{([a-z_]+)\}`)

// pathOf is a path with IDs in it.
func pathOf(path string) string {
	return variable.ReplaceAllStringFunc(path, func(name string) string {
		name = strings.Trim(name, "{}")
		if id, ok := ids[name]; ok {
			return id
		}
		if strings.Contains(path, "/api_keys/") {
			return "key_123"
		}
		return "org_123"
	})
}

// ids are those of the examples, by the names of parameters.
var ids = map[string]string{
	"decision_id": "dec_123", "calibration_id": "calib_123", "model": "svc-preview", "response_id": "resp_123", "completion_id": "chatcmpl_123",
	"batch_id": "batch_123", "webhook_endpoint_id": "whe_123", "delivery_id": "whd_123", "vector_store_id": "vs_123", "file_id": "file_123",
	"file_batch_id": "vsfb_123", "conversation_id": "conv_123", "item_id": "msg_123", "profile": "goroutine",
}

var languages = template.Must(template.New("").Parse(`
{{define "curl"}}curl {{if and (ne .Method "GET") (not .Body) (not .Upload)}}-X {{.Method}} {{end}}"$SVC_URL{{.Path}}"
{{- if .Key}} \
  -H "Authorization: Bearer ${{.Key}}"{{end}}
{{- if .Upload}} \
  -F purpose=assistants -F 'file=@notes.md;type=text/markdown'{{end}}
{{- if .Body}} \
  -H "Content-Type: application/json" \
  -d '{{.Body}}'{{end}}{{end}}

{{define "Python"}}import os, urllib.request
{{if .Upload}}
boundary = "a-line-that-is-not-in-the-file"
body = f"""--{boundary}\r
Content-Disposition: form-data; name="purpose"\r
\r
assistants\r
--{boundary}\r
Content-Disposition: form-data; name="file"; filename="notes.md"\r
Content-Type: text/markdown\r
\r
{open("notes.md").read()}\r
--{boundary}--\r
"""
{{else if .Body}}
body = """{{.Body}}"""
{{end}}
request = urllib.request.Request(os.environ["SVC_URL"] + "{{.Path}}", method="{{.Method}}"{{if or .Body .Upload}}, data=body.encode(){{end}})
{{if .Key}}request.add_header("Authorization", "Bearer " + os.environ["{{.Key}}"])
{{end}}
{{- if .Upload}}request.add_header("Content-Type", "multipart/form-data; boundary=" + boundary)
{{else if .Body}}request.add_header("Content-Type", "application/json")
{{end}}print(urllib.request.urlopen(request).read())
{{end}}

{{define "JavaScript"}}
{{- if .Upload}}import { openAsBlob } from "node:fs";

const form = new FormData();
form.set("purpose", "assistants");
form.set("file", await openAsBlob("notes.md", { type: "text/markdown" }), "notes.md");
{{end -}}
const response = await fetch(process.env.SVC_URL + "{{.Path}}", {
  method: "{{.Method}}",
  {{- if .Key}}
  headers: { Authorization: "Bearer " + process.env.{{.Key}}{{if .Body}}, "Content-Type": "application/json"{{end}} },
  {{- end}}
  {{- if .Upload}}
  body: form,
  {{- else if .Body}}
  body: JSON.stringify({{.Body}}),
  {{- end}}
});
if (!response.ok) throw new Error(await response.text());
console.log(await response.text());
{{end}}

{{define "Go"}}package main

import (
{{- if .Upload}}
	"bytes"{{end}}
	"io"
	"log"
{{- if .Upload}}
	"mime/multipart"{{end}}
	"net/http"
{{- if .Upload}}
	"net/textproto"{{end}}
	"os"
{{- if .Body}}
	"strings"{{end}}
)

func main() {
{{- if .Upload}}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	form.WriteField("purpose", "assistants")
	part, _ := form.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {` + "`form-data; name=\"file\"; filename=\"notes.md\"`" + `},
		"Content-Type":        {"text/markdown"},
	})
	notes, err := os.ReadFile("notes.md")
	if err != nil {
		log.Fatal(err)
	}
	part.Write(notes)
	form.Close()
	req, err := http.NewRequest("POST", os.Getenv("SVC_URL")+"{{.Path}}", &body)
{{- else if .Body}}
	body := strings.NewReader(` + "`{{.Body}}`" + `)
	req, err := http.NewRequest("{{.Method}}", os.Getenv("SVC_URL")+"{{.Path}}", body)
{{- else}}
	req, err := http.NewRequest("{{.Method}}", os.Getenv("SVC_URL")+"{{.Path}}", nil)
{{- end}}
	if err != nil {
		log.Fatal(err)
	}
{{- if .Key}}
	req.Header.Set("Authorization", "Bearer "+os.Getenv("{{.Key}}"))
{{- end}}
{{- if .Upload}}
	req.Header.Set("Content-Type", form.FormDataContentType())
{{- else if .Body}}
	req.Header.Set("Content-Type", "application/json")
{{- end}}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		log.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= 300 {
		log.Fatal(res.Status, " ", string(answer), err)
	}
	log.Print(string(answer))
}
{{end}}
`))
