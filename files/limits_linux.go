//go:build linux && !race

package files

import (
	"fmt"
	"os"
	"runtime/debug"
	"syscall"
)

// boundProcess bounds what this process may use.
func boundProcess() error {
	// Where memory runs out it is this process that should go, not the one that
	// started it. A system that does not let it say so has other ways to choose.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
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
