package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/admission"
	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/internal/cpu"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/internal/status"
)

// MaxBody is how large a JSON body may be, in bytes: 16 MiB. Uploads and
// Decisions have limits of their own.
const MaxBody = 16 << 20

const (
	// A client may take bodyGrace to send a body, and a second more for each
	// bodyPace bytes of it that have come.
	bodyGrace = 10 * time.Second
	bodyPace  = 64 << 10
	// answerTimeout is how long a client may take to take a JSON answer.
	answerTimeout = 5 * time.Minute
	// restTimeout is how long a client may take to send a body that nobody reads:
	// the server reads some of it before it answers.
	restTimeout = 5 * time.Second
)

// call is one request on its way through an endpoint.
type call struct {
	api    *API
	w      *status.Writer
	r      *http.Request
	id     string // of X-Request-Id
	caller accounts.Caller
	shape  shape
	start  time.Time
	ticket admission.Ticket // what the call has acquired
	taken  bool             // the body was read to its end
	inside bool             // a line of a batch, whose caller is known

	// For the log.
	model                     string
	inputTokens, outputTokens int
	unknown                   int // members of the body that are not known, named in the header
	err                       *fault.Error

	recorder *recorder // of an answer that is kept for its Idempotency-Key, or nil
}

func newCall(a *API, w http.ResponseWriter, r *http.Request) *call {
	c := &call{api: a, w: &status.Writer{ResponseWriter: w}, r: r, id: a.opts.NewRequestID(), shape: shapeA, start: time.Now()}
	if within(r.URL.Path, decisionsPath) {
		c.shape = shapeB
	}
	if within(r.URL.Path, messagesPath) {
		c.shape = shapeC
		w.Header().Set("Request-Id", c.id) // what its clients read
	}
	return c
}

// authenticated runs e for a caller with a valid key, within the limits of its
// organization and of the process. A request whose body is JSON has a slot once
// the body has been read: one that trickles in holds none.
func authenticated(e endpoint) endpoint {
	return func(c *call) error {
		if c.inside {
			return e(c)
		}
		defer c.ticket.Release()
		if err := c.authenticate(); err != nil {
			return err
		}
		c.ticket.Open(c.api.admission, c.caller.Organization, c.caller.ConcurrentRequests)
		if err := c.admit(); err != nil {
			return err
		}
		form := strings.HasPrefix(c.r.Header.Get("Content-Type"), "multipart/")
		if c.r.Method != http.MethodPost || c.r.ContentLength == 0 || form {
			if err := c.ticket.AcquireRequest(); err != nil {
				return err
			}
		}
		return e(c)
	}
}

// authenticate finds out who calls.
func (c *call) authenticate() error {
	caller, err := c.api.opts.Authenticate(c.r)
	if err == nil && accounts.CheckID(caller.Organization) != nil {
		err = &fault.Error{Kind: fault.Denied, Code: accounts.CodeAccessDenied, Message: "The caller does not belong to an organization."}
	}
	if err == nil && caller.ReadOnly && !c.reads() {
		err = &fault.Error{Kind: fault.Denied, Code: fault.CodeInsufficientPermissions, Message: "Your role may only read."}
	}
	if err == nil {
		c.caller = caller
	}
	return err
}

// reads reports whether the call creates and changes nothing and calls no model.
func (c *call) reads() bool {
	return (c.r.Method == http.MethodGet || c.r.Method == http.MethodHead) && !upgrades(c.r)
}

// bearer returns the key of the Authorization header, empty where the header is
// missing or of another form.
func bearer(r *http.Request) string {
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(key)
}

// ctx ends when the client goes away or the server gives up.
func (c *call) ctx() context.Context { return c.r.Context() }

// json answers 200 with a JSON body.
func (c *call) json(body any) error {
	data, err := encode(body)
	if err != nil {
		return err
	}
	writeBody(c.w, http.StatusOK, data)
	return nil
}

// body reads a JSON body of at most limit bytes.
func (c *call) body(limit int64, style jsonin.PathStyle) (*jsonin.Node, error) {
	data, err := c.read(limit)
	if err != nil {
		return nil, err
	}
	return c.parse(data, style)
}

// largeBody is the size in bytes from which decoding a body is work that
// organizations take turns at.
const largeBody = 64 << 10

