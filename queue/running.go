package queue

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Running is work that a process of this machine does without Redis, such as pelmill compress with the embedded
// queue. Other processes of the same user look here for sources that somebody still has to read.
type Running struct {
	What   string `json:"what"`   // such as "compress"
	Job    string `json:"job"`    // its id, or another name that nothing else has
	Source string `json:"source"` // canonical bucket URL
	Target string `json:"target"` // canonical bucket URL
	PID    int    `json:"pid"`
}

const (
	runningFile = ".json"
	runningTemp = ".new"   // of a file that is being made
	runningMost = 64 << 10 // bytes of a file

	// runningStale is when a file that was being made is given up; making one takes an instant.
	runningStale = time.Hour
)

// runningFolder is where each process that runs something keeps a file, which it has locked for as long as it lives.
// So a file without a lock is stale, whatever its process number has become since.
func runningFolder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "pelmill", "running"), nil
}

// Announce lets other processes of this user and machine know what this one reads, until the returned function is
// called or the process ends. It is nil where nothing could be announced; whoever calls it may go on without.
func Announce(r Running) (end func(), err error) {
	dir, err := runningFolder()
	if err != nil {
		return nil, fmt.Errorf("queue: announce: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("queue: announce: %w", err)
	}
	r.PID = os.Getpid()
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("queue: announce: %w", err)
	}
	path := filepath.Join(dir, rand.Text()+runningFile)
	f, err := os.OpenFile(path+runningTemp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("queue: announce: %w", err)
	}
	// The file gets its name once it is locked and whole, so nobody takes it for a stale one.
	err = lockFile(f, false)
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = os.Rename(path+runningTemp, path)
	}
	if err != nil {
		f.Close()
		os.Remove(path + runningTemp)
		return nil, fmt.Errorf("queue: announce: %w", err)
	}
	return func() {
		os.Remove(path)
		f.Close()
	}, nil
}

// RunningHere gives what processes of this user and machine have announced, this one too, and removes what dead ones
// left. A folder that cannot be read has nothing in it.
func RunningHere() []Running {
	dir, err := runningFolder()
	if err != nil {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var all []Running
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if strings.HasSuffix(path, runningTemp) {
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > runningStale {
				os.Remove(path)
			}
			continue
		}
		if r, ok := readRunning(path); ok {
			all = append(all, r)
		}
	}
	return all
}

// readRunning reads one file, or removes it where its process has ended.
func readRunning(path string) (r Running, ok bool) {
	f, err := os.Open(path)
	if err != nil {
		return r, false
	}
	defer f.Close()
	err = lockFile(f, true)
	if err == nil {
		os.Remove(path)
	}
	if !errors.Is(err, errLocked) {
		return r, false
	}
	err = json.NewDecoder(io.LimitReader(f, runningMost)).Decode(&r)
	return r, err == nil
}
