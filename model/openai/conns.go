package openai

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxIdle is the number of idle connections to one server, of all tenants
	// together, and idleTimeout closes those that nobody has used for so long.
	maxIdle     = 256
	idleTimeout = time.Minute

	// endWait is how long the end of a stream may take after its last event: many
	// servers send it in a packet of its own.
	endWait = 50 * time.Millisecond

	// writeNote is how long the goroutine that has written a request may take to note
	// that. A server that has read the request may answer before it has.
	writeNote = time.Millisecond

	// staleWithin is how soon a request fails on a connection that the server has
	// closed meanwhile. What fails later was the server's answer to the request.
	staleWithin = time.Second
)

// conns are the connections to one server. An idle connection is used again only
// by the tenant that used it before, and only after a clean exchange: servers that
// answer before they have read a whole request, or that send more than an answer,
// put every later answer of the connection out of step. Speaks HTTP/1.1.
type conns struct {
	dialer          *net.Dialer
	protocols       http.Protocols
	scheme, address string
	authorization   string // the header of all requests; empty: none

	mu    sync.Mutex
	idle  []*conn // the one used last comes last
	most  int     // length of idle
	sweep *time.Timer

	ending sync.WaitGroup // goroutines of reply.finish
}

// conn is a connection that one request uses at a time.
type conn struct {
	*http.ClientConn
	tenant string
	since  time.Time // when it became idle
	wire   *watchedConn
}

// watchedConn knows whether the HTTP client waits for bytes of the server. As long
// as it does, nothing is left of the answers that it has read.
type watchedConn struct {
	net.Conn
	waiting atomic.Bool
}

// Read implements [net.Conn].
func (w *watchedConn) Read(p []byte) (int, error) {
	w.waiting.Store(true)
	n, err := w.Conn.Read(p)
	w.waiting.Store(false)
	return n, err
}

// ReadFrom implements [io.ReaderFrom]. The HTTP client hands it the body of a request,
// which lies in memory and is written from there: a copy would take 32 KiB.
func (w *watchedConn) ReadFrom(r io.Reader) (int64, error) {
	if limited, ok := r.(*io.LimitedReader); ok {
		if body, ok := limited.R.(*bytes.Reader); ok && limited.N == int64(body.Len()) {
			return body.WriteTo(w.Conn)
		}
	}
	return io.Copy(struct{ io.Writer }{w.Conn}, r)
}

func newConns(config *Server, authorization string) *conns {
	dialer := &net.Dialer{Timeout: config.ConnectTimeout, KeepAlive: 30 * time.Second}
	c := &conns{scheme: "http", authorization: authorization, most: maxIdle}
	if u, err := url.Parse(config.URL); err == nil {
		c.scheme = u.Scheme
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		c.address = net.JoinHostPort(u.Hostname(), port)
	}
	c.dialer = dialer
	c.protocols.SetHTTP1(true)
	return c
}

// dial makes a new connection. It has a transport of its own, whose pool stays empty.
func (c *conns) dial(ctx context.Context, tenant string) (*conn, error) {
	made := &conn{tenant: tenant, wire: new(watchedConn)}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (nc net.Conn, err error) {
			made.wire.Conn, err = c.dialer.DialContext(ctx, network, address)
			return made.wire, err
		},
		TLSHandshakeTimeout: c.dialer.Timeout,
		Protocols:           &c.protocols,
		WriteBufferSize:     1 << 10, // each open stream has both; a longer body
		ReadBufferSize:      2 << 10, // is written past the buffer
		DisableCompression:  true,    // a compressed stream is held back

		MaxResponseHeaderBytes: 1 << 20,
	}
	var err error
	made.ClientConn, err = transport.NewClientConn(ctx, c.scheme, c.address)
	return made, err
}

// take returns the idle connection that the tenant used last, nil where there is
// none.
func (c *conns) take(tenant string) *conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.idle) - 1; i >= 0; i-- {
		cn := c.idle[i]
		if cn.tenant != tenant {
			continue
		}
		c.idle = slices.Delete(c.idle, i, i+1)
		// The server may have closed the connection, or sent more than its answer.
		if cn.Err() == nil && cn.wire.waiting.Load() {
			return cn
		}
		cn.discard()
	}
	return nil
}

// put keeps a connection for the tenant's next request.
func (c *conns) put(cn *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cn.since = time.Now()
	c.idle = append(c.idle, cn)
	c.trim(c.most)
	if c.sweep == nil {
		c.sweep = time.AfterFunc(idleTimeout, c.closeOld)
	}
}

// limit bounds the number of idle connections.
func (c *conns) limit(most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.most = min(max(most, 1), maxIdle)
	c.trim(c.most)
}

// trim closes the connections that are idle for longest, up to n of which remain.
// It is called with the lock held.
func (c *conns) trim(n int) {
	closed := max(0, len(c.idle)-n)
	for _, cn := range c.idle[:closed] {
		cn.discard()
	}
	c.idle = slices.Delete(c.idle, 0, closed)
}

// closeOld closes the connections that are idle for idleTimeout.
func (c *conns) closeOld() {
	c.mu.Lock()
	defer c.mu.Unlock()
	fresh := slices.IndexFunc(c.idle, func(cn *conn) bool { return time.Since(cn.since) < idleTimeout })
	if fresh < 0 {
		fresh = len(c.idle)
	}
	c.trim(len(c.idle) - fresh)
	if c.sweep = nil; len(c.idle) > 0 {
		c.sweep = time.AfterFunc(idleTimeout-time.Since(c.idle[0].since), c.closeOld)
	}
}

