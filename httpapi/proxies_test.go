package httpapi

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/matryer/is"
)

func TestTrustProxies(t *testing.T) {
	proxies, err := ParseProxies("10.0.0.0/8, 192.0.2.1,, 2001:db8::/32")
	is.New(t).NoErr(err)
	for _, c := range []struct{ remote, forwarded, want string }{
		{"198.51.100.7:1234", "203.0.113.9", "198.51.100.7:1234"}, // it may say anything
		{"192.0.2.1:1234", "203.0.113.9", "203.0.113.9:0"},
		{"192.0.2.1:1234", "198.51.100.66, 203.0.113.9, 10.1.2.3", "203.0.113.9:0"}, // the first one is the client's word
		{"192.0.2.1:1234", "10.9.9.9, 10.1.2.3", "10.9.9.9:0"},
		{"192.0.2.1:1234", "203.0.113.9:4711", "203.0.113.9:0"},
		{"192.0.2.1:1234", "nonsense, 10.1.2.3", "10.1.2.3:0"},
		{"192.0.2.1:1234", "", "192.0.2.1:0"},
		{"[2001:db8::1]:1234", "[2001:db9::5]:77", "[2001:db9::5]:0"},
		{"[::ffff:192.0.2.1]:1234", "::ffff:203.0.113.9", "203.0.113.9:0"},
		{"a pipe", "203.0.113.9", "a pipe"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.remote
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		TrustProxies(proxies, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.RemoteAddr != c.want || r.Header.Get("X-Forwarded-For") != "" {
				t.Errorf("%s for %q: got %s %v, want %s", c.remote, c.forwarded, r.RemoteAddr, r.Header, c.want)
			}
		})).ServeHTTP(httptest.NewRecorder(), r)
	}
	for _, wrong := range []string{"proxy", "10.0.0.0/33", "10.0.0.1 10.0.0.2"} {
		if _, err := ParseProxies(wrong); err == nil {
			t.Errorf("%q was taken", wrong)
		}
	}
	next := http.NotFoundHandler()
	w := httptest.NewRecorder()
	TrustProxies(nil, next).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	is.New(t).Equal(w.Code, 404)
}
