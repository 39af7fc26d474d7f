// Package status has the response writer that remembers what an answer's status is,
// for who logs and measures requests.
package status

import "net/http"

// Writer is a response writer that remembers the status. It unwraps to the
// server's own, for [http.ResponseController].
type Writer struct {
	http.ResponseWriter
	Status int // 0 until the header is written

	// Before is called with the header before it is written; nil is not.
	Before func(http.Header)
}

// begin notes the status of the header that is about to be written.
func (w *Writer) begin(status int) {
	if w.Status != 0 {
		return
	}
	w.Status = status
	if w.Before != nil {
		w.Before(w.Header())
	}
}

// WriteHeader implements [http.ResponseWriter].
func (w *Writer) WriteHeader(status int) {
	w.begin(status)
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *Writer) Write(p []byte) (int, error) {
	w.begin(http.StatusOK)
	return w.ResponseWriter.Write(p)
}

// Unwrap returns the server's response writer.
func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
