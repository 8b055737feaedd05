package intake

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"time"
)

// recentObjects is how many objects that were done last are known, in each of two generations.
const recentObjects = 50_000

// recent knows which versions of which objects were done last, so that doubled events make no jobs. It is safe for
// concurrent use.
type recent struct {
	mu       sync.Mutex
	now, old map[[16]byte]int64 // Unix times in nanoseconds: a third of the bytes of a time.Time
}

func newRecent() *recent { return &recent{now: map[[16]byte]int64{}} }

// version is the identity of a version of an object, by its size and time where the store gives no ETag.
func version(it *item) [16]byte {
	id := it.entry.Key + "\x00" + it.entry.ETag
	if it.entry.ETag == "" {
		id += fmt.Sprintf("\x00%d\x00%d", it.entry.Size, it.entry.ModTime.UnixNano())
	}
	sum := sha256.Sum256([]byte(id))
	return [16]byte(sum[:])
}

func (r *recent) add(it *item, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.now) >= recentObjects {
		r.now, r.old = map[[16]byte]int64{}, r.now
	}
	r.now[version(it)] = at.UnixNano()
}

// has reports whether the version of an object was done. One that a listing found since then has lost its result.
func (r *recent) has(it *item) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.now[version(it)]
	if !ok {
		at, ok = r.old[version(it)]
	}
	return ok && it.listed.Before(time.Unix(0, at))
}
