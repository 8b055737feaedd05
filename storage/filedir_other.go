//go:build !linux

package storage

import (
	"io/fs"
	"os"
	"syscall"
)

// openNoFollow opens a file; whether it is a link was looked at before.
const openNoFollow = os.O_RDONLY

// noFollow would refuse a link at the end of a path.
const noFollow = 0

// openFolder reaches a folder below root without following a link.
func openFolder(root, name string) (*fileDir, error) { return checkFolder(root, name) }

// openList opens a folder of d for reading its entries, the folder itself where name is "".
func (d *fileDir) openList(name string) (*fileDir, error) { return d.openListByPath(name) }

// id would tell which folder it is. There is no handle to hold it, so syncs of it are not shared.
func (d *fileDir) id() (folderID, bool) { return folderID{}, false }

func (d *fileDir) openSync() (openedFolder, error) { return os.Open(d.path) }

func notFolder(path string) error { return &fs.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR} }

// info gives the facts of a file among the entries of d.
func (d *fileDir) info(e fs.DirEntry) (fs.FileInfo, error) { return e.Info() }
