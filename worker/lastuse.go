package worker

import (
	"sync"

	"github.com/pelmill/pelmill/jobs"
)

// lastUse has the device of a process that ends with its job given back as soon as no object needs it any more: while cores check the
// last results the driver does what the end of the process would wait for. It goes by the objects of the job's plan. Where a second job
// is seen, a chunk comes again or fails, the device stays until the end. It knows as well whether any object is still to come to a batch.
// A nil *lastUse does nothing.
type lastUse struct {
	giveBack func()

	mu     sync.Mutex
	job    string
	chunks map[int]bool // that have begun
	left   int          // objects of the job that may still need the device
	coming int          // those of them that no batch has met yet
	stays  bool         // the device does
	gone   bool         // it is, or is about to be
	ending sync.WaitGroup
}

// begins says that a chunk of a job has begun, whose chunks are all.
func (u *lastUse) begins(t jobs.Task, all jobs.Chunks) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.chunks == nil {
		u.job, u.chunks = t.Job, make(map[int]bool)
		for i := range all {
			u.left += all[i].Objects
			u.coming += all[i].Objects
		}
	}
	if u.job != t.Job || u.chunks[t.Index] {
		u.stays = true
	}
	u.chunks[t.Index] = true
}

// fails says that a chunk has, so that its objects may come again.
func (u *lastUse) fails() {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.stays = true
}

// comes says that n objects are in the queue of a batch, or will not come there.
func (u *lastUse) comes(n int) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.coming -= n
}

// allCame reports whether no other object can come to a batch.
func (u *lastUse) allCame() bool {
	if u == nil {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.chunks != nil && !u.stays && u.coming <= 0
}

// past says that n objects do not need the device any more. With the last of them it is given back.
func (u *lastUse) past(n int) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.left -= n; u.left <= 0 && !u.stays && !u.gone {
		u.gone = true
		u.ending.Go(u.giveBack)
	}
}

// there reports whether the device is there for an object, which was past, and had come to a batch, if it is tried once more.
func (u *lastUse) there(past, came bool) bool {
	if u == nil {
		return true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.gone {
		return false
	}
	if past {
		u.left++
	}
	if came {
		u.coming++
	}
	return true
}

// wait waits for what giving the device back has begun.
func (u *lastUse) wait() {
	if u != nil {
		u.ending.Wait()
	}
}
