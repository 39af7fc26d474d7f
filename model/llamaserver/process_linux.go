package llamaserver

import "syscall"

// ownGroup is a group of processes of its own, so that an interrupt from the
// terminal does not end the server while the program lets requests end. Where the
// program is killed, the system ends the server.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
