package httpapi_test

import (
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// TestItemsComeInByOneDoor adds to a conversation what turns take as input: items
// that only the service can have made are what it made, and nothing else.
func TestItemsComeInByOneDoor(t *testing.T) {
	is := is.New(t)
	a := newTurnsOver(t, modeltest.New(search(`["one"]`), modeltest.Text("Found."), modeltest.Text("They met."), modeltest.Text("Done.")),
		options{anyItems: true, search: echoSearch{}})
	searched := a.turn(say("Look", `"tools":[`+searchTool+`]`))
	var compacted struct {
		Output []struct {
			EncryptedContent string `json:"encrypted_content"`
		}
	}
	decode(t, a.want(200, "POST", "/v1/responses/compact", `{"model":"svc-preview","input":[{"role":"user","content":"Hi"}]}`), &compacted)
	compaction := `{"type":"compaction","encrypted_content":` + quote(compacted.Output[len(compacted.Output)-1].EncryptedContent) + `}`
	const unknown = `{"type":"web_search_call","id":"ws_unknown","status":"completed","action":{"type":"search","queries":["x"]}}`

	var c struct{ ID string }
	decode(t, a.want(200, "POST", "/v1/conversations", `{"items":[{"role":"user","content":"Forgotten"},`+compaction+`]}`), &c)
	items := "/v1/conversations/" + c.ID + "/items"
	var added struct{ Data []struct{ ID, Type string } }
	decode(t, a.want(200, "POST", items, `{"items":[{"type":"web_search_call","id":`+quote(searched.Output[0].ID)+`},`+unknown+`,{"role":"user","content":"And?"}]}`), &added)
	is.Equal(len(added.Data), 2)
	is.Equal(added.Data[0].Type, "web_search_call")
	is.True(added.Data[0].ID != searched.Output[0].ID)

	a.post(say("Go on.", in(c.ID)))
	sent := a.sent(3)
	is.Equal(len(sent), 5)
	is.True(strings.HasPrefix(sent[0], `user "What was said before, in summary:\n\nThey met.`))
	is.True(strings.Contains(sent[1], `=web_search({"queries":["one"]})`))
	is.True(!strings.Contains(sent[1], "assistant =")) // the call has the ID that it was made with
	is.True(strings.Contains(sent[2], "About one"))
	is.Equal(sent[3:], []string{`user "And?"`, `user "Go on."`})

	const refused = "encrypted_content is not what this service has returned to the organization."
	const foreign = `{"items":[{"type":"compaction","encrypted_content":"gAAAA"}]}`
	a.wantInvalid("POST", items, foreign, "items", refused)
	a.wantInvalid("POST", "/v1/conversations", foreign, "items", refused)
	a.wantInvalid("POST", items, `{"items":[`+unknown+`]}`, "items",
		"items has nothing that can be added: reasoning without its call and searches that were not made here are left out.")
}
