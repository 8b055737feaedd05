package wavelet

import "testing"

// TestWithoutVectors runs the tests of transforms with the operations in Go.
func TestWithoutVectors(t *testing.T) {
	if !hasAVX2 {
		t.Skip("NOT TESTED: no AVX2 here, so the other tests ran without vectors")
	}
	hasAVX2 = false
	defer func() { hasAVX2 = true }()
	t.Run("reversible", TestAgainstTheFormulas)
	t.Run("irreversible", TestIrreversible)
	t.Run("narrow", TestNarrow)
}
