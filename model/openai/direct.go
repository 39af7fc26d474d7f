package openai

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

const (
	// directBody is the longest body, in bytes, of a request that is sent directly:
	// a server that answers without reading it still gets all of it into its
	// socket's buffer.
	directBody = 64 << 10

	maxIdle     = 256 // connections: a burst of requests leaves its own to the next one
	idleTimeout = time.Minute

	// maxHeader bounds the header of an answer, in bytes.
	maxHeader = 1 << 20

	// staleWithin is how soon a connection that the server has given up fails.
	staleWithin = time.Second
)

var errHeader = errors.New("openai: the header of the answer is too long")

// direct sends requests over connections of its own and reads the answers in the
// goroutine of the caller. [http.Transport] has two goroutines besides for each
// connection, which cost more than the request where a token comes at a time. It
// is for servers on plain HTTP/1.1 that are reached without a proxy.
type direct struct {
	dialer  *net.Dialer
	address string

	mu    sync.Mutex
	idle  []*conn     // the one used last is the last
	sweep *time.Timer // closes what is idle for long; nil where nothing is idle
}

// newDirect returns nil where a server is not to be spoken to directly.
func newDirect(target string, dialer *net.Dialer) *direct {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "http" || u.Hostname() == "" {
		return nil
	}
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u}); err != nil || proxy != nil {
		return nil
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	return &direct{dialer: dialer, address: net.JoinHostPort(u.Hostname(), port)}
}

// conn is a connection. One goroutine uses it at a time.
type conn struct {
	net.Conn
	r     *bufio.Reader
	left  int       // bytes that may still be read; of the body any number
	read  bool      // something of the answer has come
	since time.Time // when it became idle

	full  bool    // the last read got all that it asked for: more is probably there
	large *[]byte // where ahead is, of largeBuffers
	ahead []byte  // was read and is not in r yet
}

// Read implements [io.Reader].
func (c *conn) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, errHeader
	}
	n, err := c.readAhead(p[:min(len(p), c.left)])
	c.read = c.read || n > 0
	c.left -= n
	return n, err
}

// readAhead reads into a large buffer while more comes than the small one takes,
// so that an answer at full speed takes few calls of the kernel.
func (c *conn) readAhead(p []byte) (n int, err error) {
	if len(c.ahead) == 0 && !c.full {
		n, err = c.Conn.Read(p)
		c.full = n == len(p)
		return n, err
	}
	if len(c.ahead) == 0 {
		c.large = largeBuffers.Get().(*[]byte)
		n, err = c.Conn.Read(*c.large)
		c.ahead = (*c.large)[:n]
		c.full = n == len(*c.large)
	}
	n = copy(p, c.ahead)
	if c.ahead = c.ahead[n:]; len(c.ahead) == 0 {
		largeBuffers.Put(c.large)
		c.large, c.ahead = nil, nil
	} else {
		err = nil // a connection that is broken says so again
	}
	return n, err
}

// buffered is how many bytes have come and were not read.
func (c *conn) buffered() int { return c.r.Buffered() + len(c.ahead) }

// RoundTrip implements [http.RoundTripper]. A connection that was kept and breaks
// at once was given up by the server in the meantime: a new one is taken then.
func (d *direct) RoundTrip(req *http.Request) (*http.Response, error) {
	c := d.take()
	if c != nil {
		began := time.Now()
		resp, err := d.ask(c, req)
		if err == nil || c.read || req.Context().Err() != nil || time.Since(began) > staleWithin {
			return resp, err
		}
		d.CloseIdleConnections() // older ones are no better
		if req.GetBody != nil {
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
	}
	c, err := d.dial(req.Context())
	if err != nil {
		return nil, err
	}
	return d.ask(c, req)
}

// connBuffer holds a few events of an ordinary stream. It stays small because every
// open stream has one.
const connBuffer = 2 << 10

func (d *direct) dial(ctx context.Context) (*conn, error) {
	nc, err := d.dialer.DialContext(ctx, "tcp", d.address)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: nc}
	c.r = bufio.NewReaderSize(c, connBuffer)
	return c, nil
}

