package openai

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model/openai/internal/fairqueue"
)

// maxErrorBody is how much of what a server says of its failure is logged.
const maxErrorBody = 2 << 10

// server is a model server at run time.
type server struct {
	Server
	host    string // for logs
	conns   *conns
	known   atomic.Pointer[about]
	asking  sync.Mutex       // held while the server is asked what it is
	queue   *fairqueue.Queue // nil is no limit
	log     *slog.Logger
	retries budget
	health  *health
	probed  atomic.Bool // Probe was called
	load    load
}

func newServer(config Server, log *slog.Logger) *server {
	authorization := ""
	s := &server{Server: config, host: config.URL, log: log}
	if u, err := url.Parse(config.URL); err == nil {
		s.host = u.Host
		if u.User != nil {
			password, _ := u.User.Password()
			authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password))
		}
	}
	if s.Key != "" {
		authorization = "Bearer " + oneLine.Replace(s.Key)
	}
	s.conns = newConns(&s.Server, authorization)
	if config.Concurrency > 0 {
		s.queue = fairqueue.New(config.Concurrency)
	}
	s.health = newHealth(s.host, log, s.answers)
	return s
}

// oneLine keeps a key from ending the header that it stands in.
var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

// failure is why a call of a server failed.
type failure struct {
	fault   *fault.Error
	status  int  // of the answer, 0 without one
	passing bool // may succeed on another server, or later
	sick    bool // the server is not well
	window  int  // the context window that the server told, 0 where it did not
}

func (f *failure) Error() string { return f.fault.Error() }

func (f *failure) Unwrap() error { return f.fault }

// busy reports whether the server refused for want of capacity or a key: it says
// nothing about what it can do.
func (f *failure) busy() bool {
	return f.status == http.StatusTooManyRequests || f.status == http.StatusRequestTimeout ||
		f.status == http.StatusUnauthorized || f.status == http.StatusForbidden
}

var (
	errFirstToken    = errors.New("openai: no token within the time limit")
	errBetweenTokens = errors.New("openai: no further token within the time limit")
)

// refuses reports whether the server does not take something in the request.
func (f *failure) refuses() bool {
	return f.status == http.StatusBadRequest || f.status == http.StatusUnprocessableEntity
}

// call is a request under way and its answer.
type call struct {
	server  *server
	sent    time.Time
	outer   context.Context // of the caller
	ctx     context.Context // ends with outer, and when the server is silent for too long
	cancel  context.CancelCauseFunc
	detach  func() bool // of ctx from outer
	timer   *time.Timer
	silence error // why the timer ends ctx
	resp    *reply
}

// send sends a request and returns when the server has accepted it. The call must
// be closed. The error is the caller's context's or a failure.
func (s *server) send(ctx context.Context, r *request) (*call, error) {
	return s.sendWithin(ctx, s.FirstToken, r)
}

// sendWithin is send for a server that is given so much time until it answers.
func (s *server) sendWithin(ctx context.Context, patience time.Duration, r *request) (*call, error) {
	s.load.requests.Add(1)
	x := &call{server: s, sent: time.Now(), outer: ctx, silence: errFirstToken}
	x.ctx, x.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	x.detach = context.AfterFunc(ctx, func() { x.cancel(context.Cause(ctx)) })
	x.timer = time.AfterFunc(patience, func() { x.cancel(errFirstToken) })
	resp, err := s.conns.send(x.ctx, r, func(read bool) bool {
		if read && !s.retries.spend(r.tenant) {
			return false
		}
		s.load.requests.Add(1)
		return true
	})
	if err != nil {
		err = x.broken(err)
		x.close()
		return nil, err
	}
	x.resp = resp
	if resp.StatusCode != http.StatusOK {
		err := x.refused()
		x.close()
		return nil, err
	}
	return x, nil
}

// post returns a request with a JSON body. Line feeds between the tokens of JSON
// become blanks: behind one, a server that has not read a body to its end may take
// the rest for a request.
func post(tenant, url string, body []byte) *request {
	for _, end := range []byte{'\n', '\r'} {
		for i := bytes.IndexByte(body, end); i >= 0; i = bytes.IndexByte(body, end) {
			body[i] = ' '
		}
	}
	return &request{tenant: tenant, method: http.MethodPost, url: url, body: body}
}

// close closes idle connections, once what runs beside calls has ended.
func (s *server) close() {
	s.health.close()
	s.conns.close()
}

// close ends the call and, unless the answer was read to its end, its connection.
func (x *call) close() {
	x.timer.Stop()
	attached := x.detach()
	switch {
	case x.resp == nil:
		x.cancel(nil)
	case attached:
		x.resp.finish(func() { x.cancel(nil) })
	default:
		x.resp.discard()
		x.cancel(nil)
	}
}

// over says that all of the answer has come but its end.
func (x *call) over() { x.resp.over = true }

// wait gives the server d until the next call of wait.
func (x *call) wait(d time.Duration) {
	if x.silence == errFirstToken {
		x.timer.Stop()
		x.silence = errBetweenTokens
		x.timer = time.AfterFunc(d, func() { x.cancel(errBetweenTokens) })
		return
	}
	x.timer.Reset(d)
}

// streams reports whether the answer is a stream of events.
func (x *call) streams() bool {
	return !strings.HasPrefix(x.resp.Header.Get("Content-Type"), "application/json")
}

// whole returns the JSON of the whole body, of a bounded size, or the error that it
// reports.
func (x *call) whole(limit int64) (gjson.Result, error) {
	data, err := x.readUpTo(limit)
	if err != nil {
		return gjson.Result{}, err
	}
	if !gjson.ValidBytes(data) {
		return gjson.Result{}, x.malformed(errNotJSON)
	}
	answer := gjson.ParseBytes(data)
	if report := answer.Get("error"); report.Exists() && report.Type != gjson.Null {
		return gjson.Result{}, x.reported(report, data)
	}
	return answer, nil
}

