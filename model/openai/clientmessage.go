package openai

import (
	"regexp"
	"strings"

	"github.com/tidwall/gjson"
)

// maxClientMessage is how many bytes of what a server says of a request are passed on.
const maxClientMessage = 500

// secrets are what a server may say that is not the caller's to know: where it
// is, and keys.
var secrets = regexp.MustCompile(`(?i)[a-z][a-z0-9+.-]*://\S*|\bbearer\s+\S+|\b(?:sk|pk|key|hf|gsk|xai)[-_][\w-]{6,}\S*|` +
	`\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b|\b(?:[a-z0-9-]+\.)*(?:localhost|internal|local)(?::\d+)?\b|\b[a-z0-9]{32,}\b`)

// page is a page for people, which says nothing of the request.
var page = regexp.MustCompile(`(?s)^\s*<.*`)

// minOwn is how long a server's own key or address is that can be told from a word,
// such as the key that a server without keys is sent.
const minOwn = 8

// clientMessage returns what the server says of a request that it does not take, for the
// caller, who alone can change it: the message of its error, on one line. It is
// empty where there is none that can be told.
func (s *server) clientMessage(body []byte) string {
	message := messageOf(string(body))
	for _, own := range []string{s.Key, s.host} {
		if len(own) >= minOwn {
			message = strings.ReplaceAll(message, own, "[…]")
		}
	}
	message = secrets.ReplaceAllString(strings.ToValidUTF8(message, ""), "[…]")
	message = strings.Join(strings.Fields(message), " ")
	if len(message) > maxClientMessage {
		message = strings.ToValidUTF8(message[:maxClientMessage], "") + "…"
	}
	return message
}

// messageOf returns the message of an error as servers write it: OpenAI's object,
// FastAPI's detail, or either as JSON inside of a message.
func messageOf(body string) string {
	for range 3 { // as deep as any does it
		if !gjson.Valid(body) {
			return strings.TrimSpace(page.ReplaceAllString(body, ""))
		}
		value := gjson.Parse(body)
		if value.Type == gjson.String {
			return value.Str
		}
		next := ""
		for _, path := range []string{"error.message", "message", "error", "detail.0.msg", "detail"} {
			if found := value.Get(path); found.Type == gjson.String {
				next = found.Str
				break
			}
		}
		if next == "" || !strings.HasPrefix(strings.TrimSpace(next), "{") {
			return next
		}
		body = next
	}
	return ""
}
