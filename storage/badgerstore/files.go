package badgerstore

import (
	"crypto/aes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The files that badger makes in a directory.
const (
	memExtension   = ".mem"  // what its tables do not have yet
	valueExtension = ".vlog" // large values
	tableExtension = ".sst"
	manifestFile   = "MANIFEST" // which tables there are
	registryFile   = "KEYREGISTRY"
)

// files returns the largest and the smallest number of the files with an
// extension, 0 and 0 where there are none.
func files(dir, extension string) (largest, smallest int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, 0, err
	}
	for _, e := range entries {
		n, ok := number(e.Name(), extension)
		if !ok {
			continue
		}
		if smallest == 0 || n < smallest {
			smallest = n
		}
		largest = max(largest, n)
	}
	return largest, smallest, nil
}

// memories returns the largest and the smallest number of the files that mirror what
// badger has in memory. It writes their tables in order, so that one with a gap behind
// it is a file that it was done with and could not remove.
func memories(dir string) (largest, smallest int, err error) {
	if largest, _, err = files(dir, memExtension); err != nil {
		return 0, 0, err
	}
	for smallest = largest; smallest > 1 && exists(dir, memName(smallest-1)); {
		smallest--
	}
	return largest, smallest, nil
}

// number returns the number that a file is named with.
func number(name, extension string) (int, bool) {
	digits, ok := strings.CutSuffix(name, extension)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil
}

// syncFiles makes the files with an extension durable, from a number on. It
// returns the number of the last one.
func syncFiles(dir, extension string, from int) (int, error) {
	last, _, err := files(dir, extension)
	if err != nil {
		return 0, err
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"+extension))
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if n, ok := number(filepath.Base(name), extension); !ok || n < from {
			continue
		}
		if err := syncPath(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
	}
	return last, nil
}

// syncPath makes a file or a directory durable.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if synced != nil {
		synced(path)
	}
	return nil
}

// synced is told by tests that lose power what is durable.
var synced func(path string)

func syncDirectory(dir string) error { return syncPath(dir) }

// clean removes what badger could not open: files that it was killed over when it
// made or deleted them, which are empty. With a log it removes all files of its
// memory, too: the log has what is in them, and more surely.
func clean(dir string, logged bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		_, mem := number(e.Name(), memExtension)
		_, value := number(e.Name(), valueExtension)
		if !mem && !value {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if info.Size() == 0 || mem && logged {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// registryText is how the registry of keys ends that badger encrypts nothing with: it
// has nothing else but random bytes in front.
const registryText = "Hello Badger"

// cleanRegistry removes a registry of keys that badger would not open the store with.
// It makes a new one, and nothing is encrypted.
func cleanRegistry(dir string) error {
	path := filepath.Join(dir, registryFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || len(data) == aes.BlockSize+len(registryText) && strings.HasSuffix(string(data), registryText) {
		return err
	}
	return os.Remove(path)
}

// private makes all files of the store readable by their owner alone.
func private(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if !ours(e.Name()) || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 == 0 {
			continue
		}
		if err := os.Chmod(filepath.Join(dir, e.Name()), 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// ours reports whether a file's name is one that badger or this package uses.
func ours(name string) bool {
	switch filepath.Ext(name) {
	case memExtension, valueExtension, tableExtension, ".log":
		return true
	}
	switch name {
	case manifestFile, registryFile, discardFile, lockName:
		return true
	}
	return false
}

// holdsData returns the name of a file that has data of badger's.
func holdsData(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case memExtension, valueExtension, tableExtension:
			return e.Name(), nil
		}
	}
	return "", nil
}

// missing is the error of a file that a store must have.
func missing(dir, what, has string) error {
	return fmt.Errorf("badgerstore: %s is damaged: %s is missing, but there is %s", dir, what, has)
}
