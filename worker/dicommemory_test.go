package worker

import (
	"sync"
	"testing"
)

// Memory that is used again is counted with the bytes that were asked for, and holds no more than an eighth besides.
func TestMemoryThatIsUsedAgainIsCounted(t *testing.T) {
	for _, c := range []struct{ given, asked int }{
		{1 << 20, 1 << 20}, {1<<20 + 1<<16, 1 << 20}, {2 << 20, 100}, {1 << 20, 1<<20 + 1}, {mostUsed + 1, mostUsed}, {8, 0},
	} {
		var used sync.Pool
		given := make([]byte, c.given)
		giveBytes(&used, &given)
		b := *takeBytes(&used, c.asked)
		if cap(b) < c.asked || cap(b) > c.asked+c.asked/8 {
			t.Errorf("%d bytes asked for, %d given", c.asked, cap(b))
		}
	}
}
