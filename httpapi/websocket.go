package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/responses"
)

const (
	// socketPath is the one path with a WebSocket.
	socketPath = "/v1/responses"
	// socketLifetime is how long a connection takes new turns.
	socketLifetime = time.Hour
	// socketQueue is how many messages may wait while a turn runs.
	socketQueue = 16
	// pongTimeout is how long a client may take to answer a ping: its answer
	// comes behind the message that it sends.
	pongTimeout = bodyGrace + MaxBody/bodyPace*time.Second
)

// upgrades reports whether a request asks for a WebSocket.
func upgrades(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// upgradeRequired answers a request for a WebSocket where there is none, and one for
// anything else where there is only that.
func (c *call) upgradeRequired() error {
	e := &fault.Error{Kind: fault.Invalid, Code: fault.CodeUpgrade, Message: "Only GET /v1/responses is a WebSocket, and nothing else."}
	c.err = e
	c.shape(&fixedStatus{c.w, http.StatusUpgradeRequired}, e)
	return nil
}

// socket is a connection on which a client makes turns, one after another.
type socket struct {
	*call
	conn       *websocket.Conn
	coalescer  *coalescer
	session    *svc.ResponseSession
	remembered int64 // bytes of the messages that the session remembers
}

// responseSocket makes turns over a WebSocket: each message asks for one with the
// fields of POST /v1/responses, and its events come back as messages. A turn that
// is not stored can be continued from by the next.
func (a *API) responseSocket(c *call) error {
	if !upgrades(c.r) {
		return c.upgradeRequired()
	}
	if err := c.ticket.AcquireStream(); err != nil {
		return err
	}
	w := &coalescingWriter{ResponseWriter: c.w, ticket: &c.ticket}
	conn, err := websocket.Accept(w, c.r, nil)
	if err != nil {
		c.err = &fault.Error{Kind: fault.Invalid, Code: fault.CodeValidation, Message: "The WebSocket could not be opened.", Err: err}
		return nil // it is answered
	}
	conn.SetReadLimit(MaxBody)
	ctx, cancel := context.WithCancel(c.ctx())
	s := &socket{call: c, conn: conn, coalescer: w.conn, session: a.service.NewResponseSession()}
	messages := make(chan []byte, socketQueue)
	var group sync.WaitGroup
	group.Go(func() { s.read(ctx, cancel, messages) })
	group.Go(func() { s.ping(ctx, cancel) })
	stop := context.AfterFunc(ctx, func() { conn.CloseNow() }) // also what is being written
	defer func() {
		stop()
		cancel()
		conn.CloseNow()
		group.Wait() // what they have acquired is released with the ticket
	}()
	s.serve(ctx, messages)
	return nil
}

// serve makes turns until ctx ends or the connection's time is over.
func (s *socket) serve(ctx context.Context, messages <-chan []byte) {
	over := time.NewTimer(socketLifetime)
	defer over.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-over.C:
			s.refuse(&fault.Error{Kind: fault.Invalid, Code: fault.CodeSocketLimit, Message: "The connection has reached its time limit. Open another one."})
			s.conn.Close(websocket.StatusNormalClosure, "the time is over")
			return
		case data := <-messages:
			err := s.turn(ctx, data)
			s.remembered += int64(len(data))
			if !s.session.Remembers() {
				s.ticket.ReleaseBytes(s.remembered)
				s.remembered = 0
			}
			if err != nil && s.refuse(err) != nil {
				return
			}
		}
	}
}

