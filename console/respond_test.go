package console_test

import (
	"bytes"
	"context"
	"errors"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// send begins a turn as the script of the page does, and returns the events.
func (d *desk) send(token, text string) io.ReadCloser {
	d.Helper()
	form := url.Values{"token": {token}, "model": {"svc-preview"}, "text": {text}}
	return d.events(httptest.NewRequestWithContext(d.Context(), "POST", d.url+"/console/respond", strings.NewReader(form.Encode())))
}

func (d *desk) events(req *http.Request) io.ReadCloser {
	d.Helper()
	req.RequestURI = ""
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "text/event-stream")
	res, err := d.client.Do(req)
	if err != nil {
		d.Fatal(err)
	}
	if got := res.Header.Get("Content-Type"); got != "text/event-stream" {
		body, _ := io.ReadAll(res.Body)
		d.Fatalf("the answer is %q: %s", got, body)
	}
	return res.Body
}

// begun reads the first event, which names the response.
func (d *desk) begun(events io.Reader) string {
	d.Helper()
	line := make([]byte, len("event: begun\ndata: \"resp_"))
	if _, err := io.ReadFull(events, line); err != nil || !strings.HasPrefix(string(line), "event: begun\ndata: \"") {
		d.Fatalf("the stream begins with %q: %v", line, err)
	}
	id := []byte("resp_")
	for b := make([]byte, 1); ; {
		if _, err := io.ReadFull(events, b); err != nil {
			d.Fatal(err)
		}
		if b[0] == '"' {
			return string(id)
		}
		id = append(id, b[0])
	}
}

// TestAPageThatIsLoadedAgainFollowsItsTurn leaves the page of a turn that runs,
// and comes back: the turn goes on, is listed, and is followed from its beginning.
func TestAPageThatIsLoadedAgainFollowsItsTurn(t *testing.T) {
	goOn := make(chan struct{})
	answer := modeltest.Text("The shop ", "opens at nine.")
	d := openOn(t, &modeltest.Script{Respond: func(*model.Request) modeltest.Answer {
		answer.Before = func(ctx context.Context) error {
			select {
			case <-goOn:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return answer
	}}, slog.New(slog.DiscardHandler))
	token := d.signIn(d.key)
	stream := d.send(token, "When does the shop open?")
	id := d.begun(stream)
	stream.Close()

	if _, page := d.get("/log"); !strings.Contains(page, id) || !strings.Contains(page, "in_progress") {
		t.Errorf("the turn is not listed as running: %s", page)
	}
	for path, links := range map[string]int{"/respond?response=" + id: 0, "/responses/" + id: 0} {
		_, page := d.get(path)
		if !strings.Contains(page, `data-follow="/console/responses/`+id+`/events"`) {
			t.Errorf("%s does not follow the turn: %s", path, page)
		}
		if n := strings.Count(page, "Continue from here") + strings.Count(page, "Branch from here") + strings.Count(page, "There is none"); n != links {
			t.Errorf("%s offers to continue a turn that runs, or calls it empty: %s", path, page)
		}
	}
	followed := d.events(httptest.NewRequestWithContext(t.Context(), "GET", d.url+"/console/responses/"+id+"/events", nil))
	defer followed.Close()
	close(goOn)
	rest, err := io.ReadAll(followed)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"event: begun\n", "event: text\ndata: \"The shop \"\n", "event: text\ndata: \"opens at nine.\"\n", "event: end\ndata: \"" + id + "\"\n"} {
		if !strings.Contains(string(rest), want) {
			t.Errorf("no %q in %s", want, rest)
		}
	}
	if _, page := d.get("/responses/" + id); !strings.Contains(page, "Continue from here") || strings.Contains(page, "data-follow") {
		t.Errorf("after its end: %s", page)
	}
}

func TestStop(t *testing.T) {
	d := openOn(t, modeltest.New(modeltest.Answer{Events: []model.Event{model.TextDelta{Text: "On and on"}}, Block: true}), slog.New(slog.DiscardHandler))
	token := d.signIn(d.key)
	stream := d.send(token, "Go on.")
	defer stream.Close()
	id := d.begun(stream)
	status, page := d.post("/responses/"+id+"/cancel", url.Values{"token": {token}})
	if status != http.StatusOK || !strings.Contains(page, "cancelled") {
		t.Errorf("%d %s", status, page)
	}
	if rest, err := io.ReadAll(stream); err != nil || !strings.Contains(string(rest), "event: end\n") {
		t.Errorf("the stream ends with %q, %v", rest, err)
	}
	// One that has ended cannot be stopped any more; its page says how it ended.
	if status, page = d.post("/responses/"+id+"/cancel", url.Values{"token": {token}}); status != http.StatusOK || !strings.Contains(page, "cancelled") {
		t.Errorf("the second time: %d %s", status, page)
	}
}

// TestATurnThatFails holds that the page says that a turn failed and where to find
// the cause, that the log has the cause, and that the form offers to try again.
func TestATurnThatFails(t *testing.T) {
	for name, script := range map[string]string{"with scripts": "text/event-stream", "without": "text/html"} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			broken := modeltest.Answer{Events: []model.Event{model.TextDelta{Text: "The shop "}}, Err: errors.New("the tensor is on fire")}
			d := openOn(t, modeltest.New(broken), slog.New(slog.NewTextHandler(&log, nil)))
			token := d.signIn(d.key)
			var page string
			if script == "text/event-stream" {
				stream := d.send(token, "When does the shop open?")
				id := d.begun(stream)
				rest, err := io.ReadAll(stream)
				if err != nil || !strings.HasSuffix(string(rest), "event: end\ndata: \""+id+"\"\n\n") {
					t.Fatalf("the stream ends with %q, %v", rest, err)
				}
				_, page = d.get("/respond?response=" + id)
			} else {
				_, page = d.post("/respond", url.Values{"token": {token}, "model": {"svc-preview"}, "text": {"When does the shop open?"}})
			}
			for _, want := range []string{"The shop", html.EscapeString("The server's log has the cause beside resp_"), ">When does the shop open?</textarea>", `name="previous" value=""`} {
				if !strings.Contains(page, want) {
					t.Errorf("no %q in %s", want, page)
				}
			}
			if !strings.Contains(log.String(), "the tensor is on fire") || !strings.Contains(log.String(), "response=resp_") {
				t.Errorf("the log has no cause: %s", log.String())
			}
			if strings.Contains(page, "tensor") {
				t.Errorf("the page shows an internal text: %s", page)
			}
		})
	}
}
