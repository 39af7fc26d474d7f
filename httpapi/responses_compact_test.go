package httpapi_test

import (
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// TestCompactions compacts a history by itself, sends it back, and lets a turn do
// it, streamed and not.
func TestCompactions(t *testing.T) {
	is := is.New(t)
	a := newTurns(t, modeltest.Text("They met."), modeltest.Text("Hello again."), modeltest.Text("One."), modeltest.Text("Summary."), modeltest.Text("Two."))
	var c struct {
		ID, Object string
		Output     []struct {
			Type             string
			EncryptedContent string `json:"encrypted_content"`
		}
	}
	decode(t, a.want(200, "POST", "/v1/responses/compact", `{"model":"svc-preview","input":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello."}]}`), &c)
	is.Equal(c.Object, "response.compaction")
	is.Equal(len(c.Output), 2)
	is.Equal(c.Output[1].Type, "compaction")
	sealed := c.Output[1].EncryptedContent
	a.turn(`{"model":"svc-preview","input":[{"type":"compaction","encrypted_content":` + quote(sealed) + `},{"role":"user","content":"Again"}]}`)
	a.wantSent(1, `user "What was said before, in summary:\n\nThey met.\n\nWhat the user said last, word for word:\n\nHi"`, `user "Again"`)

	first := a.turn(say("Hi"))
	const managed = `"context_management":[{"type":"compaction","compact_threshold":1}]`
	streamed := a.post(say("More", after(first.ID), managed, `"stream":true`))
	checkTranscript(t, streamed)
	is.True(strings.Contains(streamed, `"item":{"id":"cmp_`))
	a.wantSent(4, `user "What was said before, in summary:\n\nSummary.\n\nWhat the user said last, word for word:\n\nHi\n\nMore"`, `user "More"`)

	a.wantInvalid("POST", "/v1/responses/compact", `{"model":"svc-preview"}`, "input", "input is required without previous_response_id.")
	a.wantInvalid("POST", "/v1/responses", say("Hi", `"context_management":[{"type":"x"}]`), "context_management[0].type", `context_management[0].type must be "compaction".`)
	a.wantInvalid("POST", "/v1/responses", `{"model":"svc-preview","input":[{"type":"compaction","encrypted_content":"x"}]}`, "input",
		"encrypted_content is not what this service has returned to the organization.")
}
