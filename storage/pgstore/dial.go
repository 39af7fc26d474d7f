package pgstore

import (
	"errors"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// vanishedAfter is how long the server's machine may fail to acknowledge data
	// before its connections count as broken. A machine that has vanished closes none.
	vanishedAfter = 10 * time.Second

	// pingTimeout bounds the check of a connection that was idle for a second.
	pingTimeout = 5 * time.Second
)

// dialer makes connections that break when the server's machine has vanished. A
// machine that is only slow acknowledges what it receives.
func dialer() pgconn.DialFunc {
	d := net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: vanishedAfter / 2, Interval: vanishedAfter / 5, Count: 3},
		Control:         control,
	}
	return d.DialContext
}

// dropSilent closes all connections of the pool if err is a timeout, those in use
// when they are released: if one has not answered in time, the others are most likely
// as dead.
func (s *Store) dropSilent(err error) {
	var n net.Error
	if errors.As(err, &n) && n.Timeout() {
		s.pool.Reset()
	}
}
