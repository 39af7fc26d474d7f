package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// client is a client of a server with a key.
type client struct {
	*httptest.Server
	key string
}

func newClient(t testing.TB, script model.Backend) *client {
	t.Helper()
	a := newBareAPI(t, svc.Options{Backend: script}, Options{Logger: slog.New(slog.DiscardHandler)})
	_, key := newLimited(t, a, 0, 0)
	c := &client{httptest.NewServer(a), key}
	t.Cleanup(c.Close)
	return c
}

// dial opens a WebSocket.
func (c *client) dial(t testing.TB) *websocket.Conn {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), c.URL+"/v1/responses", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + c.key}},
	})
	check(t, err)
	t.Cleanup(func() { conn.CloseNow() })
	return conn
}

// said are the parts of an event that tests look at.
type said struct {
	Type     string
	Status   int
	Code     string
	Sequence int `json:"sequence_number"`
	Response struct {
		ID, Status string
		Output     []struct{ Content []struct{ Text string } }
	}
}

// ask sends a message and returns the events that come for it, and the last one.
func ask(t testing.TB, conn *websocket.Conn, message string) (events []string, last said) {
	t.Helper()
	check(t, conn.Write(t.Context(), websocket.MessageText, []byte(message)))
	for {
		_, data, err := conn.Read(t.Context())
		check(t, err)
		events = append(events, string(data))
		last = said{}
		check(t, json.Unmarshal(data, &last))
		if last.Sequence != len(events)-1 {
			t.Errorf("event %d has the number %d", len(events)-1, last.Sequence)
		}
		switch {
		case last.Type == "response.completed", last.Type == "response.incomplete", last.Type == "response.failed", last.Type == "error" && last.Status != 0:
			return events, last
		}
	}
}

func create(fields string) string {
	return `{"type":"response.create","model":"svc-preview",` + fields + `}`
}

// counted answers with how many requests there were.
func counted() *modeltest.Script {
	s := &modeltest.Script{}
	for n := range 20 {
		s.Answers = append(s.Answers, modeltest.Text(fmt.Sprint("answer ", n)))
	}
	return s
}

// TestTurnsOverAWebSocket has the same events as a stream, for several turns on
// one connection.
func TestTurnsOverAWebSocket(t *testing.T) {
	is := is.New(t)
	script := counted()
	c := newClient(t, script)
	conn := c.dial(t)
	events, first := ask(t, conn, create(`"input":"Hi"`))
	is.Equal(first.Response.Status, "completed")
	is.Equal(first.Response.Output[0].Content[0].Text, "answer 0")
	is.True(strings.HasPrefix(events[0], `{"type":"response.created","sequence_number":0,`))
	_, second := ask(t, conn, create(`"input":"More","previous_response_id":"`+first.Response.ID+`"`))
	is.Equal(second.Response.Status, "completed")
	is.Equal(len(script.Requests()[1].Messages), 3)

	req, err := http.NewRequest("GET", c.URL+"/v1/responses/"+first.Response.ID+"?stream=true", nil)
	check(t, err)
	req.Header.Set("Authorization", "Bearer "+c.key)
	res, err := http.DefaultClient.Do(req)
	check(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	check(t, err)
	var streamed []string
	for line := range strings.SplitSeq(string(body), "\n") {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			streamed = append(streamed, data)
		}
	}
	is.Equal(events, streamed)
}

// TestUnstoredTurnsOfAConnection continue from the last one, on their connection
// and nowhere else.
func TestUnstoredTurnsOfAConnection(t *testing.T) {
	is := is.New(t)
	script := counted()
	script.Answers[3] = modeltest.Fail(fault.Upstreamf(nil, "The model server failed."))
	c := newClient(t, script)
	conn := c.dial(t)
	_, last := ask(t, conn, create(`"input":"one","store":false`))
	unstored := func(id string) string { return `"store":false,"previous_response_id":"` + id + `"` }
	for n := range 2 {
		_, last = ask(t, conn, create(`"input":"more",`+unstored(last.Response.ID)))
		is.Equal(len(script.Requests()[n+1].Messages), 2*n+3)
	}
	missing := func(conn *websocket.Conn, message string) {
		t.Helper()
		_, refused := ask(t, conn, message)
		is.Equal(refused.Status, 404)
		is.Equal(refused.Code, "previous_response_not_found")
	}
	missing(c.dial(t), create(`"input":"more",`+unstored(last.Response.ID)))
	_, failed := ask(t, conn, create(`"input":"more",`+unstored(last.Response.ID)))
	is.Equal(failed.Status, 502)
	missing(conn, create(`"input":"more",`+unstored(last.Response.ID))) // the chain ended with the failure
	_, last = ask(t, conn, create(`"input":"again","store":false`))
	missing(conn, create(`"input":"more","previous_response_id":"`+last.Response.ID+`"`)) // nothing that is stored comes behind
}

