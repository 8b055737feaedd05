package codec

import (
	"testing"

	"github.com/pelmill/pelmill/gpu"
)

// A call that others follow is not divided more than its batches need.
func TestCallsThatOthersFollowAreNotDivided(t *testing.T) {
	for _, c := range []struct {
		more        bool
		calls, want int
	}{{false, 6, 6}, {true, 6, 1}, {true, 1, 1}, {true, 0, 0}, {false, 0, 0}} {
		b, end := Run{Device: new(gpu.Device), More: c.more}.Share(gpu.Batching{Calls: c.calls})
		end()
		if b.Calls != c.want {
			t.Errorf("more %v: %d calls of %d, want %d", c.more, b.Calls, c.calls, c.want)
		}
	}
	if b, _ := (Run{More: true}).Share(gpu.Batching{Calls: 6}); b.Calls != 1 {
		t.Errorf("on the CPU: %d calls", b.Calls)
	}
}
