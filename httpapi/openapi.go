package httpapi

import _ "embed"

// openAPI describes every route, field, error and event. The tests hold the
// answers of the server to it.
//
//go:embed openapi.json
var openAPI []byte

func (a *API) describe(c *call) error {
	writeBody(c.w, 200, openAPI)
	return nil
}
