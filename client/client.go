// Package client is a remote service as a Go program uses it: a [Client] has the
// methods and types of svc.Service for what a caller may do, so that a program
// changes the line that makes its service to go from an embedded one to a server.
//
//	service := client.New("http://127.0.0.1:8080", key) // was svc.New(ctx, svc.Options{})
//	caller, err := service.LocalCaller(ctx)
//	judgment, err := service.Decide(ctx, caller, request)
//
// Callers are ignored: the key says who calls. Errors are *fault.Error values with
// the kind, code and message that the server gave, and turns that fail are
// *responses.TurnError values, as in an embedded service. What can be tried again
// is, as OpenAI's SDKs do.
package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/guard"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/page"
)

// Caller is who an operation is done for; a [Client] ignores it.
type Caller = accounts.Caller

// Page and List are those of svc.
type (
	Page        = page.Params
	List[T any] = page.Page[T]
)

// Client is a server as one API key sees it. Set its fields before the first call;
// its methods may be called concurrently.
type Client struct {
	// HTTP makes the requests; nil is http.DefaultClient. It must not have a
	// Timeout, which would cut streams off: contexts bound the calls.
	HTTP *http.Client

	// Retries is how often a request is sent again that did not get through, or was
	// answered with 408, 409, 429 or a server's failure. 0 is 2; negative is never.
	Retries int

	base, key string
}

// New returns a Client for the server at a base URL, without /v1, and a key.
func New(base, key string) *Client { return &Client{base: strings.TrimSuffix(base, "/"), key: key} }

// LocalCaller returns a caller, for programs that also run embedded.
func (c *Client) LocalCaller(context.Context) (Caller, error) { return Caller{}, nil }

// Close does nothing: a client holds nothing.
func (c *Client) Close() error { return nil }

// Ready returns nil where the server can do work.
func (c *Client) Ready(ctx context.Context) error {
	return c.Do(ctx, "GET", "/readyz", nil, nil)
}

// Models returns the models that the key may use: their IDs and who owns them.
func (c *Client) Models(ctx context.Context, _ Caller) ([]model.Info, error) {
	var list wire.ModelList
	err := c.Do(ctx, "GET", modelsPath, nil, &list)
	var models []model.Info
	for i := range list.Data {
		models = append(models, convert.FromModel(&list.Data[i]))
	}
	return models, err
}

// Model returns the model with an ID. The error is NotFound.
func (c *Client) Model(ctx context.Context, _ Caller, id string) (model.Info, error) {
	var m wire.Model
	err := c.Do(ctx, "GET", under(modelsPath, id), nil, &m)
	return convert.FromModel(&m), err
}

const modelsPath = "/v1/models"

// maxAnswer bounds a whole answer in bytes.
const maxAnswer = 256 << 20

// Do makes a request that has no method of its own, such as one with fields that
// the types do not have. The body is encoded as JSON, nil for none, and the answer
// is decoded into result, nil for nowhere. It sends again what other methods do.
func (c *Client) Do(ctx context.Context, method, path string, body, result any) error {
	data, err := jsonContent(body)
	if err != nil {
		return err
	}
	resp, err := c.send(ctx, method, path, data, "")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := decode(resp.Body, result); err != nil {
		return failed(ctx, err)
	}
	return nil
}

// decode reads a whole JSON answer into result, nil for nowhere.
func decode(body io.Reader, result any) error {
	answer, err := io.ReadAll(io.LimitReader(body, maxAnswer))
	if err == nil && result != nil {
		err = json.Unmarshal(answer, result)
	}
	return err
}

// content is the body of a request.
type content struct {
	mimeType string
	size     int64
	open     func() io.Reader // from the beginning, for each attempt
}

// jsonContent encodes a body, nil for none.
func jsonContent(body any) (*content, error) {
	if body == nil {
		return nil, nil
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, &fault.Error{Kind: fault.Invalid, Code: fault.CodeValidation, Message: "The request cannot be encoded.", Err: err}
	}
	return &content{"application/json", int64(len(data)), func() io.Reader { return bytes.NewReader(data) }}, nil
}

// send makes a request, again where that can help, and returns an answer of
// success, whose body the caller closes. The idempotency key of a POST is a new one
// where none is given, so that what is sent again is done once.
func (c *Client) send(ctx context.Context, method, path string, body *content, key string) (*http.Response, error) {
	key = cmp.Or(key, rand.Text())
	for attempt := 1; ; attempt++ {
		req, err := http.NewRequestWithContext(ctx, method, c.base+path, nil)
		if err != nil {
			return nil, failed(ctx, err)
		}
		req.Header.Set("Authorization", "Bearer "+c.key)
		if body != nil {
			req.Header.Set("Content-Type", body.mimeType)
			req.ContentLength = body.size
			req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(body.open()), nil }
			req.Body, _ = req.GetBody()
		}
		if method == http.MethodPost {
			req.Header.Set("Idempotency-Key", key)
		}
		resp, err := cmp.Or(c.HTTP, http.DefaultClient).Do(req)
		if err == nil && resp.StatusCode < 300 {
			return resp, nil
		}
		var wait time.Duration
		again := err != nil
		if err != nil {
			err = failed(ctx, err)
		} else {
			wait, again = after(resp.Header), retried(resp.StatusCode)
			err = refused(resp)
		}
		if !again || ctx.Err() != nil || attempt > c.retries() || wait > maxWait {
			return nil, err
		}
		if wait <= 0 {
			wait = backoff(attempt)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, failed(ctx, ctx.Err())
		}
	}
}

