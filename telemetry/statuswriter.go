package telemetry

import "net/http"

// statusWriter is a response writer that remembers the status. It unwraps to the
// server's own, for [http.ResponseController].
type statusWriter struct {
	http.ResponseWriter
	Status int // 0 until the header is written
}

// WriteHeader implements [http.ResponseWriter].
func (w *statusWriter) WriteHeader(status int) {
	if w.Status == 0 {
		w.Status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *statusWriter) Write(p []byte) (int, error) {
	if w.Status == 0 {
		w.Status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap returns the server's response writer.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