// drop closes the idle connections of a tenant.
func (c *conns) drop(tenant string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = slices.DeleteFunc(c.idle, func(cn *conn) bool {
		if cn.tenant == tenant {
			cn.discard()
		}
		return cn.tenant == tenant
	})
}

// close closes all idle connections, once the ends of streams have been read.
func (c *conns) close() {
	c.ending.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trim(0)
	if c.sweep != nil {
		c.sweep.Stop()
		c.sweep = nil
	}
}

// discard closes the connection. What the error says matters to nobody.
func (cn *conn) discard() { _ = cn.Close() }

// progress is how far an exchange has come. The goroutines of the connection set it.
type progress struct {
	written  chan struct{} // closed, once, when all of the request is
	once     sync.Once
	answered atomic.Bool // a byte of the answer has come
	unclean  atomic.Bool // out of the usual order
}

// trace returns the hooks that note the progress.
func (p *progress) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				p.once.Do(func() { close(p.written) })
			}
		},
		GotFirstResponseByte: func() {
			p.answered.Store(true)
			if !p.writtenWithin(writeNote) {
				p.unclean.Store(true)
			}
		},
		Got1xxResponse: func(code int, _ textproto.MIMEHeader) error {
			if code != http.StatusContinue {
				p.unclean.Store(true)
			}
			return nil
		},
	}
}

// writtenWithin reports whether all of the request is written, as far as that is noted
// within a time.
func (p *progress) writtenWithin(patience time.Duration) bool {
	select {
	case <-p.written:
		return true
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.written:
		return true
	case <-timer.C:
		return false
	}
}

// request is what is sent to a server.
type request struct {
	tenant string // whose connections it may use
	method string
	url    string
	body   []byte
}

// reply is a server's answer. Its connection is kept for the tenant's next request
// once all of a clean exchange is read, and closed otherwise. It must be closed.
type reply struct {
	*http.Response
	progress *progress
	conns    *conns
	conn     *conn
	over     bool // nothing but the end is missing
	done     bool // the connection is kept or closed, or will be
}

// Read implements [io.Reader].
func (r *reply) Read(p []byte) (int, error) {
	n, err := r.Body.Read(p)
	if err == io.EOF && !r.done {
		r.done = true
		r.release()
	}
	return n, err
}

// release keeps the connection of an exchange that has ended, or closes it where the
// exchange was not clean.
func (r *reply) release() {
	if r.StatusCode == http.StatusOK && !r.Close && !r.progress.unclean.Load() {
		r.conns.put(r.conn)
		return
	}
	r.conn.discard()
}

// discard closes the connection unless all was read.
func (r *reply) discard() {
	if !r.done {
		r.done = true
		r.conn.discard()
	}
}

// finish is discard where nothing but the end is missing: it waits for that in the
// background, and calls then.
func (r *reply) finish(then func()) {
	if r.done || !r.over {
		r.discard()
		then()
		return
	}
	r.done = true
	r.conns.ending.Go(func() {
		defer then()
		timer := time.AfterFunc(endWait, r.conn.discard)
		n, err := r.Body.Read(make([]byte, 1))
		if timer.Stop() && n == 0 && err == io.EOF {
			r.release()
			return
		}
		r.conn.discard()
	})
}

// roundTrip sends a request over a connection and returns when the header of the
// answer has come. It closes the connection where it returns an error.
func (c *conns) roundTrip(ctx context.Context, cn *conn, r *request) (*reply, *progress, error) {
	p := &progress{written: make(chan struct{})}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, p.trace()), r.method, r.url, bytes.NewReader(r.body))
	if err != nil {
		cn.discard()
		return nil, p, err
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.authorization != "" {
		req.Header.Set("Authorization", c.authorization)
	}
	resp, err := cn.RoundTrip(req)
	if err != nil {
		cn.discard()
		return nil, p, err
	}
	return &reply{Response: resp, progress: p, conns: c, conn: cn}, p, nil
}

// send sends a request, over a connection that the tenant has used before where
// there is one. What goes wrong there may not be about the request: it is sent again
// over a new connection if mayRepeat agrees, which is asked whether the server may
// have read it. No redirect is followed: the key must not go somewhere else.
func (c *conns) send(ctx context.Context, r *request, mayRepeat func(read bool) bool) (*reply, error) {
	if cn := c.take(r.tenant); cn != nil {
		began := time.Now()
		resp, p, err := c.roundTrip(ctx, cn, r)
		switch {
		case err == nil && !perhapsStray(resp.StatusCode):
			return resp, nil
		case err == nil:
			resp.discard()
			mayRepeat(false)
		case p.answered.Load() || ctx.Err() != nil || time.Since(began) > staleWithin || !mayRepeat(true):
			return nil, err
		}
		c.drop(r.tenant) // the others are as old
	}
	cn, err := c.dial(ctx, r.tenant)
	if err != nil {
		return nil, err
	}
	resp, _, err := c.roundTrip(ctx, cn, r)
	return resp, err
}

// perhapsStray reports whether servers answer with a status to what is no request.
// On a used connection it may be about what an earlier exchange has left there.
func perhapsStray(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge,
		http.StatusRequestURITooLong, http.StatusRequestHeaderFieldsTooLarge, http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return true
	}
	return false
}