// parse decodes a body.
func (c *call) parse(data []byte, style jsonin.PathStyle) (*jsonin.Node, error) {
	if len(data) >= largeBody {
		defer cpu.Enter(c.ticket.Organization()).Leave()
	}
	root, err := jsonin.Parse(data, style)
	if err == nil && c.api.service.Open() {
		root.SetOpen()
	}
	return root, err
}

// modelBody is body for what calls a model: who cannot pay for that is refused
// before the body is read.
func (c *call) modelBody(limit int64, style jsonin.PathStyle) (*jsonin.Node, error) {
	if err := c.api.service.Afford(c.ctx(), c.caller); err != nil {
		return nil, err
	}
	return c.body(limit, style)
}

// request reads a JSON body into one of the structs of package wire.
func (c *call) request(v any) error {
	root, err := c.body(MaxBody, jsonin.Dots)
	if err != nil {
		return err
	}
	return c.decode(root, v)
}

// modelRequest is request for what calls a model.
func (c *call) modelRequest(v any) error {
	root, err := c.modelBody(MaxBody, jsonin.Dots)
	if err != nil {
		return err
	}
	return c.decode(root, v)
}

// optionalBody reads a JSON body that may be left out: empty is an empty object.
func (c *call) optionalBody() (*jsonin.Node, error) {
	data, err := c.read(MaxBody)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}")
	}
	return c.parse(data, jsonin.Dots)
}

// read reads the whole body and takes the call's slot.
func (c *call) read(limit int64) ([]byte, error) {
	if c.r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	data, err := c.receive(limit)
	if err != nil {
		return nil, notRead(err, limit)
	}
	c.taken = true
	if err := c.once(data); err != nil {
		return nil, err
	}
	return data, c.ticket.AcquireRequest()
}

// notRead is the error of a body that could not be read because of err.
func notRead(err error, limit int64) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(limit)
	}
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e
	}
	return &fault.Error{Kind: fault.Invalid, Code: fault.CodeValidation, Message: "The request body could not be read.", Err: err}
}

func tooLarge(limit int64) error {
	return &fault.Error{Kind: fault.TooLarge, Code: fault.CodeTooLarge, Message: "The request body is larger than " + sizeText(limit) + "."}
}