// read returns the whole body, of a bounded size.
func (x *call) read() ([]byte, error) { return x.readUpTo(maxEvent) }

func (x *call) readUpTo(limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(x.resp, limit+1))
	if err != nil {
		return nil, x.broken(err)
	}
	if int64(len(data)) > limit {
		return nil, x.malformed(errTooLong)
	}
	return data, nil
}

// broken returns the error for a connection that failed: the context's where
// the caller's has ended.
func (x *call) broken(cause error) error {
	if err := x.outer.Err(); err != nil {
		return err
	}
	if err := context.Cause(x.ctx); err != nil {
		cause = err
	}
	f := &failure{passing: true, sick: true, fault: fault.Upstreamf(x.named(cause), "The model's answer broke off.")}
	if errors.Is(cause, errFirstToken) || errors.Is(cause, errBetweenTokens) {
		f.fault = fault.Upstreamf(x.named(cause), "The model did not answer in time.")
	} else if x.resp == nil {
		f.fault = unavailable(x.named(cause), 0)
	}
	return f
}

// malformed returns the error for an answer that makes no sense.
func (x *call) malformed(cause error) error {
	return &failure{passing: true, fault: fault.Upstreamf(x.named(cause), "The model's answer could not be used.")}
}

func (x *call) named(cause error) error { return fmt.Errorf("%s: %w", x.server.host, cause) }

// refused returns the error for an answer with another status than 200.
func (x *call) refused() error {
	text, err := io.ReadAll(io.LimitReader(x.resp, maxErrorBody))
	if err != nil && x.outer.Err() != nil {
		return x.outer.Err()
	}
	return x.server.classify(x.resp.StatusCode, text, retryAfter(x.resp.Header, time.Now()))
}

// classify makes an error of a status and what the server says. Only the status
// and the codes for one cause are relied on: types and texts differ.
func (s *server) classify(status int, text []byte, after time.Duration) *failure {
	cause := fmt.Errorf("%s: status %d: %s", s.host, status, bytes.TrimSpace(text))
	f := &failure{status: status}
	switch {
	case status == http.StatusTooManyRequests:
		f.passing = true
		f.fault = &fault.Error{Kind: fault.RateLimited, Code: fault.CodeRateLimited, Message: "The model is busy.", RetryAfter: after, Err: cause}
	case status == http.StatusServiceUnavailable:
		f.passing, f.sick = true, true
		f.fault = unavailable(cause, after)
	case status >= http.StatusBadRequest && overWindow(text):
		f.fault = fault.ContextLength("The prompt does not fit the model's context window.")
		f.fault.Err = cause
		f.window = toldWindow(text)
	case status >= http.StatusBadRequest && noImages.Match(text):
		f.fault = s.refusal(text, cause)
	case status == http.StatusRequestTimeout || status >= 500:
		f.passing, f.sick = true, true
		f.fault = fault.Upstreamf(cause, "The model server failed.")
	case status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusNotFound ||
		status == http.StatusMethodNotAllowed || status < 400:
		// What the operator has set up is wrong; the caller can do nothing about it.
		f.passing = true
		f.fault = fault.Upstreamf(cause, "The model server cannot be used.")
	default:
		f.fault = s.refusal(text, cause)
	}
	return f
}

// noImages is how servers say that a model reads no images where their status says
// another thing: llama.cpp (500), Ollama's runner, and OpenRouter (404).
var noImages = regexp.MustCompile(`(?i)image input is not supported|missing data required for image input|support image input`)

// refusal returns the error for a request that the server does not take, with what
// it says of it.
func (s *server) refusal(text []byte, cause error) *fault.Error {
	f := rejected("The model does not take this request.", cause)
	if said := s.clientMessage(text); said != "" {
		f.Message = "The model does not take this request: " + said
	}
	return f
}

// rejected returns the error for a request that a model does not take.
func rejected(message string, cause error) *fault.Error {
	return &fault.Error{Kind: fault.Rejected, Code: fault.CodeRejected, Message: message, Err: cause}
}

func unavailable(cause error, after time.Duration) *fault.Error {
	return &fault.Error{Kind: fault.Unavailable, Code: fault.CodeUnavailable, Message: "The model is not available.", RetryAfter: after, Err: cause}
}

// retryAfter reads how long a server wants to be left alone, 0 where it does not
// say.
func retryAfter(h http.Header, now time.Time) time.Duration {
	const most = time.Hour
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 {
		return time.Duration(min(seconds, most.Seconds()) * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), most)
	}
	return 0
}

// truncated returns the error for a stream that ended before the answer did: what
// some servers do instead of reporting a failure.
func (x *call) truncated(cause error) error {
	if cause == io.EOF {
		cause = errNoEnd
	}
	return &failure{passing: true, sick: true, fault: fault.Upstreamf(x.named(cause), "The model's answer broke off.")}
}

// reported returns the error for a failure that a server reports inside an
// answer. Some say there which status it would have had.
func (x *call) reported(report gjson.Result, data []byte) error {
	text := data[:min(len(data), maxErrorBody)]
	if overWindow(text) || noImages.Match(text) {
		return x.server.classify(http.StatusBadRequest, text, 0)
	}
	if status := int(report.Get("code").Int()); status >= 400 && status < 600 {
		return x.server.classify(status, text, 0)
	}
	return &failure{passing: true, sick: true,
		fault: fault.Upstreamf(x.named(fmt.Errorf("%w: %s", errReported, text)), "The model server failed.")}
}
