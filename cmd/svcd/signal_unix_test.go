//go:build unix

package main

import (
	"errors"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"
)

// TestASecondSignalEndsTheProcess lets a server wait for a turn that never ends: the
// first signal lets it wait, another one does not.
func TestASecondSignalEndsTheProcess(t *testing.T) {
	server := startServer(t, t.TempDir(), "-upstream", endlessModel(t), "-drain", "1h")
	server.begin(t, `{"model":"svc-preview","input":"Hi","stream":true}`)
	ended := make(chan error, 1)
	go func() { ended <- server.process.Wait() }()
	signal := func() {
		t.Helper()
		if err := server.process.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
	}
	signal()
	for status := http.StatusOK; status != http.StatusServiceUnavailable; {
		resp, err := http.Get(server.url + "/readyz")
		if err != nil {
			t.Fatal(err) // the process has ended
		}
		resp.Body.Close()
		status = resp.StatusCode
	}
	for begun := time.Now(); time.Since(begun) < patience; {
		signal() // more than one: the first may still be being taken
		select {
		case <-ended:
			if status := server.process.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGTERM {
				t.Errorf("the process ended with %v", server.process.ProcessState)
			}
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
	server.process.Process.Kill()
	t.Errorf("the process goes on after %v of signals", patience)
}