// sizeText writes a size limit for people.
func sizeText(bytes int64) string {
	if bytes%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// receive reads the body into as much memory as it has bytes. What has been
// announced counts as in flight from the beginning.
func (c *call) receive(limit int64) ([]byte, error) {
	const step = 64 << 10 // of a body whose length is not known
	size := max(c.r.ContentLength, 0)
	if err := c.ticket.GrowBody(size); err != nil {
		return nil, err
	}
	if c.r.ContentLength < 0 || c.encoded() {
		size = max(size, step)
	}
	pace := paced{r: http.MaxBytesReader(c.w, c.r.Body, limit), rc: http.NewResponseController(c.w.ResponseWriter)}
	defer pace.end()
	body, release, err := c.decoded(&pace)
	if err != nil {
		return nil, err
	}
	defer release()
	if c.encoded() {
		body = c.limited(body, limit)
	}
	data := make([]byte, 0, min(size, step)+1)
	for {
		n, err := body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
		if len(data) < cap(data) {
			continue
		}
		if int64(len(data)) >= size { // it was not announced
			size *= 2
			if err := c.ticket.GrowBody(size); err != nil {
				return nil, err
			}
		}
		next := make([]byte, len(data), min(size, 4*int64(len(data)))+1) // nobody gets memory for what has not begun to come
		copy(next, data)
		data = next
	}
}

// paced is a body that must come at a pace: bodyGrace and bodyPace bytes a
// second. The deadline is for the body alone: while the endpoint runs the server
// reads on, to see the client go away. A connection that knows no deadlines needs
// none.
type paced struct {
	r     io.Reader
	rc    interface{ SetReadDeadline(time.Time) error }
	start time.Time // zero before the first read
	got   int64
	due   int64 // how much must have come before the deadline is set anew
}

// Read implements [io.Reader].
func (p *paced) Read(b []byte) (int, error) {
	if p.start.IsZero() {
		p.start = time.Now()
	}
	if p.got >= p.due {
		p.due = p.got + bodyPace
		_ = p.rc.SetReadDeadline(p.start.Add(bodyGrace + time.Duration(p.got/bodyPace)*time.Second))
	}
	n, err := p.r.Read(b)
	p.got += int64(n)
	return n, err
}

// end lifts the deadline.
func (p *paced) end() { _ = p.rc.SetReadDeadline(time.Time{}) }

// leaveBody gives up on what is left of the body once the endpoint is done. The
// server sets the deadline anew for the next request.
func (c *call) leaveBody() {
	_ = http.NewResponseController(c.w.ResponseWriter).SetReadDeadline(time.Now().Add(restTimeout))
}

// methodNotAllowed answers 405, which no kind of error stands for: it exists on
// the wire alone.
func (c *call) methodNotAllowed(allow string) error {
	c.w.Header().Set("Allow", allow)
	e := &fault.Error{Kind: fault.Invalid, Code: fault.CodeMethod, Message: "The method " + c.r.Method + " is not allowed here, only " + allow + "."}
	c.err = e
	c.shape(&fixedStatus{c.w, http.StatusMethodNotAllowed}, e)
	return nil
}

// fixedStatus replaces the status of an answer.
type fixedStatus struct {
	http.ResponseWriter
	status int
}

func (f *fixedStatus) WriteHeader(int) { f.ResponseWriter.WriteHeader(f.status) }

func (f *fixedStatus) Unwrap() http.ResponseWriter { return f.ResponseWriter }

// fail answers with an error, or aborts the connection where an answer has
// begun: a client must not take what it has for the whole.
func (c *call) fail(err error) {
	c.err = fault.From(err)
	if c.w.Status != 0 {
		panic(http.ErrAbortHandler)
	}
	c.shape(c.w, c.err)
}

// finish ends the call: a panic becomes a 500 where nothing was written, nobody
// waits long for the rest of the body, and the request is logged once.
func (c *call) finish() {
	p := recover()
	if !c.taken {
		c.leaveBody()
	}
	if p != nil && p != http.ErrAbortHandler {
		c.err = &fault.Error{Kind: fault.Internal, Code: fault.CodeInternal, Message: "An internal error occurred."}
		c.api.opts.Logger.LogAttrs(c.ctx(), slog.LevelError, "panic",
			slog.String("request_id", c.id), slog.String("panic", background.DescribePanic(p)), slog.String("stack", string(debug.Stack())))
		if c.w.Status == 0 {
			c.shape(c.w, c.err)
			p = nil
		}
	}
	c.endClaim(p != nil)
	c.log()
	if p != nil {
		panic(http.ErrAbortHandler)
	}
}

// logged is how many bytes of a text that the client chose a log line has.
const logged = 128

// log writes the request's line. Of what the client sent it has the method, the
// path and the name of the model.
func (c *call) log() {
	level := slog.LevelInfo
	attrs := []slog.Attr{
		slog.String("request_id", c.id),
		slog.String("method", clip(c.r.Method)),
		slog.String("path", clip(c.r.URL.Path)),
		slog.Int("status", c.w.Status),
		slog.Duration("duration", time.Since(c.start)),
	}
	if c.caller.Organization != "" {
		attrs = append(attrs, slog.String("organization", c.caller.Organization), slog.String("key", c.caller.Key))
	}
	if c.model != "" {
		attrs = append(attrs, slog.String("model", clip(c.model)), slog.Int("input_tokens", c.inputTokens), slog.Int("output_tokens", c.outputTokens))
	}
	if c.unknown != 0 {
		attrs = append(attrs, slog.Int("ignored_fields", c.unknown))
	}
	if c.err != nil {
		attrs = append(attrs, slog.String("error", c.err.Code))
		if c.err.Err != nil {
			attrs = append(attrs, slog.String("cause", c.err.Err.Error()))
		}
		switch c.err.Kind {
		case fault.Internal:
			level = slog.LevelError
		case fault.Unavailable, fault.Upstream:
			level = slog.LevelWarn
		}
	}
	c.api.opts.Logger.LogAttrs(c.ctx(), level, "request", attrs...)
}

func clip(text string) string {
	if len(text) <= logged {
		return text
	}
	return strings.ToValidUTF8(text[:logged], "") + "…"
}
