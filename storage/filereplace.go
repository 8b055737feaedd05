package storage

import (
	"fmt"
	"os"
	"path/filepath"
)

// replaceLock is held by whoever replaces one version of a file by another, in any process.
const replaceLock = ".pelmill/replace.lock"

// replaceVersion gives a complete file the name of another, if that one still has the ETag match. rename(2) has no
// condition of its own, so the writers of pelmill take a lock; programs that know nothing of it can still come in between.
func (f *fileBucket) replaceVersion(temp, path, match string) error {
	unlock, err := f.lock()
	if err != nil {
		return err
	}
	defer unlock()
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file", path)
	case fileETag(info) != match:
		return fmt.Errorf("%s: %w", path, errExists)
	}
	return os.Rename(temp, path)
}

// lock waits for the lock of the bucket's folder.
func (f *fileBucket) lock() (unlock func(), err error) {
	dir, base, err := f.folderOf(replaceLock, true)
	if err != nil {
		return nil, err
	}
	defer dir.close()
	path := filepath.Join(dir.real, base)
	file, err := os.OpenFile(dir.file(base), os.O_RDWR|os.O_CREATE|noFollow, 0o666)
	if err != nil {
		return nil, dir.named(err)
	}
	f.replacing.Lock() // goroutines wait here and not in the kernel, where each would hold a thread
	if err := lockWhole(file); err != nil {
		f.replacing.Unlock()
		file.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() {
		file.Close() // gives the lock back
		f.replacing.Unlock()
	}, nil
}
