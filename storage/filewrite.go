package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"gocloud.dev/blob/driver"
)

const (
	ownDir  = ".pelmill/"     // keys of pelmill's own
	tempDir = ".pelmill/tmp/" // temporary files; those of a target on another file system are in its folder
)

// fileWriter collects one object in a temporary file and gives it its name in Close.
type fileWriter struct {
	ctx    context.Context
	f      *fileBucket
	key    string
	path   string   // of the object, in Close
	temps  *fileDir // where temp is
	temp   *tempFile
	create bool // fail if the name is taken
	cond   *condition
	carry  time.Time // the time that the file gets; zero: that of its writing
	err    error     // first failed write; nothing is published after it
}

func (f *fileBucket) NewTypedWriter(ctx context.Context, key, _ string, opts *driver.WriterOptions) (driver.Writer, error) {
	if _, err := f.name(key); err != nil {
		return nil, err
	}
	cond := &condition{}
	if opts.BeforeWrite != nil {
		if err := opts.BeforeWrite(takeCondition(&cond)); err != nil {
			return nil, err
		}
	}
	temps, err := f.folder(strings.TrimSuffix(tempDir, "/"), true)
	if err != nil {
		return nil, err
	}
	f.sweepOnce(temps.path, temps.real)
	create := createTemp
	if opts.IfNotExist && cond.match == "" {
		create = f.createUnnamed // a name that exists is given by rename(2), for which the file has one
	}
	temp, err := create(temps.path)
	if err != nil {
		temps.close()
		return nil, temps.named(err)
	}
	return &fileWriter{ctx: ctx, f: f, key: key, temps: temps, temp: temp, create: opts.IfNotExist, cond: cond, carry: CarriedTime(opts.Metadata)}, nil
}

func (w *fileWriter) Write(p []byte) (int, error) {
	n, err := w.temp.Write(p)
	if err = w.temps.named(err); err != nil && w.err == nil {
		w.err = err
	}
	return n, err
}

// Close publishes the object, unless a write failed or the context ended; then, and on any error, nothing stays.
func (w *fileWriter) Close() error {
	defer w.temps.close()
	defer w.temp.discard()
	err := w.err
	if err == nil {
		err = w.ctx.Err()
	}
	if err == nil {
		err = settle(w.temp, w.carry)
	}
	if cerr := w.temp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	dir, base, err := w.f.folderOf(w.key, true)
	if err != nil {
		return err
	}
	defer dir.close()
	w.path = dir.file(base)
	err = w.publish(w.temp)
	if errors.Is(err, syscall.EXDEV) {
		err = w.publishAcross(dir)
	}
	// A name that is taken is a success where the bytes are the same, but who gave it may have failed to sync it: another
	// process, or an earlier attempt that had no descriptor left.
	taken := errors.Is(err, errExists)
	if err == nil || taken {
		// Both at the same time: a journal writes down what both ask for at once.
		file := make(chan error, 1)
		go func() {
			if taken {
				file <- syncFile(w.path)
			} else {
				file <- w.temp.syncLinked()
			}
		}()
		if serr := cmp.Or(dir.sync(), <-file); serr != nil {
			err = serr
		}
	}
	return dir.named(w.temps.named(err))
}

// syncFile makes a file that somebody else has named survive a loss of power. One that is gone meanwhile, or that this process may
// not read, is none of its business.
func syncFile(path string) error {
	file, err := os.OpenFile(path, openNoFollow, 0)
	if err != nil {
		return nil
	}
	defer file.Close()
	if err := file.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}

// publishAcross serves a target folder that is a mount point of its own: the bytes move to a temporary file there, which has a name.
func (w *fileWriter) publishAcross(dir *fileDir) error {
	data, err := os.ReadFile(w.temp.path())
	if err != nil {
		return err
	}
	w.f.sweepOnce(dir.path, dir.real)
	near, err := createTemp(dir.path)
	if err != nil {
		return err
	}
	defer near.discard()
	_, err = near.Write(data)
	if err == nil {
		err = settle(near, w.carry)
	}
	if cerr := near.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return w.publish(near)
}

// publish gives a complete file its name as the condition of the write allows.
func (w *fileWriter) publish(temp *tempFile) error {
	info, err := temp.info()
	if err != nil {
		return err
	}
	if w.cond.match != "" {
		err = w.f.replaceVersion(temp.Name(), w.path, w.cond.match)
	} else {
		err = publish(temp, w.path, w.create)
	}
	if err == nil {
		w.cond.made = fileETag(info)
	}
	return err
}

// settle makes a complete temporary file survive a loss of power. The clock of file systems stands still for
// milliseconds, so it gets a time to the nanosecond: two versions of one size then have different ETags. A file that
// carries the time of its source has that.
func settle(temp *tempFile, carry time.Time) error {
	t := time.Now()
	if !carry.IsZero() {
		t = carry
	}
	if err := os.Chtimes(temp.path(), t, t); err != nil {
		return err
	}
	return temp.Sync()
}

// publish gives a complete file its name. rename(2) replaces at once; link(2) fails if the name is taken, however
// many processes try.
func publish(temp *tempFile, path string, create bool) error {
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return &fs.PathError{Op: "replace", Path: path, Err: syscall.EISDIR}
	}
	var err error
	switch {
	case !create:
		return os.Rename(temp.Name(), path)
	case temp.unnamed != "":
		err = temp.link(path)
	default:
		err = os.Link(temp.Name(), path)
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.ENOSYS) {
			err = renameNew(temp.Name(), path)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: %w", path, errExists)
	}
	return err
}

// makeDirs creates a folder and those above it, and syncs the entry of each that it created.
func makeDirs(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeDirs(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		if info, serr := os.Stat(dir); serr == nil && info.IsDir() {
			return nil
		}
		return err
	}
	return syncDir(parent)
}
