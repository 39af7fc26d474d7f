//go:build !linux || race

package files

import "runtime/debug"

// boundProcess bounds what this process may use. The heap's limit is in its
// environment. The race detector needs more address space than any bound allows.
func boundProcess() error {
	debug.SetMaxStack(processStack)
	return nil
}
