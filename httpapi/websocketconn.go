package httpapi

import (
	"bufio"
	"net"
	"net/http"
	"sync"
	"time"
)

// joining is the connection of a WebSocket. Frames that are written while more
// follow at once go out with the next one, since each write costs the kernel as
// much as an event costs us. A write that the client does not take fails after
// stallTimeout.
type joining struct {
	net.Conn

	mu     sync.Mutex
	more   bool // what is written waits for what follows
	buffer []byte
	sent   time.Time // when something was last written
}

// joiningWriter is a response writer whose connection becomes a joining one.
type joiningWriter struct {
	http.ResponseWriter
	conn *joining // once it was hijacked
}

// Hijack implements [http.Hijacker].
func (w *joiningWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	w.conn = &joining{Conn: conn, sent: time.Now()}
	return w.conn, bufio.NewReadWriter(rw.Reader, bufio.NewWriter(w.conn)), nil
}

// Write implements [net.Conn].
func (j *joining) Write(p []byte) (int, error) {
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

func (j *joining) write(p []byte) (int, error) {
	// A connection that knows no deadlines never waits for its client.
	_ = j.SetWriteDeadline(time.Now().Add(stallTimeout))
	n, err := j.Conn.Write(p)
	j.sent = time.Now()
	return n, err
}

// flush is called with the lock held.
func (j *joining) flush() error {
	_, err := j.write(j.buffer)
	j.buffer = j.buffer[:0]
	return err
}

// join says whether more follows at once behind what is written from now on.
func (j *joining) join(more bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.more = more
}

// quiet reports whether nothing is being written and nothing was for a while.
func (j *joining) quiet(d time.Duration) bool {
	if !j.mu.TryLock() {
		return false
	}
	defer j.mu.Unlock()
	return time.Since(j.sent) >= d
}
