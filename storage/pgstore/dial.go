package pgstore

import (
	"errors"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// vanishedAfter is how long a machine may leave what it was sent without a sign
	// that it has got it, until its connections are taken for broken: one that has
	// vanished closes none.
	vanishedAfter = 10 * time.Second

	// pingTimeout bounds the look at a connection that nobody has used for a second.
	pingTimeout = 5 * time.Second
)

// dialer makes connections that break where the other machine has vanished. One
// that is only slow confirms what it gets, however long its answer takes.
func dialer() pgconn.DialFunc {
	d := net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: vanishedAfter / 2, Interval: vanishedAfter / 5, Count: 3},
		Control:         control,
	}
	return d.DialContext
}

// dropSilent has the connections of the pool be closed, those in use when they are
// given back, where err says that one of them has not answered in time: others
// have most likely been silent for as long.
func (s *Store) dropSilent(err error) {
	var n net.Error
	if errors.As(err, &n) && n.Timeout() {
		s.pool.Reset()
	}
}
