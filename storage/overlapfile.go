package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// place is where a path leads: the deepest folder on it that exists, with all folders above it, and the elements that
// do not exist yet.
type place struct {
	path    string        // of the deepest folder that exists, without links
	folders []fs.FileInfo // that one, then its parents up to the root
	missing []string      // elements below it
}

// locate follows a path, which is absolute and clean.
func locate(path string) (place, error) {
	var p place
	for {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			p.path = real
			break
		}
		parent := filepath.Dir(path)
		if parent == path || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return p, fmt.Errorf("storage: folder %s: %w", path, err)
		}
		p.missing = append([]string{filepath.Base(path)}, p.missing...)
		path = parent
	}
	for dir := p.path; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return p, fmt.Errorf("storage: folder %s: %w", path, err)
		}
		p.folders = append(p.folders, info)
		if dir == filepath.Dir(dir) {
			return p, nil
		}
	}
}

// ways gives p, and p as it is reached through other mounts of its file system, of which bind mounts are the usual
// ones: their parents are other folders.
func (p place) ways() []place {
	all := []place{p}
	for _, path := range mountedAt(p.path) {
		other, err := locate(path)
		if err == nil && len(other.missing) == 0 && other.path != p.path && os.SameFile(other.folders[0], p.folders[0]) {
			other.missing = p.missing
			all = append(all, other)
		}
	}
	return all
}

// within gives the elements that lead from outer to p, and the way to p that they belong to; ok is false where p is
// neither outer nor below it.
func (p place) within(outer place) (elements []string, way place, ok bool) {
	for _, way := range p.ways() {
		if elements, ok := way.below(outer); ok {
			return elements, way, true
		}
	}
	return nil, p, false
}

// below is within for one way.
func (p place) below(outer place) (elements []string, ok bool) {
	if len(outer.missing) > 0 {
		n := len(outer.missing)
		if !os.SameFile(p.folders[0], outer.folders[0]) || len(p.missing) < n {
			return nil, false
		}
		for i, element := range outer.missing {
			if p.missing[i] != element {
				return nil, false
			}
		}
		return p.missing[n:], true
	}
	dir := p.path
	for _, folder := range p.folders {
		if os.SameFile(folder, outer.folders[0]) {
			return append(elements, p.missing...), true
		}
		elements = append([]string{filepath.Base(dir)}, elements...)
		dir = filepath.Dir(dir)
	}
	return nil, false
}

// prefix is the key prefix of the folder that elements lead to from outer: in the spelling of the folders' own
// listings, which on file systems that ignore case may be another than that of the path.
func (p place) prefix(elements []string) (string, error) {
	var key strings.Builder
	existing := len(elements) - len(p.missing) // of elements; below 0 where outer is missing too
	for i := range existing {
		dir := p.path
		for range existing - i {
			dir = filepath.Dir(dir)
		}
		name, err := listedName(dir, elements[i])
		if err != nil {
			return "", err
		}
		key.WriteString(KeyOfName(name) + "/")
	}
	for _, name := range elements[max(existing, 0):] {
		key.WriteString(KeyOfName(name) + "/")
	}
	return key.String(), nil
}

// listedName is how a folder lists what it has under name.
func listedName(dir, name string) (string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return "", fmt.Errorf("storage: folder %s: %w", dir, err)
	}
	defer d.Close()
	want, err := os.Lstat(filepath.Join(dir, name))
	if err != nil {
		return "", fmt.Errorf("storage: folder %s: %w", dir, err)
	}
	same := ""
	for {
		names, err := d.Readdirnames(1024)
		for _, n := range names {
			if n == name {
				return name, nil
			}
			if strings.EqualFold(n, name) {
				if info, err := os.Lstat(filepath.Join(dir, n)); err == nil && os.SameFile(info, want) {
					same = n
				}
			}
		}
		switch {
		case errors.Is(err, io.EOF) && same != "":
			return same, nil
		case errors.Is(err, io.EOF):
			return name, nil
		case err != nil:
			return "", fmt.Errorf("storage: folder %s: %w", dir, err)
		}
	}
}

// compareFolders is Compare for folders.
func compareFolders(source, target string) (Overlap, error) {
	s, err := locate(source)
	if err != nil {
		return Overlap{}, err
	}
	t, err := locate(target)
	if err != nil {
		return Overlap{}, err
	}
	if elements, way, ok := t.within(s); ok {
		if len(elements) == 0 {
			return Overlap{Relation: Same}, nil
		}
		prefix, err := way.prefix(elements)
		return Overlap{Relation: TargetInside, Prefix: prefix}, err
	}
	if elements, way, ok := s.within(t); ok {
		prefix, err := way.prefix(elements)
		return Overlap{Relation: SourceInside, Prefix: prefix}, err
	}
	return Overlap{}, nil
}

// fileInSource is InSource for folders.
func fileInSource(source, target *Bucket, key string) (string, bool, error) {
	file, err := (&fileBucket{dir: target.dir}).path(key)
	if err != nil {
		return "", false, err
	}
	s, err := locate(source.dir)
	if err != nil {
		return "", false, err
	}
	folder, err := locate(filepath.Dir(file))
	if err != nil {
		return "", false, err
	}
	elements, _, ok := folder.within(s)
	if !ok {
		return "", false, nil
	}
	var sourceKey strings.Builder
	for _, name := range elements {
		sourceKey.WriteString(KeyOfName(name) + "/")
	}
	return sourceKey.String() + KeyOfName(filepath.Base(file)), true, nil
}
