//go:build !unix

package llamaserver

import "os/exec"

// apart leaves a command as it is: it is killed at the end.
func apart(*exec.Cmd) {}

func stop(cmd *exec.Cmd) error { return cmd.Process.Kill() }
