//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package queue

import (
	"errors"
	"os"
	"syscall"
)

// errLocked means that another open file has the lock.
var errLocked = errors.New("file is locked")

// lockFile takes the lock on a file without waiting; shared, it only collides with those that are not. It ends with
// the file, also when its process is killed.
func lockFile(f *os.File, shared bool) error {
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errLocked
	}
	return err
}
