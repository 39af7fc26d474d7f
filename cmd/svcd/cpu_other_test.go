//go:build !unix

package main

import (
	"testing"
	"time"
)

// cpuTime skips a benchmark of what is not known here.
func cpuTime(b *testing.B) time.Duration {
	b.Skip("the time that the process has used is not known on this system")
	return 0
}
