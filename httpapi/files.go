package httpapi

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

// The spec's section Endpoints, Files, and the content of a file as in the OpenAI
// API. The form of an upload is read in upload.go.

func (a *API) uploadFile(c *call) error {
	file, err := c.upload()
	if err != nil {
		return err
	}
	return c.json(convert.ToFile(&file))
}

func (a *API) listFiles(c *call) error {
	q := c.r.URL.Query()
	p, err := pageParams(q, true)
	if err != nil {
		return err
	}
	result, err := a.service.Files(c.ctx(), c.caller, q.Get("purpose"), p)
	if err != nil {
		return err
	}
	return c.json(convert.ToList(result, convert.ToFile, func(w *wire.File) string { return w.ID }))
}

func (a *API) getFile(c *call) error {
	file, err := a.service.File(c.ctx(), c.caller, c.r.PathValue("file_id"))
	if err != nil {
		return err
	}
	return c.json(convert.ToFile(&file))
}

func (a *API) deleteFile(c *call) error {
	id := c.r.PathValue("file_id")
	if err := a.service.DeleteFile(c.ctx(), c.caller, id); err != nil {
		return err
	}
	return c.json(wire.Deleted{ID: id, Object: "file", Deleted: true})
}

// writeTimeout is how long a client may take to accept one piece of a file.
const writeTimeout = time.Minute

// fileContent sends the bytes of a file as they were uploaded. What cannot be read at
// all has a status; what fails in the middle aborts the connection: the client must not
// take it for the whole.
func (a *API) fileContent(c *call) error {
	file, content, err := a.service.FileContent(c.ctx(), c.caller, c.r.PathValue("file_id"))
	if err != nil {
		return err
	}
	first := make([]byte, 1)
	n, err := content.Read(first)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	h := c.w.Header()
	h.Set("Content-Type", file.MIMEType)
	h.Set("Content-Length", strconv.FormatInt(file.Bytes, 10))
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": file.Filename}))
	h.Set("X-Content-Type-Options", "nosniff")
	c.w.WriteHeader(http.StatusOK)
	if c.r.Method == http.MethodHead {
		return nil
	}
	rc := http.NewResponseController(c.w.ResponseWriter)
	defer func() { _ = rc.SetWriteDeadline(time.Time{}) }() // a writer that knows no deadlines needs none
	client := &deadlineWriter{w: c.w, rc: rc}
	_, err = io.Copy(client, io.MultiReader(bytes.NewReader(first[:n]), content))
	if client.err != nil {
		return &fault.Error{Kind: fault.Canceled, Code: fault.CodeCanceled, Message: "The file was not sent whole.", Err: client.err}
	}
	return err
}

// deadlineWriter is a writer to a client that has a while for each write.
type deadlineWriter struct {
	w   io.Writer
	rc  *http.ResponseController
	err error // of the last write
}

// Write implements [io.Writer].
func (p *deadlineWriter) Write(b []byte) (int, error) {
	_ = p.rc.SetWriteDeadline(time.Now().Add(writeTimeout))
	n, err := p.w.Write(b)
	p.err = err
	return n, err
}
