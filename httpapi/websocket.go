package httpapi

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/responses"
)

const (
	// socketLifetime is how long a connection takes new turns.
	socketLifetime = time.Hour
	// socketQueue is how many messages may wait while a turn runs.
	socketQueue = 16
)

// upgrades reports whether a request asks for a WebSocket.
func upgrades(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// upgrade answers a request for a WebSocket, which one route has.
func (a *API) upgrade(c *call) error {
	if c.r.URL.Path == "/v1/responses" && c.r.Method == http.MethodGet {
		return authenticated(a.responseSocket)(c)
	}
	e := &fault.Error{Kind: fault.Invalid, Code: "upgrade_required", Message: "Only GET /v1/responses can be upgraded to a WebSocket."}
	c.err = e
	c.shape(&fixedStatus{c.w, http.StatusUpgradeRequired}, e)
	return nil
}

// socket is a connection on which a client makes turns, one after another.
type socket struct {
	*call
	conn    *websocket.Conn
	session *svc.ResponseSession
}

// responseSocket makes turns over a WebSocket: each message asks for one with the
// fields of POST /v1/responses, and its events come back as messages. A turn that
// is not stored can be continued from by the next.
func (a *API) responseSocket(c *call) error {
	if err := c.wait(); err != nil {
		return err
	}
	conn, err := websocket.Accept(c.w, c.r, nil)
	if err != nil {
		c.err = &fault.Error{Kind: fault.Invalid, Code: fault.CodeValidation, Message: "The WebSocket could not be opened.", Err: err}
		return nil // it is answered
	}
	conn.SetReadLimit(MaxBody)
	ctx, cancel := context.WithCancel(c.ctx())
	s := &socket{call: c, conn: conn, session: a.service.NewResponseSession()}
	messages := make(chan []byte, socketQueue)
	var reader sync.WaitGroup
	reader.Go(func() { s.read(ctx, cancel, messages) })
	defer func() {
		cancel()
		conn.CloseNow()
		reader.Wait()
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case data := <-messages:
			if time.Since(c.start) > socketLifetime {
				s.refuse(ctx, &fault.Error{Kind: fault.Invalid, Code: "websocket_connection_limit_reached", Message: "The connection has reached its time limit. Open another one."})
				return nil
			}
			if err := s.turn(ctx, data); err != nil && s.refuse(ctx, err) != nil {
				return nil
			}
		}
	}
}

// read reads messages until the client has gone, which ends ctx, or sends more
// than may wait. The connection is closed when it returns.
func (s *socket) read(ctx context.Context, cancel context.CancelFunc, messages chan<- []byte) {
	defer cancel()
	for {
		kind, data, err := s.conn.Read(ctx)
		if err != nil {
			return
		}
		if kind != websocket.MessageText {
			s.conn.Close(websocket.StatusUnsupportedData, "messages are text")
			return
		}
		select {
		case messages <- data:
		default:
			s.conn.Close(websocket.StatusPolicyViolation, "too many messages wait for a turn to end")
			return
		}
	}
}

// turn makes the turn that a message asks for. The error is what refuses it.
func (s *socket) turn(ctx context.Context, data []byte) error {
	root, err := jsonin.Parse(data, jsonin.Dots)
	if err != nil {
		return err
	}
	if kind := requiredText(root.Field("type")); kind != "response.create" {
		root.Field("type").Fail(`must be "response.create"`)
	}
	if g := root.Field("generate").Bool(); g != nil && !*g {
		root.Field("generate").Fail("must be true: nothing can be prepared ahead of a turn here")
	}
	if b := root.Field("background"); b.True() {
		b.Fail("must be false over a WebSocket")
	}
	req := decodeResponseRequest(root)
	if err := root.Err(); err != nil {
		return err
	}
	// The key may have been revoked since the last turn.
	if err := s.authenticate(); err != nil {
		return err
	}
	if err := s.admit(); err != nil {
		return err
	}
	s.model = req.Model
	events, err := s.session.StreamResponse(ctx, s.caller, req)
	if err != nil {
		return err
	}
	var buffer []byte
	for event, err := range events {
		if event.Type == "" {
			if _, failed := err.(*responses.TurnError); failed {
				return nil // the last event has told of it
			}
			return err
		}
		buffer = appendEventObject(buffer[:0], &event)
		if err := s.send(ctx, buffer); err != nil {
			return err
		}
		if event.Type == responses.EventCompleted || event.Type == responses.EventFailed {
			s.usedResponse(event.Response)
		}
	}
	return nil
}

// send sends one message.
func (s *socket) send(ctx context.Context, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, stallTimeout)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, data)
}

// refuse says why there is no turn, with OpenAI's code where a connection has no
// such response: clients look for that to begin a new chain. The connection goes on.
func (s *socket) refuse(ctx context.Context, err error) error {
	e := fault.From(err)
	if e.Code == "response_not_found" {
		missing := *e
		missing.Code = "previous_response_not_found"
		e = &missing
	}
	w := jsonout.Writer{}
	w.Object()
	w.Name("type").String(string(responses.EventError))
	w.Name("status").Int(int64(status[e.Kind].a))
	w.Name("sequence_number").Int(0)
	writeErrorFields(&w, e)
	w.EndObject()
	return s.send(ctx, w.Buf)
}
