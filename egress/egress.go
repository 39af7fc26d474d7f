// Package egress has the HTTP client for everything that the service fetches for a
// caller: an address that a caller chose must not reach what only the operator's
// network reaches.
//
// A [Guard] accepts https URLs of public hosts, resolves the host itself, drops
// addresses that are not public, and connects to one of those that it checked, so
// that a name which resolves differently a moment later gains nothing. This holds
// for each redirect as well. Hosts that the operator named are exempt: they may have
// private addresses and be reached over http. The size of an answer and the time of
// a request are bounded, and proxies of the environment are not used.
package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Redirects is which redirects a client follows.
type Redirects int

const (
	NoRedirects Redirects = iota // the redirect is the answer
	SameHost                     // redirects to the same scheme, host and port
	PublicHosts                  // redirects to any https URL of a public host that the operator did not name
)

const (
	maxRedirects = 5
	maxAddresses = 4                // of a host that are tried
	dialTimeout  = 10 * time.Second // of resolving and connecting, and of the TLS handshake
	maxHeader    = 64 << 10
)

// Resolver resolves host names; *net.Resolver implements it.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options are what a Guard is made of. The zero value admits public hosts over
// https, without redirects.
type Options struct {
	Hosts     []string // names or addresses, without ports, that the operator named
	Redirects Redirects
	MaxBytes  int64         // of an answer's body; 0: 1 MiB
	Timeout   time.Duration // of a request with its answer; 0: 30 seconds, negative: only the context's

	// Proxy returns the proxy of a request, as that of http.Transport does; nil: none.
	// A proxy resolves names itself, so that the addresses which the guard checks may
	// not be those that the proxy connects to.
	Proxy func(*http.Request) (*url.URL, error)

	Resolver Resolver                                                             // nil: net.DefaultResolver
	Dial     func(ctx context.Context, network, address string) (net.Conn, error) // connects to a checked address, or a named host; nil: a net.Dialer
}

// Guard checks what is fetched. Its methods may be called concurrently.
type Guard struct {
	options Options
	named   map[string]bool
	direct  *http.Transport // to checked addresses
	proxied *http.Transport // to the proxy
}

// RefusedError is why a URL is not fetched, in words for the caller who chose it.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return "egress: " + e.Reason }

// ErrTooLarge is the error of reading a body beyond [Options].MaxBytes.
var ErrTooLarge = errors.New("egress: the answer is too large")

// New returns a Guard.
func New(o Options) *Guard {
	if o.MaxBytes == 0 {
		o.MaxBytes = 1 << 20
	}
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	g := &Guard{options: o, named: map[string]bool{}}
	for _, host := range o.Hosts {
		g.named[canonical(host)] = true
	}
	g.direct = &http.Transport{
		DialContext:            g.dial,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    dialTimeout,
		IdleConnTimeout:        time.Minute,
		MaxIdleConns:           64,
		MaxResponseHeaderBytes: maxHeader,
	}
	g.proxied = g.direct.Clone()
	g.proxied.Proxy, g.proxied.DialContext = o.Proxy, o.Dial
	return g
}

// Client returns a client whose requests go through the guard. Its errors are a
// [RefusedError] for what the guard refuses. A redirect sends the request's headers
// again, all but Authorization and cookies to another host too.
func (g *Guard) Client() *http.Client {
	return &http.Client{Transport: g, Timeout: max(g.options.Timeout, 0), CheckRedirect: g.redirect}
}

// Close closes idle connections.
func (g *Guard) Close() {
	g.direct.CloseIdleConnections()
	g.proxied.CloseIdleConnections()
}

// Check resolves the host of a URL and returns a [RefusedError] where a request to it
// would be refused now. It is for telling a caller early: a request checks again.
func (g *Guard) Check(ctx context.Context, u *url.URL) error {
	if err := g.checkURL(u); err != nil || g.named[canonical(u.Hostname())] {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	_, err := g.resolve(ctx, u.Hostname())
	return err
}

// RoundTrip implements http.RoundTripper.
func (g *Guard) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := g.roundTrip(r)
	if err != nil && resp == nil && r.Body != nil {
		r.Body.Close()
	}
	return resp, err
}

func (g *Guard) roundTrip(r *http.Request) (*http.Response, error) {
	if err := g.checkURL(r.URL); err != nil {
		return nil, err
	}
	transport := g.direct
	if g.options.Proxy != nil {
		proxy, err := g.options.Proxy(r)
		if err != nil {
			return nil, fmt.Errorf("egress: choosing a proxy: %w", err)
		}
		if proxy != nil {
			if err := g.Check(r.Context(), r.URL); err != nil {
				return nil, err
			}
			transport = g.proxied
		}
	}
	resp, err := transport.RoundTrip(r)
	if err == nil && resp.StatusCode != http.StatusSwitchingProtocols {
		resp.Body = &boundedBody{resp.Body, g.options.MaxBytes}
	}
	return resp, err
}

// redirect decides whether the client follows a redirect, as http.Client.CheckRedirect.
func (g *Guard) redirect(r *http.Request, via []*http.Request) error {
	first := via[0].URL
	sameHost := r.URL.Scheme == first.Scheme && canonical(r.URL.Host) == canonical(first.Host)
	switch {
	case g.options.Redirects == NoRedirects:
		return http.ErrUseLastResponse
	case len(via) > maxRedirects:
		return &RefusedError{fmt.Sprintf("the server redirected more than %d times", maxRedirects)}
	case g.options.Redirects == SameHost && !sameHost:
		return &RefusedError{"the server redirected to another host"}
	case !sameHost && g.named[canonical(r.URL.Hostname())]:
		return &RefusedError{"the server redirected to a host of the operator"}
	}
	return nil
}

// checkURL checks what can be checked without resolving.
func (g *Guard) checkURL(u *url.URL) error {
	host := u.Hostname()
	switch {
	case host == "":
		return &RefusedError{"the URL has no host"}
	case g.named[canonical(host)] && (u.Scheme == "http" || u.Scheme == "https"):
		return nil
	case u.Scheme != "https":
		return &RefusedError{"the URL must begin with https://"}
	}
	return checkHost(host)
}

// resolve returns the public addresses of a host.
func (g *Guard) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if err := checkHost(host); err != nil {
		return nil, err
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	resolved, err := g.options.Resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("egress: resolving %s: %w", host, err)
	}
	var found []netip.Addr
	for _, a := range resolved {
		if a = a.Unmap(); public(a) && len(found) < maxAddresses {
			found = append(found, a)
		}
	}
	if len(found) == 0 {
		return nil, &RefusedError{fmt.Sprintf("the host %s has no public address", host)}
	}
	return found, nil
}

// dial connects to the first address of a host that answers.
func (g *Guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("egress: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if g.named[canonical(host)] {
		return g.options.Dial(ctx, network, address)
	}
	addresses, err := g.resolve(ctx, host)
	for _, a := range addresses {
		var conn net.Conn
		if conn, err = g.options.Dial(ctx, network, net.JoinHostPort(a.String(), port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// canonical is a host as hosts are compared.
func canonical(host string) string { return strings.TrimSuffix(strings.ToLower(host), ".") }

// boundedBody is a body that fails when it is longer than allowed.
type boundedBody struct {
	io.ReadCloser
	left int64 // bytes that may be read; negative when there were more
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrTooLarge
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return n - 1, ErrTooLarge
	}
	return n, err
}
