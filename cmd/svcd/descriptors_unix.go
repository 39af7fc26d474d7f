//go:build unix

package main

import "syscall"

// descriptors returns how many files and connections the process may have open, 0
// where nobody says. The Go runtime has raised the limit as far as it may.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int(min(uint64(limit.Cur), 1<<30)) // infinity is the largest number there is
}
