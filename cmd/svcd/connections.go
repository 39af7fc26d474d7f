package main

import (
	"errors"
	"net"
	"sync"
)

// bounded is a listener with a bound on the connections that are open at once.
// The next one waits to be accepted until another is closed. Whoever opens more
// than the process may have would otherwise take the descriptors away from the
// store, which loses a table that it cannot create.
type bounded struct {
	net.Listener
	places chan struct{} // has a value for each open connection
	closed chan struct{}
	close  func() error // closes both, once
}

// bound returns a listener of TCP with a bound. Closing it ends an Accept that
// waits for a place.
func bound(l net.Listener, most int) net.Listener {
	closed := make(chan struct{})
	return &bounded{Listener: l, places: make(chan struct{}, most), closed: closed, close: sync.OnceValue(func() error {
		close(closed)
		return l.Close()
	})}
}

// connections returns how many connections callers may have where the process may
// have so many descriptors: three eighths of them, since each request may need
// another one to a model server, and a quarter is for the store. It is 0 for any
// number.
func connections(descriptors int) int { return descriptors / 8 * 3 }

func (b *bounded) Accept() (net.Conn, error) {
	select {
	case b.places <- struct{}{}:
	case <-b.closed:
		return nil, net.ErrClosed
	}
	c, err := b.Listener.Accept()
	tcp, ok := c.(*net.TCPConn)
	if err == nil && !ok {
		err = errors.Join(errors.New("only connections of TCP are bounded"), c.Close())
	}
	if err != nil {
		<-b.places
		return nil, err
	}
	return &boundedConn{TCPConn: tcp, left: sync.OnceFunc(func() { <-b.places })}, nil
}

func (b *bounded) Close() error { return b.close() }

// boundedConn gives its place back when it is closed. What else a connection of
// TCP can do, the server uses: to end one side, and to send without copying.
type boundedConn struct {
	*net.TCPConn
	left func()
}

func (c *boundedConn) Close() error {
	defer c.left()
	return c.TCPConn.Close()
}
