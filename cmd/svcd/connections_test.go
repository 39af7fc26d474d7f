package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestBoundedListener(t *testing.T) {
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := bound(plain, 2)
	accepted := make(chan net.Conn)
	ended := make(chan error, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				ended <- err
				return
			}
			accepted <- c
		}
	}()
	for range 4 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	first, second := <-accepted, <-accepted
	if _, ok := first.(interface{ CloseWrite() error }); !ok {
		t.Error("the server cannot end one side of a bounded connection")
	}
	select {
	case <-accepted:
		t.Error("a third connection was accepted")
	case <-time.After(50 * time.Millisecond):
	}
	first.Close()
	first.Close() // gives one place back
	third := <-accepted
	select {
	case <-accepted:
		t.Error("a fourth connection was accepted")
	case <-time.After(50 * time.Millisecond):
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error("a listener could not be closed:", err)
	}
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Error("a closed listener accepts with", err)
	}
	second.Close()
	third.Close()
}

// A flood of connections leaves the store and the callers that are there what they
// need.
func TestConnectionsLeaveDescriptors(t *testing.T) {
	const limit = 256
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell sets the limit of descriptors here")
	}
	arguments := append([]string{"-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, limit)}, os.Args[0])
	server := startCommand(t, exec.Command(shell, append(arguments, serverFlags(t.TempDir())...)...))
	defer server.kill()
	server.get(t, "/v1/models") // whose connection is kept
	for range 2 * limit {
		c, err := net.Dial("tcp", strings.TrimPrefix(server.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	if res, err := server.do(t.Context(), http.MethodPost, "/v1/responses", strings.NewReader(`{"model":"svc-preview","input":"Hi"}`)); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("a turn beside the flood: %v, %v", res, err)
	}
	if said := server.said.String(); strings.Contains(said, "too many open files") {
		t.Error("the flood took all descriptors:", said)
	}
}
