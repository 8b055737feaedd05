package pool

import (
	"runtime"
	"testing"
)

// Room for goroutines that do not compute is made once, and pools stay as large as they are.
func TestRoomBesideTheCores(t *testing.T) {
	procs := runtime.GOMAXPROCS(0)
	defer func() {
		runtime.GOMAXPROCS(procs)
		room.beside = 0
	}()
	for _, n := range []int{0, 5, 7} {
		if MakeRoom(n); Cores() != procs || New().Size() != procs {
			t.Errorf("after room for %d: %d cores, pools of %d, want %d", n, Cores(), New().Size(), procs)
		}
	}
	if got := runtime.GOMAXPROCS(0); got != procs+5 {
		t.Errorf("%d goroutines run at once, want %d", got, procs+5)
	}
	if runtime.GOMAXPROCS(3); Cores() != 1 {
		t.Errorf("%d cores where fewer goroutines run than there was room for", Cores())
	}
}