// TestMessagesThatAreRefused leave the connection as it was.
func TestMessagesThatAreRefused(t *testing.T) {
	is := is.New(t)
	c := newClient(t, counted())
	conn := c.dial(t)
	for _, message := range []string{`{`, `{"type":"x"}`, create(`"input":[]`), create(`"input":"Hi","background":true`), create(`"input":"Hi","generate":false`)} {
		events, refused := ask(t, conn, message)
		is.Equal(len(events), 1)
		is.Equal(refused.Status, 400)
		is.Equal(refused.Code, "validation_error")
	}
	_, last := ask(t, conn, create(`"input":"Hi"`))
	is.Equal(last.Response.Status, "completed")
	check(t, conn.Write(t.Context(), websocket.MessageBinary, []byte("x")))
	_, _, err := conn.Read(t.Context())
	is.Equal(websocket.CloseStatus(err), websocket.StatusUnsupportedData)

	_, res, err := websocket.Dial(t.Context(), c.URL+"/v1/responses", nil)
	is.True(err != nil)
	is.Equal(res.StatusCode, 401)
	_, res, err = websocket.Dial(t.Context(), c.URL+"/v1/models", nil)
	is.True(err != nil)
	is.Equal(res.StatusCode, 426)
	req := httptest.NewRequest("GET", "/v1/responses", nil)
	req.Header.Set("Authorization", "Bearer "+c.key)
	w := httptest.NewRecorder()
	c.Config.Handler.ServeHTTP(w, req)
	is.Equal(w.Code, 426)
}

// wordy is a model that says fifty words, and remembers nothing.
type wordy struct{}

func (wordy) Generate(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if !yield(model.Started{}, nil) {
			return
		}
		for range 50 {
			if !yield(model.TextDelta{Text: "word "}, nil) {
				return
			}
		}
		if yield(model.Usage{InputTokens: 1, OutputTokens: 50}, nil) {
			yield(model.Finish{Reason: model.Stop}, nil)
		}
	}
}

// frames is a client of a WebSocket that does no more than it has to.
type frames struct {
	net.Conn
	r *bufio.Reader
}

func (c *client) frames(t testing.TB) *frames {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.URL, "http://"))
	check(t, err)
	t.Cleanup(func() { conn.Close() })
	return newFrames(t, conn, c.key)
}

// newFrames opens a WebSocket on a connection.
func newFrames(t testing.TB, conn net.Conn, key string) *frames {
	t.Helper()
	_, err := fmt.Fprintf(conn, "GET /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n", key)
	check(t, err)
	f := &frames{conn, bufio.NewReader(conn)}
	res, err := http.ReadResponse(f.r, nil)
	check(t, err)
	if res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(res.Status)
	}
	return f
}

// send sends a text of fewer than 64 KiB, masked with zeros.
func (f *frames) send(text string) error {
	frame := append([]byte{0x81, 0x80 | 126, byte(len(text) >> 8), byte(len(text)), 0, 0, 0, 0}, text...)
	_, err := f.Write(frame)
	return err
}

// next reads a frame into buffer, and answers a ping before it if told to.
func (f *frames) next(buffer []byte, pong bool) ([]byte, error) {
	head, err := f.r.Peek(2)
	if err != nil {
		return nil, err
	}
	if kind := head[0]; kind == 0x89 {
		ping := make([]byte, 2+int(head[1]))
		if _, err := io.ReadFull(f.r, ping); err != nil {
			return nil, err
		}
		if pong {
			if _, err := f.Write(slices.Concat([]byte{0x8a, 0x80 | ping[1], 0, 0, 0, 0}, ping[2:])); err != nil {
				return nil, err
			}
		}
		return f.next(buffer, pong)
	}
	size, skip := int(head[1]), 2
	if size == 126 {
		if head, err = f.r.Peek(4); err != nil {
			return nil, err
		}
		size, skip = int(head[2])<<8|int(head[3]), 4
	}
	if _, err := f.r.Discard(skip); err != nil {
		return nil, err
	}
	buffer = slices.Grow(buffer[:0], size)[:size]
	_, err = io.ReadFull(f.r, buffer)
	return buffer, err
}
