// Package seed gives random tests the number that their randomness comes from, so that a failure can be repeated. It is
// for tests only.
package seed

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// Variable names the environment variable that fixes the seed of every random test.
const Variable = "PELMILL_SEED"

// Fixed returns the seed that the environment asks for, and whether it asks for one. A value that is no number fails t.
func Fixed(t testing.TB) (uint64, bool) {
	t.Helper()
	text := os.Getenv(Variable)
	if text == "" {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%q is no number: %v", Variable, text, err)
	}
	return n, true
}

// Of returns the seed of a test: that of the environment, or one of this run's own. A test that fails prints it, together
// with how to use it again.
func Of(t testing.TB) uint64 {
	t.Helper()
	n, fixed := Fixed(t)
	if !fixed {
		n = uint64(time.Now().UnixNano())
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the random choices of this test repeat with %s=%d", Variable, n)
		}
	})
	return n
}

// Rand returns a generator that begins with [Of]. It is not safe for concurrent use.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(Of(t), 1))
}
