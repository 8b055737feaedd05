// Package filelock lets one process at a time change a file that several share. It is for tests and for what measures them.
package filelock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrHeld means that another process, or another part of this one, has the lock.
var ErrHeld = errors.New("the lock is held")

// Lock waits for the lock of a file and returns what gives it back. The lock is a file beside it, which stays, with ".lock"
// behind its name; its folder is made. It ends with its process, also when that is killed. Systems without flock(2) give an
// error that is [errors.ErrUnsupported].
func Lock(name string) (unlock func(), err error) { return lock(name, true) }

// Try is [Lock] that gives [ErrHeld] instead of waiting.
func Try(name string) (unlock func(), err error) { return lock(name, false) }

func lock(name string, wait bool) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return nil, fmt.Errorf("filelock: %w", err)
	}
	file, err := os.OpenFile(name+".lock", os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("filelock: %w", err)
	}
	if err := flock(file, wait); err != nil {
		file.Close()
		return nil, fmt.Errorf("filelock: %s: %w", name, err)
	}
	return func() { file.Close() }, nil
}
