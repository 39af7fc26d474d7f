package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/storage"
)

const background = `"background":true`

// held returns an answer that waits until it is let go on, and what does that.
func held(answer modeltest.Answer) (modeltest.Answer, func()) {
	wait := make(chan struct{})
	answer.Before = func(ctx context.Context) error {
		select {
		case <-wait:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return answer, func() { close(wait) }
}

// stored returns a response as it is stored.
func (a *turns) stored(id string) (r response) {
	a.t.Helper()
	decode(a.t, a.want(200, "GET", "/v1/responses/"+id, ""), &r)
	return r
}

// ended returns a response as it is stored when it has ended.
func (a *turns) ended(id string) (r response) {
	a.t.Helper()
	httpapi.Until(a.t, func() bool {
		r = a.stored(id)
		return r.Status != "in_progress"
	})
	return r
}

// TestBackground polls a response that is made while nobody waits for it.
func TestBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		answer, goOn := held(modeltest.Text("Y", "es."))
		a := newTurns(t, answer, modeltest.Text("More."))
		begun := a.turn(say("Hi", background))
		is.Equal(begun.Status, "in_progress")
		is.Equal(a.stored(begun.ID), begun)
		is.True(strings.Contains(a.want(200, "GET", "/v1/responses/"+begun.ID+"/input_items", ""), `"text":"Hi"`))
		a.wantInvalid("POST", "/v1/responses", say("More", after(begun.ID)), "previous_response_id",
			`The response "`+begun.ID+`" is still in progress: it cannot be continued from before it has completed.`)
		goOn()
		ended := a.ended(begun.ID)
		is.Equal(ended.Status, "completed")
		is.Equal(ended.Output[0].Content[0].Text, "Yes.")
		a.turn(say("More", after(begun.ID)))
		a.wantSent(1, `user "Hi"`, `assistant "Yes."`, `user "More"`)
		is.Equal(len(a.charges()), 2)
		a.wantInvalid("POST", "/v1/responses", say("Hi", background, `"store":false`), "background",
			"background needs store: a response that is not stored cannot be read later.")
	})
}

// follow returns the events of a response behind the one with a number, with the
// words of the stream around them left out.
func (a *turns) follow(id string, after int) string {
	a.t.Helper()
	path := "/v1/responses/" + id + "?stream=true"
	if after >= 0 {
		path += fmt.Sprint("&starting_after=", after)
	}
	return a.want(200, "GET", path, "")
}

// TestBackgroundStreamsAreResumed reads the events of a response from every number
// on, while it runs, when it has ended, and from the store alone.
func TestBackgroundStreamsAreResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		call := modeltest.Calls(model.ToolCall{ID: "a", Name: "f", Arguments: `{"a":1}`})
		call.Events = append([]model.Event{model.TextDelta{Text: "I ask "}, model.TextDelta{Text: "f."}}, call.Events...)
		answer, goOn := held(call)
		a := newTurns(t, answer)
		streamed := make(chan string)
		go func() {
			streamed <- a.post(say("Hi", background, `"stream":true`, `"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}]`))
		}()
		const id = "resp_00003"
		httpapi.Until(t, func() bool { return a.do("GET", "/v1/responses/"+id, "").status == 200 })
		running := make(chan string)
		go func() { running <- a.follow(id, 0) }()
		synctest.Wait()
		time.Sleep(3 * time.Second)
		goOn()
		whole := <-streamed
		checkTranscript(t, whole)
		events := strings.SplitAfter(whole, "\n\n")
		events = events[:len(events)-1]
		is.Equal(<-running, strings.Join(events[1:], ""))
		is.True(len(events) > 12)
		is.Equal(a.follow(id, -1), whole)
		for n := range events {
			is.Equal(a.follow(id, n), strings.Join(events[n+1:], ""))
		}
		is.Equal(a.follow(id, 1000), "")
		a.wantInvalid("GET", "/v1/responses/"+id+"?stream=true&starting_after=x", "", "starting_after", "starting_after must be the sequence_number of an event.")
		a.want(200, "DELETE", "/v1/responses/"+id, "")
		a.want(404, "GET", "/v1/responses/"+id+"?stream=true", "")
	})
}

// TestADeletedItemIsNotInTheStream deletes an item that was said in the background:
// no stream of its response says it again, and the other items are as they were.
func TestADeletedItemIsNotInTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		call := modeltest.Calls(model.ToolCall{ID: "a", Name: "f", Arguments: `{"a":1}`})
		call.Events = append([]model.Event{model.TextDelta{Text: "I ask "}, model.TextDelta{Text: "f."}}, call.Events...)
		a := newTurns(t, call)
		r := a.ended(a.turn(say("Hi", background, `"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}]`)).ID)
		is.True(strings.Contains(a.follow(r.ID, -1), "I ask"))
		a.want(200, "DELETE", "/v1/conversations/"+r.Conversation.ID+"/items/"+r.Output[0].ID, "")
		left := a.ended(r.ID)
		is.Equal(left.Output, r.Output[1:])
		stream := a.follow(r.ID, -1)
		checkTranscript(t, stream)
		is.True(!strings.Contains(stream, "ask"))
		is.True(strings.Contains(stream, `{\"a\":1}`))
		is.Equal(strings.Count(stream, "event: response.created\n"), 1)
		is.Equal(strings.Count(stream, "event: response.completed\n"), 1)
		events := strings.SplitAfter(stream, "\n\n")
		last := len(events) - 2
		for n := range last {
			is.Equal(a.follow(r.ID, n), strings.Join(events[n+1:], ""))
		}
		// With the item the turn had more events: who has seen as many as are left has
		// not seen its end.
		number := fmt.Sprintf(`"sequence_number":%d,`, last)
		is.Equal(a.follow(r.ID, last), strings.Replace(events[last], number, fmt.Sprintf(`"sequence_number":%d,`, last+1), 1))
		is.Equal(a.follow(r.ID, 1000), "")
	})
}

