package pgstore

import (
	"strings"
	"syscall"
)

// tcpUserTimeout is TCP_USER_TIMEOUT, which package syscall does not name: how many
// milliseconds sent data may stay unacknowledged. The default is a quarter of an hour.
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
