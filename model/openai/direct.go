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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// oneWrite is the longest body, in bytes, that is written before the answer is
	// waited for: a server that answers without reading it still gets all of it into
	// its socket's buffer. What is longer is written while the answer is read.
	oneWrite = 64 << 10

	// oneBuffer is the longest body, in bytes, that is copied behind its header.
	oneBuffer = 8 << 10

	maxIdle     = 256 // connections: a burst of requests leaves its own to the next one
	idleTimeout = time.Minute

	// maxHeader bounds the header of an answer, in bytes.
	maxHeader = 1 << 20

	// lastRead is how long the end of a stream may take whose last event has come:
	// many servers send it by itself.
	lastRead = 50 * time.Millisecond

	// lastWrite is how long the rest of a request may take whose answer has ended.
	lastWrite = 100 * time.Millisecond

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
	origin  string // what the URLs of requests have before their paths
	header  string // that all requests have

	mu    sync.Mutex
	idle  []*conn     // the one used last is the last
	sweep *time.Timer // closes what is idle for long; nil where nothing is idle

	ending sync.WaitGroup // reads of the ends of streams
}

// newDirect returns nil where a server is not to be spoken to directly: its URL may
// not be one whose host or path is written in another way in requests.
func newDirect(target, authorization string, dialer *net.Dialer) *direct {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "http" || !plainHost.MatchString(u.Host) || !strings.HasSuffix(target, "@"+u.Host+u.EscapedPath()) && !strings.HasSuffix(target, "//"+u.Host+u.EscapedPath()) {
		return nil
	}
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u}); err != nil || proxy != nil {
		return nil
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	d := &direct{
		dialer: dialer, address: net.JoinHostPort(u.Hostname(), port), origin: strings.TrimSuffix(target, u.EscapedPath()),
		header: "Host: " + u.Host + "\r\nUser-Agent: Go-http-client/1.1\r\n",
	}
	if authorization != "" {
		d.header += "Authorization: " + oneLine.Replace(authorization) + "\r\n"
	}
	return d
}

var (
	plainHost = regexp.MustCompile(`^([A-Za-z0-9._-]+|\[[0-9a-fA-F:.]+\])(:[0-9]+)?$`)
	oneLine   = strings.NewReplacer("\r", " ", "\n", " ")
)

// conn is a connection. One goroutine uses it at a time.
type conn struct {
	net.Conn
	r     *bufio.Reader
	left  int       // bytes that may still be read; of the body any number
	read  bool      // something of the answer has come
	since time.Time // when it became idle

	silent func() bool // nothing has come while it was idle

	full  bool    // the last read got all that it asked for: more is probably there
	large *[]byte // where ahead is, of largeBuffers
	ahead []byte  // was read and is not in r yet

	writing chan error // takes the end of a body that is written while the answer is read; nil where none is
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

// send sends a request and returns the answer, once its header has come. A
// connection that was kept and breaks at once was given up by the server in the
// meantime: a new one is taken then. The body must not be changed before the
// answer's is closed.
func (d *direct) send(ctx context.Context, method, target string, body []byte) (*http.Response, error) {
	if c := d.take(); c != nil {
		began := time.Now()
		resp, err := d.ask(ctx, c, method, target, body)
		if err == nil || c.read || ctx.Err() != nil || time.Since(began) > staleWithin {
			return resp, err
		}
		d.CloseIdleConnections() // older ones are no better
	}
	c, err := d.dial(ctx)
	if err != nil {
		return nil, err
	}
	return d.ask(ctx, c, method, target, body)
}

// connBuffer holds a few events of an ordinary stream. It stays small because every
// open stream has one.
const connBuffer = 2 << 10

func (d *direct) dial(ctx context.Context) (*conn, error) {
	nc, err := d.dialer.DialContext(ctx, "tcp", d.address)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: nc, silent: silence(nc)}
	c.r = bufio.NewReaderSize(c, connBuffer)
	return c, nil
}

// requestBuffers are for requests that are being written.
var requestBuffers = sync.Pool{New: func() any { return new([]byte) }}