// TestLostEventsAreTold has the store lose some of the events of a response: who
// reads them is told of that where they are missing, and has the response without
// them.
func TestLostEventsAreTold(t *testing.T) {
	for name, test := range map[string]struct{ lost, from, to int }{
		"the first": {0, 2, 4},
		"the last":  {1, 5, 7},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				a := newTurns(t, modeltest.Text("Yes."))
				ended := a.ended(a.turn(say("Hi", background)).ID)
				events := strings.SplitAfter(a.follow(ended.ID, -1), "\n\n")
				a.losePage(test.lost)
				lost := func(from int) string {
					return fmt.Sprintf(`The events %d to %d of the response "%s" were lost. Read the response without them.`, from, test.to, ended.ID)
				}
				message, err := json.Marshal(lost(test.from))
				is.NoErr(err)
				told := fmt.Sprintf("event: error\ndata: "+`{"type":"error","sequence_number":%d,"code":"events_lost","message":%s,"param":null,`+
					`"error":{"message":%[2]s,"type":"invalid_request_error","param":null,"code":"events_lost"}}`+"\n\n", test.from, message)
				for n := range events[:len(events)-1] {
					after := n - 1
					switch {
					case n < test.from:
						is.Equal(a.follow(ended.ID, after), strings.Join(events[n:test.from], "")+told)
					case n <= test.to:
						a.wantError("GET", fmt.Sprint("/v1/responses/", ended.ID, "?stream=true&starting_after=", after), "",
							404, "invalid_request_error", "events_lost", "", lost(n))
					default:
						is.Equal(a.follow(ended.ID, after), strings.Join(events[n:], ""))
					}
				}
				is.Equal(a.stored(ended.ID).Output[0].Content[0].Text, "Yes.")
			})
		})
	}
}

// losePage has the events that are stored in one page be in two, of which one is
// lost.
func (a *turns) losePage(lost int) {
	a.t.Helper()
	ns := storage.Namespace(a.orgs["rich"])
	pages := httpapi.Stored(a.t, a.store, ns, "v/e/")
	if len(pages) != 1 {
		a.t.Fatalf("%d pages of events are stored, want 1", len(pages))
	}
	var events []json.RawMessage
	decode(a.t, string(pages[0].Value), &events)
	key := slices.Clone(pages[0].Key)
	key[len(key)-1] += 3
	err := a.store.Update(a.t.Context(), ns, func(tx storage.Tx) error {
		for i, page := range [][]json.RawMessage{events[:3], events[3:]} {
			at := [][]byte{pages[0].Key, key}[i]
			data, err := json.Marshal(page)
			if err == nil && i == lost {
				err = tx.Delete(at)
			} else if err == nil {
				err = tx.Set(at, data)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		a.t.Fatal(err)
	}
}

// TestABackgroundStreamGoesOnWithoutItsClient leaves it at its first event.
func TestABackgroundStreamGoesOnWithoutItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		answer, goOn := held(modeltest.Text("Yes."))
		a := newTurns(t, answer)
		r := a.leave("response.created", say("Hi", background, `"stream":true`))
		is.Equal(r.Status, "in_progress")
		goOn()
		is.Equal(a.ended(r.ID).Status, "completed")
		is.Equal(strings.Count(a.follow(r.ID, -1), "response.completed"), 2) // its name and its type
	})
}

// TestCancel cancels responses that run: one in the background, and one whose
// client reads its events.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		a := newTurns(t, modeltest.Block(model.TextDelta{Text: "Ha"}), modeltest.Block(model.TextDelta{Text: "Ha"}))
		begun := a.turn(say("Hi", background))
		httpapi.Until(t, func() bool { return len(a.script.Requests()) == 1 }) // and it has said what it says
		var cancelled response
		decode(t, a.want(200, "POST", "/v1/responses/"+begun.ID+"/cancel", ""), &cancelled)
		is.Equal(cancelled.Status, "cancelled")
		is.Equal(cancelled.Output[0].Content[0].Text, "Ha")
		is.Equal(a.stored(begun.ID), cancelled)
		a.want(200, "POST", "/v1/responses/"+begun.ID+"/cancel", "") // again

		w := httptest.NewRecorder()
		done := make(chan struct{})
		go func() {
			a.serve(t.Context(), w, "POST", "/v1/responses", say("Hi", `"stream":true`))
			close(done)
		}()
		httpapi.Until(t, func() bool { return w.Body.Len() > 0 })
		var created response
		decode(t, string(parse(t, w.Body.String())[0].Response), &created)
		id := created.ID
		is.Equal(a.stored(id).Status, "in_progress")
		a.want(200, "POST", "/v1/responses/"+id+"/cancel", "")
		<-done
		is.Equal(a.stored(id).Status, "cancelled")
		events := parse(t, w.Body.String())
		is.Equal(events[len(events)-2].Type, "error")
		is.Equal(events[len(events)-1].Type, "response.failed")
		var last response
		decode(t, string(events[len(events)-1].Response), &last)
		is.Equal(last.Status, "cancelled")
	})
}
