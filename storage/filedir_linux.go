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
	"time"

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

// id tells which folder it is, where a handle holds it.
func (d *fileDir) id() (folderID, bool) {
	var st unix.Stat_t
	if d.handle == nil || unix.Fstat(int(d.handle.Fd()), &st) != nil {
		return folderID{}, false
	}
	return folderID{uint64(st.Dev), st.Ino}, true
}

// openSync opens a folder with a handle for a sync, which the handle itself does not allow.
func (d *fileDir) openSync() (openedFolder, error) {
	fd, err := unix.Openat(int(d.handle.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: d.real, Err: err}
	}
	return os.NewFile(uintptr(fd), d.real), nil
}

func notFolder(path string) error { return &fs.PathError{Op: "open", Path: path, Err: unix.ENOTDIR} }

// entryInfo is what lstat(2) tells of an entry.
type entryInfo struct {
	name string
	mode fs.FileMode
	stat unix.Stat_t
}

func (i *entryInfo) Name() string       { return i.name }
func (i *entryInfo) Size() int64        { return i.stat.Size }
func (i *entryInfo) Mode() fs.FileMode  { return i.mode }
func (i *entryInfo) ModTime() time.Time { return time.Unix(i.stat.Mtim.Unix()) }
func (i *entryInfo) IsDir() bool        { return i.mode.IsDir() }
func (i *entryInfo) Sys() any           { return &i.stat }

// info gives the facts of a file among the entries of d, by the handle: the way through /proc takes a quarter longer for
// a whole listing. What is no regular file any more is not there.
func (d *fileDir) info(e fs.DirEntry) (fs.FileInfo, error) {
	if d.handle == nil {
		return e.Info()
	}
	i := &entryInfo{name: e.Name()}
	err := unix.Fstatat(int(d.handle.Fd()), i.name, &i.stat, unix.AT_SYMLINK_NOFOLLOW)
	if err == nil && i.stat.Mode&unix.S_IFMT != unix.S_IFREG {
		err = unix.ENOENT
	}
	if err != nil {
		return nil, &fs.PathError{Op: "lstat", Path: d.file(i.name), Err: err}
	}
	i.mode = fs.FileMode(i.stat.Mode & 0o777)
	return i, nil
}