// ask sends the request and reads the header of the answer. The connection is
// closed or kept with the answer's body.
func (d *direct) ask(ctx context.Context, c *conn, method, target string, body []byte) (*http.Response, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) }) // it may be closed by now
	err := d.write(c, method, target, body)
	var resp *http.Response
	if err == nil {
		resp, err = c.answer()
	}
	if err != nil {
		stop()
		return nil, errors.Join(err, c.giveUp())
	}
	resp.Body = &directAnswer{ReadCloser: resp.Body, direct: d, conn: c, stop: stop, last: resp.Close}
	return resp, nil
}

// write writes a request, or begins to.
func (d *direct) write(c *conn, method, target string, body []byte) error {
	c.left, c.read, c.full = maxHeader, false, false
	b := requestBuffers.Get().(*[]byte)
	defer requestBuffers.Put(b)
	path := strings.TrimPrefix(target, d.origin)
	if path == "" {
		path = "/"
	}
	request := append(append((*b)[:0], method...), ' ')
	request = append(append(request, path...), " HTTP/1.1\r\n"...)
	request = append(request, d.header...)
	if body != nil {
		request = append(request, "Content-Type: application/json\r\nContent-Length: "...)
		request = append(strconv.AppendInt(request, int64(len(body)), 10), "\r\n"...)
	}
	request = append(request, "\r\n"...)
	*b = request
	if len(body) > oneWrite {
		all := net.Buffers{bytes.Clone(request), body}
		c.writing = make(chan error, 1)
		go func() {
			_, err := all.WriteTo(c.Conn)
			c.writing <- err
		}()
		return nil
	}
	if len(body) > oneBuffer {
		all := net.Buffers{request, body}
		_, err := all.WriteTo(c.Conn)
		return err
	}
	*b = append(request, body...)
	_, err := c.Write(*b)
	return err
}

// answer reads the header of the answer.
func (c *conn) answer() (*http.Response, error) {
	for {
		resp, err := http.ReadResponse(c.r, nil)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode >= http.StatusOK { // or else another follows
			c.left = int(^uint(0) >> 1)
			return resp, nil
		}
	}
}

// written reports whether all of the request is written, or is within lastWrite.
func (c *conn) written() bool {
	if c.writing == nil {
		return true
	}
	if c.SetWriteDeadline(time.Now().Add(lastWrite)) != nil {
		return false
	}
	err := <-c.writing
	c.writing = nil
	return err == nil && c.SetWriteDeadline(time.Time{}) == nil
}

// giveUp closes the connection and waits for what writes to it.
func (c *conn) giveUp() error {
	err := c.Close()
	if c.writing != nil {
		<-c.writing
		c.writing = nil
	}
	return err
}

// directAnswer is the body of an answer, which keeps its connection for the next
// request once it is read to its end.
type directAnswer struct {
	io.ReadCloser
	direct *direct
	conn   *conn
	stop   func() bool // of what ends the connection with the request's context
	last   bool        // the server takes no more requests from the connection
	over   bool        // nothing but the end is missing
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
	if !a.done {
		a.done = true
		a.giveBack(a.stop())
	}
}

func (a *directAnswer) giveBack(whole bool) {
	if !whole || a.last || a.conn.buffered() > 0 || !a.conn.written() {
		_ = a.conn.giveUp() // nothing is lost with it
		return
	}
	a.direct.keep(a.conn)
}

// Close gives up the connection, unless the body was read to its end, or its end
// comes soon, which nobody waits for.
func (a *directAnswer) Close() error {
	if a.done {
		return nil
	}
	a.done = true
	if !a.stop() || !a.over || a.conn.SetReadDeadline(time.Now().Add(lastRead)) != nil {
		return a.conn.giveUp()
	}
	a.direct.ending.Go(func() {
		n, err := a.ReadCloser.Read(make([]byte, 1))
		ended := n == 0 && err == io.EOF && a.conn.SetReadDeadline(time.Time{}) == nil
		a.giveBack(ended)
	})
	return nil
}

// take returns the connection that was used last, or nil. One that the server has
// ended is of no use any more, and one that it has sent something on without being
// asked would have every later answer taken for that of another request.
func (d *direct) take() *conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	for n := len(d.idle); n > 0; n-- {
		c := d.idle[n-1]
		d.idle = slices.Delete(d.idle, n-1, n)
		if c.silent() {
			return c
		}
		c.Close() // nothing is lost with it
	}
	return nil
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

// wait returns when no stream is read to its end any more, which takes lastRead at
// the most.
func (d *direct) wait() { d.ending.Wait() }

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
