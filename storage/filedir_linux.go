package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// openNoFollow opens a file that is no link, and does not wait for a writer should it be a pipe by now.
const openNoFollow = os.O_RDONLY | noFollow | unix.O_NONBLOCK

// noFollow refuses a link at the end of a path.
const noFollow = unix.O_NOFOLLOW

// handles is the folder whose entries are this process's open files.
const handles = "/proc/self/fd/"

var haveHandles = sync.OnceValue(func() bool {
	_, err := os.Stat(handles)
	return err == nil
})

// openFolder reaches a folder below root without following a link.
func openFolder(root, name string) (*fileDir, error) {
	if !haveHandles() {
		return checkFolder(root, name)
	}
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
	fd, err := unix.Open(root, flags, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: root, Err: err}
	}
	real := filepath.Join(root, filepath.FromSlash(name))
	if name != "" {
		below, err := unix.Openat2(fd, name, &unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
		if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EAGAIN) {
			below, err = openElements(fd, name, flags)
		}
		unix.Close(fd)
		switch {
		case errors.Is(err, unix.ELOOP):
			return nil, linkError(real)
		case err != nil:
			return nil, &fs.PathError{Op: "open", Path: real, Err: err}
		}
		fd = below
	}
	d := &fileDir{path: handles + strconv.Itoa(fd), real: real}
	d.handle = os.NewFile(uintptr(fd), d.path)
	return d, nil
}

// openElements is openat2(2) for kernels before 5.6 and sandboxes that forbid it: one element after the other.
func openElements(fd int, name string, flags int) (int, error) {
	at := fd
	for part := range strings.SplitSeq(name, "/") {
		next, err := unix.Openat(at, part, flags|unix.O_NOFOLLOW, 0)
		if errors.Is(err, unix.ENOTDIR) {
			var st unix.Stat_t
			if unix.Fstatat(at, part, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
				err = unix.ELOOP
			}
		}
		if at != fd {
			unix.Close(at)
		}
		if err != nil {
			return -1, err
		}
		at = next
	}
	return at, nil
}

// openList opens a folder of d for reading its entries, the folder itself where name is "".
func (d *fileDir) openList(name string) (*fileDir, error) {
	if d.handle == nil {
		return d.openListByPath(name)
	}
	at, real := ".", d.real
	if name != "" {
		at, real = name, filepath.Join(d.real, name)
	}
	fd, err := unix.Openat(int(d.handle.Fd()), at, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: real, Err: err}
	}
	path := fmt.Sprint(handles, fd)
	return &fileDir{path: path, real: real, handle: os.NewFile(uintptr(fd), path)}, nil
}

func notFolder(path string) error { return &fs.PathError{Op: "open", Path: path, Err: unix.ENOTDIR} }
