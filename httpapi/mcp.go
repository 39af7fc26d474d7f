package httpapi

import (
	"bytes"
	"io"
)

const mcpPath = "/mcp"

// mcp serves POST /mcp. The request counts once against the limits, whatever its
// tools do.
func (a *API) mcp(c *call) error {
	body, err := c.read(MaxBody)
	if err != nil {
		return err
	}
	r := c.r.Clone(c.ctx())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Del("Content-Encoding") // read takes it off
	caller := c.caller
	caller.Claim = nil // what is kept for an Idempotency-Key is this answer, not a tool's
	a.opts.MCP.Serve(c.w, r, caller, a.Answer)
	return nil
}
