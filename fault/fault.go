// Package fault is the error type of the service. Every error that a caller can
// act on is an *Error with a Kind from a closed list; everything else is
// Internal, which is the zero Kind, so that an error nobody classified is never
// blamed on the caller and its text is never shown to them.
//
// Construct errors with the named constructors, classify foreign ones where
// they appear, and read the result with [From]. The package imports only the
// standard library and everything else may import it. It knows no HTTP: the
// table from kinds to statuses is in package httpapi.
package fault

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Kind says who has to do what about an error. The list is closed: each kind
// has a row in httpapi's status table, and a test walks all of them.
type Kind uint8

// The kinds. The zero value is Internal.
const (
	Internal        Kind = iota // a defect or a failing disk: ours, details hidden
	Invalid                     // the request breaks a rule of the interface
	Rejected                    // a well-formed request that the model cannot take, such as one over its context window
	Unauthenticated             // no key, or one that is unknown or revoked
	NoCredits                   // the organization's balance is used up
	Denied                      // the key is good but may not do this
	NotFound                    // the object does not exist, or is another organization's
	Conflict                    // the object's present state does not allow it, or a write kept losing to others
	TooLarge                    // the body or the object is over its limit
	RateLimited                 // too many requests or tokens; retry later
	Unavailable                 // a passing failure of ours; retry later
	Upstream                    // a model server or search service failed or answered nonsense
	Canceled                    // the caller went away or cancelled
	Unsupported                 // the request comes in a form that nobody here reads
	Unprocessable               // a well-formed request that does not fit the objects it is about
	numKinds
)

// Kinds returns every kind, in order, for tables that must be complete.
func Kinds() []Kind {
	kinds := make([]Kind, numKinds)
	for i := range kinds {
		kinds[i] = Kind(i)
	}
	return kinds
}

var kindNames = [numKinds]string{
	"internal", "invalid", "rejected", "unauthenticated", "no credits", "denied", "not found",
	"conflict", "too large", "rate limited", "unavailable", "upstream", "canceled", "unsupported", "unprocessable",
}

// String returns the kind in words, for logs.
func (k Kind) String() string {
	if k < numKinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Error is an error with a kind. Its fields other than Err are safe to show to
// the caller of the operation that failed. An Error is immutable once returned
// and may be shared between goroutines.
type Error struct {
	Kind    Kind
	Code    string // the machine-readable code of the spec's error tables, such as "validation_error"
	Param   string // the field or path at fault, empty where there is none
	Message string // one sentence for people; clients must not match on it

	// RetryAfter is how long to wait before a retry can succeed; 0 is unknown.
	// Only RateLimited and Unavailable errors have one.
	RetryAfter time.Duration

	// Err is the hidden cause: logged, never shown.
	Err error
}

// Error returns the message, and the cause where there is one. It is for logs;
// what a caller may see is Message alone.
func (e *Error) Error() string {
	text := e.Message
	if text == "" {
		text = e.Kind.String()
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the hidden cause.
func (e *Error) Unwrap() error { return e.Err }

// The codes of errors that more than one package makes or reads, or that go out under
// no exported name of the package that makes them. Codes that only one package uses
// stand in that package.
const (
	CodeValidation              = "validation_error"
	CodeNotFound                = "not_found"      // of a path, and of a file that is asked for by its ID
	CodeFileNotFound            = "file_not_found" // of a file that a prompt refers to
	CodePreviousNotFound        = "previous_response_not_found"
	CodeContextLength           = "context_length_exceeded"
	CodeTooLarge                = "request_too_large"
	CodeInvalidImage            = "invalid_image"
	CodeInvalidImageURL         = "invalid_image_url"
	CodeRejected                = "request_rejected"     // by a model server
	CodeUnsatisfiable           = "unsatisfiable_schema" // no text is valid for it
	CodeZeroRetention           = "zero_data_retention"
	CodeKeyReused               = "idempotency_key_reused"
	CodeRateLimited             = "rate_limit_exceeded"
	CodeCanceled                = "request_canceled"
	CodeResponseEnded           = "response_ended"
	CodeMethod                  = "method_not_allowed"
	CodeUpgrade                 = "upgrade_required"
	CodePolicyBlocked           = "policy_blocked"     // by a policy, which the message names
	CodePolicyUnavailable       = "policy_unavailable" // a policy could not be asked
	CodeSocketLimit             = "websocket_connection_limit_reached"
	CodeProfileRunning          = "profile_running"
	CodeBackupUnsupported       = "backup_unsupported"
	CodeInvalidToken            = "invalid_token"            // of the sign-on provider
	CodeInsufficientPermissions = "insufficient_permissions" // of the person's role
	CodeInternal                = "internal_error"
	CodeUpstream                = "model_error"
	CodeUnavailable             = "service_unavailable"
	CodeStorage                 = "storage_unavailable"
)

// Invalidf returns an Invalid error about the field or path param, with the
// code validation_error. param may be empty where no single field is at fault.
func Invalidf(param, format string, args ...any) *Error {
	return &Error{Kind: Invalid, Code: CodeValidation, Param: param, Message: fmt.Sprintf(format, args...)}
}

// Missing returns a NotFound error: there is no such what with that ID in the
// caller's organization. The code names what, as in "response_not_found".
func Missing(code, what, id string) *Error {
	return &Error{Kind: NotFound, Code: code, Message: fmt.Sprintf("No %s found with id %.128q.", what, id)}
}

// ContextLength returns the Rejected error of a prompt that does not fit the
// model's context window. Counts are tokens.
func ContextLength(format string, args ...any) *Error {
	return &Error{Kind: Rejected, Code: CodeContextLength, Message: fmt.Sprintf(format, args...)}
}

// Upstreamf returns an Upstream error whose public message is fixed and whose
// cause is hidden: what a model server says of itself is logged, not shown.
func Upstreamf(cause error, format string, args ...any) *Error {
	return &Error{Kind: Upstream, Code: CodeUpstream, Message: fmt.Sprintf(format, args...), Err: cause}
}

// From returns err as an *Error. An error that has none in its chain becomes
// Canceled where it is a context's cancellation, Unavailable where it is a
// deadline, and Internal with a fixed message otherwise. From(nil) is nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	switch {
	case errors.Is(err, context.Canceled):
		return &Error{Kind: Canceled, Code: CodeCanceled, Message: "The request was cancelled.", Err: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Kind: Unavailable, Code: CodeUnavailable, Message: "The request took too long.", Err: err}
	}
	return &Error{Kind: Internal, Code: CodeInternal, Message: "An internal error occurred.", Err: err}
}

// Is reports whether err is an *Error of the kind, after [From].
func Is(err error, kind Kind) bool { return err != nil && From(err).Kind == kind }
