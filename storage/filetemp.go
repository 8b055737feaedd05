package storage

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	tempName  = ".pelmill-tmp-" // start of the name of a file that has no name of its own yet
	staleTemp = time.Hour       // a write takes seconds: where files cannot be locked, older ones were left by a crash
)

// tempFile is a file that is being written. It is locked until it is discarded, also after it was closed, so that
// whoever sweeps its folder knows that its writer lives. The lock ends with the process.
type tempFile struct {
	*os.File
	lock    *os.File // a second descriptor of the same open file; nil where files cannot be locked
	unnamed string   // the path of a file that has no name, as long as lock is open; empty: it has one
	linked  bool     // it had none and has got one
}

// syncLinked syncs a file once more that has got its first name: until then the disk may have it as one without names, which a
// check of a file system without a journal removes after a loss of power, although the folder has its name.
func (t *tempFile) syncLinked() error {
	if !t.linked {
		return nil
	}
	return t.lock.Sync()
}

// path leads to the file until it is discarded, also after it was closed.
func (t *tempFile) path() string {
	if t.unnamed != "" {
		return t.unnamed
	}
	return t.Name()
}

// info gives the facts of the file, also after it was closed.
func (t *tempFile) info() (fs.FileInfo, error) {
	if t.unnamed != "" {
		return t.lock.Stat()
	}
	return os.Lstat(t.Name())
}

// createUnnamed is createTemp for a file that nobody else sees. Where there are no such files it has a name.
func (f *fileBucket) createUnnamed(dir string) (*tempFile, error) {
	if f.named.Load() {
		return createTemp(dir)
	}
	t, err := openUnnamed(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeDirs(dir); err != nil {
			return nil, err
		}
		t, err = openUnnamed(dir)
	}
	switch {
	case err != nil:
		return createTemp(dir) // says what is wrong, unless that is with files without a name
	case t == nil:
		f.named.Store(true)
		return createTemp(dir)
	}
	return t, nil
}

// createTemp opens a new file in dir, which it creates if need be, with the permissions that the umask leaves.
func createTemp(dir string) (*tempFile, error) {
	for {
		path := filepath.Join(dir, tempName+rand.Text())
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrNotExist) {
			if err := makeDirs(dir); err != nil {
				return nil, err
			}
			file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		}
		if err != nil {
			return nil, err
		}
		t := &tempFile{File: file, lock: lockFile(file)}
		// Before it was locked, a sweep may have taken it for one that a crash left.
		if named(file, path) {
			return t, nil
		}
		t.Close()
		t.discard()
	}
}

// named reports whether path still leads to the open file.
func named(file *os.File, path string) bool {
	opened, err := file.Stat()
	if err != nil {
		return true
	}
	now, err := os.Lstat(path)
	return err == nil && os.SameFile(opened, now)
}

// discard removes the file's temporary name, if it has one, and ends its lock. Whoever has closed the file calls it once.
func (t *tempFile) discard() {
	if t.unnamed == "" {
		os.Remove(t.Name())
	}
	if t.lock != nil {
		t.lock.Close()
	}
}

// sweepOnce sweeps a folder, which real names, before the first write to it.
func (f *fileBucket) sweepOnce(dir, real string) {
	if done, _ := f.swept.ContainsOrAdd(real, struct{}{}); !done {
		sweepTemps(dir)
	}
}

// sweepTemps removes the temporary files of dir whose writers are dead. Errors do not matter: the next process tries
// again.
func sweepTemps(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempName) || !e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		switch tryLock(path, func() { os.Remove(path) }) {
		case lockHeld, lockFree:
		case lockUnknown:
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > staleTemp {
				os.Remove(path)
			}
		}
	}
}

// lockState is what is known of a file's writer.
type lockState int

const (
	lockUnknown lockState = iota // the system or the file system has no locks that all writers see
	lockHeld                     // the writer lives
	lockFree                     // the writer is dead
)
