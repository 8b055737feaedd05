package codectest

import "testing"

// Rounds is how often a test repeats something: n times, or a tenth of that under -short, which the race detector runs
// with.
func Rounds(n int) int {
	if testing.Short() {
		return max(1, n/10)
	}
	return n
}