// requestBuffers are for requests that are being written.
var requestBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// ask sends the request and reads the header of the answer. The connection is
// closed or kept with the answer's body.
func (d *direct) ask(c *conn, req *http.Request) (*http.Response, error) {
	stop := context.AfterFunc(req.Context(), func() { _ = c.SetDeadline(time.Unix(1, 0)) }) // it may be closed by now
	resp, err := c.ask(req)
	if err != nil {
		stop()
		return nil, errors.Join(err, c.Close())
	}
	resp.Body = &directAnswer{ReadCloser: resp.Body, direct: d, conn: c, stop: stop, last: resp.Close}
	return resp, nil
}

func (c *conn) ask(req *http.Request) (*http.Response, error) {
	b := requestBuffers.Get().(*bytes.Buffer)
	defer requestBuffers.Put(b)
	b.Reset()
	if err := req.Write(b); err != nil {
		return nil, err
	}
	c.left, c.read, c.full = maxHeader, false, false
	if _, err := c.Write(b.Bytes()); err != nil {
		return nil, err
	}
	for {
		resp, err := http.ReadResponse(c.r, req)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode >= http.StatusOK { // or else another follows
			c.left = int(^uint(0) >> 1)
			return resp, nil
		}
	}
}

// directAnswer is the body of an answer, which keeps its connection for the next
// request once it is read to its end.
type directAnswer struct {
	io.ReadCloser
	direct *direct
	conn   *conn
	stop   func() bool // of what ends the connection with the request's context
	last   bool        // the server takes no more requests from the connection
	done   bool
}

// Read implements [io.Reader].
func (a *directAnswer) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err == io.EOF {
		a.finish()
	}
	return n, err
}

// finish gives the connection back.
func (a *directAnswer) finish() {
	if a.done {
		return
	}
	a.done = true
	if !a.stop() || a.last || a.conn.buffered() > 0 {
		a.conn.Close() // nothing is lost with it
		return
	}
	a.direct.keep(a.conn)
}

// Close gives up the connection, unless only the end of the body is missing and
// has come already.
func (a *directAnswer) Close() error {
	if a.done {
		return nil
	}
	if a.conn.buffered() > 0 && a.conn.SetReadDeadline(time.Unix(1, 0)) == nil {
		if n, err := a.ReadCloser.Read(make([]byte, 1)); n == 0 && err == io.EOF && a.conn.SetReadDeadline(time.Time{}) == nil {
			a.finish()
			return nil
		}
	}
	a.done = true
	a.stop()
	return a.conn.Close()
}

// take returns the connection that was used last, or nil.
func (d *direct) take() *conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(d.idle)
	if n == 0 {
		return nil
	}
	c := d.idle[n-1]
	d.idle = slices.Delete(d.idle, n-1, n)
	return c
}

func (d *direct) keep(c *conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c.since = time.Now()
	d.idle = append(d.idle, c)
	if len(d.idle) > maxIdle {
		d.idle[0].Close() // nothing is lost with it
		d.idle = slices.Delete(d.idle, 0, 1)
	}
	if d.sweep == nil {
		d.sweep = time.AfterFunc(idleTimeout, d.closeOld)
	}
}

// closeOld closes the connections that are idle for long.
func (d *direct) closeOld() {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for n < len(d.idle) && time.Since(d.idle[n].since) >= idleTimeout {
		d.idle[n].Close() // nothing is lost with it
		n++
	}
	d.idle = slices.Delete(d.idle, 0, n)
	if d.sweep = nil; len(d.idle) > 0 {
		d.sweep = time.AfterFunc(idleTimeout-time.Since(d.idle[0].since), d.closeOld)
	}
}

// CloseIdleConnections closes the connections that no answer comes from.
func (d *direct) CloseIdleConnections() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.idle {
		c.Close() // nothing is lost with it
	}
	d.idle = nil
	if d.sweep != nil {
		d.sweep.Stop()
		d.sweep = nil
	}
}
