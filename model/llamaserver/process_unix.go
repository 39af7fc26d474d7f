//go:build unix

package llamaserver

import (
	"os/exec"
	"syscall"
)

// apart makes a command one that ends when it is told to and not before.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = ownGroup()
	cmd.Cancel = func() error { return stop(cmd) }
}

// stop asks a command's whole group to end.
func stop(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
