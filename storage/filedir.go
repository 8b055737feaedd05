package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// errLink is for folders below the root that are links: they are not followed, as whoever may write to a source or a
// target could lead reads and writes to anywhere.
var errLink = errors.New("is a link, which is not followed")

// fileDir is a folder below a bucket's root that was reached without following a link; the root, which the user named,
// may be one. Where the system can, the folder is held open, and paths of its files lead through the handle: what is put
// in the place of a folder meanwhile does not matter.
type fileDir struct {
	path   string   // to join names to
	real   string   // for people
	handle *os.File // nil where path is the real one
}

// file is the path of a file of the folder.
func (d *fileDir) file(name string) string { return d.path + string(filepath.Separator) + name }

// close ends the handle; paths are of no use then.
func (d *fileDir) close() {
	if d.handle != nil {
		d.handle.Close()
	}
}

// named gives an error of a call with a path in the folder the real path.
func (d *fileDir) named(err error) error {
	if err == nil || d.handle == nil {
		return err
	}
	fix := func(p string) string {
		if rest, ok := strings.CutPrefix(p, d.path); ok {
			return d.real + rest
		}
		return p
	}
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		p.Path = fix(p.Path)
	case errors.As(err, &l):
		l.Old, l.New = fix(l.Old), fix(l.New)
	}
	return err
}

// folderOf reaches the folder of the file that holds key, and gives the file's name in it. With create it makes folders
// that do not exist. The caller closes the folder.
func (f *fileBucket) folderOf(key string, create bool) (*fileDir, string, error) {
	name, err := f.name(key)
	if err != nil {
		return nil, "", err
	}
	dir, base := path.Split(name)
	d, err := f.folder(strings.TrimSuffix(dir, "/"), create)
	return d, base, err
}

// folder reaches a folder by its path below the root, "" for the root itself.
func (f *fileBucket) folder(name string, create bool) (*fileDir, error) {
	if f.links != nil {
		return f.links.folder(f.dir, name)
	}
	d, err := openFolder(f.dir, name)
	if !create || !errors.Is(err, fs.ErrNotExist) {
		return d, err
	}
	if name == "" {
		if err := makeDirs(f.dir); err != nil {
			return nil, err
		}
		return openFolder(f.dir, "")
	}
	above, base := path.Split(name)
	parent, err := f.folder(strings.TrimSuffix(above, "/"), true)
	if err != nil {
		return nil, err
	}
	defer parent.close()
	if err := os.Mkdir(parent.file(base), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, parent.named(err)
	}
	if err := parent.sync(); err != nil {
		return nil, err
	}
	return openFolder(f.dir, name)
}

// checkFolder looks at the elements of a path one by one. It is for systems that have no handles to go by.
func checkFolder(root, name string) (*fileDir, error) {
	if _, err := os.Stat(root); err != nil {
		return nil, err
	}
	at := root
	for part := range strings.SplitSeq(name, "/") {
		if part == "" {
			continue // the root itself
		}
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		switch {
		case err != nil:
			return nil, err
		case info.Mode()&fs.ModeSymlink != 0:
			return nil, linkError(at)
		case !info.IsDir():
			return nil, notFolder(at)
		}
	}
	return &fileDir{path: at, real: at}, nil
}

func linkError(dir string) error { return fmt.Errorf("folder %s %w", dir, errLink) }

// openListByPath is openList without handles.
func (d *fileDir) openListByPath(name string) (*fileDir, error) {
	path := filepath.Join(d.path, name)
	if info, err := os.Lstat(path); name != "" && err == nil && !info.IsDir() {
		return nil, notFolder(path)
	}
	return &fileDir{path: path, real: path}, nil
}

// list reads the entries of a folder that openList opened.
func (d *fileDir) list() ([]fs.DirEntry, error) {
	if d.handle == nil {
		return os.ReadDir(d.path)
	}
	return d.handle.ReadDir(-1)
}
