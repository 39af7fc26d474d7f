//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package badgerstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// lockName is the file that says who has the directory.
const lockName = "LOCK"

// dirLock is a directory that is this process's.
type dirLock struct {
	f     *os.File
	named bool // the file lockName is there
}

// lock takes the directory, and says in the file lockName that this process has it if
// the directory may be changed. The error is an ErrInUse where another process has it.
func lock(dir string, change bool) (*dirLock, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("badgerstore: %s is %w%s", dir, ErrInUse, holder(dir))
		}
		return nil, fmt.Errorf("badgerstore: lock %s: %w", dir, err)
	}
	if change { // for people only: that it cannot be written says nothing
		os.WriteFile(filepath.Join(dir, lockName), fmt.Appendln(nil, os.Getpid()), 0o600)
	}
	return &dirLock{f, change}, nil
}

// release gives the directory back.
func (l *dirLock) release() {
	if l.named {
		os.Remove(filepath.Join(l.f.Name(), lockName)) // see lock
	}
	l.f.Close()
}

// holder returns who holds the directory, in parentheses, or nothing where that
// is unknown.
func holder(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, lockName))
	pid := strings.TrimSpace(string(text))
	if err != nil || pid == "" {
		return ""
	}
	return " (pid " + pid + ")"
}
