package storage

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"syscall"
)

// folderID tells folders apart whatever path leads to them, for as long as they are open.
type folderID struct{ dev, ino uint64 }

// folderSyncs lets one sync of a folder serve all that ask for it at the same time. Each sync is a commit of the file
// system's journal, and a job has dozens of writers that name files in one folder.
//
// A sync serves those that asked before it began, as a name that comes later may be too late for it. Whoever asks while
// one runs waits for the next. The first of those that wait runs it for all, so no goroutine is without an owner; it
// does not heed a context, as the others would be left without their sync.
//
// All that a sync serves get its error, and none of them tries again: the kernel reports an error of writing back once
// to each descriptor, and takes what it could not write for clean, so that a second try would succeed with the names
// lost. For the same reason a descriptor is opened before the sync that runs is waited for, and not after: the error of
// that one is reported to it as well, should it concern names that are waiting for the next.
type folderSyncs struct {
	open func(*fileDir) (openedFolder, error)

	mu      sync.Mutex
	folders map[folderID]*folderSync // those that somebody is syncing
}

// openedFolder is an *os.File that is a folder.
type openedFolder interface {
	Sync() error
	Close() error
}

// folderSync is a folder that is being synced. At most one sync runs, and at most one waits for it.
type folderSync struct {
	running chan struct{} // has room for the one sync that runs
	rounds  int           // that run or wait
	next    *syncRound    // that others may still join; nil: none
}

// syncRound is one sync and those that it serves.
type syncRound struct {
	done chan struct{}
	err  error // once done
}

// syncs is one for all buckets, as two may lead to one folder. It holds nothing while nobody writes.
var syncs = &folderSyncs{open: (*fileDir).openSync, folders: map[folderID]*folderSync{}}

// sync makes the names in a folder survive a loss of power.
func (d *fileDir) sync() error { return syncs.sync(d) }

// sync syncs a folder, alone where nothing tells which one it is.
func (s *folderSyncs) sync(d *fileDir) error {
	id, ok := d.id()
	if !ok {
		return d.named(syncDir(d.path))
	}
	err := s.join(id, d)
	// Those that a sync serves may have reached the folder by other paths than the one that ran it.
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: p.Op, Path: d.real, Err: p.Err}
	}
	return err
}

// join has the folder d synced, which the caller holds open meanwhile: its number cannot become that of another one.
func (s *folderSyncs) join(id folderID, d *fileDir) error {
	s.mu.Lock()
	f := s.folders[id]
	if f == nil {
		f = &folderSync{running: make(chan struct{}, 1)}
		s.folders[id] = f
	}
	if r := f.next; r != nil {
		s.mu.Unlock()
		<-r.done
		return r.err
	}
	r := &syncRound{done: make(chan struct{})}
	f.next = r
	f.rounds++
	s.mu.Unlock()

	file, err := s.open(d)
	f.running <- struct{}{}
	s.mu.Lock()
	f.next = nil
	s.mu.Unlock()
	if err == nil {
		err = syncFolder(file)
		defer file.Close()
	}
	<-f.running
	r.err = err
	close(r.done)

	s.mu.Lock()
	if f.rounds--; f.rounds == 0 {
		delete(s.folders, id)
	}
	s.mu.Unlock()
	return err
}

// syncDir is sync of a folder that is known by its path only.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return syncFolder(d)
}

// syncFolder is fsync(2). File systems that cannot sync folders say EINVAL.
func syncFolder(d openedFolder) error {
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}
