package console

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/responses"
)

// stallTimeout is how long a browser may take no bytes of a stream.
const stallTimeout = time.Minute

// responseEvents sends a turn that runs, from its beginning, to a page that was
// loaded meanwhile.
func (c *Console) responseEvents(v *request) error {
	events, err := c.service.ReplayResponse(v.ctx(), v.caller, v.r.PathValue("id"), -1)
	if err != nil {
		return err
	}
	return c.follow(v, events)
}

func (c *Console) cancelResponse(v *request) error {
	id := v.r.PathValue("id")
	if _, err := c.service.CancelResponse(v.ctx(), v.caller, id); err != nil && !fault.Is(err, fault.Invalid) {
		return err // an Invalid one has ended meanwhile
	}
	return v.redirect("/respond?response=" + url.QueryEscape(id))
}

// follow sends a turn as it is made, as events for static/console.js: "begun" with
// the response's ID, "text" with the next piece of a message, "message" with the HTML of
// all of it so far, "item" with that of an item that is complete, "end" with the ID of a
// response whose page shows how it ended or "unkept" with why it has no page, and
// "wrong" with why there is none.
func (c *Console) follow(v *request, events iter.Seq2[responses.Event, error]) error {
	f := &follower{v: v, rc: http.NewResponseController(v.w.ResponseWriter), rendered: c.opts.Now()}
	for event, err := range events {
		if failed, ok := errors.AsType[*responses.TurnError](err); ok {
			v.logFailure(failed.Response.ID, fault.From(err))
			return nil // its last event was sent
		}
		if err != nil && !v.w.begun {
			return err
		}
		if err != nil {
			f.send("wrong", v.reason(err))
			return nil
		}
		if !f.pass(event) {
			return errGone
		}
	}
	return nil
}

// follower sends the events of one turn to a browser.
type follower struct {
	v        *request
	rc       *http.ResponseController
	text     strings.Builder // of the message that is being made
	rendered time.Time       // when it was sent as HTML last
}

// renderEvery is how often a message is sent as HTML while it is being made.
const renderEvery = 200 * time.Millisecond

// send sends one event and reports whether the browser still listens.
func (f *follower) send(event string, data any) bool {
	w := f.v.w
	if !w.begun {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-Accel-Buffering", "no")
		w.WriteHeader(http.StatusOK)
	}
	_ = f.rc.SetWriteDeadline(time.Now().Add(stallTimeout)) // a writer without deadlines needs none
	if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, marshal(data)); err != nil {
		return false
	}
	return f.rc.Flush() == nil
}

// piece sends the next piece of a message: all of it as HTML now and then, and in
// between the piece.
func (f *follower) piece(text string) bool {
	f.text.WriteString(text)
	now := f.v.c.opts.Now()
	if now.Sub(f.rendered) >= renderEvery {
		f.rendered = now
		if html := renderMarkdown(f.text.String()); html != "" {
			return f.send("message", html)
		}
	}
	return f.send("text", text)
}

// pass sends what a browser shows of one event, and reports whether it still
// listens.
func (f *follower) pass(event responses.Event) bool {
	v := f.v
	switch event.Type {
	case responses.EventCreated:
		return v.caller.ZeroDataRetention || f.send("begun", event.Response.ID)
	case responses.EventTextDelta:
		return f.piece(event.Text)
	case responses.EventItemDone:
		f.text.Reset()
		html, err := v.c.itemHTML(v, event.Item)
		if err != nil {
			return f.send("wrong", v.reason(err))
		}
		return f.send("item", html)
	case responses.EventError:
		return !v.caller.ZeroDataRetention || f.send("wrong", event.Error.Message)
	case responses.EventCompleted, responses.EventIncomplete, responses.EventFailed:
		if v.caller.ZeroDataRetention {
			return event.Type == responses.EventFailed || f.send("unkept", unkept)
		}
		return f.send("end", event.Response.ID)
	}
	return true
}

// itemHTML is an item as the page of the playground shows it.
func (c *Console) itemHTML(v *request, item conversations.Item) (string, error) {
	var b bytes.Buffer
	views := viewItems([]conversations.Item{item})
	c.openThoughts(v, views)
	err := c.pages["respond"].ExecuteTemplate(&b, "item", views[0])
	return b.String(), err
}

// reason is an error as a visitor reads it; its cause is logged.
func (v *request) reason(err error) string {
	e := fault.From(err)
	v.logFailure("", e)
	return e.Message
}
