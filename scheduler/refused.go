package scheduler

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/storage"
)

// TempError means that the temporary folder of this machine takes no more data.
type TempError struct {
	Dir string
	Err error
}

func (e *TempError) Error() string {
	return fmt.Sprintf("the temporary folder %s takes no more data (the environment variable TMPDIR chooses another): %v", e.Dir, e.Err)
}

func (e *TempError) Unwrap() error { return e.Err }

// temporary judges an error of a write to the temporary folder.
func temporary(err error) error {
	for _, cause := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, fs.ErrPermission, fs.ErrNotExist} {
		if errors.Is(err, cause) {
			return &TempError{Dir: os.TempDir(), Err: err}
		}
	}
	return err
}

// blockedError ends the driving of a job that somebody has blocked.
type blockedError struct{ jobs.Block }

func (e *blockedError) Error() string { return "scheduler: the job is blocked: " + e.Reason }

// blockOf gives what blocks a job that ended its driving with err.
func blockOf(err error) (jobs.Block, bool) {
	var blocked *blockedError
	var r *storage.RefusedError
	var temp *TempError
	switch {
	case errors.As(err, &blocked):
		return blocked.Block, true
	case errors.As(err, &r):
		return jobs.Block{Cause: jobs.BlockTarget, Reason: r.Reason(), Bytes: r.Bytes}, true
	case errors.Is(err, queue.ErrFull):
		return jobs.Block{Cause: jobs.BlockRedis, Reason: "Redis is full (maxmemory) and refuses writes"}, true
	case errors.As(err, &temp):
		return jobs.Block{Cause: jobs.BlockTemp, Reason: temp.Error()}, true
	}
	return jobs.Block{}, false
}
