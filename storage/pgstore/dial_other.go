//go:build !linux

package pgstore

import "syscall"

// control does nothing: keepalives alone detect a vanished machine.
func control(string, string, syscall.RawConn) error { return nil }
