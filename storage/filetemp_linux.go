package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// openUnnamed opens a new file on the file system of dir that has no name until link gives it one, and that is gone with its
// writer if it never gets one. Many writers at once then need the lock of one folder once for each file, where a temporary name
// takes it twice more. The file is nil where the system or the file system has no such files; a folder that does not exist is
// an error.
func openUnnamed(dir string) (*tempFile, error) {
	if !haveHandles() {
		return nil, nil
	}
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o666)
	switch {
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EISDIR), errors.Is(err, unix.EINVAL):
		return nil, nil
	case err != nil:
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	file := os.NewFile(uintptr(fd), filepath.Join(dir, tempName+"unnamed"))
	second, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		file.Close()
		return nil, &fs.PathError{Op: "dup", Path: file.Name(), Err: err}
	}
	path := handles + strconv.Itoa(second)
	return &tempFile{File: file, lock: os.NewFile(uintptr(second), file.Name()), unnamed: path}, nil
}

// link gives a file that has no name one that nobody has. Where the file system cannot or a policy of the system
// does not let files without a name be linked, it says EXDEV, as for a name on another file system.
func (t *tempFile) link(path string) error {
	err := unix.Linkat(unix.AT_FDCWD, t.unnamed, unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
	switch {
	case err == nil:
		t.linked = true
		return nil
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES), errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOENT):
		return fmt.Errorf("%w: %w", syscall.EXDEV, err)
	}
	return &os.LinkError{Op: "link", Old: t.Name(), New: path, Err: err}
}
