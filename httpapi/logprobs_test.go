package httpapi_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/storage"
)

const askLogprobs = `"include":["message.output_text.logprobs"],"top_logprobs":1`

// likely is a token whose log-probabilities take that many bytes in the store.
func likely(size int) model.Event {
	const escaped = 6 // bytes of a control character in JSON
	return model.Logprobs{Tokens: []model.Logprob{{Token: "x", Top: []model.Logprob{{Token: strings.Repeat("\x01", size/escaped)}}}}}
}

// TestLogprobsTooLargeToStore has turns whose log-probabilities are more than one
// value holds: they are answered whole, and stored and charged without them.
func TestLogprobsTooLargeToStore(t *testing.T) {
	for name, test := range map[string]struct {
		size   int
		fields string
	}{
		"an item":          {storage.MaxValue, `"stream":false`},
		"an item's events": {storage.MaxValue, background},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				first := modeltest.Text("Yes.")
				first.Events = append([]model.Event{likely(test.size)}, first.Events...)
				a := newTurns(t, first, modeltest.Text("More."))
				answered := a.post(say("Hi", askLogprobs, test.fields))
				const id = "resp_00003"
				r := a.ended(id)
				is.Equal(r.Status, "completed")
				is.Equal(r.Output[0].Content[0].Text, "Yes.")
				is.True(strings.Contains(a.want(200, "GET", "/v1/responses/"+id, ""), `"text":"Yes.","annotations":[],"logprobs":[]`))
				if test.fields == background {
					events := a.follow(id, -1)
					checkTranscript(t, events)
					is.True(strings.Contains(events, `"delta":"Yes."`))
				} else {
					is.True(strings.Contains(answered, `"top_logprobs":[{"token":"\u0001\u0001`))
				}
				is.Equal(a.charges(), []string{id + " 11+7"})
				a.turn(say("More", after(id)))
				a.wantSent(1, `user "Hi"`, `assistant "Yes."`, `user "More"`)
			})
		})
	}
}

// TestLogprobsOfATurnThatRuns are in the events that others find in the store, or
// are left out of them.
func TestLogprobsOfATurnThatRuns(t *testing.T) {
	for _, size := range []int{100, storage.MaxValue} {
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			a := newTurns(t, modeltest.Block(likely(size), model.TextDelta{Text: "Half"}))
			begun := a.turn(say("Hi", askLogprobs, background))
			var pages []string
			httpapi.Until(t, func() bool {
				pages = nil
				for _, e := range httpapi.Stored(t, a.store, storage.Namespace(a.orgs["rich"]), "") {
					if page := string(e.Value); strings.Contains(page, `"t":"Half"`) {
						pages = append(pages, page)
					}
				}
				return len(pages) > 0
			})
			is.Equal(len(pages), 1)
			is.Equal(strings.Contains(pages[0], `\u0001`), size == 100)
			a.want(200, "POST", "/v1/responses/"+begun.ID+"/cancel", "")
			httpapi.Until(t, func() bool { return a.stored(begun.ID).Status == "cancelled" })
		})
	}
}
