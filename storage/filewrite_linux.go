package storage

import "golang.org/x/sys/unix"

// renameNew is link(2) for file systems without hard links (FAT, some network and FUSE ones).
func renameNew(temp, path string) error {
	return unix.Renameat2(unix.AT_FDCWD, temp, unix.AT_FDCWD, path, unix.RENAME_NOREPLACE)
}
