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

// bypassLock tells badger that the directory is locked: it would do so in the
// same way, but only after its files have been looked at.
const bypassLock = true

// dirLock is a directory that is this process's.
type dirLock struct{ f *os.File }

// lock takes the directory. The error is an ErrInUse where somebody has it.
func lock(dir string) (*dirLock, error) {
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
	// For people only: that it cannot be written says nothing.
	os.WriteFile(filepath.Join(dir, lockName), fmt.Appendln(nil, os.Getpid()), 0o600)
	return &dirLock{f}, nil
}

// release gives the directory back.
func (l *dirLock) release() {
	os.Remove(filepath.Join(l.f.Name(), lockName)) // see lock
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
