//go:build unix

package main

import "syscall"

// privateFiles lets nobody but the owner read what the process creates.
func privateFiles() { syscall.Umask(0o077) }
