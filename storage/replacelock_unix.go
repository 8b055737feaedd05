//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package storage

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockWhole waits for flock(2) on a file. Linux makes it a lock of the server on NFS.
func lockWhole(file *os.File) error {
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
