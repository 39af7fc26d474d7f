//go:build !linux

package pgstore

import "syscall"

// control leaves the connection as it is: keepalives alone find out.
func control(string, string, syscall.RawConn) error { return nil }
