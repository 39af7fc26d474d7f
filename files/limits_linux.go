//go:build linux && !race

package files

import (
	"fmt"
	"runtime/debug"
	"syscall"
)

// boundProcess bounds what this process may use.
func boundProcess() error {
	debug.SetMaxStack(processStack)
	for resource, limit := range map[int]uint64{
		syscall.RLIMIT_AS:    processMemory,
		syscall.RLIMIT_CPU:   processCPU,
		syscall.RLIMIT_FSIZE: 0, // it writes no files
		syscall.RLIMIT_CORE:  0,
	} {
		var now syscall.Rlimit
		err := syscall.Getrlimit(resource, &now)
		if err == nil {
			limit = min(limit, now.Max)
			err = syscall.Setrlimit(resource, &syscall.Rlimit{Cur: limit, Max: limit})
		}
		if err != nil {
			return fmt.Errorf("limiting resource %d: %w", resource, err)
		}
	}
	return nil
}
