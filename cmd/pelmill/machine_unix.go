//go:build linux || darwin

package main

import (
	"errors"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// freeSpace is what a user may still write to the file system of dir, which
// need not exist yet.
func freeSpace(dir string) (int64, error) {
	for {
		var s unix.Statfs_t
		err := unix.Statfs(dir, &s)
		if err == nil {
			return int64(s.Bavail) * int64(s.Bsize), nil
		}
		up := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) || up == dir {
			return 0, err
		}
		dir = up
	}
}

// openFilesLimit is how many files and connections this process may have open.
func openFilesLimit() (uint64, error) {
	var r unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r)
	return r.Cur, err
}
