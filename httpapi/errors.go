package httpapi

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/guard"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

// statuses is the one table from kinds of errors to HTTP: the status in Shape A
// and in Shape B, the type that error.type and detail.error_type show, and that of
// the Messages interface, whose statuses are those of Shape A. The
// two shapes differ where the spec has them differ: an invalid Decision is 422.
var statuses = map[fault.Kind]struct {
	a, b     int
	kind     string
	messages string
}{
	fault.Internal:        {500, 500, "server_error", "api_error"},
	fault.Invalid:         {400, 422, "invalid_request_error", "invalid_request_error"},
	fault.Rejected:        {400, 400, "invalid_request_error", "invalid_request_error"},
	fault.Unauthenticated: {401, 401, "authentication_error", "authentication_error"},
	fault.NoCredits:       {402, 402, "insufficient_credits", "billing_error"},
	fault.Denied:          {403, 403, "permission_error", "permission_error"},
	fault.NotFound:        {404, 404, "invalid_request_error", "not_found_error"},
	fault.Conflict:        {409, 409, "invalid_request_error", "conflict_error"},
	fault.TooLarge:        {413, 413, "invalid_request_error", "request_too_large"},
	fault.Unsupported:     {415, 415, "invalid_request_error", "invalid_request_error"},
	fault.Unprocessable:   {422, 422, "invalid_request_error", "invalid_request_error"},
	fault.RateLimited:     {429, 429, "rate_limit_error", "rate_limit_error"},
	fault.Unavailable:     {503, 503, "server_error", "overloaded_error"},
	fault.Upstream:        {502, 502, "server_error", "api_error"},
	fault.Canceled:        {statusClientClosed, statusClientClosed, "invalid_request_error", "timeout_error"},
}

// Status returns the HTTP status of errors of a kind, for other pages of a server than
// those of this interface.
func Status(kind fault.Kind) int { return statuses[kind].a }

// statusClientClosed is what nginx logs for a client that went away before its
// answer; nobody but the log sees it.
const statusClientClosed = 499

// shape writes an error in one of the interface's two forms.
type shape func(w http.ResponseWriter, e *fault.Error)

// shapeA is the error object of every interface but Decisions.
func shapeA(w http.ResponseWriter, e *fault.Error) {
	s := statuses[e.Kind]
	writeError(w, s.a, e, wire.Error{Error: bodyOf(e)})
}

func bodyOf(e *fault.Error) wire.ErrorObject {
	body := wire.ErrorObject{Message: e.Message, Type: statuses[e.Kind].kind, Code: e.Code}
	if e.Param != "" {
		body.Param = &e.Param
	}
	if r, ok := errors.AsType[*guard.Refusal](e.Err); ok {
		body.Policy, body.Question = r.Policy, r.Question
	}
	return body
}

// shapeB is the detail object of Decisions. Its error_type is the error's code,
// which is validation_error for an invalid request.
func shapeB(w http.ResponseWriter, e *fault.Error) {
	writeError(w, statuses[e.Kind].b, e, wire.DecisionError{Detail: wire.ErrorDetail{ErrorType: e.Code, Message: e.Message}})
}

func writeError(w http.ResponseWriter, code int, e *fault.Error, body any) {
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After-Ms", strconv.FormatInt(e.RetryAfter.Milliseconds(), 10)) // which OpenAI's and Vercel's clients heed first
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	writeJSON(w, code, body)
}

// writeJSON writes a whole answer.
func writeJSON(w http.ResponseWriter, code int, body any) {
	data, err := encode(body)
	if err != nil {
		panic(err) // a type of ours that cannot be encoded is a defect
	}
	writeBody(w, code, data)
}

// encode returns the JSON of a body or a part of one.
func encode(body any) ([]byte, error) { return jsonout.Marshal(body) }

// writeBody writes a whole JSON answer. A failing write means that the client
// is gone; there is nobody left to tell.
func writeBody(w http.ResponseWriter, code int, data []byte) {
	w.Header().Set("Content-Type", "application/json")
	writeWhole(w, code, data)
}

// writeWhole is writeBody for an answer whose type is set.
func writeWhole(w http.ResponseWriter, code int, data []byte) {
	h := w.Header()
	h.Set("Content-Length", strconv.Itoa(len(data)))
	// A writer that knows no deadlines never waits for its client.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTimeout))
	w.WriteHeader(code)
	w.Write(data)
}
