package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// snippet is a request in a language, to copy.
type snippet struct{ Language, Code string }

// origin is how a client reaches the server that the visitor has reached.
func (v *request) origin() string {
	scheme := "http"
	if v.r.TLS != nil || v.r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	return scheme + "://" + v.r.Host
}

// snippets returns a request as programs would make it. The key is left to the
// environment: a page shows none.
func snippets(origin, path string, body []byte) []snippet {
	var indented bytes.Buffer
	if json.Indent(&indented, body, "", "  ") != nil {
		indented.Write(body)
	}
	text := indented.String()
	address := origin + path
	return []snippet{
		{"curl", fmt.Sprintf("curl %s \\\n  -H \"Authorization: Bearer $SVC_API_KEY\" \\\n  -H \"Content-Type: application/json\" \\\n  -d '%s'\n",
			address, strings.ReplaceAll(text, "'", `'\''`))},
		{"Python", fmt.Sprintf(`import json, os, urllib.request

request = urllib.request.Request(
    %q,
    data=json.dumps(json.loads(r%s)).encode(),
    headers={"Authorization": "Bearer " + os.environ["SVC_API_KEY"], "Content-Type": "application/json"},
)
print(json.load(urllib.request.urlopen(request)))
`, address, pythonText(text))},
		{"JavaScript", fmt.Sprintf(`const answer = await fetch(%q, {
  method: "POST",
  headers: { Authorization: "Bearer " + process.env.SVC_API_KEY, "Content-Type": "application/json" },
  body: JSON.stringify(%s),
});
console.log(await answer.json());
`, address, strings.ReplaceAll(text, "\n", "\n  "))},
		{"Go", fmt.Sprintf(`package main

import (
	"io"
	"log"
	"net/http"
	"os"
	"strings"
)

func main() {
	body := %s
	request, err := http.NewRequest("POST", %q, strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("SVC_API_KEY"))
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(os.Stdout, answer.Body); err != nil {
		log.Fatal(err)
	}
}
`, goText(text), address)},
	}
}

// pythonText is a JSON text as what follows the r of a raw Python string. Three
// quotes never stand in JSON but as an empty string beside a quote, which an
// indented text has not.
func pythonText(text string) string { return `"""` + text + `"""` }

// goText is a text as a Go string.
func goText(text string) string {
	if strconv.CanBackquote(strings.ReplaceAll(text, "\n", "")) {
		return "`" + text + "`"
	}
	return strconv.Quote(text)
}
