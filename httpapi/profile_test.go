package httpapi

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc"
)

func TestProfiles(t *testing.T) {
	a := newAdminAPI(t, svc.Options{}, Options{})
	const path = "/admin/v1/debug/pprof"
	if w := send(a, adminKey, "GET", path, ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"goroutine","heap","mutex","profile","threadcreate","trace"`) {
		t.Errorf("list: got %d %s", w.Code, w.Body)
	}
	if w := send(a, adminKey, "GET", path+"/goroutine?debug=1", ""); w.Code != 200 || !strings.Contains(w.Body.String(), "TestProfiles") {
		t.Errorf("goroutine: got %d %s", w.Code, w.Body)
	}
	const gzip = "\x1f\x8b"
	if w := send(a, adminKey, "GET", path+"/heap", ""); w.Code != 200 || !strings.HasPrefix(w.Body.String(), gzip) {
		t.Errorf("heap: got %d %q", w.Code, w.Body)
	}
	for query, want := range map[string]string{
		"/cmdline":             `{"error":{"message":"No profile found with id \"cmdline\".","type":"invalid_request_error","param":null,"code":"not_found"}}`,
		"/heap?debug=3":        `{"error":{"message":"debug must be an integer from 0 to 2.","type":"invalid_request_error","param":"debug","code":"validation_error"}}`,
		"/profile?seconds=301": `{"error":{"message":"seconds must be an integer from 1 to 300.","type":"invalid_request_error","param":"seconds","code":"validation_error"}}`,
	} {
		if w := send(a, adminKey, "GET", path+query, ""); w.Body.String() != want {
			t.Errorf("%s: got %d %s", query, w.Code, w.Body)
		}
	}
}

// TestTimedProfile takes profiles for a client that has left, which end at once.
func TestTimedProfile(t *testing.T) {
	a := newAdminAPI(t, svc.Options{}, Options{})
	for name, begin := range map[string]string{"trace": "go 1.", "profile": "\x1f\x8b"} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := httptest.NewRequestWithContext(ctx, "GET", "/admin/v1/debug/pprof/"+name+"?seconds=300", nil)
		r.Header.Set("Authorization", "Bearer "+adminKey)
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		if w.Code != 200 || !strings.HasPrefix(w.Body.String(), begin) {
			t.Errorf("%s: got %d %.40q", name, w.Code, w.Body)
		}
	}
}
