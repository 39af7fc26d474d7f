//go:build unix && !linux

package llamaserver

import "syscall"

// ownGroup is a group of processes of its own, so that an interrupt from the
// terminal does not end the server while the program lets requests end.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
