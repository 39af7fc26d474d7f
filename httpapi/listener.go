package httpapi

import "net"

// sendBuffer is how many bytes of an answer the kernel takes for a client that does
// not read them. More of it is not made before the client has read: left to itself
// the kernel takes megabytes.
const sendBuffer = 256 << 10

// Listener returns a listener for a server of the handler: its connections hold at
// most 256 KiB that their clients have not taken, so that a model works no further
// ahead of a client that does not read.
func Listener(l net.Listener) net.Listener { return boundedListener{l} }

type boundedListener struct{ net.Listener }

// Accept implements [net.Listener].
func (l boundedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, ok := conn.(interface{ SetWriteBuffer(int) error }); ok && err == nil {
		// The kernel doubles what it is told, for its own records.
		_ = tcp.SetWriteBuffer(sendBuffer / 2) // without it the connection works all the same
	}
	return conn, err
}
