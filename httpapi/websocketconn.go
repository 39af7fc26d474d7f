package httpapi

import (
	"bufio"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/seed-506d8e5d/svc/internal/admission"
)

// coalescer is the connection of a WebSocket. Frames that are written while more
// follow at once go out with the next one, since each write costs the kernel as
// much as an event costs us. A write that the client does not take fails after
// stallTimeout.
type coalescer struct {
	net.Conn
	guard frameGuard // of what is read
	out   streamWriter

	mu     sync.Mutex
	more   bool // what is written waits for what follows
	buffer []byte
	sent   time.Time // when something was last written
}

// coalescingWriter is a response writer whose connection becomes a coalescer.
type coalescingWriter struct {
	http.ResponseWriter
	ticket *admission.Ticket
	conn   *coalescer // once it was hijacked
}

// Hijack implements [http.Hijacker].
func (w *coalescingWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	w.conn = &coalescer{Conn: conn, out: streamWriter{ticket: w.ticket, setDeadline: conn.SetWriteDeadline}, sent: time.Now()}
	buffered, _ := rw.Reader.Peek(rw.Reader.Buffered()) // what is buffered can be read
	w.conn.guard.follow(buffered)
	return w.conn, bufio.NewReadWriter(rw.Reader, bufio.NewWriter(w.conn)), nil
}

// Read implements [net.Conn].
func (j *coalescer) Read(p []byte) (int, error) {
	if j.guard.err != nil {
		return 0, j.guard.err
	}
	n, err := j.Conn.Read(p)
	if j.guard.follow(p[:n]); j.guard.err != nil {
		return 0, j.guard.err
	}
	return n, err
}

// errFrameTooLarge is the error of reading a frame that announces more than a
// message may have.
var errFrameTooLarge = errors.New("the frame announces more than a message may have")

// frameGuard follows the frames that a client of a WebSocket sends. A frame that
// announces more than MaxBody bytes is an error as soon as its header has come; the
// library would first read MaxBody bytes of it.
type frameGuard struct {
	header  [10]byte // of the frame that begins
	have    int      // bytes of header
	payload int64    // bytes of the frame that are still to come
	err     error
}

// follow looks at the next bytes that have come.
func (g *frameGuard) follow(b []byte) {
	for len(b) > 0 && g.err == nil {
		if g.payload > 0 {
			n := min(g.payload, int64(len(b)))
			g.payload -= n
			b = b[n:]
			continue
		}
		g.header[g.have] = b[0]
		g.have++
		b = b[1:]
		length, whole := g.length()
		if !whole {
			continue
		}
		if length > MaxBody {
			g.err = errFrameTooLarge
			return
		}
		const mask = 4 // bytes before the payload, which every frame of a client has
		g.payload, g.have = int64(length)+mask, 0
	}
}

// length returns the length of the frame's payload once its header is there, apart
// from the mask.
func (g *frameGuard) length() (length uint64, whole bool) {
	switch length = uint64(g.header[1] & 0x7f); {
	case g.have < 2:
		return 0, false
	case length == 126:
		return uint64(binary.BigEndian.Uint16(g.header[2:])), g.have == 4
	case length == 127:
		return binary.BigEndian.Uint64(g.header[2:]), g.have == 10
	}
	return length, true
}

// Write implements [net.Conn].
func (j *coalescer) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.more || len(j.buffer) > 0 {
		j.buffer = append(j.buffer, p...)
		if j.more {
			return len(p), nil
		}
		return len(p), j.flush()
	}
	return j.write(p)
}

func (j *coalescer) write(p []byte) (int, error) {
	// A connection that knows no deadlines never waits for its client.
	_ = j.SetWriteDeadline(time.Now().Add(stallTimeout))
	n := 0
	err := j.out.write(func() (err error) {
		n, err = j.Conn.Write(p)
		return err
	})
	j.sent = time.Now()
	return n, err
}

// flush is called with the lock held.
func (j *coalescer) flush() error {
	_, err := j.write(j.buffer)
	j.buffer = j.buffer[:0]
	return err
}

// join says whether more follows at once behind what is written from now on.
func (j *coalescer) join(more bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.more = more
}

// quiet reports whether nothing is being written and nothing was for a while.
func (j *coalescer) quiet(d time.Duration) bool {
	if !j.mu.TryLock() {
		return false
	}
	defer j.mu.Unlock()
	return time.Since(j.sent) >= d
}
