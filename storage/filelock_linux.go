package storage

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// shared reports whether a file lies on a file system that other machines may write to as well. Depending on how it is
// mounted, locks there may be seen by one machine only.
func shared(fd int) bool {
	var s unix.Statfs_t
	if err := unix.Fstatfs(fd, &s); err != nil {
		return true
	}
	switch int64(s.Type) {
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC,
		unix.FUSE_SUPER_MAGIC, unix.CEPH_SUPER_MAGIC, unix.V9FS_MAGIC, unix.AFS_SUPER_MAGIC, unix.CODA_SUPER_MAGIC:
		return true
	}
	return false
}

// lockFile locks an open file for as long as the returned descriptor is open. It waits for a sweep that is just
// looking at the file.
func lockFile(file *os.File) *os.File {
	fd := int(file.Fd())
	for {
		err := unix.Flock(fd, unix.LOCK_EX)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			return nil
		}
	}
	second, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(second), file.Name())
}

// tryLock says what the lock of the file tells about its writer. It calls remove, with the lock held, where the writer
// is dead.
func tryLock(path string, remove func()) lockState {
	file, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return lockUnknown
	}
	defer file.Close()
	fd := int(file.Fd())
	if shared(fd) {
		return lockUnknown
	}
	switch err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return lockHeld
	case err != nil:
		return lockUnknown
	}
	remove()
	return lockFree
}
