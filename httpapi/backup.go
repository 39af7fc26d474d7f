package httpapi

import (
	"errors"
	"net/http"

	"github.com/seed-506d8e5d/svc/fault"
)

// backup serves GET /admin/v1/backup: everything that the service keeps, as
// package storage/backup writes it. A backup that fails on the way is aborted, and
// what the client has lacks its end.
func (a *API) backup(c *call) error {
	c.w.Header().Set("Content-Type", "application/octet-stream")
	err := a.service.Backup(c.ctx(), &deadlineWriter{w: c.w, rc: http.NewResponseController(c.w.ResponseWriter)})
	if err != nil && c.w.Status == 0 {
		c.w.Header().Del("Content-Type")
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return &fault.Error{Kind: fault.Conflict, Code: fault.CodeBackupUnsupported, Message: "The service's store cannot be backed up.", Err: err}
	}
	return err
}
