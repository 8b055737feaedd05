package storage

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// CopyLinks lets links in one folder be followed, as --copy-links of rclone does: a link stands for the file or folder
// that it leads to, whose objects are called by the link's name. A link that leads nowhere, back to a folder that it lies
// in, or into the target, is left out.
type CopyLinks struct {
	Source string // canonical URL of the folder
	Target string // canonical URL of where results go; a folder of results is no source
}

// links is how a folder follows its links.
type links struct {
	target string // resolved folder that is not entered, empty: none
}

// of gives how the bucket of a URL follows links, nil: not at all.
func (c *CopyLinks) of(url string) *links {
	if c == nil || c.Source != url {
		return nil
	}
	l := &links{}
	if u, err := parse(c.Target); err == nil && u.Scheme == "file" {
		l.target = filepath.FromSlash(u.Path)
		if real, err := filepath.EvalSymlinks(l.target); err == nil {
			l.target = real
		}
	}
	return l
}

// inTarget reports whether a path leads to the target or to what lies in it.
func (l *links) inTarget(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	return err == nil && l.target != "" && (real == l.target || strings.HasPrefix(real, l.target+string(filepath.Separator)))
}

// folder reaches a folder by its path, through links.
func (l *links) folder(root, name string) (*fileDir, error) {
	path := filepath.Join(root, filepath.FromSlash(name))
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, notFolder(path)
	case l.inTarget(path):
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return &fileDir{path: path, real: path}, nil
}

// lstat is os.Lstat, or os.Stat where links are followed.
func (f *fileBucket) lstat(path string) (fs.FileInfo, error) {
	if f.links != nil {
		return os.Stat(path)
	}
	return os.Lstat(path)
}

// openFlags are those with which a file is opened for reading.
func (f *fileBucket) openFlags() int {
	if f.links != nil {
		return openNoFollow &^ noFollow
	}
	return openNoFollow
}

// open opens the directory name of parent for its entries, or that itself where name is empty.
func (w *fileWalk) open(parent *fileDir, name string) (*fileDir, error) {
	if w.f.links == nil {
		return parent.openList(name)
	}
	return w.f.links.folder(parent.path, name)
}

// enter notes the folder in which the walk is now. It reports false where the walk is in it already, by another name.
func (w *fileWalk) enter(dir *fileDir) bool {
	info, err := os.Stat(dir.path)
	if err != nil || slices.ContainsFunc(w.above, func(above fs.FileInfo) bool { return os.SameFile(above, info) }) {
		return false
	}
	w.above = append(w.above, info)
	return true
}

func (w *fileWalk) leave() { w.above = w.above[:len(w.above)-1] }

// followEntries puts what links lead to in their place. A link that leads nowhere stays, and is no object.
func followEntries(dir *fileDir, entries []fs.DirEntry) {
	for i, e := range entries {
		if e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		if info, err := os.Stat(dir.file(e.Name())); err == nil {
			entries[i] = fs.FileInfoToDirEntry(info)
		}
	}
}
