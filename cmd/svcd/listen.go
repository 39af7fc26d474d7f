package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

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
		return nil, fmt.Errorf("cannot listen: %w", err)
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

// url is where a client on this machine finds the server.
func (c config) url(addr net.Addr) string {
	if c.tlsCert != "" {
		return "https://" + reachable(addr)
	}
	return "http://" + reachable(addr)
}