func (c *Client) retries() int {
	if c.Retries == 0 {
		return 2
	}
	return max(c.Retries, 0)
}

// maxWait is how long a server may ask to wait before a request is sent again.
const maxWait = time.Minute

// backoff is the pause before an attempt where the server named none: half a
// second, doubled up to eight, less up to a quarter.
func backoff(attempt int) time.Duration {
	pause := min(500*time.Millisecond<<(attempt-1), 8*time.Second)
	return pause - time.Duration(mathrand.Int64N(int64(pause/4)))
}

func retried(status int) bool {
	return status == 408 || status == 409 || status == 429 || status >= 500
}

// after returns how long the server asks to wait, 0 where it does not.
func after(h http.Header) time.Duration {
	if seconds, err := strconv.ParseFloat(h.Get("Retry-After"), 64); err == nil {
		return time.Duration(seconds * float64(time.Second))
	}
	return 0
}

// failed is the error of a request that got no answer, or half of one.
func failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fault.From(ctx.Err())
	}
	return &fault.Error{Kind: fault.Unavailable, Code: fault.CodeUnavailable, Message: "The server cannot be reached.", Err: err}
}

// kinds are the kinds of errors by status. What is not in it is Internal, or
// Invalid from 400 to 499.
var kinds = map[int]fault.Kind{
	401: fault.Unauthenticated, 402: fault.NoCredits, 403: fault.Denied, 404: fault.NotFound, 409: fault.Conflict,
	413: fault.TooLarge, 415: fault.Unsupported, 429: fault.RateLimited, 499: fault.Canceled, 502: fault.Upstream, 503: fault.Unavailable, 504: fault.Unavailable,
}

// refused reads the error of an answer, in either shape, and closes its body.
func refused(resp *http.Response) error {
	defer resp.Body.Close()
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // what cannot be read says nothing
	var body struct {
		wire.Error
		wire.DecisionError
	}
	_ = json.Unmarshal(data, &body) // what is no JSON says nothing either
	e := faultOf(&body.Error.Error, resp.StatusCode)
	if body.Detail != (wire.ErrorDetail{}) {
		e.Code, e.Message = body.Detail.ErrorType, body.Detail.Message
		if resp.StatusCode == http.StatusBadRequest { // what is invalid is 422 there
			e.Kind = fault.Rejected
		}
	}
	if e.Message == "" {
		e.Message = fmt.Sprintf("The server answered %s.", resp.Status)
	}
	if e.Kind == fault.RateLimited || e.Kind == fault.Unavailable {
		e.RetryAfter = after(resp.Header)
	}
	return e
}

// faultOf returns the error that an answer with a status says.
func faultOf(w *wire.ErrorObject, status int) *fault.Error {
	kind, known := kinds[status]
	switch {
	case known:
	case status == http.StatusUnprocessableEntity && w.Code != "":
		kind = fault.Unprocessable
	case w.Code == fault.CodeContextLength:
		kind = fault.Rejected
	case status >= 400 && status < 500:
		kind = fault.Invalid
	}
	e := &fault.Error{Kind: kind, Code: w.Code, Message: w.Message}
	if w.Param != nil {
		e.Param = *w.Param
	}
	if w.Policy != "" {
		e.Err = &guard.Refusal{Policy: w.Policy, Question: w.Question}
	}
	return e
}

// list reads a page. more are further parameters, name and value in turn.
func list[W, T any](ctx context.Context, c *Client, path string, p Page, convert func(W) T, more ...string) (List[T], error) {
	q := url.Values{"order": {"asc"}}
	if p.Desc {
		q.Set("order", "desc")
	}
	if p.Limit != 0 {
		q.Set("limit", strconv.Itoa(p.Limit))
	}
	if p.After != "" {
		q.Set("after", p.After)
	}
	for i := 0; i+1 < len(more); i += 2 {
		if more[i+1] != "" {
			q.Set(more[i], more[i+1])
		}
	}
	var body wire.List[W]
	err := c.Do(ctx, "GET", path+"?"+q.Encode(), nil, &body)
	result := List[T]{Items: make([]T, len(body.Data)), HasMore: body.HasMore}
	for i, w := range body.Data {
		result.Items[i] = convert(w)
	}
	return result, err
}

// under joins an ID to a path.
func under(path, id string, more ...string) string {
	return strings.Join(append([]string{path, url.PathEscape(id)}, more...), "/")
}
