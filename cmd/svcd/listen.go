package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/seed-506d8e5d/svc/httpapi"
)

// listen returns the listener of the server, with TLS where there is a
// certificate, and as many connections as leave descriptors for the rest.
func (c config) listen(ctx context.Context) (net.Listener, error) {
	if (c.tlsCert == "") != (c.tlsKey == "") {
		return nil, errors.New("-tls-cert and -tls-key belong together")
	}
	var secure *tls.Config
	if c.tlsCert != "" {
		certificate, err := tls.LoadX509KeyPair(c.tlsCert, c.tlsKey)
		if err != nil {
			return nil, fmt.Errorf("the TLS certificate cannot be read: %w", err)
		}
		secure = &tls.Config{
			Certificates: []tls.Certificate{certificate},
			MinVersion:   tls.VersionTLS12,
			NextProtos:   []string{"h2", "http/1.1"},
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s, the -addr: %w; %s", c.addr, err, addressHint(err))
	}
	listener = httpapi.Listener(listener)
	if most := connections(descriptors()); most > 0 {
		listener = bound(listener, most)
	}
	if secure != nil {
		return tls.NewListener(listener, secure), nil
	}
	return listener, nil
}

// addressHint says what to do about an address that cannot be listened on.
func addressHint(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "stop the program that has the port, or choose another -addr; port 0 picks a free one"
	case errors.Is(err, syscall.EACCES):
		return "choose a port above 1023, or give svcd the right to lower ones"
	}
	return "write it as HOST:PORT, such as 127.0.0.1:8080"
}

// url is where a client on this machine finds the server.
func (c config) url(addr net.Addr) string {
	if c.tlsCert != "" {
		return "https://" + reachable(addr)
	}
	return "http://" + reachable(addr)
}
