package pool

import (
	"runtime"
	"sync"
)

var room struct {
	mu     sync.Mutex
	beside int
}

// Cores is how many goroutines are to compute at once: GOMAXPROCS, without the room that [MakeRoom] has made.
func Cores() int {
	room.mu.Lock()
	defer room.mu.Unlock()
	return max(1, runtime.GOMAXPROCS(0)-room.beside)
}

// MakeRoom lets n goroutines run beside as many as there are [Cores]: those that come back from a device's driver, as they do many times
// for a batch, and have little to do before they call it again. Among goroutines that compute on all cores each of them would wait until
// one of these gives way, for up to 10 ms; between threads the system decides, and lets those go first that have waited. It is for the
// process; only the first call counts.
func MakeRoom(n int) {
	room.mu.Lock()
	defer room.mu.Unlock()
	if n <= 0 || room.beside > 0 {
		return
	}
	room.beside = n
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + n)
}
