package services

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent makes the kernel kill a server whose test process was killed.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// reserve takes a port from all tests of this user and machine until release is called or the process ends: a lock on
// the byte with that number of a file.
func reserve(port int) (release func(), ok bool, err error) {
	name := filepath.Join(os.TempDir(), fmt.Sprintf("pelmill-test-ports-%d", os.Getuid()))
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, false, err
	}
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: int64(port), Len: 1}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock); err != nil {
		f.Close()
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
			err = nil
		}
		return nil, false, err
	}
	return func() { f.Close() }, true, nil
}
