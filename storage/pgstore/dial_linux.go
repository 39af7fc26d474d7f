package pgstore

import (
	"strings"
	"syscall"
)

// tcpUserTimeout is TCP_USER_TIMEOUT, which package syscall does not name: the
// milliseconds that what was sent may go without being confirmed. Without it that
// is a quarter of an hour.
const tcpUserTimeout = 0x12

func control(network, _ string, conn syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var err error
	controlErr := conn.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(vanishedAfter.Milliseconds()))
	})
	if controlErr != nil {
		return controlErr
	}
	return err
}
