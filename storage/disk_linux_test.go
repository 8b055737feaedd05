package storage

import (
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// setFSUser makes the file operations of this thread those of another user.
func setFSUser(uid int) error { return syscall.Setfsuid(uid) }

// smallDisk mounts a file system of 1 MB, for which it needs root's rights.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		reason := "mounting a small file system needs root: " + err.Error()
		if os.Getenv("PELMILL_TEST") == "require" && os.Getuid() == 0 && err != unix.EPERM {
			t.Fatal("PELMILL_TEST=require: " + reason)
		}
		t.Skip("NOT TESTED: " + reason)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}
