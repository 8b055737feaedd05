package ht

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// withoutVectors turns the assembly off for the test, if there is any.
func withoutVectors(t *testing.T) bool {
	if !useVectors {
		return false
	}
	useVectors = false
	t.Cleanup(func() { useVectors = true })
	return true
}

func TestVectorsEncodeTheSameBytes(t *testing.T) {
	if !useVectors {
		t.Skip("this machine has no AVX2")
	}
	rng := rand.New(rand.NewPCG(11, 12))
	for range 300 {
		w, h := 1+rng.IntN(80), 1+rng.IntN(40)
		src := source{1 + rng.IntN(256), 1 + rng.IntN(31)}.samples(rng, w*h)
		got, _ := Encode(nil, src, w, w, h)
		useVectors = false
		want, _ := Encode(nil, src, w, w, h)
		useVectors = true
		if !bytes.Equal(got, want) {
			t.Fatalf("%d x %d: %x, want %x", w, h, got, want)
		}
	}
}
