package codectest

import (
	"os"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/seed"
)

// Random calls try with seeds for as long as PELMILL_FUZZ says, "20s" in make test, or for
// two seconds, and fails t with the first error. Every run begins with the same 200
// seeds, under -short with 20, and goes on with others. With PELMILL_SEED set it tries that seed only:
// the one that try names in its error.
func Random(t *testing.T, try func(seed uint64) error) {
	t.Helper()
	if n, fixed := seed.Fixed(t); fixed {
		if err := try(n); err != nil {
			t.Fatal(err)
		}
		return
	}
	same, long := uint64(200), 2*time.Second
	if testing.Short() {
		same, long = 20, 0
	}
	if s := os.Getenv("PELMILL_FUZZ"); s != "" && !testing.Short() {
		var err error
		if long, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	n := uint64(0)
	for ; n < same || time.Since(start) < long; n++ {
		at := n
		if n >= same {
			at += uint64(start.UnixNano())
		}
		if err := try(at); err != nil {
			t.Fatalf("%s=%d: %v", seed.Variable, at, err)
		}
	}
	t.Logf("%d seeds", n)
}
