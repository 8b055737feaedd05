package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"

	"gocloud.dev/blob/driver"
)

// errStop ends a walk early; it is no failure.
var errStop = errors.New("stop")

// fileWalk is one pass over a folder in the byte order of full keys. One directory's entries are in memory at a time
// per level of depth.
type fileWalk struct {
	ctx       context.Context
	f         *fileBucket
	prefix    string        // only keys that start so
	after     string        // only keys greater than this
	skipOwn   bool          // leave out .pelmill/
	delimited bool          // do not descend: yield a folder below prefix as itself
	skipped   int64         // links that were not followed
	above     []fs.FileInfo // where links are followed: the folders in which the walk is, the outermost first
	// yield gets a file's key and facts, or with delimited a folder's key and nil.
	yield func(key string, info fs.FileInfo) error
}

// run walks. A root that does not exist is an error, as is any folder that cannot be read.
func (w *fileWalk) run() error {
	name, base := "", ""
	if i := strings.LastIndexByte(w.prefix, '/'); i >= 0 {
		base = w.prefix[:i+1]
		var err error
		if name, err = w.f.name(strings.TrimSuffix(base, "/")); err != nil {
			return err
		}
	}
	dir, err := w.f.folder(name, false)
	if err != nil && name != "" {
		_, rootErr := os.Stat(w.f.dir)
		return rootErr // no such folder: no keys
	}
	if err != nil {
		return fmt.Errorf("cannot list folder %s: %w", w.f.dir, err)
	}
	defer dir.close()
	return w.folder(dir, "", base, true)
}

// folder walks the directory name of parent, or that itself where name is empty. Its keys start with base, which is empty
// or ends in "/".
func (w *fileWalk) folder(parent *fileDir, name, base string, top bool) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	dir, err := w.open(parent, name)
	if !top && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)) {
		return nil // removed meanwhile, or replaced by a file or a link
	}
	if err != nil {
		return fmt.Errorf("cannot list folder %s: %w", filepath.Join(parent.real, name), err)
	}
	defer dir.close()
	if w.f.links != nil {
		if !w.enter(dir) {
			return nil
		}
		defer w.leave()
	}
	entries, err := dir.list()
	if errors.Is(err, fs.ErrNotExist) && !top {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot list folder %s: %w", dir.real, dir.named(err))
	}
	if w.f.links != nil {
		followEntries(dir, entries)
	}
	parts := make([]struct {
		key   string // below base, folders with "/"
		entry fs.DirEntry
	}, 0, len(entries))
	parts = parts[:len(entries)]
	sorted := true
	for i, e := range entries {
		parts[i].key, parts[i].entry = KeyOfName(e.Name()), e
		if e.IsDir() {
			parts[i].key += "/"
		}
		sorted = sorted && (i == 0 || parts[i-1].key < parts[i].key)
	}
	if !sorted {
		sort.Slice(parts, func(i, j int) bool { return parts[i].key < parts[j].key })
	}
	for i := range parts {
		key := base + parts[i].key
		e := parts[i].entry
		if !strings.HasPrefix(key, w.prefix) && !strings.HasPrefix(w.prefix, key) {
			continue
		}
		switch {
		case e.IsDir():
			if key <= w.after && !strings.HasPrefix(w.after, key) || key == tempDir || w.skipOwn && key == ownDir {
				continue
			}
			if w.delimited {
				if key == w.after {
					continue
				}
				err = w.yield(key, nil)
			} else {
				err = w.folder(dir, e.Name(), key, false)
			}
		case e.Type()&fs.ModeSymlink != 0:
			if key > w.after {
				w.skipped++
			}
			continue
		case !e.Type().IsRegular() || key <= w.after || strings.HasPrefix(e.Name(), tempName):
			continue
		default:
			if i%1024 == 1023 && w.ctx.Err() != nil {
				return w.ctx.Err()
			}
			var info fs.FileInfo
			var ierr error
			if w.f.links == nil {
				info, ierr = dir.info(e)
			} else {
				info, ierr = e.Info() // of what a link leads to
			}
			if errors.Is(ierr, fs.ErrNotExist) {
				continue
			}
			if ierr != nil {
				return fmt.Errorf("cannot read facts of file %s: %w", filepath.Join(dir.real, e.Name()), dir.named(ierr))
			}
			err = w.yield(key, info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ListPaged serves gocloud's listing; Walk goes round it so as to read each folder once only.
func (f *fileBucket) ListPaged(ctx context.Context, opts *driver.ListOptions) (*driver.ListPage, error) {
	if opts.Delimiter != "" && opts.Delimiter != "/" {
		return nil, fmt.Errorf("delimiter %q: %w", opts.Delimiter, errUnsupported)
	}
	size := opts.PageSize
	if size <= 0 {
		size = pageSize
	}
	page := &driver.ListPage{}
	w := fileWalk{ctx: ctx, f: f, prefix: opts.Prefix, after: string(opts.PageToken), delimited: opts.Delimiter != ""}
	w.yield = func(key string, info fs.FileInfo) error {
		if len(page.Objects) == size {
			page.NextPageToken = []byte(page.Objects[size-1].Key)
			return errStop
		}
		o := &driver.ListObject{Key: key, IsDir: info == nil}
		if info != nil {
			o.Size, o.ModTime, o.AsFunc = info.Size(), info.ModTime(), asETag(fileETag(info))
		}
		page.Objects = append(page.Objects, o)
		return nil
	}
	if err := w.run(); err != nil && err != errStop {
		return nil, err
	}
	return page, nil
}