// read reads messages until the client has gone, which ends ctx, or sends more
// than may wait. The connection is closed when it returns.
func (s *socket) read(ctx context.Context, cancel context.CancelFunc, messages chan<- []byte) {
	defer cancel()
	for {
		kind, r, err := s.conn.Reader(ctx)
		if errors.Is(err, errFrameTooLarge) {
			s.conn.Close(websocket.StatusMessageTooBig, "a message may have 16 MiB")
		}
		if err != nil {
			return
		}
		if kind != websocket.MessageText {
			s.conn.Close(websocket.StatusUnsupportedData, "messages are text")
			return
		}
		data, err := s.receive(r)
		if _, busy := errors.AsType[*fault.Error](err); busy {
			s.conn.Close(websocket.StatusTryAgainLater, "too much is being sent at present")
		}
		if err != nil {
			return
		}
		select {
		case messages <- data:
		default:
			s.ticket.ReleaseBytes(int64(len(data)))
			s.conn.Close(websocket.StatusPolicyViolation, "too many messages wait for a turn to end")
			return
		}
	}
}

// receive reads a message at the pace that bodies have. What has come of it counts
// among the bodies in flight, until it is given back.
func (s *socket) receive(r io.Reader) (data []byte, err error) {
	pace := paced{r: r, rc: s.coalescer}
	defer pace.end()
	var taken int64
	for {
		if len(data) == cap(data) {
			size := max(2*len(data), 4<<10)
			if err = s.ticket.AcquireBytes(int64(size) - taken); err != nil {
				break
			}
			taken = int64(size)
			next := make([]byte, len(data), size)
			copy(next, data)
			data = next
		}
		n, readErr := pace.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if readErr != nil {
			err = readErr
			break
		}
	}
	if err != io.EOF {
		s.ticket.ReleaseBytes(taken)
		return nil, err
	}
	s.ticket.ReleaseBytes(taken - int64(len(data)))
	return data, nil
}

// ping asks a client to which nothing was sent for a while whether it is there,
// which also keeps proxies from closing the connection. ctx ends where it is not.
func (s *socket) ping(ctx context.Context, cancel context.CancelFunc) {
	background.Every(ctx, keepaliveEvery, nil, func() {
		if s.coalescer.quiet(keepaliveEvery) && !s.there(ctx) {
			cancel()
		}
	})
}

func (s *socket) there(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, pongTimeout)
	defer cancel()
	return s.conn.Ping(ctx) == nil
}

// turn makes the turn that a message asks for. The error is what refuses it.
func (s *socket) turn(ctx context.Context, data []byte) error {
	root, err := s.parse(data, jsonin.Dots)
	if err != nil {
		return err
	}
	body := &wire.SocketRequest{}
	if err := s.decode(root, body); err != nil {
		return err
	}
	req, err := convert.FromResponseRequest(&body.ResponseRequest)
	if err != nil {
		return err
	}
	// The key may have been revoked since the last turn.
	if err := s.authenticate(); err != nil {
		return err
	}
	if s.caller.Organization != s.ticket.Organization() {
		return &fault.Error{Kind: fault.Denied, Code: accounts.CodeAccessDenied, Message: "The connection was opened for another organization. Open another one."}
	}
	if err := s.admit(); err != nil {
		return err
	}
	s.model = req.Model
	events, err := s.session.StreamResponse(ctx, s.caller, req)
	if req.PreviousResponseID == "" { // what was remembered is not continued
		s.ticket.ReleaseBytes(s.remembered)
		s.remembered = 0
	}
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
		if err := s.send(buffer, event.More); err != nil {
			return err
		}
		if event.Type.Last() {
			s.usedResponse(event.Response)
		}
	}
	return nil
}

// send sends one message, or has it sent with the next where that follows at once.
// The connection bounds how long it takes.
func (s *socket) send(data []byte, more bool) error {
	s.coalescer.join(more)
	return s.conn.Write(context.Background(), websocket.MessageText, data)
}

// refuse says why there is no turn, with OpenAI's code where a connection has no
// such response: clients look for that to begin a new chain. The connection goes on.
func (s *socket) refuse(err error) error {
	e := fault.From(err)
	if e.Code == conversations.CodeResponseNotFound {
		missing := *e
		missing.Code = fault.CodePreviousNotFound
		e = &missing
	}
	refusal := wire.SocketRefusal{Type: string(responses.EventError), Status: statuses[e.Kind].a, EventError: *eventError(e)}
	return s.send(appendJSON(nil, refusal), false)
}
