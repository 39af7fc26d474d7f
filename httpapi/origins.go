package httpapi

import (
	"net/http"
	"slices"
	"strings"
)

// AllowOrigins lets pages of other origins call a handler from browsers (CORS): those
// that are named, as in https://app.example, or all with "*". Without any it returns
// the handler as it is.
func AllowOrigins(origins []string, next http.Handler) http.Handler {
	if len(origins) == 0 {
		return next
	}
	every := slices.Contains(origins, "*")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Add("Vary", "Origin")
		origin := r.Header.Get("Origin")
		if origin == "" || !every && !slices.Contains(origins, origin) {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", exposedHeaders)
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
			next.ServeHTTP(w, r)
			return
		}
		h.Add("Vary", "Access-Control-Request-Headers")
		h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
		if wanted := r.Header.Values("Access-Control-Request-Headers"); len(wanted) > 0 {
			h.Set("Access-Control-Allow-Headers", strings.Join(wanted, ", "))
		}
		h.Set("Access-Control-Max-Age", "7200") // more than browsers keep it
		w.WriteHeader(http.StatusNoContent)
	})
}

// exposedHeaders are what pages may read of an answer.
const exposedHeaders = "X-Request-Id, Request-Id, Retry-After, Retry-After-Ms, Idempotent-Replay, Svc-Ignored-Fields, Svc-Model, Svc-Policy"
