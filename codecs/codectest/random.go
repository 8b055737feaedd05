package codectest

import (
	"os"
	"testing"
	"time"
)

// Random calls try with seeds for as long as PELMILL_FUZZ says, "30s" in make test, or for
// two seconds, and fails t with the first error. Every run begins with the same 200
// seeds and goes on with others.
func Random(t *testing.T, try func(seed uint64) error) {
	t.Helper()
	long := 2 * time.Second
	if s := os.Getenv("PELMILL_FUZZ"); s != "" {
		var err error
		if long, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	const same = 200
	start := time.Now()
	n := uint64(0)
	for ; n < same || time.Since(start) < long; n++ {
		seed := n
		if n >= same {
			seed += uint64(start.UnixNano())
		}
		if err := try(seed); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d seeds", n)
}
