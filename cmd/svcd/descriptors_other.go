//go:build !unix

package main

// descriptors returns how many files and connections the process may have open, 0
// where nobody says.
func descriptors() int { return 0 }
