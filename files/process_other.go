//go:build !unix

package files

import "os/exec"

// ownGroup does nothing: the process alone is killed.
func ownGroup(*exec.Cmd) {}

// killed reports whether a process was killed from outside, which cannot be told.
func killed(*exec.ExitError) bool { return false }
