package responses

// TurnError is the error of a turn that had begun and came to no good end: it
// failed or was cancelled. It wraps the cause, which is a *fault.Error. Find it
// with errors.As.
type TurnError struct {
	// Response is what there is of the turn: its status, what it said until then,
	// and what it used, which was charged. It is stored as any other.
	Response *Response
}

// Error returns the response's ID and what went wrong.
func (e *TurnError) Error() string {
	return "responses: " + e.Response.ID + " " + string(e.Response.Status) + ": " + e.Response.Error.Cause.Error()
}

// Unwrap returns the cause.
func (e *TurnError) Unwrap() error { return e.Response.Error.Cause }
