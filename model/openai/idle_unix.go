//go:build unix

package openai

import (
	"net"
	"syscall"
)

// silence returns what reports whether nothing has come on a connection, neither
// bytes nor its end. What has come is lost.
func silence(nc net.Conn) func() bool {
	raw, err := nc.(syscall.Conn).SyscallConn()
	if err != nil {
		return func() bool { return false }
	}
	var b [1]byte
	var silent bool
	read := func(fd uintptr) bool {
		_, err := syscall.Read(int(fd), b[:])
		silent = err == syscall.EAGAIN
		return true // it need not wait until something comes
	}
	return func() bool { return raw.Read(read) == nil && silent }
}
