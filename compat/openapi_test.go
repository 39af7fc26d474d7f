package compat

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/httpapi"
)

// TestOpenAPI has another reader of OpenAPI judge the description of the server.
// That the server does what it says is tested in package httpapi.
func TestOpenAPI(t *testing.T) {
	service, err := svc.New(t.Context(), svc.Options{})
	check(t, err)
	defer func() { check(t, service.Close()) }()
	w := httptest.NewRecorder()
	httpapi.New(service, httpapi.Options{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi.json", nil))
	doc, err := openapi3.NewLoader().LoadFromData(w.Body.Bytes())
	check(t, err)
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
}
