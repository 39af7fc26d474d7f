package httpapi

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/matryer/is"
)

// TestOrigins calls from pages of other origins: only those that are named may read
// what is answered, and ask whether they may call.
func TestOrigins(t *testing.T) {
	answers := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusTeapot) })
	for _, c := range []struct {
		allowed []string
		method  string
		origin  string
		asks    string // Access-Control-Request-Method
		code    int
		may     string // Access-Control-Allow-Origin
	}{
		{nil, "OPTIONS", "https://a.example", "POST", http.StatusTeapot, ""},
		{[]string{"https://a.example"}, "POST", "", "", http.StatusTeapot, ""},
		{[]string{"https://a.example"}, "POST", "https://a.example", "", http.StatusTeapot, "https://a.example"},
		{[]string{"https://a.example"}, "POST", "https://a.example.evil", "", http.StatusTeapot, ""},
		{[]string{"https://a.example"}, "OPTIONS", "https://b.example", "POST", http.StatusTeapot, ""},
		{[]string{"https://a.example", "https://b.example"}, "OPTIONS", "https://b.example", "POST", http.StatusNoContent, "https://b.example"},
		{[]string{"https://a.example"}, "OPTIONS", "https://a.example", "", http.StatusTeapot, "https://a.example"},
		{[]string{"*"}, "OPTIONS", "null", "GET", http.StatusNoContent, "null"},
	} {
		is := is.New(t)
		r := httptest.NewRequest(c.method, "/v1/responses", nil)
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		if c.asks != "" {
			r.Header.Set("Access-Control-Request-Method", c.asks)
			r.Header.Set("Access-Control-Request-Headers", "authorization,content-type,x-stainless-os")
		}
		w := httptest.NewRecorder()
		AllowOrigins(c.allowed, answers).ServeHTTP(w, r)
		is.Equal(w.Code, c.code)
		is.Equal(w.Header().Get("Access-Control-Allow-Origin"), c.may)
		headers := ""
		if c.code == http.StatusNoContent {
			headers = "authorization,content-type,x-stainless-os"
		}
		is.Equal(w.Header().Get("Access-Control-Allow-Headers"), headers)
		if c.allowed != nil {
			is.Equal(w.Header().Get("Vary") != "", true) // caches keep answers for origins apart
		}
	}
}
